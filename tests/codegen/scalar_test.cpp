// Integers, casts and halves of codegen/kernels.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "codegen/math_trials.h"
#include "support/catch.h"

#include "scalar.cuh"

namespace {

using namespace weft::testing::math;

TEST_CASE("integers wrap and never trap", "[scalar]") {
  constexpr wf_i32 min32 = std::numeric_limits<wf_i32>::min(),
                   max32 = std::numeric_limits<wf_i32>::max();
  constexpr wf_i64 min64 = std::numeric_limits<wf_i64>::min(),
                   max64 = std::numeric_limits<wf_i64>::max();
  CHECK(wf_add(max32, 1) == min32);
  CHECK(wf_sub(min64, 1ll) == max64);
  CHECK(wf_mul(max32, 2) == -2);
  CHECK(wf_neg(min32) == min32);
  CHECK(wf_abs(min64) == min64);
  CHECK(wf_wrap_i8(200) == -56);
  CHECK(wf_wrap_i8(-129) == 127);
  CHECK(wf_wrap_u8(-1) == 255);

  CHECK(wf_div_trunc(7, 0) == 0);
  CHECK(wf_div_trunc(min32, -1) == min32);
  CHECK(wf_div_trunc(-7, 2) == -3);
  CHECK(wf_floor_divide(-7, 2) == -4);
  CHECK(wf_floor_divide(7, -2) == -4);
  CHECK(wf_floor_divide(min32, -1) == min32);
  CHECK(wf_floor_divide(min64, -1ll) == min64);
  CHECK(wf_floor_divide(5ll, 0ll) == 0);
  CHECK(wf_remainder(-7, 2) == 1);
  CHECK(wf_remainder(7, -2) == -1);
  CHECK(wf_remainder(min32, -1) == 0);
  CHECK(wf_remainder(9ll, 0ll) == 0);
  CHECK(wf_fmod(-7, 2) == -1);
  CHECK(wf_fmod(-7ll, 0ll) == 0);
  Random random;
  bool same = true;
  for (int i = 0; i < 200000; ++i) {
    const auto a = static_cast<wf_i32>(random.next()),
               b = static_cast<wf_i32>(random.next() >> (random.next() % 32)) | 1;
    if (b == -1) continue;
    const wf_i32 q = a / b, r = a % b;
    const bool down = r != 0 && (r < 0) != (b < 0);
    same = same && wf_div_trunc(a, b) == q && wf_fmod(a, b) == r;
    same = same && wf_floor_divide(a, b) == q - down && wf_remainder(a, b) == r + (down ? b : 0);
    same = same && wf_floor_divide(wf_i64{a}, wf_i64{b}) == q - down &&
           wf_remainder(wf_i64{a}, wf_i64{b}) == r + (down ? b : 0);
  }
  CHECK(same);

  CHECK(wf_pow(3, 4) == 81);
  CHECK(wf_pow(2, 31) == min32);
  CHECK(wf_pow(2ll, 64ll) == 0);
  CHECK(wf_pow(-3ll, 3ll) == -27);
  CHECK(wf_pow(0, 0) == 1);
  CHECK(wf_pow(0, -1) == 0);
  CHECK(wf_pow(5, -2) == 0);
  CHECK(wf_pow(1, -7) == 1);
  CHECK(wf_pow(-1, -7) == -1);
  CHECK(wf_pow(-1ll, -8ll) == 1);

  CHECK(wf_shl(1, 31) == min32);
  CHECK(wf_shl(1, 32) == 0);
  CHECK(wf_shl(1, -1) == 0);
  CHECK(wf_shl(1ll, 63ll) == min64);
  CHECK(wf_shl(1ll, 64ll) == 0);
  CHECK(wf_shr(-8, 1) == -4);
  CHECK(wf_shr(-8, 40) == -1);
  CHECK(wf_shr(8, 32) == 0);
  CHECK(wf_shr(min64, 64ll) == -1);
}

TEST_CASE("casts truncate, saturate and send NaN to 0; narrowing integers wrap", "[scalar]") {
  constexpr wf_i32 min32 = std::numeric_limits<wf_i32>::min(),
                   max32 = std::numeric_limits<wf_i32>::max();
  constexpr wf_i64 min64 = std::numeric_limits<wf_i64>::min(),
                   max64 = std::numeric_limits<wf_i64>::max();
  CHECK(wf_to_i32(2.9f) == 2);
  CHECK(wf_to_i32(-2.9) == -2);
  CHECK(wf_to_i32(nan32) == 0);
  CHECK(wf_to_i32(nan64) == 0);
  CHECK(wf_to_i32(3e9f) == max32);
  CHECK(wf_to_i32(-inff) == min32);
  CHECK(wf_to_i32(2147483647.9) == max32);
  CHECK(wf_to_i32(-2147483649.0) == min32);
  CHECK(wf_to_i32(2147483520.0f) == 2147483520);
  CHECK(wf_to_i64(inf) == max64);
  CHECK(wf_to_i64(-1e300) == min64);
  CHECK(wf_to_i64(nan32) == 0);
  CHECK(wf_to_i64(-0x1p63) == min64);
  CHECK(wf_to_i64(0x1.fffffffffffffp62) == 0x7ffffffffffffc00ll);
  CHECK(wf_to_i64(-1.5) == -1);
  CHECK(wf_to_i8(300.0f) == 127);
  CHECK(wf_to_i8(-300.0) == -128);
  CHECK(wf_to_i8(nan32) == 0);
  CHECK(wf_to_u8(-5.0f) == 0);
  CHECK(wf_to_u8(1e9) == 255);
  CHECK(wf_to_u8(nan64) == 0);
  CHECK(wf_to_bool(nan32) == 1);
  CHECK(wf_to_bool(-0.0) == 0);
  CHECK(wf_to_i8(wf_i64{511}) == -1);
  CHECK(wf_to_i32(0x180000000ll) == min32);
  CHECK(wf_to_u8(-1) == 255);
  Random random;
  bool same = true;
  for (int i = 0; i < 200000; ++i) {
    const auto x = static_cast<wf_i64>(random.next()) >> (random.next() % 64);
    same = same && wf_to_f32(x) == static_cast<float>(x) && wf_to_f64(x) == static_cast<double>(x);
    const double y = static_cast<double>(x) * 0.371;
    same = same && wf_to_i64(y) == static_cast<wf_i64>(y);
  }
  CHECK(same);
}

/// What a 16-bit float with that many mantissa bits means.
double half_value(unsigned bits, int mantissa, int bias) {
  const int exponent = static_cast<int>((bits & 0x7fff) >> mantissa),
            top = (1 << (15 - mantissa)) - 1;
  const int fraction = static_cast<int>(bits & ((1u << mantissa) - 1));
  double x = exponent == 0     ? std::ldexp(fraction, 1 - bias - mantissa)
             : exponent == top ? (fraction != 0 ? nan64 : inf)
                               : std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
  return bits & 0x8000 ? -x : x;
}

template <class Widen, class From32, class From64>
void check_half(int mantissa, int bias, unsigned nan, Widen widen, From32 from32, From64 from64) {
  int wrong = 0;
  const auto expect = [&](double x, unsigned bits) {
    wrong += from64(x) != bits;
    if (static_cast<float>(x) == x) wrong += from32(static_cast<float>(x)) != bits;
  };
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const double x = half_value(bits, mantissa, bias);
    const float y = widen(static_cast<wf_u16>(bits));
    if (std::isnan(x)) {
      wrong += !std::isnan(y) + (from32(y) != nan) + (from64(double{y}) != nan);
      continue;
    }
    wrong += y != static_cast<float>(x) || std::signbit(y) != std::signbit(x);
    expect(x, bits);
    if ((bits & 0x7fff) >= (((1u << (15 - mantissa)) - 1) << mantissa)) continue;
    // Halfway to the next one goes to the even one, the rest to the nearer one. The step from the
    // greatest finite value to infinity is as long as the one before it.
    const double step = std::ldexp(1.0, std::max(static_cast<int>((bits & 0x7fff) >> mantissa), 1) -
                                            bias - mantissa);
    const double middle = x + std::copysign(step / 2, x);
    expect(middle, bits & 1 ? bits + 1 : bits);
    expect(std::nextafter(middle, 0.0), bits);
    expect(std::nextafter(middle, 2 * middle), bits + 1);
    const float middle32 = static_cast<float>(middle);
    if (middle32 == middle) {
      expect(std::nextafter(middle32, 0.0f), bits);
      expect(std::nextafter(middle32, 2 * middle32), bits + 1);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("half conversions, all of them", "[scalar]") {
  check_half(
      10, 15, 0x7e00, [](wf_u16 h) { return wf_f16_to_f32(h); },
      [](float x) { return wf_f32_to_f16(x); }, [](double x) { return wf_f64_to_f16(x); });
  check_half(
      7, 127, 0x7fc0, [](wf_u16 h) { return wf_bf16_to_f32(h); },
      [](float x) { return wf_f32_to_bf16(x); }, [](double x) { return wf_f64_to_bf16(x); });
  CHECK(wf_to_f16(65504) == 0x7bff);
  CHECK(wf_to_f16(65520) == 0x7c00);
  CHECK(wf_to_f16(1e300) == 0x7c00);
  CHECK(wf_to_f16(-wf_i64{1}) == 0xbc00);
  CHECK(wf_to_bf16(wf_i64{257}) == 0x4380);
  CHECK(wf_to_bf16((wf_i64{0x101} << 54) + 1) ==
        0x5e81);  // one more than halfway, which a double cannot hold
  CHECK(wf_to_bf16(-((wf_i64{0x101} << 54) + 1)) == 0xde81);
  CHECK(wf_to_bf16(wf_i64{0x101} << 54) == 0x5e80);
}

}  // namespace
