// Point-wise groups and copies as kernels.
#include <algorithm>

#include <weft/graph/error.h>

#include "fused_text.h"

namespace weft::detail {
namespace {

// Beside its address, an operand may take a word for each axis, as the space itself does.
constexpr std::size_t words_of_operand = 1 + max_rank;
constexpr std::size_t words_of_space = 2 * max_rank + 16;

KernelSequence emit_pointwise(const KernelStep& step, const GpuFacts& gpu) {
  WEFT_ENSURE(!step.outputs.empty());
  KernelSequence sequence;
  if (step.outputs[0].numel() == 0) return sequence;
  const FusedSpace space(step.outputs[0], step.inputs);
  const int axis = tile_axis(step, space);
  sequence.launches.push_back(axis < 0 ? emit_rows(step, gpu, space)
                                       : emit_tiles(step, gpu, space, axis));
  return sequence;
}

// Which dtype moves an element does not matter, so those of one size share a text.
DType mover(DType dtype) {
  switch (size_of(dtype)) {
    case 1: return DType::u8;
    case 2: return DType::f16;
    case 4: return DType::i32;
    default: return DType::i64;
  }
}

}  // namespace

bool fits_parameters(std::size_t operands, std::size_t arguments) noexcept {
  return words_of_space + words_of_operand * operands + arguments <= most_param_words;
}

KernelSequence emit_fused(const KernelStep& step, const GpuFacts& gpu) {
  WEFT_ENSURE(step.program != nullptr);
  const Program& program = *step.program;
  WEFT_ENSURE(step.inputs.size() == program.memory_inputs &&
              step.outputs.size() == program.outputs.size());
  WEFT_ENSURE(fits_parameters(program.memory_inputs + program.outputs.size(),
                              program.inputs.size() - program.memory_inputs));
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    WEFT_ENSURE(step.inputs[k].dtype == program.inputs[k].dtype);
  for (std::size_t k = 0; k < step.outputs.size(); ++k)
    WEFT_ENSURE(step.outputs[k].dtype == program.outputs[k].dtype &&
                step.outputs[k].numel() == step.outputs[0].numel());
  return emit_pointwise(step, gpu);
}

KernelSequence emit_copy(const KernelStep& step, const GpuFacts& gpu) {
  WEFT_ENSURE(step.inputs.size() == 1 && step.outputs.size() == 1);
  WEFT_ENSURE(step.inputs[0].dtype == step.outputs[0].dtype &&
              step.inputs[0].numel() == step.outputs[0].numel());
  const DType dtype = mover(step.inputs[0].dtype);
  Program program;
  program.inputs.push_back({dtype, false, 0, 0});
  program.outputs.push_back({dtype, 0});
  program.register_count = 1;
  program.memory_inputs = 1;
  KernelStep moves = step;
  moves.program = &program;
  moves.inputs[0].dtype = dtype;
  // The output is dense, so it may be seen in the input's shape.
  moves.outputs[0].dtype = dtype;
  moves.outputs[0].rank = moves.inputs[0].rank;
  std::copy_n(moves.inputs[0].shape, max_rank, moves.outputs[0].shape);
  return emit_pointwise(moves, gpu);
}

}  // namespace weft::detail
