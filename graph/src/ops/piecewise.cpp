// Activations that are made of other ops. Each counts as one op where halves are concerned.
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

#include "rules.h"

namespace weft {
namespace detail {
namespace {

/// x as its activation is computed: halves as f32.
Tensor widened(const char* op, const TensorArg& x) {
  const Spec spec = spec_of(x, op);
  if (!is_floating(spec.dtype))
    fail<DTypeError>(x.at(), std::string(op) + ": defined for floating tensors alone: " +
                                 describe(x.ref()) + "; convert it with .to(f32)");
  return cast(x, wide(spec.dtype));
}

Tensor rounded(const Tensor& result, const TensorArg& x) {
  return cast({result, x.at()}, x.ref().node->dtype_of(x.ref().output));
}

/// Between 0 and 6; at both corners the slope is 0, as PyTorch's.
Tensor six_at_most(const Tensor& x) { return where(x >= 6, 6, relu(x)); }

}  // namespace
}  // namespace detail

using namespace detail;

Tensor elu(const TensorArg& x, double alpha) {
  const LineOf line(x.at());
  const Tensor wide_x = widened("elu", x);
  // Of the other branch nothing is computed that could overflow: 0 times its derivative must be 0.
  const Tensor below = expm1(where(wide_x > 0, 0, wide_x)) * alpha;
  return rounded(where(wide_x > 0, wide_x, below), x);
}

Tensor leaky_relu(const TensorArg& x, double slope) {
  const LineOf line(x.at());
  const Tensor wide_x = widened("leaky_relu", x);
  return rounded(where(wide_x > 0, wide_x, wide_x * slope), x);
}

Tensor relu6(const TensorArg& x) {
  const LineOf line(x.at());
  return six_at_most(tensor_of(x));
}

Tensor hardsigmoid(const TensorArg& x) {
  const LineOf line(x.at());
  const Tensor wide_x = widened("hardsigmoid", x);
  return rounded(six_at_most(wide_x + 3) / 6, x);
}

Tensor hardswish(const TensorArg& x) {
  const LineOf line(x.at());
  const Tensor wide_x = widened("hardswish", x);
  return rounded(wide_x * six_at_most(wide_x + 3) / 6, x);
}

}  // namespace weft
