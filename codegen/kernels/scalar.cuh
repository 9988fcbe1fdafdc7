// Total scalar arithmetic: integers that wrap and never trap, the division and
// remainder forms, casts that saturate or wrap, half-precision conversions.
// Same rules as math.cuh. The integer types are int and long long; i8, u8 and
// bool compute in int and wrap after each operation (wf_wrap_i8, wf_wrap_u8).
#ifndef WEFT_SCALAR_CUH
#define WEFT_SCALAR_CUH

#ifndef __CUDACC_RTC__
#include "math_base.cuh"
#endif

typedef unsigned short wf_u16;  // storage of f16 and bf16

// ---- integers: wrap ---------------------------------------------------------

WEFT_FN wf_i32 wf_wrap_i8(wf_i32 x) { return ((x & 255) ^ 128) - 128; }
WEFT_FN wf_i32 wf_wrap_u8(wf_i32 x) { return x & 255; }

WEFT_FN wf_i32 wf_add(wf_i32 a, wf_i32 b) { return wf_i32(wf_u32(a) + wf_u32(b)); }
WEFT_FN wf_i64 wf_add(wf_i64 a, wf_i64 b) { return wf_i64(wf_u64(a) + wf_u64(b)); }
WEFT_FN wf_i32 wf_sub(wf_i32 a, wf_i32 b) { return wf_i32(wf_u32(a) - wf_u32(b)); }
WEFT_FN wf_i64 wf_sub(wf_i64 a, wf_i64 b) { return wf_i64(wf_u64(a) - wf_u64(b)); }
WEFT_FN wf_i32 wf_mul(wf_i32 a, wf_i32 b) { return wf_i32(wf_u32(a) * wf_u32(b)); }
WEFT_FN wf_i64 wf_mul(wf_i64 a, wf_i64 b) { return wf_i64(wf_u64(a) * wf_u64(b)); }
WEFT_FN wf_i32 wf_neg(wf_i32 a) { return wf_i32(0u - wf_u32(a)); }
WEFT_FN wf_i64 wf_neg(wf_i64 a) { return wf_i64(0ull - wf_u64(a)); }
WEFT_FN wf_i32 wf_abs(wf_i32 a) { return a < 0 ? wf_neg(a) : a; }
WEFT_FN wf_i64 wf_abs(wf_i64 a) { return a < 0 ? wf_neg(a) : a; }
WEFT_FN wf_i32 wf_sign(wf_i32 a) { return wf_i32(a > 0) - wf_i32(a < 0); }
WEFT_FN wf_i64 wf_sign(wf_i64 a) { return wf_i64(a > 0) - wf_i64(a < 0); }

// The same names for floats, so that generated text need not know the class.
WEFT_FN float wf_add(float a, float b) { return a + b; }
WEFT_FN double wf_add(double a, double b) { return a + b; }
WEFT_FN float wf_sub(float a, float b) { return a - b; }
WEFT_FN double wf_sub(double a, double b) { return a - b; }
WEFT_FN float wf_mul(float a, float b) { return a * b; }
WEFT_FN double wf_mul(double a, double b) { return a * b; }
WEFT_FN float wf_neg(float a) { return wf_from_bits(wf_bits(a) ^ 0x80000000u); }
WEFT_FN double wf_neg(double a) { return wf_from_bits(wf_bits(a) ^ 0x8000000000000000ull); }
WEFT_FN float wf_abs(float a) { return wf_fabs(a); }
WEFT_FN double wf_abs(double a) { return wf_fabs(a); }
// sign of +-0 is +0, of NaN 0 (as PyTorch)
WEFT_FN float wf_sign(float a) { return a > 0.0f ? 1.0f : a < 0.0f ? -1.0f : 0.0f; }
WEFT_FN double wf_sign(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : 0.0; }

// Rounding and questions about floats, for integers.
#define WF_FOR_INT(T)                                                                              \
  WEFT_FN T wf_floor(T x) { return x; }                                                            \
  WEFT_FN T wf_ceil(T x) { return x; }                                                             \
  WEFT_FN T wf_trunc(T x) { return x; }                                                            \
  WEFT_FN T wf_round(T x) { return x; }                                                            \
  WEFT_FN bool wf_isnan(T) { return false; }                                                       \
  WEFT_FN bool wf_isinf(T) { return false; }                                                       \
  WEFT_FN bool wf_isfinite(T) { return true; }
WF_FOR_INT(wf_i32)
WF_FOR_INT(wf_i64)
#undef WF_FOR_INT

WEFT_FN wf_i32 wf_bitwise_not(wf_i32 x) { return ~x; }
WEFT_FN wf_i64 wf_bitwise_not(wf_i64 x) { return ~x; }

// max(x, 0); NaN stays.
WEFT_FN float wf_relu(float x) { return x < 0.0f ? 0.0f : x; }
WEFT_FN double wf_relu(double x) { return x < 0.0 ? 0.0 : x; }
WEFT_FN wf_i32 wf_relu(wf_i32 x) { return x < 0 ? 0 : x; }
WEFT_FN wf_i64 wf_relu(wf_i64 x) { return x < 0 ? 0 : x; }

// ---- integers: division -----------------------------------------------------
// x/0 = 0, x%0 = 0, MIN/-1 = MIN, MIN%-1 = 0.

// Truncating quotient.
WEFT_FN wf_i32 wf_div_trunc(wf_i32 a, wf_i32 b) {
#ifdef WEFT_DEVICE
  bool odd = (b == 0) | (b == -1);
  wf_i32 q = a / (odd ? 1 : b);
  return b == 0 ? 0 : b == -1 ? wf_neg(a) : q;
#else
  // A double holds both and their quotient closely enough; this vectorises.
  bool odd = (b == 0) | (b == -1);
  wf_i32 q = wf_i32(double(a) / double(odd ? 1 : b));
  return b == 0 ? 0 : b == -1 ? wf_neg(a) : q;
#endif
}
WEFT_FN wf_i64 wf_div_trunc(wf_i64 a, wf_i64 b) {
  bool odd = (b == 0) | (b == -1);
  wf_i64 q = a / (odd ? 1 : b);
  return b == 0 ? 0 : b == -1 ? wf_neg(a) : q;
}
// Remainder with the sign of the dividend.
WEFT_FN wf_i32 wf_fmod(wf_i32 a, wf_i32 b) {
  wf_i32 r = wf_sub(a, wf_mul(wf_div_trunc(a, b), b));
  return b == 0 ? 0 : r;
}
WEFT_FN wf_i64 wf_fmod(wf_i64 a, wf_i64 b) {
  wf_i64 r = wf_sub(a, wf_mul(wf_div_trunc(a, b), b));
  return b == 0 ? 0 : r;
}
// Floored quotient, and the remainder with the sign of the divisor.
WEFT_FN wf_i32 wf_floor_divide(wf_i32 a, wf_i32 b) {
  wf_i32 q = wf_div_trunc(a, b);
  wf_i32 r = wf_sub(a, wf_mul(q, b));
  q = ((r != 0) & ((r ^ b) < 0)) ? wf_sub(q, 1) : q;
  return b == 0 ? 0 : q;
}
WEFT_FN wf_i64 wf_floor_divide(wf_i64 a, wf_i64 b) {
  wf_i64 q = wf_div_trunc(a, b);
  wf_i64 r = wf_sub(a, wf_mul(q, b));
  q = ((r != 0) & ((r ^ b) < 0)) ? wf_sub(q, 1ll) : q;
  return b == 0 ? 0 : q;
}
WEFT_FN wf_i32 wf_remainder(wf_i32 a, wf_i32 b) {
  wf_i32 r = wf_sub(a, wf_mul(wf_div_trunc(a, b), b));
  r = ((r != 0) & ((r ^ b) < 0)) ? wf_add(r, b) : r;
  return b == 0 ? 0 : r;
}
WEFT_FN wf_i64 wf_remainder(wf_i64 a, wf_i64 b) {
  wf_i64 r = wf_sub(a, wf_mul(wf_div_trunc(a, b), b));
  r = ((r != 0) & ((r ^ b) < 0)) ? wf_add(r, b) : r;
  return b == 0 ? 0 : r;
}

// ---- floats: floored division and remainder (PyTorch's definitions) ---------

WEFT_FN double wf_remainder(double a, double b) {
  double m = wf_fmod(a, b);
  return ((m != 0.0) & ((b < 0.0) != (m < 0.0))) ? m + b : m;
}
WEFT_FN float wf_remainder(float a, float b) {
  float m = wf_fmod(a, b);
  return ((m != 0.0f) & ((b < 0.0f) != (m < 0.0f))) ? m + b : m;
}
WEFT_FN double wf_floor_divide(double a, double b) {
  double m = wf__fmod_exact(a, b);
  double d = wf_div(a - m, b);
  d = ((m != 0.0) & ((b < 0.0) != (m < 0.0))) ? d - 1.0 : d;
  double f = wf_floor(d);
  f = d - f > 0.5 ? f + 1.0 : f;
  double q = wf_div(a, b);
  f = d == 0.0 ? wf_copysign(0.0, q) : f;
  // A quotient past the range is infinite, as by 0; an infinite dividend leaves no remainder: NaN.
  return ((q - q != 0.0) & (a - a == 0.0)) | (b == 0.0) ? q : f;
}
WEFT_FN float wf_floor_divide(float a, float b) {
  float m = wf__fmod_exact(a, b);
  float d = wf_div(a - m, b);
  d = ((m != 0.0f) & ((b < 0.0f) != (m < 0.0f))) ? d - 1.0f : d;
  float f = wf_floor(d);
  f = d - f > 0.5f ? f + 1.0f : f;
  float q = wf_div(a, b);
  f = d == 0.0f ? wf_copysign(0.0f, q) : f;
  return ((q - q != 0.0f) & (a - a == 0.0f)) | (b == 0.0f) ? q : f;
}

// ---- integers: power, shifts ------------------------------------------------

// Wrapping power. Negative exponents give 0, except for the bases 1 and -1.
WEFT_FN wf_i64 wf_pow(wf_i64 a, wf_i64 b) {
  wf_u64 r = 1, s = wf_u64(a), e = b < 0 ? 0ull : wf_u64(b);
  while (e != 0) {
    r = (e & 1ull) != 0 ? r * s : r;
    s *= s;
    e >>= 1;
  }
  wf_i64 neg = a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
  return b < 0 ? neg : wf_i64(r);
}
WEFT_FN wf_i32 wf_pow(wf_i32 a, wf_i32 b) {
  wf_u32 r = 1, s = wf_u32(a), e = b < 0 ? 0u : wf_u32(b);
  while (e != 0) {
    r = (e & 1u) != 0 ? r * s : r;
    s *= s;
    e >>= 1;
  }
  wf_i32 neg = a == 1 ? 1 : a == -1 ? ((b & 1) != 0 ? -1 : 1) : 0;
  return b < 0 ? neg : wf_i32(r);
}
// A shift by the width or more, or by a negative count, shifts everything out:
// 0 to the left, the sign to the right.
WEFT_FN wf_i32 wf_shl(wf_i32 a, wf_i32 n) {
  wf_u32 r = wf_u32(a) << (wf_u32(n) & 31u);
  return wf_u32(n) < 32u ? wf_i32(r) : 0;
}
WEFT_FN wf_i64 wf_shl(wf_i64 a, wf_i64 n) {
  wf_u64 r = wf_u64(a) << (wf_u64(n) & 63ull);
  return wf_u64(n) < 64ull ? wf_i64(r) : 0;
}
WEFT_FN wf_i32 wf_shr(wf_i32 a, wf_i32 n) { return a >> (wf_u32(n) < 32u ? n : 31); }
WEFT_FN wf_i64 wf_shr(wf_i64 a, wf_i64 n) { return a >> (wf_u64(n) < 64ull ? n : 63); }

// ---- minimum, maximum -------------------------------------------------------
// maximum, minimum: a NaN operand gives NaN. fmax, fmin: a NaN operand loses.
// Of equal operands (+0 and -0) the first pair takes the second one and the
// second pair the first one, as PyTorch does on the CPU.

WEFT_FN float wf_maximum(float a, float b) {
  float m = a > b ? a : b;
  return a != a ? a : m;
}
WEFT_FN float wf_minimum(float a, float b) {
  float m = a < b ? a : b;
  return a != a ? a : m;
}
WEFT_FN float wf_fmax(float a, float b) { return ((b > a) | (a != a)) ? b : a; }
WEFT_FN float wf_fmin(float a, float b) { return ((b < a) | (a != a)) ? b : a; }
WEFT_FN double wf_maximum(double a, double b) {
  double m = a > b ? a : b;
  return a != a ? a : m;
}
WEFT_FN double wf_minimum(double a, double b) {
  double m = a < b ? a : b;
  return a != a ? a : m;
}
WEFT_FN double wf_fmax(double a, double b) { return ((b > a) | (a != a)) ? b : a; }
WEFT_FN double wf_fmin(double a, double b) { return ((b < a) | (a != a)) ? b : a; }
WEFT_FN wf_i32 wf_maximum(wf_i32 a, wf_i32 b) { return a > b ? a : b; }
WEFT_FN wf_i64 wf_maximum(wf_i64 a, wf_i64 b) { return a > b ? a : b; }
WEFT_FN wf_i32 wf_minimum(wf_i32 a, wf_i32 b) { return a < b ? a : b; }
WEFT_FN wf_i64 wf_minimum(wf_i64 a, wf_i64 b) { return a < b ? a : b; }
WEFT_FN wf_i32 wf_fmax(wf_i32 a, wf_i32 b) { return a > b ? a : b; }
WEFT_FN wf_i64 wf_fmax(wf_i64 a, wf_i64 b) { return a > b ? a : b; }
WEFT_FN wf_i32 wf_fmin(wf_i32 a, wf_i32 b) { return a < b ? a : b; }
WEFT_FN wf_i64 wf_fmin(wf_i64 a, wf_i64 b) { return a < b ? a : b; }

// ---- casts: float to integer (truncate, NaN to 0, saturate) -----------------

WEFT_FN wf_i32 wf_to_i32(float x) {
  float c = x < -0x1p31f ? -0x1p31f : x;
  c = c < 0x1p31f ? c : 0.0f;  // NaN too
  wf_i32 r = wf_i32(c);
  return x >= 0x1p31f ? 2147483647 : r;
}
WEFT_FN wf_i32 wf_to_i32(double x) {
  double c = x > -0x1p31 ? x : -0x1p31;
  c = x == x ? c : 0.0;
  c = c < 2147483647.0 ? c : 2147483647.0;
  return wf_i32(c);
}
// The 64-bit conversions of the host are put together from 32-bit ones, which
// AVX2 has; the values are those of a plain cast.
WEFT_FN wf_i64 wf__f64_to_i64(double t) {
#ifdef WEFT_DEVICE
  return wf_i64(t);
#else
  t = wf_trunc(t);
  double h = wf_floor(t * 0x1p-32);
  double l = wf_fma(h, -0x1p32, t);  // 0 .. 2^32-1
  wf_i64 hi = wf_i64(wf_i32(h));
  return wf_i64((wf_u64(hi) << 32) | (wf_bits(l + 0x1p52) & 0xffffffffull));
#endif
}
WEFT_FN double wf__i64_to_f64(wf_i64 x) {
#ifdef WEFT_DEVICE
  return double(x);
#else
  double h = double(wf_i32(wf_u32(wf_u64(x) >> 32)));
  double l = wf_from_bits((wf_u64(x) & 0xffffffffull) | 0x4330000000000000ull) - 0x1p52;
  return wf_fma(h, 0x1p32, l);
#endif
}
WEFT_FN wf_i64 wf_to_i64(double x) {
  double c = x < -0x1p63 ? -0x1p63 : x;
  c = c < 0x1p63 ? c : 0.0;  // NaN too
  wf_i64 r = wf__f64_to_i64(c);
  return x >= 0x1p63 ? 0x7fffffffffffffffll : r;
}
WEFT_FN wf_i64 wf_to_i64(float x) { return wf_to_i64(double(x)); }
WEFT_FN wf_i32 wf_to_i8(float x) {
  float c = x == x ? x : 0.0f;
  c = c > 127.0f ? 127.0f : c;
  c = c < -128.0f ? -128.0f : c;
  return wf_i32(c);
}
WEFT_FN wf_i32 wf_to_i8(double x) {
  double c = x == x ? x : 0.0;
  c = c > 127.0 ? 127.0 : c;
  c = c < -128.0 ? -128.0 : c;
  return wf_i32(c);
}
WEFT_FN wf_i32 wf_to_u8(float x) {
  float c = x > 0.0f ? x : 0.0f;
  c = c > 255.0f ? 255.0f : c;
  return wf_i32(c);
}
WEFT_FN wf_i32 wf_to_u8(double x) {
  double c = x > 0.0 ? x : 0.0;
  c = c > 255.0 ? 255.0 : c;
  return wf_i32(c);
}
WEFT_FN wf_i32 wf_to_bool(float x) { return x != 0.0f ? 1 : 0; }
WEFT_FN wf_i32 wf_to_bool(double x) { return x != 0.0 ? 1 : 0; }

// ---- casts: integer to integer (wrap), to float (nearest-even) --------------

WEFT_FN wf_i32 wf_to_i32(wf_i32 x) { return x; }
WEFT_FN wf_i32 wf_to_i32(wf_i64 x) { return wf_i32(wf_u32(wf_u64(x))); }
WEFT_FN wf_i64 wf_to_i64(wf_i32 x) { return wf_i64(x); }
WEFT_FN wf_i64 wf_to_i64(wf_i64 x) { return x; }
WEFT_FN wf_i32 wf_to_i8(wf_i32 x) { return wf_wrap_i8(x); }
WEFT_FN wf_i32 wf_to_i8(wf_i64 x) { return wf_wrap_i8(wf_to_i32(x)); }
WEFT_FN wf_i32 wf_to_u8(wf_i32 x) { return wf_wrap_u8(x); }
WEFT_FN wf_i32 wf_to_u8(wf_i64 x) { return wf_wrap_u8(wf_to_i32(x)); }
WEFT_FN wf_i32 wf_to_bool(wf_i32 x) { return x != 0 ? 1 : 0; }
WEFT_FN wf_i32 wf_to_bool(wf_i64 x) { return x != 0 ? 1 : 0; }
// A double that rounds to any narrower type as the integer itself does: exact
// below 2^53; above, the bits that would be rounded away become a sticky bit.
WEFT_FN double wf__sticky_f64(wf_i64 x) {
  wf_i64 t = (x & ~0xfffll) | ((x & 0xfffll) != 0 ? 0x800ll : 0ll);
  bool big = (x >= 0x20000000000000ll) | (x <= -0x20000000000000ll);
  return wf__i64_to_f64(big ? t : x);
}
WEFT_FN float wf_to_f32(wf_i32 x) { return float(x); }
#ifdef WEFT_DEVICE
WEFT_FN float wf_to_f32(wf_i64 x) { return float(x); }
#else
WEFT_FN float wf_to_f32(wf_i64 x) { return float(wf__sticky_f64(x)); }
#endif
WEFT_FN float wf_to_f32(float x) { return x; }
WEFT_FN float wf_to_f32(double x) { return float(x); }
WEFT_FN double wf_to_f64(wf_i32 x) { return double(x); }
WEFT_FN double wf_to_f64(wf_i64 x) { return wf__i64_to_f64(x); }
WEFT_FN double wf_to_f64(float x) { return double(x); }
WEFT_FN double wf_to_f64(double x) { return x; }

// ---- half precision ---------------------------------------------------------
// Round to nearest even, subnormals kept, overflow to infinity; NaN becomes one
// NaN (0x7e00, 0x7fc0; of the device's instructions 0x7fff).

WEFT_FN float wf_f16_to_f32(wf_u16 h) {
#ifdef WEFT_DEVICE
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(h));
  return x;
#else
  wf_u32 u = wf_u32(h);
  wf_u32 b = (u & 0x7fffu) << 13;
  wf_u32 f = wf_bits(wf_from_bits(b) * 0x1p112f);  // exact for normal and subnormal
  f = b >= 0x0f800000u ? b | 0x7f800000u : f;
  return wf_from_bits(f | ((u & 0x8000u) << 16));
#endif
}
WEFT_FN double wf_f16_to_f64(wf_u16 h) { return double(wf_f16_to_f32(h)); }
WEFT_FN wf_u16 wf_f32_to_f16(float x) {
#ifdef WEFT_DEVICE
  wf_u16 h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
#else
  wf_u32 b = wf_bits(x);
  wf_u32 a = b & 0x7fffffffu;
  wf_u32 n = ((a + 0xfffu + ((a >> 13) & 1u)) >> 13) - (112u << 10);
  n = n > 0x7c00u ? 0x7c00u : n;                             // a wrapped n is replaced below
  wf_u32 s = wf_bits(wf_from_bits(a) + 0.5f) - 0x3f000000u;  // unit 2^-24
  wf_u32 r = a < 0x38800000u ? s : n;
  r = a > 0x7f800000u ? 0x7e00u : r | ((b >> 16) & 0x8000u);
  return wf_u16(r);
#endif
}
WEFT_FN float wf_bf16_to_f32(wf_u16 h) { return wf_from_bits(wf_u32(h) << 16); }
WEFT_FN double wf_bf16_to_f64(wf_u16 h) { return double(wf_bf16_to_f32(h)); }
WEFT_FN wf_u16 wf_f32_to_bf16(float x) {
#ifdef WEFT_DEVICE
  wf_u16 h;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(x));
  return h;
#else
  wf_u32 b = wf_bits(x);
  wf_u32 r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
  return wf_u16(x != x ? 0x7fc0u : r);
#endif
}
// From double in one rounding: the double is first rounded to the target's
// precision (or, below its normal range, to its smallest unit), then narrowed
// exactly.
WEFT_FN wf_u16 wf_f64_to_f16(double x) {
#ifdef WEFT_DEVICE
  wf_u16 h;
  asm("cvt.rn.f16.f64 %0, %1;" : "=h"(h) : "d"(x));
  return h;
#else
  wf_u64 a = wf_bits(x) & 0x7fffffffffffffffull;
  wf_u64 n = (a + 0x1ffffffffffull + ((a >> 42) & 1ull)) & 0xfffffc0000000000ull;
  double s = (wf_from_bits(a) + 0x1p28) - 0x1p28;
  double r = wf_from_bits(a) < 0x1p-14 ? s : wf_from_bits(n);
  float f = float(r < 65536.0 ? r : 65536.0);
  wf_u32 h = wf_u32(wf_f32_to_f16(f)) | wf_u32((wf_bits(x) >> 48) & 0x8000ull);
  return wf_u16(x != x ? 0x7e00u : h);
#endif
}
WEFT_FN wf_u16 wf_f64_to_bf16(double x) {
  wf_u64 a = wf_bits(x) & 0x7fffffffffffffffull;
  wf_u64 n = (a + 0xfffffffffffull + ((a >> 45) & 1ull)) & 0xffffe00000000000ull;
  double s = (wf_from_bits(a) + 0x1p-81) - 0x1p-81;
  double r = wf_from_bits(a) < 0x1p-126 ? s : wf_from_bits(n);
  wf_u32 h = (wf_bits(float(r)) >> 16) | wf_u32((wf_bits(x) >> 48) & 0x8000ull);
  return wf_u16(x != x ? 0x7fc0u : h);
}
WEFT_FN wf_u16 wf_to_f16(float x) { return wf_f32_to_f16(x); }
WEFT_FN wf_u16 wf_to_f16(double x) { return wf_f64_to_f16(x); }
WEFT_FN wf_u16 wf_to_f16(wf_i32 x) { return wf_f64_to_f16(double(x)); }
WEFT_FN wf_u16 wf_to_f16(wf_i64 x) { return wf_f64_to_f16(wf__sticky_f64(x)); }
WEFT_FN wf_u16 wf_to_bf16(float x) { return wf_f32_to_bf16(x); }
WEFT_FN wf_u16 wf_to_bf16(double x) { return wf_f64_to_bf16(x); }
WEFT_FN wf_u16 wf_to_bf16(wf_i32 x) { return wf_f64_to_bf16(double(x)); }
WEFT_FN wf_u16 wf_to_bf16(wf_i64 x) { return wf_f64_to_bf16(wf__sticky_f64(x)); }

#endif
