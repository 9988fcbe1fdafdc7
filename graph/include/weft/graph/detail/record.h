// Recording ops: what the public functions, the gradients and the modules are made of.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/detail/node.h>
#include <weft/graph/tensor.h>

namespace weft::detail {

/// The node behind an argument; ValueError naming op for an undefined tensor.
Node* defined(const TensorArg& x, const char* op);

/// A point-wise op with promotion, broadcasting and placement. Not for `cast`.
Tensor record_pointwise(OpId op, std::span<const Operand> operands);
/// Any other op whose specs the caller has worked out. The node runs on `device`, or where the
/// enclosing On says.
Tensor record_structured(OpId op, std::span<const Ref> inputs, const Attrs& attrs,
                         const Spec& spec, Device device, Where at);
/// The same for two outputs.
std::pair<Tensor, Tensor> record_pair(OpId op, std::span<const Ref> inputs, const Attrs& attrs,
                                      const Spec& first, const Spec& second, Device device,
                                      Where at);
/// The same for up to most_outputs of them, and with what the node carries.
std::vector<Tensor> record_call(OpId op, std::span<const Ref> inputs, const Attrs& attrs,
                                std::span<const Spec> outputs, Device device,
                                std::shared_ptr<const NodePayload> payload, Where at);
/// Where an op on these runs: their common device, or the enclosing On's. DeviceError for a mix
/// that is not allowed, naming the op, the argument and both devices.
Device common_device(const char* op, std::span<const Ref> inputs, Where at);

/// A C++ number as a 0-dim leaf of this dtype: its value is an argument of the run.
Tensor record_number(const Operand& number, DType dtype, Device device);
/// A copy of `x`'s node reference in another dtype, recorded; x itself where it has that dtype.
Tensor record_cast(Ref x, DType dtype, Where at);
/// Counts host bytes given to pending work, towards the automatic flush.
void count_pending_bytes(std::size_t bytes) noexcept;

/// "f32[2,3]", "f32[2,3] on cuda:0", or a number: an operand as messages show it.
std::string describe(Ref ref);
std::string describe(const Operand& operand);

/// Shape that two shapes broadcast to; ShapeError naming op.
Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b, Where at);
/// g summed over the axes along which `shape` was broadcast to g's shape.
Tensor sum_to(const Tensor& g, const Shape& shape);

/// One application of a vector-Jacobian product. `cotangents[i]` is undefined where output i has
/// none; `needs[i]` says whether input i wants a result, and `results[i]` is left undefined where
/// it has none.
struct GradientCall {
  Node* node;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  std::vector<Tensor> cotangents;
  std::vector<bool> needs;
  std::vector<Tensor> results;
  const Attrs& attrs() const noexcept { return node->attrs; }
};

}  // namespace weft::detail
