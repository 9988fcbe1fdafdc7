// Softmax and linear.
#include <weft/nn/functions.h>

#include "support.h"

namespace weft {

namespace detail {

std::string describe(const Tensor& x) {
  std::string text = std::string(name_of(x.dtype())) + x.shape().str();
  return x.device().is_cpu() ? text : text + " on " + x.device().str();
}

Tensor floating_of(const char* op, const TensorArg& x) {
  const Tensor given = as_tensor(x);
  if (!is_floating(given.dtype(x.at())))
    fail<DTypeError>(x.at(), std::string(op) + ": defined for floating tensors alone: " +
                                 describe(given) + "; convert it with .to(f32)");
  return given;
}

void same_device(const char* op, std::initializer_list<Tensor> tensors, Where at) {
  std::vector<Ref> refs;
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) refs.push_back(tensor.ref());
  common_device(op, refs, at);
}

}  // namespace detail

using detail::LineOf;

Tensor softmax(const TensorArg& x, std::int64_t axis) {
  return detail::as_tensor(x).softmax(axis, x.at());
}

Tensor log_softmax(const TensorArg& x, std::int64_t axis) {
  return detail::as_tensor(x).log_softmax(axis, x.at());
}

namespace {

Tensor product_with(const TensorArg& x, const TensorArg& weight) {
  const Tensor matrix = detail::as_tensor(weight);
  const Where at = x.at();
  const int rank = matrix.ndim(at);
  if (rank != 1 && rank != 2)
    detail::fail<ShapeError>(at, "linear: the weight is " + detail::describe(matrix) +
                                     "; give one of shape [out, in] or [in]");
  const Tensor given = detail::as_tensor(x);
  if (given.ndim(at) == 0 || given.size(-1) != matrix.size(-1))
    detail::fail<ShapeError>(at, "linear: inner sizes differ: x " + detail::describe(given) +
                                     ", weight " + detail::describe(matrix) +
                                     "; the last axis of x must be the weight's last");
  detail::same_device("linear", {given, matrix}, at);
  return matmul({given, at}, rank == 1 ? matrix : transpose(matrix, 0, 1));
}

}  // namespace

Tensor linear(const TensorArg& x, const TensorArg& weight) {
  const LineOf line(x.at());
  const detail::Within within(detail::composite<"linear">);
  return product_with(x, weight);
}

Tensor linear(const TensorArg& x, const TensorArg& weight, const TensorArg& bias) {
  const LineOf line(x.at());
  const detail::Within within(detail::composite<"linear">);
  detail::defined(bias, "linear");
  const Tensor product = product_with(x, weight), offset = detail::as_tensor(bias);
  detail::same_device("linear", {product, offset}, x.at());
  if (detail::broadcast_shapes("linear", product.shape(), offset.shape(), x.at()) != product.shape())
    detail::fail<ShapeError>(x.at(), "linear: the bias is " + detail::describe(offset) +
                                         ", the product " + detail::describe(product) +
                                         "; give a bias of shape [out]");
  return add({product, x.at()}, bias);
}

}  // namespace weft
