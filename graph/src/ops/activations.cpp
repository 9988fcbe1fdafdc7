// Derivatives of activations, and the activations that have options.
#include "activations.h"

#include <cmath>
#include <numbers>

#include <weft/graph/activations.h>
#include <weft/graph/detail/record.h>
#include <weft/graph/error.h>
#include <weft/graph/functions.h>

#include "rules.h"

namespace weft {

namespace detail {
namespace {

/// f(x), of halves in f32 and rounded once.
template <class F>
Tensor in_wide(const Tensor& x, F f) {
  return cast(f(cast(x, wide(x.dtype()))), x.dtype());
}

Tensor density(const Tensor& x) {
  return exp(square(x) * -0.5) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}

}  // namespace

Tensor ndtr_slope(const Tensor& x) { return in_wide(x, density); }

Tensor gelu_slope(const Tensor& x) {
  return in_wide(x, [](const Tensor& v) { return ndtr(v) + v * density(v); });
}

// Beyond 30 it is 0 or 1; x cubed must not overflow.
Tensor gelu_tanh_slope(const Tensor& x) {
  const double root = std::sqrt(8 * std::numbers::inv_pi), cubic = 0.044715 * root;
  return in_wide(minimum(maximum(x, -30), 30), [=](const Tensor& v) {
    const Tensor s = square(v), u = v * (s * cubic + root);
    return sigmoid(u) * (1 + v * sigmoid(-u) * (s * (3 * cubic) + root));
  });
}

Tensor silu_slope(const Tensor& x) {
  return in_wide(x, [](const Tensor& v) { return sigmoid(v) * (1 + v * sigmoid(-v)); });
}

Tensor mish_slope(const Tensor& x) {
  return in_wide(x, [](const Tensor& v) {
    const Tensor t = tanh(softplus(v));
    return t + v * sigmoid(v) * (1 - square(t));
  });
}

}  // namespace detail

Tensor gelu(const TensorArg& x, std::string_view approximate) {
  if (approximate == "tanh") return gelu_tanh(x);
  if (approximate != "none")
    detail::fail<ValueError>(x.at(), "gelu: no approximation is called '" +
                                         std::string(approximate) + "'; give \"none\" or \"tanh\"");
  return gelu(x);
}

Tensor softplus(const TensorArg& x, double beta, double threshold) {
  if (!(std::isfinite(beta) && beta != 0))
    detail::fail<ValueError>(x.at(), "softplus: beta is " + std::to_string(beta) +
                                         "; give a finite number that is not 0");
  const Where at = x.at();
  const DType dtype = detail::spec_of(x, "softplus").dtype;
  const DType result = is_floating(dtype) ? dtype : default_dtype();
  const Tensor wide = cast(x, detail::wide(result)), scaled = mul({wide, at}, {beta, at});
  const Tensor soft = div({neg({log_sigmoid({neg({scaled, at}), at}), at}), at}, {beta, at});
  return cast({where({gt({scaled, at}, {threshold, at}), at}, {wide, at}, {soft, at}), at}, result);
}

}  // namespace weft
