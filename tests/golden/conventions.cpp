// Where the reference and the project's conventions K1-K13, or IEEE 754, part: those win. The value
// is computed from the convention, not written down, so that other sets of cases are judged alike.
#include <cmath>
#include <limits>

#include "golden.h"
#include "tolerance.h"

namespace golden {
namespace {

using weft::DType;

struct Range {
  std::int64_t least, greatest;
};

Range range_of(DType dtype) {
  switch (dtype) {
    case DType::i8: return {-128, 127};
    case DType::u8: return {0, 255};
    case DType::i32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  }
}

// K5: floats to integers truncate; NaN gives 0, and what is out of range the nearest bound.
std::int64_t saturated(double value, DType dtype) {
  const Range range = range_of(dtype);
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(range.least)) return range.least;
  if (value >= static_cast<double>(range.greatest)) return range.greatest;
  return static_cast<std::int64_t>(value);
}

std::string saturating_cast(Case& given) {
  const auto* from = std::get_if<HostTensor>(&given.inputs.at(0));
  HostTensor& to = given.outputs.at(0);
  if (from == nullptr || !from->is_real() || !weft::is_integral(to.dtype)) return "";
  bool is_changed = false;
  for (std::size_t i = 0; i < to.size() && i < from->size(); ++i) {
    const std::int64_t value = saturated(from->reals[i], to.dtype);
    is_changed = is_changed || value != to.ints[i];
    to.ints[i] = value;
  }
  return is_changed ? "K5" : "";
}

// IEEE 754 has one right square root, and f32 and f64 are to be equal to the golden value; the
// reference is 1 ulp off in f64 at 0.5. A value further off is left, to fail.
std::string rounded_sqrt(Case& given) {
  const auto* from = std::get_if<HostTensor>(&given.inputs.at(0));
  HostTensor& to = given.outputs.at(0);
  if (from == nullptr || from->dtype != to.dtype || given.has_gradient) return "";
  if (to.dtype != DType::f32 && to.dtype != DType::f64) return "";
  bool is_changed = false;
  for (std::size_t i = 0; i < to.size() && i < from->size(); ++i) {
    const double x = from->reals[i];
    const double root = to.dtype == DType::f64 ? std::sqrt(x) : std::sqrt(static_cast<float>(x));
    if (!std::isfinite(root) || !std::isfinite(to.reals[i])) continue;
    if (ulp_distance(root, to.reals[i], to.dtype) != 1) continue;
    to.reals[i] = root;
    is_changed = true;
  }
  return is_changed ? "IEEE 754" : "";
}

// gelu is x P(X <= x). The reference computes x/2 (1 + erf) or x/2 (1 + tanh), which cancels below
// 0 and, of f32, overflows near the greatest numbers. A value further off than that is left, to
// fail.
std::string whole_gelu(Case& given) {
  const auto* from = std::get_if<HostTensor>(&given.inputs.at(0));
  HostTensor& to = given.outputs.at(0);
  if (from == nullptr || !from->is_real() || given.has_gradient || given.is_second_order())
    return "";
  const double share = to.dtype == DType::f64 ? 1e-12 : 1e-6;
  bool is_changed = false;
  for (std::size_t i = 0; i < to.size() && i < from->size(); ++i) {
    const double x = from->reals[i];
    const bool is_top = to.dtype == DType::f32 && x > 1e38;
    if (!is_top && !(std::isfinite(x) && std::isfinite(to.reals[i]))) continue;
    double value = x * std::erfc(-x / std::sqrt(2.0)) / 2;
    if (given.op == "gelu_tanh")
      value = x / (1 + std::exp(-std::sqrt(8 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    if (to.dtype == DType::f32) value = static_cast<float>(value);
    const double off = std::fabs(value - to.reals[i]);
    if (!is_top && (ulp_distance(value, to.reals[i], to.dtype) == 0 || off > share * std::fabs(x)))
      continue;
    to.reals[i] = value;
    is_changed = true;
  }
  return is_changed ? "x P(X <= x)" : "";
}

struct Convention {
  const char* op;
  std::string (*apply)(Case& given);
};

constexpr Convention conventions[] = {
    {"cast", saturating_cast},
    {"sqrt", rounded_sqrt},
    {"gelu", whole_gelu},
    {"gelu_tanh", whole_gelu},
};

}  // namespace

std::string apply_conventions(Case& given) {
  for (const Convention& convention : conventions)
    if (given.op == convention.op)
      if (std::string rule = convention.apply(given); !rule.empty()) return rule;
  return "";
}

}  // namespace golden
