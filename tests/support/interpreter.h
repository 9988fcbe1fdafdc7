// The oracle: a reference interpreter of recorded programs, one op at a time in plain loops, with
// definitions of its own for every op; and the comparison of what the engine gave with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/graph/dtype.h>
#include <weft/graph/shape.h>
#include <weft/graph/tensor.h>

namespace weft::testing {

/// A dense row-major value on the host. Elements go in and out as numbers: a long double holds
/// every element of every dtype exactly.
struct HostValue {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<unsigned char> bytes;

  HostValue() = default;
  /// All zeros.
  HostValue(DType dtype, const Shape& shape);
  std::int64_t numel() const noexcept { return shape.numel(); }

  long double real(std::int64_t i) const;
  /// Of an integer or bool dtype.
  std::int64_t integer(std::int64_t i) const;
  double at(std::int64_t i) const { return static_cast<double>(real(i)); }

  /// Rounds once to a float dtype; to an integer it truncates and saturates, NaN giving 0; to bool
  /// it tells whether the number is not 0.
  void set_real(std::int64_t i, long double value);
  /// Wraps at the width of an integer dtype; rounds once to a float dtype; bool as set_real.
  void set_integer(std::int64_t i, std::int64_t value);
  /// Copies an element of a value of the same dtype.
  void copy_element(std::int64_t i, const HostValue& from, std::int64_t j);
  std::string element_text(std::int64_t i) const;
};

HostValue convert(const HostValue& value, DType dtype);

/// The values of these, worked out here from what was recorded. Nothing is evaluated by the engine,
/// but a value whose inputs it has already let go of is read from it. IndexError for an index out
/// of range.
std::vector<HostValue> interpret(const std::vector<Tensor>& roots);
HostValue interpret(const Tensor& root);

/// The value that the engine computes.
HostValue evaluated(const Tensor& tensor);

/// An element is right within any of these; integers and bools are compared exactly.
struct Tolerance {
  /// Representable numbers of the dtype between.
  double ulp = 0;
  double relative = 0;
  double absolute = 0;
  /// Whether -0 differs from 0.
  bool zero_sign = false;
};

/// Same dtype, shape and elements; NaN equals NaN. Else false, with the first difference in `why`.
bool matches(const HostValue& got, const HostValue& want, const Tolerance& tolerance = {},
             std::string* why = nullptr);

/// Representable numbers of the dtype between two elements that are not NaN.
double ulp_distance(const HostValue& a, std::int64_t i, const HostValue& b, std::int64_t j);

}  // namespace weft::testing
