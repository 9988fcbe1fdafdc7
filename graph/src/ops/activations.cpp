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

// By reflection to x >= 1/2, twelve steps of the recurrence, and the asymptotic series beyond
// (Abramowitz and Stegun, 6.4.6, 6.4.7, 6.4.14).
Tensor trigamma_slope(const Tensor& x) {
  return in_wide(x, [](const Tensor& v) {
    const Tensor low = v < 0.5, z = where(low, 1 - v, v);
    Tensor total = zeros_like(z);
    for (int k = 0; k < 12; ++k) total = total + 2 / ((z + k) * square(z + k));
    const Tensor r = 1 / (z + 12), s = square(r);
    Tensor series = s * (-691.0 / 210);
    for (const double term : {5.0 / 6, -0.3, 1.0 / 6, -1.0 / 6}) series = s * (term + series);
    total = total + s * (1 + r + s * 0.5 + s * series);
    // Where it is not taken, an angle that gives no infinity.
    const Tensor angle = where(low, v - round(v), 0.25) * std::numbers::pi;
    const double scale = 2 * std::numbers::pi * std::numbers::pi * std::numbers::pi;
    const Tensor sine = sin(angle);
    return where(low, -(scale * cos(angle)) / (square(sine) * sine), 0) - total;
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
  const detail::Within within(detail::composite<"softplus">);
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
