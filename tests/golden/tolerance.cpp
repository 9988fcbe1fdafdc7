// Comparison of results with golden values.
#include "tolerance.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <utility>

namespace golden {
namespace {

using weft::DType;

struct Format {
  int precision;
  int least_exponent;
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return {11, -14};
    case DType::bf16: return {8, -126};
    case DType::f32: return {24, -126};
    default: return {53, -1022};
  }
}

// Place of |value| among the values of its type, 0 for zero.
std::uint64_t place_of(double value, Format format) {
  const double size = std::fabs(value);
  if (size == 0) return 0;
  const int exponent = std::max(std::ilogb(size), format.least_exponent);
  const auto digits =
      static_cast<std::uint64_t>(std::scalbn(size, format.precision - 1 - exponent));
  const auto octaves = static_cast<std::uint64_t>(exponent - format.least_exponent);
  return digits + (octaves << (format.precision - 1));
}

const std::set<std::string>& exact_ops() {
  static const std::set<std::string> ops = {
      "eq",        "ne",        "lt",           "le",           "gt",        "ge",
      "sign",      "floor",     "ceil",         "round",        "trunc",     "neg",
      "abs",       "copysign",  "maximum",      "minimum",      "fmax",      "fmin",
      "amax",      "amin",      "max",          "min",          "where",     "clamp",
      "relu",      "cast",      "reshape",      "flatten",      "transpose", "permute",
      "squeeze",   "unsqueeze", "expand",       "broadcast_to", "flip",      "roll",
      "repeat",    "cat",       "stack",        "split",        "chunk",     "slice",
      "select",    "pad",       "tril",         "triu",         "diagonal",  "gather",
      "scatter",   "one_hot",   "index_select", "sort",         "argsort",   "topk",
      "embedding", "max_pool2d"};
  return ops;
}

// Correctly rounded in f32 and f64; in the halves the files allow 1 ulp.
const std::set<std::string>& arithmetic_ops() {
  static const std::set<std::string> ops = {"add",  "sub",    "mul",       "div",
                                            "sqrt", "square", "reciprocal"};
  return ops;
}

const std::set<std::string>& optimisers() {
  static const std::set<std::string> ops = {"sgd", "adam", "adamw", "rmsprop", "adagrad"};
  return ops;
}

bool is_close(double expected, double actual, DType dtype, const Tolerance& tolerance,
              std::size_t i) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  const bool is_same_sign = std::signbit(expected) == std::signbit(actual);
  if (tolerance.is_exact) return expected == actual && is_same_sign;
  if (tolerance.keeps_zero_sign && expected == 0 && actual == 0) return is_same_sign;
  const double ulps = ulp_distance(expected, actual, dtype);
  if (dtype == DType::f16 || dtype == DType::bf16) return ulps <= 1;
  if (ulps <= 4) return true;
  const double term = tolerance.terms.empty() ? 0 : tolerance.terms[i];
  const double difference = std::fabs(expected - actual);
  if (dtype == DType::f32) return difference <= 1e-6 * term;
  return difference <= 1e-12 * std::max(std::fabs(expected), term);
}

template <class Range>
std::string list_text(const Range& values) {
  std::ostringstream out;
  out << '[';
  const char* comma = "";
  for (const auto value : values) out << std::exchange(comma, ",") << value;
  out << ']';
  return out.str();
}

std::string name_and_shape(const HostTensor& tensor) {
  return std::string(weft::name_of(tensor.dtype)) + list_text(tensor.shape);
}

}  // namespace

double ulp_distance(double a, double b, DType dtype) {
  const Format format = format_of(dtype);
  const std::uint64_t one = place_of(a, format), other = place_of(b, format);
  if (std::signbit(a) != std::signbit(b)) return static_cast<double>(one + other);
  return static_cast<double>(one > other ? one - other : other - one);
}

Tolerance exact_tolerance() { return {true, true, {}}; }

Tolerance tensor_tolerance(const HostTensor& expected) {
  double largest = 0;
  for (const double value : expected.reals)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  return {false, false, std::vector<double>(expected.reals.size(), largest)};
}

Tolerance tolerance_of(const Case& given, std::size_t index) {
  const HostTensor& expected = given.outputs[index];
  if (given.is_second_order() || optimisers().contains(given.op)) return tensor_tolerance(expected);
  const bool is_single = expected.dtype == DType::f32 || expected.dtype == DType::f64;
  if (!expected.is_real() || exact_ops().contains(given.op)) return exact_tolerance();
  if (is_single && arithmetic_ops().contains(given.op)) return exact_tolerance();
  if (given.has_gradient) return tensor_tolerance(expected);
  Tolerance tolerance;
  if (index == 0) tolerance.terms = largest_terms(given);
  tolerance.keeps_zero_sign = tolerance.terms.empty();
  return tolerance;
}

std::string mismatch(const HostTensor& expected, const HostTensor& actual,
                     const Tolerance& tolerance) {
  if (expected.dtype != actual.dtype || expected.shape != actual.shape)
    return "is " + name_and_shape(actual) + ", not " + name_and_shape(expected);
  if (expected.size() != actual.size())
    return "holds " + std::to_string(actual.size()) + " elements";
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool agrees = expected.is_real() ? is_close(expected.reals[i], actual.reals[i],
                                                      expected.dtype, tolerance, i)
                                           : expected.ints[i] == actual.ints[i];
    if (agrees) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return "";
  std::string text = name_and_shape(expected) + ": " + std::to_string(wrong) + " of " +
                     std::to_string(expected.size()) + " differ, first at " +
                     std::to_string(first) + ": " + actual.text(first) + ", not " +
                     expected.text(first);
  if (expected.is_real() && std::isfinite(expected.reals[first]) &&
      std::isfinite(actual.reals[first])) {
    std::ostringstream ulps;
    ulps << ulp_distance(expected.reals[first], actual.reals[first], expected.dtype);
    text += " (" + ulps.str() + " ulp)";
  }
  return text;
}

}  // namespace golden
