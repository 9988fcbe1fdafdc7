// The interpreter's point-wise ops. Floats are computed as long doubles and rounded once; the ops
// whose double result IEEE 754 defines, and which a long double would round twice, as doubles.
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include <weft/graph/detail/ops.h>

#include "support/interpreter.h"
#include "support/interpreter_ops.h"
#include "support/math_references.h"

namespace weft::testing {
namespace {

using detail::OpId;
using Real = long double;

// Floats.

/// Ops that IEEE 754 rounds once, in the format F.
template <class F>
std::optional<F> basic(OpId op, F x, F y) {
  switch (op) {
    case OpId::add: return x + y;
    case OpId::sub: return x - y;
    case OpId::mul: return x * y;
    case OpId::div: return x / y;
    case OpId::square: return x * x;
    case OpId::reciprocal: return 1 / x;
    case OpId::sqrt: return std::sqrt(x);
    default: return std::nullopt;
  }
}

/// PyTorch's: NaN where the quotient leaves the format F.
template <class F>
F remainder(F x, F y) {
  if (std::isinf(x / y)) return std::numeric_limits<F>::quiet_NaN();
  const F rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// PyTorch's: NaN where the quotient leaves the format F.
template <class F>
F truncated_remainder(F x, F y) {
  return std::isinf(x / y) ? std::numeric_limits<F>::quiet_NaN() : std::fmod(x, y);
}

/// Step by step in the format F, from the nearer end.
template <class F>
F lerp(F from, F to, F weight) {
  const F way = to - from;
  if (std::fabs(weight) < F(0.5)) {
    const F part = weight * way;
    return from + part;
  }
  const F rest = F(1) - weight, part = way * rest;
  return to - part;
}

/// PyTorch's, step by step in the format F: for great quotients it is not the rounded floor.
template <class F>
F floor_divide(F x, F y) {
  if (y == 0) return x / y;
  const F rest = std::fmod(x, y);
  F quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(F(0), x / y);
  const F whole = std::floor(quotient);
  return quotient - whole > F(0.5) ? whole + 1 : whole;
}

std::optional<Real> float_unary(OpId op, Real x) {
  switch (op) {
    case OpId::neg: return -x;
    case OpId::abs: return std::fabs(x);
    case OpId::sign: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case OpId::ceil: return std::ceil(x);
    case OpId::floor: return std::floor(x);
    case OpId::round: return std::rint(x);
    case OpId::trunc: return std::trunc(x);
    case OpId::relu: return x < 0 ? 0 : x;
    case OpId::rsqrt: return 1 / std::sqrt(x);
    case OpId::exp: return std::exp(x);
    case OpId::exp2: return std::exp2(x);
    case OpId::expm1: return std::expm1(x);
    case OpId::log: return std::log(x);
    case OpId::log2: return std::log2(x);
    case OpId::log10: return std::log10(x);
    case OpId::log1p: return std::log1p(x);
    case OpId::sin: return std::sin(x);
    case OpId::cos: return std::cos(x);
    case OpId::tan: return std::tan(x);
    case OpId::asin: return std::asin(x);
    case OpId::acos: return std::acos(x);
    case OpId::atan: return std::atan(x);
    case OpId::sinh: return std::sinh(x);
    case OpId::cosh: return std::cosh(x);
    case OpId::tanh: return std::tanh(x);
    case OpId::asinh: return std::asinh(x);
    case OpId::acosh: return std::acosh(x);
    case OpId::atanh: return std::atanh(x);
    case OpId::erf: return std::erf(x);
    case OpId::erfc: return std::erfc(x);
    case OpId::sigmoid: return 1 / (1 + std::exp(-x));
    case OpId::gelu: return x * ndtr(x);
    case OpId::gelu_tanh: return gelu_tanh(x);
    case OpId::silu: return gated(x, x);
    case OpId::mish: return mish(x);
    case OpId::softplus: return softplus(x);
    case OpId::ndtr: return ndtr(x);
    case OpId::lgamma: return log_gamma(x);
    case OpId::digamma: return digamma(x);
    case OpId::trigamma: return trigamma(x);
    case OpId::cbrt: return std::cbrt(x);
    default: return std::nullopt;
  }
}

std::optional<Real> float_binary(OpId op, Real x, Real y) {
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  const bool unordered = std::isnan(x) || std::isnan(y);
  switch (op) {
    case OpId::pow: return std::pow(x, y);
    case OpId::logaddexp: return logaddexp(x, y);
    // Of equal ones, which zeros of two signs are, the second: as PyTorch.
    case OpId::maximum: return unordered ? nan : x > y ? x : y;
    case OpId::minimum: return unordered ? nan : x < y ? x : y;
    // Of equal ones the first.
    case OpId::fmax: return std::isnan(x) || y > x ? y : x;
    case OpId::fmin: return std::isnan(x) || y < x ? y : x;
    case OpId::atan2: return std::atan2(x, y);
    case OpId::hypot: return std::hypot(x, y);
    case OpId::copysign: return std::copysign(x, y);
    default: return std::nullopt;
  }
}

/// Ops that are defined by their steps in the format F.
template <class F>
std::optional<Real> stepwise(OpId op, Real x, Real y) {
  const auto a = static_cast<F>(x), b = static_cast<F>(y);
  switch (op) {
    case OpId::floor_divide: return floor_divide(a, b);
    case OpId::remainder: return remainder(a, b);
    case OpId::fmod: return truncated_remainder(a, b);
    default: return std::nullopt;
  }
}

std::optional<Real> float_op(OpId op, DType dtype, Real x, Real y) {
  if (const auto r = dtype == DType::f64 ? stepwise<double>(op, x, y) : stepwise<float>(op, x, y))
    return r;
  if (op == OpId::log_sigmoid) {  // PyTorch's zero, where no power of e is left, is positive
    const Real r = log_sigmoid(x);
    const bool vanishes =
        dtype == DType::f64 ? static_cast<double>(r) == 0 : static_cast<float>(r) == 0;
    return vanishes ? 0 : r;
  }
  if (dtype == DType::f64) {
    if (const auto r = basic(op, static_cast<double>(x), static_cast<double>(y))) return Real{*r};
  } else if (const auto r = basic(op, x, y)) {
    return r;
  }
  if (const auto r = float_unary(op, x)) return r;
  return float_binary(op, x, y);
}

// Integers: 64 bits wide, wrapped when they are stored.

using Int = std::int64_t;

Int wrapped(std::uint64_t x) { return static_cast<Int>(x); }
std::uint64_t bits(Int x) { return static_cast<std::uint64_t>(x); }

Int int_floor_divide(Int x, Int y) {
  if (y == 0) return 0;
  if (y == -1) return wrapped(-bits(x));  // of the least integer: itself
  const Int quotient = x / y;
  return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
}

Int int_remainder(Int x, Int y) {
  if (y == 0 || y == -1) return 0;
  const Int rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

Int int_pow(Int x, Int y) {
  const bool odd = y % 2 != 0;
  if (x == 1 || (x == -1 && !odd)) return 1;
  if (x == -1) return -1;
  if (y < 0) return 0;
  std::uint64_t result = 1;
  for (Int bit = 62; bit >= 0; --bit) {
    result *= result;
    if ((y >> bit & 1) != 0) result *= bits(x);
  }
  return wrapped(result);
}

std::optional<Int> int_unary(OpId op, Int x) {
  switch (op) {
    case OpId::neg: return wrapped(-bits(x));
    case OpId::abs: return x < 0 ? wrapped(-bits(x)) : x;
    case OpId::sign: return x > 0 ? 1 : x < 0 ? -1 : 0;
    case OpId::ceil:
    case OpId::floor:
    case OpId::round:
    case OpId::trunc: return x;
    case OpId::square: return wrapped(bits(x) * bits(x));
    case OpId::relu: return x > 0 ? x : 0;
    default: return std::nullopt;
  }
}

std::optional<Int> int_binary(OpId op, Int x, Int y) {
  switch (op) {
    case OpId::add: return wrapped(bits(x) + bits(y));
    case OpId::sub: return wrapped(bits(x) - bits(y));
    case OpId::mul: return wrapped(bits(x) * bits(y));
    case OpId::floor_divide: return int_floor_divide(x, y);
    case OpId::remainder: return int_remainder(x, y);
    case OpId::pow: return int_pow(x, y);
    case OpId::maximum: return x > y ? x : y;
    case OpId::minimum: return x < y ? x : y;
    case OpId::fmax: return x > y ? x : y;
    case OpId::fmin: return x < y ? x : y;
    case OpId::fmod: return y == 0 || y == -1 ? 0 : x % y;
    case OpId::bitwise_and: return x & y;
    case OpId::bitwise_or: return x | y;
    case OpId::bitwise_xor: return x ^ y;
    default: return std::nullopt;
  }
}

/// Shifts by what the dtype does not have leave nothing, or the sign.
Int shifted(OpId op, Int x, Int y) {
  const bool all = y < 0 || y > 63;
  if (op == OpId::right_shift) return x >> (all ? 63 : y);
  return all ? 0 : wrapped(bits(x) << y);
}

std::optional<Int> int_op(OpId op, DType dtype, Int x, Int y) {
  if (op == OpId::left_shift || op == OpId::right_shift) return shifted(op, x, y);
  if (op == OpId::bitwise_not) return dtype == DType::bool_ ? (x == 0 ? 1 : 0) : ~x;
  if (const auto r = int_unary(op, x)) return r;
  return int_binary(op, x, y);
}

// Questions.

std::optional<bool> question(OpId op, Real x, Real y) {
  switch (op) {
    case OpId::isnan: return std::isnan(x);
    case OpId::isinf: return std::isinf(x);
    case OpId::isfinite: return std::isfinite(x);
    case OpId::logical_not: return x == 0;
    case OpId::eq: return x == y;
    case OpId::ne: return x != y;
    case OpId::lt: return x < y;
    case OpId::le: return x <= y;
    case OpId::gt: return x > y;
    case OpId::ge: return x >= y;
    case OpId::logical_and: return x != 0 && y != 0;
    case OpId::logical_or: return x != 0 || y != 0;
    case OpId::logical_xor: return (x != 0) != (y != 0);
    default: return std::nullopt;
  }
}

// Operands.

/// Recording has converted the operands to one dtype (but for a condition).
void check_dtypes(const Step& step) {
  const DType dtype = step.inputs.back()->dtype;
  const bool is_choice = step.node.op == OpId::where;
  for (std::size_t i = is_choice ? 1 : 0; i < step.inputs.size(); ++i)
    if (step.in(i).dtype != dtype) throw std::logic_error("point-wise: operands differ in dtype");
  const DType result = question(step.node.op, 0, 0) ? DType::bool_ : dtype;
  if (step.outputs[0].dtype != result) throw std::logic_error("point-wise: the result's dtype");
}

void element(Step& step, std::int64_t i, const std::vector<std::int64_t>& offsets) {
  const OpId op = step.node.op;
  HostValue& out = step.out();
  const HostValue& x = step.in(0);
  const HostValue& y = *step.inputs.back();  // of one operand: itself
  const std::int64_t ix = offsets.front(), iy = offsets.back();
  if (op == OpId::where) {
    const std::size_t chosen = x.real(ix) != 0 ? 1 : 2;
    return out.copy_element(i, step.in(chosen), offsets[chosen]);
  }
  if (op == OpId::lerp) {
    const Real from = x.real(ix), to = step.in(1).real(offsets[1]), weight = y.real(iy);
    if (x.dtype == DType::f64)
      return out.set_real(i, lerp(static_cast<double>(from), static_cast<double>(to),
                                  static_cast<double>(weight)));
    return out.set_real(i, lerp(static_cast<float>(from), static_cast<float>(to),
                                static_cast<float>(weight)));
  }
  if (const auto answer = question(op, x.real(ix), y.real(iy)))
    return out.set_integer(i, *answer ? 1 : 0);
  if (is_floating(x.dtype))
    return out.set_real(i, float_op(op, x.dtype, x.real(ix), y.real(iy)).value());
  return out.set_integer(i, int_op(op, x.dtype, x.integer(ix), y.integer(iy)).value());
}

}  // namespace

bool interpret_pointwise(Step& step) {
  const OpId op = step.node.op;
  if (op == OpId::cast) {
    step.out() = convert(step.in(0), step.out().dtype);
    return true;
  }
  if (op != OpId::where && op != OpId::lerp && !question(op, 0, 0) && !float_op(op, DType::f32, 1, 1) &&
      !int_op(op, DType::i32, 1, 1))
    return false;
  check_dtypes(step);
  std::vector<std::int64_t> offsets(step.inputs.size());
  for (std::int64_t i = 0; i < step.out().numel(); ++i) {
    const Coordinates at = coordinates(step.out().shape, i);
    for (std::size_t k = 0; k < offsets.size(); ++k)
      offsets[k] = broadcast_offset(step.in(k).shape, at);
    element(step, i, offsets);
  }
  return true;
}

}  // namespace weft::testing
