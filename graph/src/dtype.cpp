// Element types: promotion, the half-precision formats, conversion of host data.
#include <weft/graph/dtype.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include <weft/graph/error.h>
#include <weft/graph/tensor.h>

namespace weft {

bool promote(DType a, DType b, DType& result) noexcept {
  // bool < integers < floats; within floats and within integers the wider one, and two different
  // half types give f32.
  const auto category = [](DType t) { return is_floating(t) ? 2 : is_integral(t) ? 1 : 0; };
  if (category(a) != category(b)) {
    result = category(a) > category(b) ? a : b;
    return true;
  }
  if (size_of(a) != size_of(b)) {
    result = size_of(a) > size_of(b) ? a : b;
    return true;
  }
  if (a != b && !is_floating(a)) return false;  // u8 with i8
  result = a == b ? a : DType::f32;
  return true;
}

namespace {

std::atomic<DType> default_float{DType::f32};

}  // namespace

DType default_dtype() noexcept { return default_float.load(std::memory_order_relaxed); }

void set_default_dtype(DType dtype, Where at) {
  if (!is_floating(dtype))
    detail::fail<DTypeError>(at, "set_default_dtype: " + std::string(name_of(dtype)) +
                                     " is no float dtype; use f16, bf16, f32 or f64");
  default_float.store(dtype, std::memory_order_relaxed);
}

namespace detail {
namespace {

/// IEEE 754 interchange format of 16 bits with this many exponent and mantissa bits; every NaN
/// becomes the positive quiet one.
template <int exponent_bits, int mantissa_bits>
std::uint16_t narrow(double value) noexcept {
  constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  constexpr unsigned infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  constexpr std::uint64_t fraction_mask = (std::uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<unsigned>(bits >> 48) & 0x8000u;
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
  if (value != value) return static_cast<std::uint16_t>(infinity | 1u << (mantissa_bits - 1));
  if (exponent > bias) return static_cast<std::uint16_t>(sign | infinity);
  const int least_normal = 1 - bias;
  const int dropped = 52 - mantissa_bits + std::max(0, least_normal - exponent);
  if (dropped > 53) return static_cast<std::uint16_t>(sign);  // less than half the least subnormal
  const std::uint64_t significand = (bits & fraction_mask) | (fraction_mask + 1);
  const std::uint64_t kept = significand >> dropped;
  const std::uint64_t rest = significand & ((std::uint64_t{1} << dropped) - 1);
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const bool up = rest > half || (rest == half && (kept & 1) != 0);
  // A normal number's leading bit adds the one that is missing from the exponent field here, and a
  // carry out of the mantissa moves on to the next binade, or to infinity.
  const int field = std::max(exponent, least_normal) - least_normal;
  return static_cast<std::uint16_t>(
      sign | ((static_cast<unsigned>(field) << mantissa_bits) + static_cast<unsigned>(kept) + up));
}

}  // namespace

std::uint16_t f16_from_f64(double value) noexcept { return narrow<5, 10>(value); }
std::uint16_t bf16_from_f64(double value) noexcept { return narrow<8, 7>(value); }
std::uint16_t f16_from_f32(float value) noexcept { return narrow<5, 10>(double{value}); }

std::uint16_t bf16_from_f32(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

float f32_from_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

float f32_from_f16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fu;
  const std::uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  if (mantissa == 0) return std::bit_cast<float>(sign);
  const int shift = std::countl_zero(mantissa) - 21;  // brings the leading bit to bit 10
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(113 - shift) << 23 |
                              (mantissa << shift & 0x3ffu) << 13);
}

namespace {

/// What a dtype's elements are in memory.
using StoredTypes = std::tuple<Half, BFloat16, float, double, std::int8_t, std::int32_t,
                               std::int64_t, std::uint8_t, std::uint8_t>;
template <DType dtype>
using Stored = std::tuple_element_t<static_cast<std::size_t>(dtype), StoredTypes>;

/// Towards zero; NaN gives 0; out of range gives the nearest.
template <class To, class From>
To saturated(From value) noexcept {
  // 2^digits is a float of either width, which the greatest integer need not be.
  constexpr From end =
      static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  constexpr From low = std::numeric_limits<To>::is_signed ? -end : From(0);
  if (value != value) return 0;
  if (value >= end) return std::numeric_limits<To>::max();
  return value <= low ? std::numeric_limits<To>::min() : static_cast<To>(value);
}

/// For a target of far less precision than a double: what a double cannot hold is kept as one
/// sticky bit, so that the target is rounded to once.
double sticky_double(std::int64_t value) noexcept {
  constexpr std::int64_t low_bits = 0xfff, exact = std::int64_t{1} << 52;
  if (value > -exact && value < exact) return static_cast<double>(value);
  const std::int64_t sticky = (value & low_bits) != 0 ? 0x800 : 0;
  return static_cast<double>((value & ~low_bits) | sticky);
}

template <DType from, DType to>
Stored<to> convert(Stored<from> value) noexcept {
  using To = Stored<to>;
  if constexpr (from == to && to != DType::bool_) {
    return value;
  } else if constexpr (from == DType::f16 || from == DType::bf16) {
    return convert<DType::f32, to>(static_cast<float>(value));
  } else if constexpr (to == DType::bool_) {
    return value != 0;
  } else if constexpr (to == DType::f16 || to == DType::bf16) {
    if constexpr (is_floating(from))
      return To(value);
    else
      return To(sticky_double(static_cast<std::int64_t>(value)));
  } else if constexpr (is_floating(from) && !is_floating(to)) {
    return saturated<To>(value);
  } else {
    return static_cast<To>(value);  // integers wrap
  }
}

template <DType from, DType to>
void convert_array(const void* source, void* destination, std::int64_t count) noexcept {
  const auto* in = static_cast<const unsigned char*>(source);
  auto* out = static_cast<unsigned char*>(destination);
  for (std::int64_t i = 0; i < count; ++i) {
    Stored<from> value;
    std::memcpy(&value, in + i * static_cast<std::int64_t>(sizeof value), sizeof value);
    const auto result = convert<from, to>(value);
    std::memcpy(out + i * static_cast<std::int64_t>(sizeof result), &result, sizeof result);
  }
}

using Converter = void (*)(const void*, void*, std::int64_t) noexcept;

template <std::size_t... pair>
constexpr std::array<Converter, sizeof...(pair)> converters(std::index_sequence<pair...>) noexcept {
  return {convert_array<static_cast<DType>(pair / dtype_count),
                        static_cast<DType>(pair % dtype_count)>...};
}

}  // namespace

void convert_elements(DType from, const void* source, DType to, void* destination,
                      std::int64_t count) noexcept {
  constexpr auto table = converters(std::make_index_sequence<dtype_count * dtype_count>());
  table[static_cast<std::size_t>(from) * dtype_count + static_cast<std::size_t>(to)](
      source, destination, count);
}

}  // namespace detail
}  // namespace weft
