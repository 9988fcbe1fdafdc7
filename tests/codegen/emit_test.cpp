// From a step to the family that writes its kernels.
#include <weft/codegen/kernel.h>
#include <weft/graph/error.h>

#include "support/catch.h"

using namespace weft;
using namespace weft::detail;

namespace {

KernelOperand row(DType dtype, std::int64_t n) {
  KernelOperand operand;
  operand.dtype = dtype;
  operand.rank = 1;
  operand.shape[0] = n;
  operand.strides[0] = 1;
  operand.alignment = 256;
  return operand;
}

KernelStep step_of(OpId op, std::vector<KernelOperand> inputs, std::vector<KernelOperand> outputs) {
  KernelStep step;
  step.op = op;
  step.inputs = std::move(inputs);
  step.outputs = std::move(outputs);
  return step;
}

std::string text_of(const KernelSequence& sequence) {
  std::string text;
  for (const KernelLaunch& launch : sequence.launches) text += launch.source->text;
  return text;
}

}  // namespace

TEST_CASE("emit: by program, by op, by kind") {
  const KernelStep moves = step_of(copy_op(), {row(f32, 9)}, {row(f32, 9)});
  REQUIRE(text_of(emit(moves, {})) == text_of(emit_copy(moves, {})));
  const KernelStep uploads = step_of(OpId::upload, {row(i64, 9)}, {row(i64, 9)});
  REQUIRE(text_of(emit(uploads, {})) == text_of(emit_copy(uploads, {})));
  Program program;
  program.inputs.push_back({f32, false, 0, 0});
  program.outputs.push_back({f32, 1});
  program.code.push_back(
      {Instruction::Kind::compute, OpId::neg, ComputeClass::f32, f32, 1, 1, {0}});
  program.register_count = 2;
  program.memory_inputs = 1;
  KernelStep fused = step_of(fused_op(), {row(f32, 9)}, {row(f32, 9)});
  fused.program = &program;
  REQUIRE(text_of(emit(fused, {})) == text_of(emit_fused(fused, {})));
  KernelStep counts = step_of(OpId::iota, {}, {row(i64, 9)});
  REQUIRE(text_of(emit(counts, {})) == text_of(emit_iota(counts, {})));
}

TEST_CASE("emit: in fast mode the same texts are to be compiled otherwise") {
  KernelStep moves = step_of(copy_op(), {row(f32, 9)}, {row(f32, 9)});
  const KernelSequence exact = emit(moves, {});
  for (const Numerics mode : {Numerics::standard, Numerics::strict, Numerics::fast}) {
    moves.numerics = mode;
    const KernelSequence made = emit(moves, {});
    REQUIRE(text_of(made) == text_of(exact));
    for (const KernelLaunch& launch : made.launches)
      REQUIRE(launch.source->fast == (mode == Numerics::fast));
  }
}

TEST_CASE("emit: no family, no sense") {
  REQUIRE_THROWS_AS(emit(step_of(OpId::add, {row(f32, 9), row(f32, 9)}, {row(f32, 9)}), {}),
                    InternalError);
  // A cast that changes the dtype is a program's.
  REQUIRE_THROWS_AS(emit(step_of(copy_op(), {row(f32, 9)}, {row(f64, 9)}), {}), InternalError);
  REQUIRE_THROWS_AS(emit(step_of(copy_op(), {row(f32, 9)}, {row(f32, 8)}), {}), InternalError);
  REQUIRE_THROWS_AS(emit_fused(step_of(fused_op(), {row(f32, 9)}, {row(f32, 9)}), {}),
                    InternalError);
}
