// Elements of the interpreter's values: what their bits mean, and rounding to them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "support/interpreter.h"
#include "support/interpreter_ops.h"

namespace weft::testing {
namespace {

template <class T>
T load(const HostValue& value, std::int64_t i) {
  T element;
  std::memcpy(&element, &value.bytes.at(static_cast<std::size_t>(i) * sizeof(T)), sizeof(T));
  return element;
}

template <class T>
void store(HostValue& value, std::int64_t i, T element) {
  std::memcpy(&value.bytes.at(static_cast<std::size_t>(i) * sizeof(T)), &element, sizeof(T));
}

struct HalfFormat {
  int exponent_bits, mantissa_bits;
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  unsigned infinity() const { return ((1u << exponent_bits) - 1) << mantissa_bits; }
};

HalfFormat half_format(DType dtype) {
  return dtype == DType::f16 ? HalfFormat{5, 10} : HalfFormat{8, 7};
}

long double decode(HalfFormat format, unsigned bits) {
  const unsigned field = (bits & 0x7fffu) >> format.mantissa_bits;
  const unsigned fraction = bits & ((1u << format.mantissa_bits) - 1);
  const long double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if ((bits & 0x7fffu) > format.infinity()) return std::numeric_limits<long double>::quiet_NaN();
  if ((bits & 0x7fffu) == format.infinity())
    return sign * std::numeric_limits<long double>::infinity();
  const int exponent = std::max(static_cast<int>(field), 1) - format.bias();
  const unsigned leading = field == 0 ? 0 : 1u << format.mantissa_bits;
  return sign *
         std::ldexp(static_cast<long double>(leading + fraction), exponent - format.mantissa_bits);
}

/// Nearest of the format, halfway to even.
unsigned encode(HalfFormat format, long double value) {
  const unsigned sign = std::signbit(value) ? 0x8000u : 0;
  if (std::isnan(value)) return format.infinity() | 1u << (format.mantissa_bits - 1);
  const long double magnitude = std::fabs(value);
  if (std::isinf(value)) return sign | format.infinity();
  if (magnitude == 0) return sign;
  int exponent = std::max(std::ilogb(magnitude), 1 - format.bias());
  if (exponent > format.bias()) return sign | format.infinity();
  auto units =
      static_cast<unsigned>(std::rint(std::ldexp(magnitude, format.mantissa_bits - exponent)));
  const unsigned leading = 1u << format.mantissa_bits;
  if (units == 2 * leading) {
    units = leading;
    ++exponent;
  }
  if (exponent > format.bias()) return sign | format.infinity();
  if (units < leading) return sign | units;
  return sign | (static_cast<unsigned>(exponent + format.bias()) << format.mantissa_bits) |
         (units - leading);
}

template <class T>
T clipped(long double value) {
  if (std::isnan(value)) return 0;
  const long double whole = std::trunc(value);
  if (whole <= static_cast<long double>(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (whole >= static_cast<long double>(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return static_cast<T>(whole);
}

/// Rank of an element among all of its dtype, in order; -0 and 0 share one.
long double ordinal(const HostValue& value, std::int64_t i) {
  std::uint64_t bits = 0;
  switch (size_of(value.dtype)) {
    case 2: bits = load<std::uint16_t>(value, i); break;
    case 4: bits = load<std::uint32_t>(value, i); break;
    default: bits = load<std::uint64_t>(value, i); break;
  }
  const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(value.dtype) - 1);
  const auto magnitude = static_cast<long double>(bits & (sign - 1));
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

bool element_matches(const HostValue& got, const HostValue& want, std::int64_t i,
                     const Tolerance& tolerance) {
  if (!is_floating(want.dtype)) return got.integer(i) == want.integer(i);
  const long double a = got.real(i), b = want.real(i);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return !(tolerance.zero_sign && a == 0 && std::signbit(a) != std::signbit(b));
  if (ulp_distance(got, i, want, i) <= tolerance.ulp) return true;
  return std::isfinite(a) && std::isfinite(b) &&
         std::fabs(a - b) <= tolerance.absolute + tolerance.relative * std::fabs(b);
}

}  // namespace

HostValue::HostValue(DType element, const Shape& extents)
    : dtype(element), shape(extents),
      bytes(static_cast<std::size_t>(extents.numel()) * size_of(element)) {}

long double HostValue::real(std::int64_t i) const {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return decode(half_format(dtype), load<std::uint16_t>(*this, i));
    case DType::f32: return load<float>(*this, i);
    case DType::f64: return load<double>(*this, i);
    default: return static_cast<long double>(integer(i));
  }
}

std::int64_t HostValue::integer(std::int64_t i) const {
  switch (dtype) {
    case DType::i8: return load<std::int8_t>(*this, i);
    case DType::i32: return load<std::int32_t>(*this, i);
    case DType::i64: return load<std::int64_t>(*this, i);
    case DType::u8:
    case DType::bool_: return load<std::uint8_t>(*this, i);
    default: throw std::logic_error("HostValue::integer: the value is of floats");
  }
}

void HostValue::set_real(std::int64_t i, long double value) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
      return store(*this, i, static_cast<std::uint16_t>(encode(half_format(dtype), value)));
    case DType::f32: return store(*this, i, static_cast<float>(value));
    case DType::f64: return store(*this, i, static_cast<double>(value));
    case DType::i8: return store(*this, i, clipped<std::int8_t>(value));
    case DType::i32: return store(*this, i, clipped<std::int32_t>(value));
    case DType::i64: return store(*this, i, clipped<std::int64_t>(value));
    case DType::u8: return store(*this, i, clipped<std::uint8_t>(value));
    case DType::bool_: return store(*this, i, static_cast<std::uint8_t>(value != 0 ? 1 : 0));
  }
}

void HostValue::set_integer(std::int64_t i, std::int64_t value) {
  switch (dtype) {
    case DType::i8: return store(*this, i, static_cast<std::int8_t>(value));
    case DType::i32: return store(*this, i, static_cast<std::int32_t>(value));
    case DType::i64: return store(*this, i, value);
    case DType::u8: return store(*this, i, static_cast<std::uint8_t>(value));
    default: return set_real(i, static_cast<long double>(value));
  }
}

void HostValue::copy_element(std::int64_t i, const HostValue& from, std::int64_t j) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  if (from.dtype != dtype) throw std::logic_error("HostValue::copy_element: the dtypes differ");
  for (std::int64_t k = 0; k < size; ++k)
    bytes.at(static_cast<std::size_t>(i * size + k)) =
        from.bytes.at(static_cast<std::size_t>(j * size + k));
}

std::string HostValue::element_text(std::int64_t i) const {
  char text[64];
  if (is_floating(dtype))
    std::snprintf(text, sizeof text, "%.17Lg", real(i));
  else
    std::snprintf(text, sizeof text, "%lld", static_cast<long long>(integer(i)));
  return text;
}

HostValue convert(const HostValue& value, DType dtype) {
  if (value.dtype == dtype) return value;
  HostValue result(dtype, value.shape);
  for (std::int64_t i = 0; i < value.numel(); ++i) {
    if (is_floating(value.dtype))
      result.set_real(i, value.real(i));
    else
      result.set_integer(i, value.integer(i));
  }
  return result;
}

double ulp_distance(const HostValue& a, std::int64_t i, const HostValue& b, std::int64_t j) {
  return static_cast<double>(std::fabs(ordinal(a, i) - ordinal(b, j)));
}

bool matches(const HostValue& got, const HostValue& want, const Tolerance& tolerance,
             std::string* why) {
  const auto spec = [](const HostValue& v) {
    return std::string(name_of(v.dtype)) + v.shape.str();
  };
  if (got.dtype != want.dtype || !(got.shape == want.shape) ||
      got.bytes.size() != want.bytes.size()) {
    if (why) *why = "got " + spec(got) + ", want " + spec(want);
    return false;
  }
  for (std::int64_t i = 0; i < want.numel(); ++i) {
    if (element_matches(got, want, i, tolerance)) continue;
    if (why) {
      *why = spec(want) + " element " + std::to_string(i) + ": got " + got.element_text(i) +
             ", want " + want.element_text(i);
      if (is_floating(want.dtype) && !std::isnan(got.real(i)) && !std::isnan(want.real(i)))
        *why += " (" + std::to_string(ulp_distance(got, i, want, i)) + " ulp)";
    }
    return false;
  }
  return true;
}

Coordinates coordinates(const Shape& shape, std::int64_t i) {
  Coordinates at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = i % shape[d];
    i /= shape[d];
  }
  return at;
}

std::int64_t offset(const Shape& shape, const Coordinates& at) {
  std::int64_t i = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) i = i * shape[d] + at.at(d);
  return i;
}

std::int64_t broadcast_offset(const Shape& shape, const Coordinates& at) {
  const std::size_t extra = at.size() - shape.size();
  Coordinates own(shape.size());
  for (std::size_t d = 0; d < shape.size(); ++d) own[d] = shape[d] == 1 ? 0 : at.at(d + extra);
  return offset(shape, own);
}

}  // namespace weft::testing
