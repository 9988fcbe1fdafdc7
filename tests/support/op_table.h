// The table of ops as data for tests: the rows, the dtypes that each is legal in, operands to try
// it on, and a count of what was tried.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <weft/graph/detail/ops.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/functions.h>
#include <weft/graph/tensor.h>

#include "support/interpreter.h"

namespace weft::testing {

using detail::DTypeRule;
using detail::OpId;

struct PointwiseRow {
  OpId op;
  const char* name;
  int arity;
  DTypeRule rule;
  double low, high, ulp;
  std::vector<std::vector<double>> facts;
};

inline const std::vector<PointwiseRow>& pointwise_rows() {
#define WEFT_INFINITY std::numeric_limits<double>::infinity()
#define WEFT_NAN std::numeric_limits<double>::quiet_NaN()
#define WEFT_OP_POINTWISE(name, arity, rule, classes, flops, low, high, ulp, doc, expression,      \
                          gradient, ...)                                                           \
  {OpId::name, #name, arity, DTypeRule::rule, low, high, ulp, {__VA_ARGS__}},
  static const std::vector<PointwiseRow> rows = {
#include <weft/graph/detail/ops.def>
  };
#undef WEFT_INFINITY
#undef WEFT_NAN
  return rows;
}

struct NamedOp {
  OpId op;
  const char* name;
};

inline const std::vector<NamedOp>& all_ops() {
#define WEFT_OP_POINTWISE(name, ...) {OpId::name, #name},
#define WEFT_OP_STRUCTURED(name, ...) {OpId::name, #name},
  static const std::vector<NamedOp> ops = {
#include <weft/graph/detail/ops.def>
  };
  return ops;
}

using DTypes = std::vector<DType>;

inline DTypes all_dtypes() { return {f16, bf16, f32, f64, i8, i32, i64, u8, bool_}; }
inline DTypes number_dtypes() { return {f16, bf16, f32, f64, i8, i32, i64, u8}; }

/// Operand dtypes that a rule accepts.
inline DTypes legal_dtypes(DTypeRule rule) {
  switch (rule) {
    case DTypeRule::numeric: return number_dtypes();
    case DTypeRule::integral: return {i8, i32, i64, u8, bool_};
    default: return all_dtypes();
  }
}

/// Operand dtypes of any op; of one without operands, its own. A structured op that is not named
/// here is expected in all.
inline DTypes legal_dtypes(OpId op) {
  switch (op) {
    case OpId::argmax:
    case OpId::argmin:
    case OpId::topk:
    case OpId::matmul: return number_dtypes();
    case OpId::logcumsumexp: return {f16, bf16, f32, f64};
    case OpId::iota: return {i64, f64};
    case OpId::uniform:
    case OpId::normal: return {f32, f64};
    case OpId::integers:
    case OpId::permutation: return {i64};
    default: return legal_dtypes(detail::info(op).rule);
  }
}

/// Which ops were tried in which dtypes.
class Coverage {
 public:
  void mark(OpId op, DType dtype) { tried_.insert({op, dtype}); }
  /// "add in f16, ...": what is legal and was not tried.
  std::string missing() const {
    std::string text;
    for (const NamedOp& row : all_ops())
      for (const DType dtype : legal_dtypes(row.op))
        if (!tried_.contains({row.op, dtype}))
          text += (text.empty() ? "" : ", ") + std::string(row.name) + " in " +
                  std::string(name_of(dtype));
    return text;
  }

 private:
  std::set<std::pair<OpId, DType>> tried_;
};

/// Numbers where arithmetic has its edges.
inline std::vector<long double> specials(DType dtype) {
  if (dtype == bool_) return {0, 1};
  if (!is_floating(dtype)) {
    const int width = 8 * static_cast<int>(size_of(dtype));
    const long double end = std::ldexp(1.0L, dtype == u8 ? width : width - 1);
    if (dtype == u8) return {0, 1, 2, 7, 8, 127, 128, 254, 255};
    return {0, 1, -1, 2, -2, 7, -7, 63, 64, end - 1, -end, 1 - end, end - 2};
  }
  constexpr long double infinity = std::numeric_limits<long double>::infinity();
  const int digits = dtype == f16 ? 11 : dtype == bf16 ? 8 : dtype == f32 ? 24 : 53;
  const int top = dtype == f16 ? 16 : dtype == f64 ? 1024 : 128;
  const long double greatest = std::ldexp(1 - std::ldexp(1.0L, -digits), top);
  const long double least = std::ldexp(1.0L, 3 - top - digits);
  const long double least_normal = std::ldexp(1.0L, 2 - top);
  return {0.0L,
          -0.0L,
          1,
          -1,
          0.5L,
          -2.5L,
          3,
          -7,
          1e4L,
          infinity,
          -infinity,
          std::nanl(""),
          greatest,
          -greatest,
          least,
          -3 * least,
          least_normal,
          -least_normal,
          1 - std::ldexp(1.0L, -digits)};
}

/// Drawn from an interval, as far as the dtype has it; every sixth is special where asked for.
inline HostValue drawn(DType dtype, const Shape& shape, double low, double high, unsigned seed,
                       bool with_specials = true) {
  HostValue value(dtype, shape);
  std::mt19937_64 bits(seed);
  std::uniform_real_distribution<double> interval(dtype == u8 ? std::max(low, 0.0) : low, high);
  const std::vector<long double> edges = specials(dtype);
  for (std::int64_t i = 0; i < value.numel(); ++i) {
    const double number = interval(bits);
    const bool is_special = with_specials && bits() % 6 == 0;
    if (dtype == bool_)
      value.set_integer(i, static_cast<std::int64_t>(bits() % 2));
    else
      value.set_real(i, is_special ? edges[bits() % edges.size()] : number);
  }
  return value;
}

inline Tensor tensor_of(const HostValue& value, const TensorOptions& options = {}) {
  return detail::from_bytes(value.bytes.data(), value.numel(), value.dtype, value.shape, options,
                            Where());
}

/// Operand `k` of several: together they go through all pairs of specials.
inline HostValue special_pairs(DType dtype, int k, int arity) {
  const std::vector<long double> edges = specials(dtype);
  const std::size_t n = edges.size();
  HostValue value(dtype, Shape(arity == 1 ? n : n * n));
  for (std::size_t i = 0; i < static_cast<std::size_t>(value.numel()); ++i)
    value.set_real(static_cast<std::int64_t>(i), edges[k + 1 == arity ? i % n : i / n % n]);
  return value;
}

// Comparing.

/// A recorded value, and how near the engine must come to what the interpreter says.
struct Case {
  std::string what;
  Tensor result;
  Tolerance tolerance{.zero_sign = true};
  /// Greatest error of each element, of floats that are sums; in place of the tolerance.
  std::optional<HostValue> bound = std::nullopt;
};

inline bool within(const HostValue& got, const HostValue& want, const HostValue& bound,
                   std::string* why) {
  if (got.dtype != want.dtype || !(got.shape == want.shape)) return matches(got, want, {}, why);
  for (std::int64_t i = 0; i < want.numel(); ++i) {
    const long double a = got.real(i), b = want.real(i);
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    if (same || std::fabs(a - b) <= bound.real(i)) continue;
    *why = "element " + std::to_string(i) + ": got " + got.element_text(i) + ", want " +
           want.element_text(i) + ", within " + bound.element_text(i);
    return false;
  }
  return true;
}

/// Evaluates all as one plan; a line for each that is not right, at most five.
inline std::string failures(const std::vector<Case>& cases) {
  std::vector<Tensor> roots;
  for (const Case& c : cases) roots.push_back(c.result);
  const std::vector<HostValue> wanted = interpret(roots);
  eval(roots);
  std::string text;
  int count = 0;
  for (std::size_t i = 0; i < cases.size() && count < 5; ++i) {
    const HostValue got = evaluated(roots[i]);
    std::string why;
    const Case& c = cases[i];
    if (c.bound ? within(got, wanted[i], *c.bound, &why)
                : matches(got, wanted[i], c.tolerance, &why))
      continue;
    text += c.what + ": " + why + "\n";
    ++count;
  }
  return text;
}

/// Half of the distance from 1 to the next number.
inline double unit_roundoff(DType dtype) {
  const int digits = dtype == f16 ? 11 : dtype == bf16 ? 8 : dtype == f32 ? 24 : 53;
  return std::ldexp(1.0, -digits);
}

/// Greatest error of a sum of `count` terms, accumulated as wide as the dtype computes, of which
/// `magnitudes` records the sum of the absolute values in f64. Exact sums have none.
inline std::optional<HostValue> sum_bound(DType dtype, const Tensor& magnitudes,
                                          std::int64_t count) {
  if (!is_floating(dtype)) return std::nullopt;
  HostValue bound = interpret(magnitudes);
  const double each = unit_roundoff(dtype == f64 ? f64 : f32) * static_cast<double>(count);
  for (std::int64_t i = 0; i < bound.numel(); ++i)
    bound.set_real(i, bound.real(i) * (each + 2 * unit_roundoff(dtype)));
  return bound;
}

}  // namespace weft::testing
