// Fused groups carried out by their kernels on the host, next to the cpu's own results.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <weft/codegen/kernel.h>

#include "runtime/cpu_steps.h"
#include "support/host_kernels.h"

namespace weft::testing {

inline KernelOperand operand_of(const ResolvedOperand& resolved) {
  KernelOperand operand;
  operand.dtype = resolved.dtype;
  operand.rank = resolved.rank;
  std::copy_n(resolved.shape, max_rank, operand.shape);
  std::copy_n(resolved.strides, max_rank, operand.strides);
  operand.alignment = 256;
  while (resolved.data % operand.alignment != 0) operand.alignment /= 2;
  return operand;
}

/// An operand by its looks alone.
inline KernelOperand operand_like(DType dtype, std::vector<std::int64_t> shape,
                                  std::vector<std::int64_t> strides,
                                  std::uint32_t alignment = 256) {
  KernelOperand operand;
  operand.dtype = dtype;
  operand.rank = static_cast<int>(shape.size());
  std::copy(shape.begin(), shape.end(), operand.shape);
  std::copy(strides.begin(), strides.end(), operand.strides);
  operand.alignment = alignment;
  return operand;
}

/// One group with its operands, and what the cpu and the kernels make of them.
struct FusedTrial {
  std::string what;
  std::shared_ptr<const Program> program;
  std::vector<std::shared_ptr<Array>> arrays;
  std::vector<ResolvedOperand> inputs;
  std::vector<std::uint64_t> arguments;
  std::vector<std::shared_ptr<Array>> got, want;
  KernelSequence sequence{};
  bool guards_state = false;

  void output(DType dtype, const Shape& shape) {
    got.push_back(std::make_shared<Array>(dtype, shape));
    want.push_back(std::make_shared<Array>(dtype, shape));
  }
  void outputs(const Shape& shape) {
    for (const ProgramOutput& result : program->outputs) output(result.dtype, shape);
  }

  void emit(const GpuFacts& gpu) {
    KernelStep step;
    step.op = fused_op();
    step.program = program.get();
    step.guards_state = guards_state;
    for (const ResolvedOperand& operand : inputs) step.inputs.push_back(operand_of(operand));
    for (const auto& array : got) step.outputs.push_back(operand_of(array->dense()));
    sequence = emit_fused(step, gpu);
  }

  void run(ErrorBlock error = {}) {
    std::vector<std::uintptr_t> sources, targets;
    for (const ResolvedOperand& operand : inputs) sources.push_back(operand.data);
    for (const auto& array : got) targets.push_back(array->dense().data);
    run_on_host(sequence, sources, targets, arguments, 0, &error, 3);
    for (const auto& array : got) REQUIRE(array->memory.is_intact());
  }

  void run_on_cpu() {
    TestStep cpu;
    cpu.step.op = fused_op();
    cpu.step.program = program;
    cpu.inputs = inputs;
    cpu.arguments = arguments;
    for (const auto& array : want) cpu.outputs.push_back(array->dense());
    cpu.run();
  }

  /// The first element whose bits differ, all NaNs being one; empty: none.
  std::string difference() const {
    for (std::size_t k = 0; k < got.size(); ++k)
      for (std::int64_t i = 0; i < got[k]->numel(); ++i) {
        const double a = (*got[k])[i], b = (*want[k])[i];
        if (a != a && b != b) continue;
        if (std::memcmp(got[k]->at(i), want[k]->at(i), size_of(got[k]->dtype)) != 0)
          return "output " + std::to_string(k) + " element " + std::to_string(i) + ": " +
                 std::to_string(a) + ", on the cpu " + std::to_string(b);
      }
    return {};
  }
};

/// Runs all with offsets of 32 and of 64 bits, their kernels compiled together, and compares with
/// the cpu.
inline void expect_bits_of_cpu(std::vector<FusedTrial>& trials) {
  for (FusedTrial& trial : trials) trial.run_on_cpu();
  GpuFacts narrow, wide;
  wide.narrow_span = 1;
  std::vector<KernelSequence> sequences;
  for (const GpuFacts& gpu : {narrow, wide})
    for (FusedTrial& trial : trials) {
      trial.emit(gpu);
      sequences.push_back(trial.sequence);
    }
  compile_for_host(sequences);
  for (const GpuFacts& gpu : {narrow, wide})
    for (FusedTrial& trial : trials) {
      for (const auto& array : trial.got)
        std::fill_n(array->memory.data(), array->bytes().size(), '\x77');
      trial.emit(gpu);
      trial.run();
      INFO(trial.what << (gpu.narrow_span == 1 ? ", 64 bits" : ""));
      REQUIRE(trial.difference() == "");
    }
}

}  // namespace weft::testing
