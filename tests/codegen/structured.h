// Steps of structured ops carried out by their kernels on the host, next to the cpu's own results
// and the reference interpreter's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/codegen/kernel.h>
#include <weft/graph/functions.h>

#include "runtime/cpu_steps.h"
#include "support/host_kernels.h"
#include "support/interpreter.h"

namespace weft::testing {

using EmitFn = KernelSequence (*)(const KernelStep&, const GpuFacts&);

/// One step: its operands, and what two devices make of them.
class Trial {
 public:
  Trial(EmitFn function, OpId op, std::initializer_list<std::int64_t> attributes)
      : emit_(function), cpu_(std::make_unique<TestStep>(op, attributes)) {}

  Trial& input(std::shared_ptr<Array> array) { return input(array, array->dense()); }
  Trial& input(std::shared_ptr<Array> array, const ResolvedOperand& view) {
    arrays_.push_back(std::move(array));
    cpu_->inputs.push_back(view);
    return *this;
  }
  Trial& output(DType dtype, const Shape& shape) {
    expected_.push_back(std::make_shared<Array>(dtype, shape));
    got_.push_back(std::make_shared<Array>(dtype, shape));
    cpu_->outputs.push_back(expected_.back()->dense());
    return *this;
  }
  Trial& guard() {
    guards_state_ = true;
    return *this;
  }

  const KernelSequence& emit(const GpuFacts& gpu) {
    KernelStep step;
    step.op = cpu_->step.op;
    step.attrs = cpu_->step.attrs;
    step.guards_state = guards_state_;
    for (const ResolvedOperand& operand : cpu_->inputs) step.inputs.push_back(known(operand));
    for (const ResolvedOperand& operand : cpu_->outputs) step.outputs.push_back(known(operand));
    return sequence_ = emit_(step, gpu);
  }

  void run_kernels() {
    std::vector<std::uintptr_t> inputs, outputs;
    for (const ResolvedOperand& operand : cpu_->inputs) inputs.push_back(operand.data);
    for (const auto& array : got_) outputs.push_back(array->dense().data);
    const Guarded workspace((sequence_.workspace_bytes + 255) / 256 * 256);
    run_on_host(sequence_, inputs, outputs, cpu_->arguments,
                reinterpret_cast<std::uintptr_t>(workspace.data()), &error, step_number);
    REQUIRE(workspace.is_intact());
    for (const auto& array : got_) REQUIRE(array->memory.is_intact());
  }

  /// Bit for bit, all NaNs being one; else what differs first.
  std::string difference_from_cpu() {
    cpu_->run();
    for (std::size_t k = 0; k < got_.size(); ++k)
      for (std::int64_t i = 0; i < got_[k]->numel(); ++i)
        if (!is_same(*got_[k], *expected_[k], i))
          return "output " + std::to_string(k) + " element " + std::to_string(i) + ": " +
                 std::to_string((*got_[k])[i]) + ", on the cpu " +
                 std::to_string((*expected_[k])[i]);
    if (error.step != (cpu_->error.step == 0 ? 0 : step_number + 1)) return "another error";
    if (error.step != 0 && error.limit != cpu_->error.limit) return "another limit";
    return {};
  }

  HostValue result(std::size_t k) const {
    HostValue value(got_[k]->dtype, got_[k]->shape);
    if (!value.bytes.empty())
      std::memcpy(value.bytes.data(), got_[k]->memory.data(), value.bytes.size());
    return value;
  }
  const Array& got(std::size_t k) const { return *got_[k]; }
  const Array& expected(std::size_t k) const { return *expected_[k]; }
  TestStep& cpu() { return *cpu_; }
  const KernelSequence& sequence() const { return sequence_; }

  static constexpr std::uint32_t step_number = 7;
  ErrorBlock error;

 private:
  static KernelOperand known(const ResolvedOperand& operand) {
    KernelOperand result;
    result.dtype = operand.dtype;
    result.rank = operand.rank;
    std::copy_n(operand.shape, max_rank, result.shape);
    std::copy_n(operand.strides, max_rank, result.strides);
    result.alignment = static_cast<std::uint32_t>(size_of(operand.dtype));
    while (result.alignment < 16 && operand.data % (2 * result.alignment) == 0)
      result.alignment *= 2;
    return result;
  }
  static bool is_same(const Array& a, const Array& b, std::int64_t i) {
    if (is_floating(a.dtype) && a[i] != a[i] && b[i] != b[i]) return true;
    return std::memcmp(a.at(i), b.at(i), size_of(a.dtype)) == 0;
  }

  EmitFn emit_;
  std::unique_ptr<TestStep> cpu_;
  std::vector<std::shared_ptr<Array>> arrays_, expected_, got_;
  KernelSequence sequence_;
  bool guards_state_ = false;
};

/// Trials whose kernels are compiled together.
class Trials {
 public:
  Trial& add(std::string what, Trial trial) {
    all_.emplace_back(std::move(what), std::move(trial));
    return all_.back().second;
  }
  /// Runs all, with offsets of 32 and of 64 bits, for large and small GPUs, and compares with the
  /// cpu.
  void expect_bits_of_cpu() {
    run([](Trial& trial) { return trial.difference_from_cpu(); });
  }
  void run(const std::function<std::string(Trial&)>& difference) {
    GpuFacts narrow, wide;
    wide.narrow_span = 1;
    wide.processors = 1;  // results do not depend on it
    for (const GpuFacts& gpu : {narrow, wide}) {
      std::vector<KernelSequence> sequences;
      for (auto& [what, trial] : all_) sequences.push_back(trial.emit(gpu));
      compile_for_host(sequences);
      for (auto& [what, trial] : all_) {
        trial.error = {};
        trial.run_kernels();
        const std::string different = difference(trial);
        INFO(what << (gpu.narrow_span == 1 ? ", 64 bits" : ""));
        REQUIRE(different == "");
      }
    }
  }

 private:
  std::vector<std::pair<std::string, Trial>> all_;
};

inline std::shared_ptr<Array> array(DType dtype, const Shape& shape,
                                    const std::function<double(std::int64_t)>& value) {
  return std::make_shared<Array>(dtype, shape, value);
}

/// Numbers of all signs and sizes that the dtype holds, among them now and then what `special`
/// says.
inline std::shared_ptr<Array> random_array(DType dtype, const Shape& shape, unsigned seed,
                                           bool special = false) {
  std::mt19937 engine(seed);
  const double rare[] = {std::nan(""), INFINITY, -INFINITY, -0.0, 0.0};
  return array(dtype, shape, [&](std::int64_t) {
    const unsigned bits = static_cast<unsigned>(engine());
    if (dtype == DType::bool_) return double(bits & 1);
    if (!is_floating(dtype)) return double(static_cast<int>(bits % 251)) - (dtype == u8 ? 0 : 125);
    if (special && bits % 97 == 0) return rare[bits / 97 % 5];
    return (double(bits >> 4) / (1 << 28) - 0.5) * (1 << (bits & 15) % 9);
  });
}

/// The values of recorded inputs, as operands of a trial.
inline std::shared_ptr<Array> array_of(const Tensor& tensor) {
  const HostValue value = interpret(tensor);
  auto result = std::make_shared<Array>(value.dtype, value.shape);
  if (!value.bytes.empty())
    std::memcpy(result->memory.data(), value.bytes.data(), value.bytes.size());
  return result;
}

/// The op that made a tensor, over dense values of its inputs.
inline Trial trial_of(EmitFn emit, const Tensor& made, const std::vector<Tensor>& inputs) {
  const Node& node = *made.ref().node;
  Trial trial(emit, node.op, {node.attrs.v[0], node.attrs.v[1], node.attrs.v[2], node.attrs.v[3]});
  for (const Tensor& input : inputs) trial.input(array_of(input));
  for (std::uint32_t k = 0; k < node.output_count; ++k)
    trial.output(node.dtype_of(k), node.shape(k));
  return trial;
}

/// Runs the kernels of the op that made these outputs of one node, and compares with the
/// interpreter.
inline void expect_interpreted(EmitFn emit, const std::vector<Tensor>& outputs,
                               const std::vector<Tensor>& inputs, const Tolerance& tolerance = {}) {
  Trial trial = trial_of(emit, outputs[0], inputs);
  trial.emit({});
  trial.run_kernels();
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    std::string why;
    const bool is_right = matches(trial.result(k), interpret(outputs[k]), tolerance, &why);
    INFO(why);
    REQUIRE(is_right);
  }
}

}  // namespace weft::testing
