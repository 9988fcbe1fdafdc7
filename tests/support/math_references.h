// Plain definitions of functions that libm lacks, in a format F (double, long double) that is wider
// than what is tested.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <numbers>

namespace weft::testing {

/// log |Gamma(x)|; std::lgamma writes to a global.
inline double log_gamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);
}
inline long double log_gamma(long double x) {
  int sign;
  return ::lgammal_r(x, &sign);
}

/// The derivative of log Gamma: recurrence up to 20, then Abramowitz and Stegun's 6.3.18; near its
/// positive root, where those terms cancel, Taylor's series.
template <class F>
F digamma(F x) {
  if (x == 0) return -std::copysign(std::numeric_limits<F>::infinity(), x);
  if (x < 0) {
    const F f = x - std::rint(x);
    if (f == 0 || std::isinf(x)) return std::numeric_limits<F>::quiet_NaN();
    return digamma(1 - x) - std::numbers::pi_v<F> / std::tan(std::numbers::pi_v<F> * f);
  }
  constexpr F root = 1.461632144968362341281L;
  const F d = (x - root) - F(1.461632144968362341281L - root - 1.82570963159634842e-20L);
  if (std::fabs(d) < F(0x1p-4)) {
    F taylor = 0;
    for (const long double c :
         {-0.00157693677143019725927L, 0.00230512632673492783694L, -0.00336980165543932808279L,
          0.00492678139572985344635L, -0.00720453438635686824097L, 0.0105387916166121753881L,
          -0.0154247659049489591388L, 0.0225976482322181046596L, -0.0331611264748473592923L,
          0.0488042881641431072251L, -0.0721995612564547109261L, 0.107824050691262365757L,
          -0.163942705442406527504L, 0.258499760955651010624L, -0.442763168983592106093L,
          0.967672245447621170427L})
      taylor = (taylor + F(c)) * d;
    return taylor;
  }
  F sum = 0;
  for (; x < 20; x += 1) sum -= 1 / x;
  const F z = 1 / (x * x);
  F series = 0, power = z;
  for (const long double c :
       {12.0L, -120.0L, 252.0L, -240.0L, 132.0L, -32760 / 691.0L, 12.0L, -8160 / 3617.0L}) {
    series += power / F(c);
    power *= z;
  }
  return sum + (std::log(x) - 1 / (2 * x) - series);
}

/// Its derivative: likewise, by 6.4.12.
template <class F>
F trigamma(F x) {
  if (x <= 0) {
    const F f = x - std::rint(x), s = std::numbers::pi_v<F> / std::sin(std::numbers::pi_v<F> * f);
    return f == 0 ? std::numeric_limits<F>::infinity() : s * s - trigamma(1 - x);
  }
  F sum = 0;
  for (; x < 20; x += 1) sum += 1 / (x * x);
  const F z = 1 / (x * x);
  F series = 0, power = z / x;
  for (const long double c :
       {6.0L, -30.0L, 42.0L, -30.0L, 66 / 5.0L, -2730 / 691.0L, 6 / 7.0L, -510 / 3617.0L}) {
    series += power / F(c);
    power *= z;
  }
  return sum + (1 / x + z / 2 + series);
}

template <class F>
F sigmoid(F x) {
  const F e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

/// P(X <= x) of the standard normal distribution. erfc's steep tail multiplies what the argument is
/// rounded by, so that is taken out to first order.
template <class F>
F ndtr(F x) {
  constexpr F root = std::numbers::sqrt2_v<F>;
  constexpr F root_rest = F(std::numbers::sqrt2_v<long double> - root + 3.79006506611778651e-20L);
  const F a = -x / root;
  if (!(std::fabs(a) < 1000)) return std::erfc(a) / 2;
  const F rest = -(std::fma(a, root, x) + a * root_rest) / root;
  return (std::erfc(a) - rest * 2 * std::numbers::inv_sqrtpi_v<F> * std::exp(-a * a)) / 2;
}

/// x / (1 + e^-v), v = high + low; of -inf NaN, as PyTorch's silu and its kin.
template <class F>
F gated(F x, F high, F low = 0) {
  const F e = std::exp(-std::fabs(high)), power = e + e * (high < 0 ? low : -low);
  return x * ((high < 0 ? power : 1) / (1 + power));
}
/// The argument of a steep tail, sqrt(8/pi) (x + 0.044715 x^3), in two parts.
template <class F>
F gelu_tanh(F x) {
  constexpr F root = 1.59576912160573071176L;
  constexpr F root_rest = F(1.59576912160573071176L - root + 5.35117775572047829e-20L);
  constexpr F cubic = 0.0713548162726002487772138L;
  constexpr F cubic_rest = F(0.0713548162726002487772138L - cubic - 8.75006214400898496e-22L);
  if (!(std::fabs(x) < 100)) return gated(x, std::copysign(F(20000), x));
  const F square = x * x, square_rest = std::fma(x, x, -square);
  const F cube = x * square, cube_rest = std::fma(x, square, -cube) + x * square_rest;
  const F linear = x * root, term = cube * cubic, high = linear + term;
  const F rest = std::fma(x, root, -linear) + x * root_rest +
                 (std::fma(cube, cubic, -term) + cube * cubic_rest + cube_rest * cubic);
  const F lost =
      std::fabs(linear) > std::fabs(term) ? term - (high - linear) : linear - (high - term);
  return gated(x, high, lost + rest);
}
template <class F>
F mish(F x) {
  return x * std::tanh(std::log1p(std::exp(x)));
}
/// PyTorch's: the identity above 20.
template <class F>
F softplus(F x) {
  return x > 20 ? x : std::log1p(std::exp(x));
}
template <class F>
F log_sigmoid(F x) {
  return (x < 0 ? x : 0) - std::log1p(std::exp(-std::fabs(x)));
}
template <class F>
F logaddexp(F x, F y) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<F>::quiet_NaN();
  if (x == y) return x + std::numbers::ln2_v<F>;
  return std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y)));
}

}  // namespace weft::testing
