// sin, cos, tan.
#ifndef WEFT_MATH_TRIG_CUH
#define WEFT_MATH_TRIG_CUH

#ifndef __CUDACC_RTC__
#include "math_base.cuh"
#endif

// x = n pi/2 + r. Below a bound (2^47 for float, 2^30 for double), n = round(x 2/pi) and
// x - n P1 is exact in one fma (P1: pi/2 to 53 bits). Above, the product of x with 2/pi is
// needed modulo 4 only (Payne, Hanek 1983): bits of 2/pi that contribute multiples of 4 are left
// out.

#define WF_TRIG_SMALL_F 0x1p47f
#define WF_TRIG_SMALL_D 0x1p30

// float argument, in double; *q: n modulo 4 in the low bits (and noise above)
WEFT_FN double wf__rem_pio2_small(double x, wf_u64* q) {
  double t = wf_fma(x, 0x1.45f306dc9c883p-1, WF_MAGIC_D);
  double n = t - WF_MAGIC_D;
  *q = wf_bits(t);
  double r = wf_fma(n, -0x1.921fb54442d18p+0, x);
  return wf_fma(n, -0x1.1a62633145c07p-54, r);
}
// |x| >= 2^47. Three exponent classes of width 27: with xs = x 2^-s an integer in
// [2^23, 2^50) and p1 + p2 + p3 = (2^s 2/pi mod 4) cut at 2^-28 and 2^-57, xs p1
// and xs p2 are exact products (24 + 29 bits).
WEFT_FN double wf__rem_pio2_big(double x, wf_u64* q) {
  double a = wf_fabs(x);
  bool c1 = a >= 0x1p74, c2 = a >= 0x1p101;
  double sc = c2 ? 0x1p-78 : c1 ? 0x1p-51 : 0x1p-24;
  double p1 = c2 ? 0x1.d5f47d4000000p+0 : c1 ? 0x1.529fc26000000p-1 : -0x1.236377e000000p-1;
  double p2 = c2 ? 0x1.a6ee06d000000p-29 : c1 ? 0x1.57d1f53000000p-29 : 0x1.4a7f09c000000p-30;
  double p3 = c2 ? 0x1.6295993c43904p-58 : c1 ? 0x1.377036d8a5665p-59 : 0x1.5f47d4d377037p-58;
  double xs = x * sc;
  double t1 = xs * p1, t2 = xs * p2, t3 = xs * p3;
  double m1 = t1 + WF_MAGIC_D, m2 = t2 + WF_MAGIC_D;
  double f1 = t1 - (m1 - WF_MAGIC_D), f2 = t2 - (m2 - WF_MAGIC_D);
  double s = f1 + f2;  // exact sum s + e (Knuth)
  double v = s - f1;
  double e = (f1 - (s - v)) + (f2 - v);
  double m3 = s + WF_MAGIC_D;
  s = s - (m3 - WF_MAGIC_D);
  *q = wf_bits(m1) + wf_bits(m2) + wf_bits(m3);
  return (s + (e + t3)) * 0x1.921fb54442d18p+0;
}
WEFT_FN double wf__rem_pio2(float xf, wf_u64* q) {
  double x = double(xf);
  bool big = wf_fabs(x) >= 0x1p47;
#ifdef WEFT_DEVICE
  double r;
  if (big)
    r = wf__rem_pio2_big(x, q);
  else
    r = wf__rem_pio2_small(x, q);
  return r;
#else
  wf_u64 qs, qb;
  double rs = wf__rem_pio2_small(x, &qs);
  double rb = wf__rem_pio2_big(x, &qb);
  *q = big ? qb : qs;
  return big ? rb : rs;
#endif
}
// sin and cos of |r| <= pi/4 to float accuracy, in double
WEFT_FN double wf__sin_core(double r) {
  double t = r * r;
  double p = 2.717677622263964e-06;
  p = wf_fma(p, t, -0.00019839268583740039);
  p = wf_fma(p, t, 0.008333329181225136);
  p = wf_fma(p, t, -0.16666666639879948);
  return wf_fma(r * t, p, r);
}
WEFT_FN double wf__cos_core(double r) {
  double t = r * r;
  double p = 2.4383492948810067e-05;
  p = wf_fma(p, t, -0.0013886691073553305);
  p = wf_fma(p, t, 0.041666621077947462);
  p = wf_fma(p, t, -0.49999999705938603);
  return wf_fma(t, p, 1.0);
}
WEFT_FN double wf__sincos_pick(double r, wf_u64 q) {
  double y = (q & 1ull) != 0 ? wf__cos_core(r) : wf__sin_core(r);
  return wf_from_bits(wf_bits(y) ^ ((q & 2ull) << 62));
}
// The _small forms hold for |x| < WF_TRIG_SMALL only and give the same bits there.
WEFT_FN float wf_sin_small(float x) {
  wf_u64 q;
  double r = wf__rem_pio2_small(double(x), &q);
  float y = float(wf__sincos_pick(r, q));
  return x == 0.0f ? x : y;
}
WEFT_FN float wf_cos_small(float x) {
  wf_u64 q;
  double r = wf__rem_pio2_small(double(x), &q);
  return float(wf__sincos_pick(r, q + 1));
}
WEFT_FN float wf_sin(float x) {
  wf_u64 q;
  double r = wf__rem_pio2(x, &q);
  float y = float(wf__sincos_pick(r, q));
  return x == 0.0f ? x : y;
}
WEFT_FN float wf_cos(float x) {
  wf_u64 q;
  double r = wf__rem_pio2(x, &q);
  return float(wf__sincos_pick(r, q + 1));
}
WEFT_FN float wf_tan(float x) {
  wf_u64 q;
  double r = wf__rem_pio2(x, &q);
  double s = wf__sin_core(r), c = wf__cos_core(r);
  bool odd = (q & 1ull) != 0;
  double y = wf_div(odd ? -c : s, odd ? s : c);
  return x == 0.0f ? x : float(y);
}
// double: the reduced argument is r + rl
WEFT_FN double wf__rem_pio2_small2(double x, double* rl, wf_u64* q) {
  double t = wf_fma(x, 0x1.45f306dc9c883p-1, WF_MAGIC_D);
  double n = t - WF_MAGIC_D;
  *q = wf_bits(t);
  double r0 = wf_fma(n, -0x1.921fb54442d18p+0, x);  // exact
  double p = n * -0x1.1a62633145c07p-54;
  double pe = wf_fma(n, -0x1.1a62633145c07p-54, -p);
  double r = r0 + p;
  double v = r - r0;
  double e = (r0 - (r - v)) + (p - v);
  e += wf_fma(n, 0x1.f1976b7ed8fbcp-110, pe);
  double h = r + e;
  *rl = e - (h - r);
  return h;
}
// 2/pi in 64-bit words
WEFT_TABLE wf_u64 wf__two_over_pi[20] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull,
    0xb7246e3a424dd2e0ull, 0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull,
    0xe99c7026b45f7e41ull, 0x3991d639835339f4ull, 0x9c845f8bbdf9283bull, 0x1ff897ffde05980full,
    0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull, 0x7527bac7ebe5f17bull,
    0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull, 0xf0cfbc209af4361dull};
// |x| >= 2^30, finite: the integer mantissa times 192 bits of 2/pi, modulo 4
WEFT_SLOW_FN double wf__rem_pio2_big2(double x, double* rl, wf_u64* q) {
  wf_u64 b = wf_bits(x);
  wf_u64 m = (b & 0x000fffffffffffffull) | 0x0010000000000000ull;
  // x = m 2^k; the window starts at the bit of weight 2^(1-k), bit number k-1 of the fraction
  wf_u32 k = wf_u32((b >> 52) & 0x7ffull) - 1075u;  // -22 .. 971, modulo 2^32
  wf_u32 pos = k + 62u;  // start bit in the table with 64 zero bits in front
  wf_u32 w = pos >> 6, sh = pos & 63u;
  wf_u64 t0 = w == 0 ? 0ull : wf__two_over_pi[w - 1], t1 = wf__two_over_pi[w],
         t2 = wf__two_over_pi[w + 1], t3 = wf__two_over_pi[w + 2];
  wf_u64 w0 = sh == 0 ? t0 : (t0 << sh) | (t1 >> (64u - sh));
  wf_u64 w1 = sh == 0 ? t1 : (t1 << sh) | (t2 >> (64u - sh));
  wf_u64 w2 = sh == 0 ? t2 : (t2 << sh) | (t3 >> (64u - sh));
  // p = m (w0 w1 w2) modulo 2^192; the unit of the top word's bit 62 is one quarter turn
  wf_u64 lo = m * w2;
  wf_u64 a = wf_mulhi_u64(m, w2), c = m * w1;
  wf_u64 mid = a + c;
  wf_u64 hi = m * w0 + wf_mulhi_u64(m, w1) + (mid < a ? 1ull : 0ull);
  wf_u64 n = (hi >> 62) + ((hi >> 61) & 1ull);
  hi -= n << 62;
  // signed fraction hi.mid.lo * 2^-62; take its magnitude
  bool neg = (hi >> 63) != 0;
  wf_u64 nl = lo, nm = mid, nh = hi;
  if (neg) {
    nl = 0ull - lo;
    nm = ~mid + (lo == 0 ? 1ull : 0ull);
    nh = ~hi + (nm == 0 && lo == 0 ? 1ull : 0ull);
  }
  // 32-bit pieces convert exactly
  double d0 = double(wf_u32(nh >> 32)) * 0x1p-30, d1 = double(wf_u32(nh)) * 0x1p-62;
  double d2 = double(wf_u32(nm >> 32)) * 0x1p-94, d3 = double(wf_u32(nm)) * 0x1p-126;
  double d4 = double(wf_u32(nl >> 32)) * 0x1p-158;
  double s = d0 + d1, e = d1 - (s - d0);
  double g = d2 + d3, h = (d3 - (g - d2)) + d4;
  double u = e + g, ue = g - (u - e);
  double s2 = s + u, s2e = (u - (s2 - s)) + (ue + h);
  // times pi/2
  double rh = s2 * 0x1.921fb54442d18p+0;
  double re = wf_fma(s2, 0x1.921fb54442d18p+0, -rh) +
              wf_fma(s2, 0x1.1a62633145c07p-54, s2e * 0x1.921fb54442d18p+0);
  double r = rh + re;
  re = re - (r - rh);
  bool flip = neg != ((b >> 63) != 0);
  *q = (b >> 63) != 0 ? 0ull - n : n;
  *rl = flip ? -re : re;
  return flip ? -r : r;
}
WEFT_FN double wf__rem_pio2(double x, double* rl, wf_u64* q) {
  double a = wf_fabs(x);
  if (a >= WF_TRIG_SMALL_D && a < WF_INF_D) return wf__rem_pio2_big2(x, rl, q);
  return wf__rem_pio2_small2(x, rl, q);
}
// sin and cos of r + rl: value and a correction below its last place
WEFT_FN double wf__sin_core2(double r, double rl, double* lo) {
  double z = r * r;
  double p = 1.5896448641759673e-10;
  p = wf_fma(p, z, -2.5050753081090836e-08);
  p = wf_fma(p, z, 2.755731366745853e-06);
  p = wf_fma(p, z, -0.00019841269829767188);
  p = wf_fma(p, z, 0.0083333333333224183);
  p = wf_fma(p, z, -0.16666666666666632);
  double c = wf_fma(r * z, p, wf_fma(-0.5 * z, rl, rl));
  double s = r + c;
  *lo = c - (s - r);
  return s;
}
WEFT_FN double wf__cos_core2(double r, double rl, double* lo) {
  double z = r * r;
  double ze = wf_fma(r, r, -z);
  double p = -1.1358443575631698e-11;
  p = wf_fma(p, z, 2.0875700702936439e-09);
  p = wf_fma(p, z, -2.7557314191759083e-07);
  p = wf_fma(p, z, 2.4801587288946941e-05);
  p = wf_fma(p, z, -0.0013888888888873303);
  p = wf_fma(p, z, 0.041666666666666595);
  double h = 0.5 * z;
  double w = 1.0 - h;
  double c = ((1.0 - w) - h) + wf_fma(z * z, p, wf_fma(-0.5, ze, -r * rl));
  double s = w + c;
  *lo = c - (s - w);
  return s;
}
WEFT_FN double wf__sincos_pick2(double r, double rl, wf_u64 q) {
  double l;
  double s = wf__sin_core2(r, rl, &l), c = wf__cos_core2(r, rl, &l);
  double y = (q & 1ull) != 0 ? c : s;
  return wf_from_bits(wf_bits(y) ^ ((q & 2ull) << 62));
}
WEFT_FN double wf_sin_small(double x) {
  wf_u64 q;
  double rl, r = wf__rem_pio2_small2(x, &rl, &q);
  double y = wf__sincos_pick2(r, rl, q);
  return x == 0.0 ? x : y;
}
WEFT_FN double wf_cos_small(double x) {
  wf_u64 q;
  double rl, r = wf__rem_pio2_small2(x, &rl, &q);
  return wf__sincos_pick2(r, rl, q + 1);
}
WEFT_FN double wf_sin(double x) {
  wf_u64 q;
  double rl, r = wf__rem_pio2(x, &rl, &q);
  double y = wf__sincos_pick2(r, rl, q);
  return x == 0.0 ? x : y;
}
WEFT_FN double wf_cos(double x) {
  wf_u64 q;
  double rl, r = wf__rem_pio2(x, &rl, &q);
  return wf__sincos_pick2(r, rl, q + 1);
}
// Quotient of (sh + sl) / (ch + cl), corrected once.
WEFT_FN double wf__div2(double sh, double sl, double ch, double cl) {
  double y = wf_div(sh, ch);
  double e = wf_fma(-y, ch, sh) + wf_fma(-y, cl, sl);
  return y + wf_div(e, ch);
}
WEFT_FN double wf_tan(double x) {
  wf_u64 q;
  double rl, r = wf__rem_pio2(x, &rl, &q);
  double sl, cl;
  double s = wf__sin_core2(r, rl, &sl), c = wf__cos_core2(r, rl, &cl);
  bool odd = (q & 1ull) != 0;
  double y = wf__div2(odd ? -c : s, odd ? -cl : sl, odd ? s : c, odd ? sl : cl);
  return x == 0.0 ? x : y;
}

#endif
