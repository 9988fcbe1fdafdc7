// Ops from CUDA C++ of the program's own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <weft/graph/host_callback.h>

namespace weft {

/// How a kernel is launched.
struct KernelShape {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;  // dynamic
};

/// A definition. The rules are called when a call is recorded and when it is planned, with equal
/// arguments and on any thread: they must give equal results.
struct CudaKernel {
  using Specs = std::span<const TensorSpec>;
  /// Of the op, in messages, plans and pictures.
  std::string name;
  /// CUDA C++ for NVRTC, without contraction of a·b + c. It is compiled with weft's cache, which is
  /// asked by the whole text.
  std::string source;
  /// A __global__ function of `source`. Its parameters: the address of each input, of each output,
  /// then the integers that `sizes` gives. Inputs are row-major without gaps; outputs are to be
  /// written in full. f16 and bf16 are two bytes each; a bool is one, 0 or 1.
  std::string entry;
  /// Shapes and dtypes of the results, one to eight; may throw what is wrong with the inputs.
  std::function<std::vector<TensorSpec>(Specs inputs)> outputs;
  /// None: one thread for each element of output 0, in blocks of 256.
  std::function<KernelShape(Specs inputs, Specs outputs)> shape{};
  /// None: the number of elements of output 0.
  std::function<std::vector<std::int64_t>(Specs inputs, Specs outputs)> sizes{};
  /// What runs where there is no GPU. None: an op recorded for another device is UnsupportedError.
  HostFunction cpu{};
  CallGradient gradient{};
};

class CudaKernelOp {
 public:
  CudaKernelOp(CudaKernel kernel, Where at);
  std::vector<Tensor> operator()(const TensorList& inputs) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Makes an op, for good: to be done once, not in a loop. ValueError for a definition that lacks a
/// name, source, entry or outputs. A source that does not compile is CompileError at evaluation,
/// with NVRTC's log, whose lines are those of `source`. The kernel must be pure: equal calls may be
/// carried out once, and it must write nothing but its outputs.
CudaKernelOp cuda_kernel_op(CudaKernel kernel, Where at = {});

}  // namespace weft
