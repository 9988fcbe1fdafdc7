// Element types of tensors, and C++ types for the two half-precision formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <string_view>
#include <type_traits>

#include <weft/graph/error.h>

namespace weft {

/// Element type of a tensor. `bool_` is one byte holding 0 or 1.
enum class DType : std::uint8_t { f16, bf16, f32, f64, i8, i32, i64, u8, bool_ };

using enum DType;

inline constexpr int dtype_count = 9;

namespace detail {

/// IEEE 754 binary32 to binary16 and bfloat16, round to nearest even; NaN stays NaN.
std::uint16_t f16_from_f32(float value) noexcept;
float f32_from_f16(std::uint16_t bits) noexcept;
std::uint16_t bf16_from_f32(float value) noexcept;
float f32_from_bf16(std::uint16_t bits) noexcept;
std::uint16_t f16_from_f64(double value) noexcept;
std::uint16_t bf16_from_f64(double value) noexcept;

}  // namespace detail

/// IEEE 754 binary16. A storage type: arithmetic goes through float.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) noexcept : bits(detail::f16_from_f32(value)) {}
  explicit Half(double value) noexcept : bits(detail::f16_from_f64(value)) {}
  static Half from_bits(std::uint16_t b) noexcept {
    Half h;
    h.bits = b;
    return h;
  }
  explicit operator float() const noexcept { return detail::f32_from_f16(bits); }
  explicit operator double() const noexcept { return double{detail::f32_from_f16(bits)}; }
  friend bool operator==(Half a, Half b) noexcept { return float(a) == float(b); }
};

/// bfloat16: the upper half of an IEEE 754 binary32. A storage type, as Half.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) noexcept : bits(detail::bf16_from_f32(value)) {}
  explicit BFloat16(double value) noexcept : bits(detail::bf16_from_f64(value)) {}
  static BFloat16 from_bits(std::uint16_t b) noexcept {
    BFloat16 h;
    h.bits = b;
    return h;
  }
  explicit operator float() const noexcept { return detail::f32_from_bf16(bits); }
  explicit operator double() const noexcept { return double{detail::f32_from_bf16(bits)}; }
  friend bool operator==(BFloat16 a, BFloat16 b) noexcept { return float(a) == float(b); }
};

/// Bytes of one element.
constexpr std::size_t size_of(DType dtype) noexcept {
  constexpr std::size_t sizes[dtype_count] = {2, 2, 4, 8, 1, 4, 8, 1, 1};
  return sizes[static_cast<int>(dtype)];
}

constexpr bool is_floating(DType dtype) noexcept { return dtype <= DType::f64; }
constexpr bool is_integral(DType dtype) noexcept {
  return dtype > DType::f64 && dtype != DType::bool_;
}

/// "f32", "bool", ... : the names of the golden files and of messages.
constexpr std::string_view name_of(DType dtype) noexcept {
  constexpr std::string_view names[dtype_count] = {"f16", "bf16", "f32", "f64", "i8",
                                                   "i32", "i64",  "u8",  "bool"};
  return names[static_cast<int>(dtype)];
}

std::ostream& operator<<(std::ostream& out, DType dtype);

/// Result type of an operation on tensors of these two types, as PyTorch's promotion table; u8
/// with i8 has none and gives false.
bool promote(DType a, DType b, DType& result) noexcept;

/// The float dtype of `tensor({1.0})`, `zeros`, `rand`, ... (f32 unless set). Per program.
DType default_dtype() noexcept;
/// Sets it; f16, bf16, f32 or f64, else DTypeError.
void set_default_dtype(DType dtype, Where at = {});

namespace detail {

template <class T>
struct DTypeOf {
  static constexpr bool known = false;
};
template <>
struct DTypeOf<Half> {
  static constexpr bool known = true;
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr bool known = true;
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<float> {
  static constexpr bool known = true;
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr bool known = true;
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<bool> {
  static constexpr bool known = true;
  static constexpr DType value = DType::bool_;
};
// Other integers map by size and sign, so that long and long long both give i64; unsigned ones
// wider than a byte and 16-bit ones have no dtype of their own.
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
struct DTypeOf<T> {
  static constexpr bool known =
      (sizeof(T) == 1) || (std::is_signed_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));
  static constexpr DType value = sizeof(T) == 1 ? (std::is_signed_v<T> ? DType::i8 : DType::u8)
                                 : sizeof(T) == 4 ? DType::i32
                                                  : DType::i64;
};

template <class T>
concept Element = DTypeOf<std::remove_cv_t<T>>::known;

}  // namespace detail
}  // namespace weft
