// Index spaces, parameter words and entry texts of structured ops.
#include "structured.h"

#include <bit>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include <weft/graph/error.h>

namespace weft::detail {

void IndexSpace::add(std::int64_t extent, std::initializer_list<std::int64_t> operand_strides) {
  WEFT_ENSURE(rank <= max_rank && operand_strides.size() == static_cast<std::size_t>(operands));
  extents[rank] = extent;
  int k = 0;
  for (const std::int64_t stride : operand_strides) strides[k++][rank] = stride;
  ++rank;
}

void IndexSpace::collapse() {
  int last = -1;
  for (int d = 0; d < rank; ++d) {
    if (extents[d] == 1) continue;
    bool joins = last >= 0;
    for (int k = 0; k < operands && joins; ++k)
      joins = strides[k][last] == strides[k][d] * extents[d];
    if (joins)
      extents[last] *= extents[d];
    else
      extents[++last] = extents[d];
    for (int k = 0; k < operands; ++k) strides[k][last] = strides[k][d];
  }
  rank = last + 1;
}

std::int64_t IndexSpace::numel() const noexcept {
  std::int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= extents[d];
  return n;
}

std::int64_t IndexSpace::together(std::int64_t most, unsigned moved) const noexcept {
  if (rank == 0) return 1;
  const int last = rank - 1;
  for (int k = 0; k < operands; ++k)
    if (strides[k][last] != static_cast<std::int64_t>(moved >> k & 1)) return 1;
  const auto divides = [&](std::int64_t n) {
    bool all = extents[last] % n == 0;
    for (int k = 0; k < operands; ++k)
      for (int d = 0; d < last; ++d) all = all && ((moved >> k & 1) == 0 || strides[k][d] % n == 0);
    return all;
  };
  while (most > 1 && !divides(most)) most /= 2;
  return most;
}

void IndexSpace::join(std::int64_t elements, unsigned moved) noexcept {
  if (elements == 1) return;
  extents[rank - 1] /= elements;
  for (int k = 0; k < operands; ++k)
    for (int d = 0; d + 1 < rank; ++d)
      if (moved >> k & 1) strides[k][d] /= elements;
}

std::int64_t IndexSpace::reach(int k) const noexcept {
  std::int64_t distance = 0;
  for (int d = 0; d < rank; ++d)
    if (extents[d] > 0) distance += std::abs(strides[k][d]) * (extents[d] - 1);
  return distance;
}

AxisLines::AxisLines(const KernelOperand& operand, std::int64_t axis) {
  for (int d = 0; d < operand.rank; ++d) {
    if (d == axis) {
      extent = operand.shape[d];
      stride = operand.strides[d];
      continue;
    }
    if (d > axis) inner *= operand.shape[d];
    space.add(operand.shape[d], {operand.strides[d]});
  }
  count = space.numel();
  space.collapse();
}

std::int64_t AxisLines::reach() const noexcept {
  return space.reach(0) + std::abs(stride) * extent;
}

std::vector<std::int64_t> dense_strides(const KernelOperand& operand) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(operand.rank));
  std::int64_t stride = 1;
  for (int d = operand.rank - 1; d >= 0; --d) {
    strides[static_cast<std::size_t>(d)] = stride;
    stride *= operand.shape[d];
  }
  return strides;
}

std::int64_t aligned_elements(std::initializer_list<const KernelOperand*> operands,
                              std::initializer_list<std::int64_t> multiples) {
  const auto size = static_cast<std::int64_t>(size_of((*operands.begin())->dtype));
  const auto fits = [&](std::int64_t n) {
    return std::all_of(operands.begin(), operands.end(),
                       [&](const KernelOperand* x) { return x->alignment % (n * size) == 0; }) &&
           std::all_of(multiples.begin(), multiples.end(),
                       [&](std::int64_t multiple) { return multiple % n == 0; });
  };
  std::int64_t n = 16 / size;
  while (n > 1 && !fits(n)) n /= 2;
  return n;
}

bool is_narrow(const GpuFacts& gpu, std::initializer_list<std::int64_t> spans) {
  constexpr std::int64_t excess = 8192;  // a chunk, or a block, past the end
  return std::all_of(spans.begin(), spans.end(),
                     [&](std::int64_t span) { return span < gpu.narrow_span - excess; });
}

std::string index_type(bool narrow) { return narrow ? "wf_u32" : "wf_u64"; }

std::string tag_of(DType dtype) { return "wf_as_" + std::string(name_of(dtype)); }

std::string bits_type(std::size_t bytes) {
  switch (bytes) {
    case 1: return "unsigned char";
    case 2: return "unsigned short";
    case 4: return "unsigned int";
    case 8: return "unsigned long long";
    default: return "wf_vector<unsigned long long, 2>";
  }
}

DType storage_of(ComputeClass compute) noexcept {
  constexpr DType of[compute_class_count] = {DType::f32, DType::f64, DType::i32, DType::i64};
  return of[static_cast<int>(compute)];
}

KernelSequence copy_of_first_input(const KernelStep& step, const GpuFacts& gpu) {
  KernelStep copy = step;
  copy.inputs.resize(1);
  return emit_copy(copy, gpu);
}

LaunchBuilder& LaunchBuilder::attribute(int i) {
  const auto value = static_cast<std::uint64_t>(step_.attrs.v[i]);
  const bool is_slot = info(step_.op).argument_mask >> i & 1;
  return add(is_slot ? ParamWord::Kind::argument : ParamWord::Kind::constant, value);
}

LaunchBuilder& LaunchBuilder::error() {
  return add(ParamWord::Kind::error, 0).add(ParamWord::Kind::step, 0);
}

LaunchBuilder& LaunchBuilder::space(const IndexSpace& space, bool narrow) {
  for (int d = 0; d < space.rank; ++d) {
    const auto extent = static_cast<std::uint64_t>(std::max<std::int64_t>(1, space.extents[d]));
    if (narrow) {
      const auto shift = static_cast<unsigned>(std::bit_width(extent - 1));
      const std::uint64_t above = (std::uint64_t{1} << shift) - extent;
      add(ParamWord::Kind::constant, extent | static_cast<std::uint64_t>(shift) << 32);
      add(ParamWord::Kind::constant, (above << 32) / extent + 1);
    } else {
      add(ParamWord::Kind::constant, extent);
      add(ParamWord::Kind::constant, 0);
    }
    for (int k = 0; k < space.operands; ++k) constant(space.strides[k][d]);
  }
  return *this;
}

KernelLaunch LaunchBuilder::launch(const std::string& function, std::int64_t blocks,
                                   unsigned threads_x, unsigned threads_y, unsigned resident) {
  WEFT_ENSURE(blocks > 0 && blocks < std::int64_t{1} << 31);
  std::string body;
  if (step_.guards_state) {
    // All threads of a block or none, also where another stream sets the word meanwhile.
    body = "  if (__syncthreads_or(wf_has_failed(p.w[" + std::to_string(words_.size()) +
           "]))) return;\n";
    add(ParamWord::Kind::error, 0);
  }
  body += "  " + function + "(p.w);\n";
  KernelSource source;
  source.entry = "weft_" + function.substr(3, function.find('<') - 3);
  const std::string entry =
      "struct Params {\n  unsigned long long w[" + std::to_string(words_.size()) +
      "];\n};\nextern \"C\" __global__ void __launch_bounds__(" +
      std::to_string(threads_x * threads_y) + ", " + std::to_string(resident) + ") " +
      source.entry + "(const __grid_constant__ Params p) {\n" + body + "}\n";
  source.text = device_library(entry) + entry;
  KernelLaunch launch;
  launch.source = std::make_shared<const KernelSource>(std::move(source));
  launch.grid[0] = static_cast<std::uint32_t>(blocks);
  launch.block[0] = threads_x;
  launch.block[1] = threads_y;
  launch.params = std::move(words_);
  return launch;
}

}  // namespace weft::detail
