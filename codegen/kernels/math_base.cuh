// The one math source: scalar functions for float and double in the common
// subset of C++ and CUDA. The host compiler vectorises them over a block, the
// device compiler inlines them into kernels, and both give the same bits,
// provided that contraction is off (-ffp-contract=off, -fmad=false): every
// fused multiply-add that is wanted is written out.
//
// Rules of these files: no includes for the device (the order to concatenate
// them in is README.md's), internal linkage only, selects instead of branches
// (README.md names the exceptions), no signed overflow, no conversion of an
// out-of-range float to an integer. A NaN result is a NaN of unspecified sign
// and payload (the hardware differs).
//
// This file: what differs between host and device, bits, signs, scaling.
#ifndef WEFT_MATH_BASE_CUH
#define WEFT_MATH_BASE_CUH

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#define WEFT_FN static __device__ __forceinline__
#define WEFT_SLOW_FN static __device__ __noinline__
#define WEFT_TABLE static __device__ const
#elif defined(__GNUC__)
#define WEFT_FN static inline __attribute__((always_inline, unused))
#define WEFT_SLOW_FN static __attribute__((noinline, unused))
#define WEFT_TABLE static const __attribute__((unused))
#else
#error "weft kernels need GCC, Clang, nvcc or NVRTC"
#endif

#if defined(__CUDACC_RTC__) || defined(__CUDACC__)
#pragma nv_diag_suppress 177 /* unused functions: a kernel calls a few of them */
#endif

typedef int wf_i32;
typedef unsigned int wf_u32;
typedef long long wf_i64;
typedef unsigned long long wf_u64;

// ---- primitives that differ between host and device -------------------------

#if defined(__CUDA_ARCH__)
#define WEFT_DEVICE 1
WEFT_FN wf_u32 wf_bits(float x) { return __float_as_uint(x); }
WEFT_FN wf_u64 wf_bits(double x) { return wf_u64(__double_as_longlong(x)); }
WEFT_FN float wf_from_bits(wf_u32 u) { return __uint_as_float(u); }
WEFT_FN double wf_from_bits(wf_u64 u) { return __longlong_as_double(wf_i64(u)); }
WEFT_FN float wf_fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
WEFT_FN double wf_fma(double a, double b, double c) { return __fma_rn(a, b, c); }
WEFT_FN float wf_sqrt(float x) { return __fsqrt_rn(x); }
WEFT_FN double wf_sqrt(double x) { return __dsqrt_rn(x); }
WEFT_FN float wf_div(float a, float b) { return __fdiv_rn(a, b); }
WEFT_FN double wf_div(double a, double b) { return __ddiv_rn(a, b); }
// 2 / b for 2 <= b < 2^100, without the way out that a division has for other numbers. The reciprocal
// is taken one bit too great: the last correction then falls the right way for every significand (all
// 2^23 were tried, with approximations off by up to 3 ulp; without it 0x1.fffffep0 is wrong).
WEFT_FN float wf__two_over(float b) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(b));
  y = __fmaf_rn(y, __fmaf_rn(-b, y, 1.0f), y);
  y = __uint_as_float(__float_as_uint(y) + 1u);
  float q = y + y;
  q = __fmaf_rn(__fmaf_rn(-b, q, 2.0f), y, q);
  return __fmaf_rn(__fmaf_rn(-b, q, 2.0f), y, q);
}
WEFT_FN float wf_floor(float x) { return floorf(x); }
WEFT_FN double wf_floor(double x) { return floor(x); }
WEFT_FN float wf_ceil(float x) { return ceilf(x); }
WEFT_FN double wf_ceil(double x) { return ceil(x); }
WEFT_FN float wf_trunc(float x) { return truncf(x); }
WEFT_FN double wf_trunc(double x) { return trunc(x); }
WEFT_FN float wf_round(float x) { return rintf(x); }
WEFT_FN double wf_round(double x) { return rint(x); }
WEFT_FN wf_u64 wf_mulhi_u64(wf_u64 a, wf_u64 b) { return __umul64hi(a, b); }
#else
WEFT_FN wf_u32 wf_bits(float x) { return __builtin_bit_cast(wf_u32, x); }
WEFT_FN wf_u64 wf_bits(double x) { return __builtin_bit_cast(wf_u64, x); }
WEFT_FN float wf_from_bits(wf_u32 u) { return __builtin_bit_cast(float, u); }
WEFT_FN double wf_from_bits(wf_u64 u) { return __builtin_bit_cast(double, u); }
WEFT_FN float wf_fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WEFT_FN double wf_fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
WEFT_FN float wf_sqrt(float x) { return __builtin_sqrtf(x); }
WEFT_FN double wf_sqrt(double x) { return __builtin_sqrt(x); }
WEFT_FN float wf_div(float a, float b) { return a / b; }
WEFT_FN double wf_div(double a, double b) { return a / b; }
WEFT_FN float wf__two_over(float b) { return 2.0f / b; }
WEFT_FN float wf_floor(float x) { return __builtin_floorf(x); }
WEFT_FN double wf_floor(double x) { return __builtin_floor(x); }
WEFT_FN float wf_ceil(float x) { return __builtin_ceilf(x); }
WEFT_FN double wf_ceil(double x) { return __builtin_ceil(x); }
WEFT_FN float wf_trunc(float x) { return __builtin_truncf(x); }
WEFT_FN double wf_trunc(double x) { return __builtin_trunc(x); }
// The rounding mode is nearest-even throughout, so rint is round-half-to-even.
WEFT_FN float wf_round(float x) { return __builtin_rintf(x); }
WEFT_FN double wf_round(double x) { return __builtin_rint(x); }
// High half of the 128-bit product from four 32-bit products.
WEFT_FN wf_u64 wf_mulhi_u64(wf_u64 a, wf_u64 b) {
  wf_u64 al = a & 0xffffffffull, ah = a >> 32, bl = b & 0xffffffffull, bh = b >> 32;
  wf_u64 ll = al * bl, lh = al * bh, hl = ah * bl, hh = ah * bh;
  wf_u64 mid = (ll >> 32) + (lh & 0xffffffffull) + (hl & 0xffffffffull);
  return hh + (lh >> 32) + (hl >> 32) + (mid >> 32);
}
#endif

// ---- classification, signs --------------------------------------------------

#define WF_INF_F wf_from_bits(0x7f800000u)
#define WF_INF_D wf_from_bits(0x7ff0000000000000ull)
#define WF_NAN_F wf_from_bits(0x7fc00000u)
#define WF_NAN_D wf_from_bits(0x7ff8000000000000ull)

WEFT_FN float wf_fabs(float x) { return wf_from_bits(wf_bits(x) & 0x7fffffffu); }
WEFT_FN double wf_fabs(double x) { return wf_from_bits(wf_bits(x) & 0x7fffffffffffffffull); }
WEFT_FN float wf_copysign(float x, float s) {
  return wf_from_bits((wf_bits(x) & 0x7fffffffu) | (wf_bits(s) & 0x80000000u));
}
WEFT_FN double wf_copysign(double x, double s) {
  return wf_from_bits((wf_bits(x) & 0x7fffffffffffffffull) | (wf_bits(s) & 0x8000000000000000ull));
}
// Multiplies by the sign of s (an exclusive or of sign bits).
WEFT_FN float wf_mulsign(float x, float s) {
  return wf_from_bits(wf_bits(x) ^ (wf_bits(s) & 0x80000000u));
}
WEFT_FN double wf_mulsign(double x, double s) {
  return wf_from_bits(wf_bits(x) ^ (wf_bits(s) & 0x8000000000000000ull));
}
WEFT_FN bool wf_isnan(float x) { return x != x; }
WEFT_FN bool wf_isnan(double x) { return x != x; }
WEFT_FN bool wf_isinf(float x) { return wf_fabs(x) == WF_INF_F; }
WEFT_FN bool wf_isinf(double x) { return wf_fabs(x) == WF_INF_D; }
WEFT_FN bool wf_isfinite(float x) { return wf_fabs(x) < WF_INF_F; }
WEFT_FN bool wf_isfinite(double x) { return wf_fabs(x) < WF_INF_D; }
WEFT_FN bool wf_signbit(float x) { return (wf_bits(x) >> 31) != 0; }
WEFT_FN bool wf_signbit(double x) { return (wf_bits(x) >> 63) != 0; }

// ---- rounding to an integer by a large constant -----------------------------
// x + 1.5*2^(p-1) leaves round-half-even(x) in the low bits of the sum. Good for
// |x| < 2^22 (float) and |x| < 2^51 (double); shifting the bits left by the
// exponent field's place gives a power of two without a conversion.

#define WF_MAGIC_F 12582912.0f
#define WF_MAGIC_D 6755399441055744.0

// 2^k from the sum WF_MAGIC + k, for normal results.
WEFT_FN float wf__pow2_magic(float t) { return wf_from_bits((wf_bits(t) + 127u) << 23); }
WEFT_FN double wf__pow2_magic(double t) { return wf_from_bits((wf_bits(t) + 1023ull) << 52); }
// y * 2^n with at most one rounding, n = t - WF_MAGIC, |n| <= 252 (float) or 2044.
WEFT_FN float wf__scale(float y, float n) {
  float th = wf_fma(n, 0.5f, WF_MAGIC_F);
  float h = th - WF_MAGIC_F;
  float tl = (n - h) + WF_MAGIC_F;
  return y * wf__pow2_magic(th) * wf__pow2_magic(tl);
}
WEFT_FN double wf__scale(double y, double n) {
  double th = wf_fma(n, 0.5, WF_MAGIC_D);
  double h = th - WF_MAGIC_D;
  double tl = (n - h) + WF_MAGIC_D;
  return y * wf__pow2_magic(th) * wf__pow2_magic(tl);
}

// ---- square roots, hypot ----------------------------------------------------

WEFT_FN float wf_rsqrt(float x) { return wf_div(1.0f, wf_sqrt(x)); }
WEFT_FN double wf_rsqrt(double x) { return wf_div(1.0, wf_sqrt(x)); }
WEFT_FN float wf_hypot(float x, float y) {
  double a = double(x), b = double(y);
  float r = float(wf_sqrt(a * a + b * b));
  r = wf_isinf(x) ? WF_INF_F : r;
  return wf_isinf(y) ? WF_INF_F : r;
}
WEFT_FN double wf_hypot(double x, double y) {
  double a = wf_fabs(x), b = wf_fabs(y);
  double mx = a < b ? b : a, mn = a < b ? a : b;
  bool hi = mx > 0x1p500, lo = mx < 0x1p-500;
  double sc = hi ? 0x1p-600 : lo ? 0x1p600 : 1.0;
  double us = hi ? 0x1p600 : lo ? 0x1p-600 : 1.0;
  mx *= sc;
  mn *= sc;
  double r = wf_sqrt(wf_fma(mx, mx, mn * mn)) * us;
  r = wf_isinf(x) ? WF_INF_D : r;
  return wf_isinf(y) ? WF_INF_D : r;
}

// ---- fmod -------------------------------------------------------------------
// Sign of x. A loop of exact partial remainders (51 quotient bits a
// step): one step for |x/y| < 2^51, at most six for float, 41 for double.

// exponent of a positive finite double, subnormals included
WEFT_FN wf_i32 wf__ilogb(double x) {
  bool sub = x < 0x1p-1022;
  wf_u64 b = wf_bits(sub ? x * 0x1p54 : x);
  return wf_i32(b >> 52) - (sub ? 1077 : 1023);
}
WEFT_FN double wf__pow2_i(wf_i32 k) { return wf_from_bits(wf_u64(wf_u32(k + 1023)) << 52); }
// a mod b for finite a >= 0, b > 0
WEFT_FN double wf__fmod_pos(double a, double b) {
  double r = a;
  while (r >= b) {
    wf_i32 k = wf__ilogb(r) - wf__ilogb(b) - 50;
    k = k > 0 ? k : 0;
    double bs = b * wf__pow2_i(k >> 1) * wf__pow2_i(k - (k >> 1));
    double t = wf_fma(-wf_trunc(wf_div(r, bs)), bs, r);  // exact
    r = t < 0.0 ? t + bs : t;                            // the quotient was rounded up
  }
  return r;
}
WEFT_FN double wf__fmod_exact(double x, double y) {
  double a = wf_fabs(x), b = wf_fabs(y);
  bool ok = (a < WF_INF_D) & (b > 0.0);
  double r = wf__fmod_pos(ok ? a : 0.0, ok ? b : 1.0);
  r = wf_from_bits(wf_bits(r) | (wf_bits(x) & 0x8000000000000000ull));
  return ok ? r : WF_NAN_D;
}
WEFT_FN float wf__fmod_exact(float x, float y) {
  return float(wf__fmod_exact(double(x), double(y)));
}
// As PyTorch's: NaN where the quotient overflows, exact elsewhere.
WEFT_FN double wf_fmod(double x, double y) {
  double r = wf__fmod_exact(x, y);
  return wf_isinf(wf_div(x, y)) ? WF_NAN_D : r;
}
WEFT_FN float wf_fmod(float x, float y) {
  float r = wf__fmod_exact(x, y);
  return wf_isinf(wf_div(x, y)) ? WF_NAN_F : r;
}

#endif
