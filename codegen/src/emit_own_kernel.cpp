// Kernels of the program: its source as it is, and an entry that takes its parameters from the
// words of the launch.
#include <weft/graph/detail/custom.h>

#include "kernel_writer.h"
#include "structured.h"

namespace weft::detail {
namespace {

constexpr std::uint32_t default_threads = 256, most_threads = 1024;
// Of every GPU since compute capability 3.0.
constexpr std::uint32_t most_grid[] = {0x7fffffff, 65535, 65535}, most_block[] = {1024, 1024, 64};

std::vector<TensorSpec> specs_of(const std::vector<KernelOperand>& operands) {
  std::vector<TensorSpec> specs;
  for (const KernelOperand& operand : operands) {
    TensorSpec spec{{}, operand.dtype};
    for (int d = 0; d < operand.rank; ++d) spec.shape.push_back(operand.shape[d]);
    specs.push_back(spec);
  }
  return specs;
}

bool is_dense(const KernelOperand& operand) {
  std::int64_t stride = 1;
  for (int d = operand.rank; d-- > 0; stride *= operand.shape[d])
    if (operand.shape[d] != 1 && operand.strides[d] != stride) return operand.numel() == 0;
  return true;
}

// The entry comes first, as __global__ functions of the program become such that it calls.
constexpr const char* before_source = R"(struct wf_word {
  unsigned long long value;
  template <class T> __device__ operator T() const { return (T)value; }
};
#undef __global__
#undef __launch_bounds__
#define __global__ __device__
#define __launch_bounds__(...)
#line 1 "source"
)";

class OwnKernel {
 public:
  OwnKernel(const KernelStep& step, const GpuFacts& gpu)
      : step_(step), gpu_(gpu), kernel_(kernel_body(step.op)->kernel),
        inputs_(specs_of(step.inputs)), outputs_(specs_of(step.outputs)) {}

  KernelSequence run() {
    std::int64_t elements = 0;
    for (const KernelOperand& output : step_.outputs) elements += output.numel();
    if (elements == 0) return std::move(sequence_);
    for (std::size_t i = 0; i < step_.inputs.size(); ++i) words_.push_back(address_of(i));
    for (std::size_t o = 0; o < step_.outputs.size(); ++o)
      words_.push_back({ParamWord::Kind::output, o});
    for (const std::int64_t size : sizes())
      words_.push_back({ParamWord::Kind::constant, static_cast<std::uint64_t>(size)});
    sequence_.launches.push_back(launch());
    return std::move(sequence_);
  }

 private:
  [[noreturn]] void fail_launch(const std::string& what) const {
    fail<ValueError>(no_place, kernel_.name + ": " + what);
  }

  std::vector<std::int64_t> sizes() const {
    return kernel_.sizes ? kernel_.sizes(inputs_, outputs_)
                         : std::vector<std::int64_t>{step_.outputs[0].numel()};
  }

  /// Of an input in order; else of a copy in the step's workspace.
  ParamWord address_of(std::size_t i) {
    const KernelOperand& input = step_.inputs[i];
    if (is_dense(input)) return {ParamWord::Kind::input, i};
    KernelStep copy;
    copy.inputs = {input};
    copy.outputs = {input};
    const std::vector<std::int64_t> strides = dense_strides(input);
    std::copy(strides.begin(), strides.end(), copy.outputs[0].strides);
    copy.outputs[0].alignment = 256;
    copy.guards_state = step_.guards_state;
    const std::size_t place = sequence_.workspace_bytes;
    for (KernelLaunch& launch : emit_copy(copy, gpu_).launches) {
      for (ParamWord& word : launch.params) {
        if (word.kind == ParamWord::Kind::input) word.value = i;
        if (word.kind == ParamWord::Kind::output) word = {ParamWord::Kind::workspace, place};
      }
      sequence_.launches.push_back(std::move(launch));
    }
    sequence_.workspace_bytes +=
        aligned(static_cast<std::size_t>(input.numel()) * size_of(input.dtype));
    return {ParamWord::Kind::workspace, place};
  }

  KernelShape shape() const {
    KernelShape shape;
    if (kernel_.shape) {
      shape = kernel_.shape(inputs_, outputs_);
    } else {
      const std::int64_t blocks = ceil_div(step_.outputs[0].numel(), default_threads);
      if (blocks > most_grid[0])
        fail_launch("output 0 has too many elements for a thread each; define .shape");
      shape.block[0] = default_threads;
      shape.grid[0] = static_cast<std::uint32_t>(std::max<std::int64_t>(1, blocks));
    }
    std::uint64_t threads = 1;
    for (int d = 0; d < 3; ++d) {
      if (shape.grid[d] == 0 || shape.block[d] == 0)
        fail_launch("its launch shape has an extent of 0");
      if (shape.grid[d] > most_grid[d] || shape.block[d] > most_block[d])
        fail_launch("axis " + std::to_string(d) + " of its launch shape has " +
                    std::to_string(shape.grid[d]) + " blocks of " + std::to_string(shape.block[d]) +
                    " threads; " + std::to_string(most_grid[d]) + " and " +
                    std::to_string(most_block[d]) + " are the most");
      threads *= shape.block[d];
    }
    if (shape.shared_bytes > gpu_.shared_bytes)
      fail_launch("its blocks have " + std::to_string(shape.shared_bytes) +
                  " bytes of shared memory; " + std::to_string(gpu_.shared_bytes) + " is the most");
    if (threads > most_threads)
      fail_launch("its blocks have " + std::to_string(threads) + " threads; " +
                  std::to_string(most_threads) + " is the most");
    return shape;
  }

  KernelLaunch launch() {
    const KernelShape shape = this->shape();
    KernelLaunch launch;
    std::copy(std::begin(shape.grid), std::end(shape.grid), launch.grid);
    std::copy(std::begin(shape.block), std::end(shape.block), launch.block);
    launch.shared_bytes = shape.shared_bytes;
    const auto word = [](std::size_t i) { return "p.w[" + std::to_string(i) + "]"; };
    std::string arguments, guard;
    for (std::size_t i = 0; i < words_.size(); ++i)
      arguments += (i ? ", wf_word{" : "wf_word{") + word(i) + "}";
    if (step_.guards_state) {
      guard = "  if (wf_run_failed(" + word(words_.size()) + ")) return;\n";
      words_.push_back({ParamWord::Kind::error, 0});
    }
    launch.params = words_;
    if (launch.params.empty()) launch.params.resize(1);
    const std::string threads = std::to_string(shape.block[0] * shape.block[1] * shape.block[2]);
    const std::string entry = "wf_own_" + text_digest(threads + guard + arguments + kernel_.source);
    const std::string call = entry + "_call";
    std::string text = device_library(kernel_.source + guard);
    text += "struct Params {\n  unsigned long long w[" + std::to_string(launch.params.size()) +
            "];\n};\nstatic __device__ void " + call + "(const Params& p);\n";
    text += "extern \"C\" __global__ void __launch_bounds__(" + threads + ") " + entry +
            "(const __grid_constant__ Params p) {\n" + guard + "  " + call + "(p);\n}\n";
    text += before_source + kernel_.source + "\n#line 1 \"entry\"\nstatic __device__ void " + call +
            "(const Params& p) {\n  " + kernel_.entry + "(" + arguments + ");\n}\n";
    launch.source = std::make_shared<const KernelSource>(
        KernelSource{entry, std::move(text), false, kernel_.name});
    return launch;
  }

  const KernelStep& step_;
  const GpuFacts& gpu_;
  const CudaKernel& kernel_;
  const std::vector<TensorSpec> inputs_, outputs_;
  std::vector<ParamWord> words_;
  KernelSequence sequence_;
};

}  // namespace

KernelSequence emit_own_kernel(const KernelStep& step, const GpuFacts& gpu) {
  return OwnKernel(step, gpu).run();
}

}  // namespace weft::detail
