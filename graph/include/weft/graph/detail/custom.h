// What the nodes of the program's own calls carry, for the backends that carry them out.
#pragma once

#include <string>
#include <utility>

#include <weft/graph/cuda_kernel.h>
#include <weft/graph/detail/record.h>
#include <weft/graph/host_callback.h>

namespace weft::detail {

/// Of a node whose gradient is a function of the program.
struct GradientPayload : NodePayload {
  std::string name;
  std::uint32_t input_count = 0;  // that the program gave
  bool undefined_cotangents = false;
  /// Of the call's inputs and outputs, and its cotangents: a gradient for each that the program
  /// gave.
  std::function<std::vector<Tensor>(const GradientCall& call,
                                    const std::vector<Tensor>& cotangents)>
      gradient;
};

/// Calls the payload's gradient and checks what it gives. `first`: of the inputs that the program
/// gave, among the node's.
void give_custom_gradient(GradientCall& call, std::size_t first);

/// What an element-wise op of the program gives as the gradient of operand i, summed over what was
/// broadcast. ShapeError and DTypeError naming the op where it has not the result's shape, or not
/// the operand's dtype.
Tensor element_gradient(const GradientCall& call, std::size_t i, const Tensor& gradient);

struct HostCall : GradientPayload {
  HostFunction run;
};

/// Body of a registered op: a kernel of the program.
struct KernelBody {
  CudaKernel kernel;
};
inline const KernelBody* kernel_body(OpId op) noexcept {
  const RegisteredOp* own = registered(op);
  return own ? static_cast<const KernelBody*>(own->body.get()) : nullptr;
}

/// One to most_outputs results, each within a tensor's limits: ValueError naming op.
std::vector<Spec> checked_specs(const std::string& op, std::span<const TensorSpec> outputs,
                                Where at);

}  // namespace weft::detail
