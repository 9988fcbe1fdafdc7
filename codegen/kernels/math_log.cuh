// log, log2, log10, log1p, pow, asinh, acosh, atanh.
//
// x = m 2^e with m in [sqrt(1/2), sqrt(2)), log m = 2 atanh((m-1)/(m+1)) or a
// polynomial of m-1. The float forms but log evaluate in double; the double forms
// but log carry the logarithm to about 68 bits in two doubles.
#ifndef WEFT_MATH_LOG_CUH
#define WEFT_MATH_LOG_CUH

#ifndef __CUDACC_RTC__
#include "math_exp.cuh"
#endif

// x = m * 2^e with m in [sqrt(1/2), sqrt(2)); x positive and finite.
WEFT_FN float wf__split_log(float x, float* e) {
  bool sub = x < 0x1p-126f;
  float xs = sub ? x * 0x1p25f : x;
  wf_u32 j = wf_bits(xs) + (0x3f800000u - 0x3f3504f3u);
  // (j >> 23) is the exponent plus 127; or-ing it into 2^23 converts it exactly
  *e = wf_from_bits((j >> 23) | 0x4b000000u) - (sub ? 8388608.0f + 152.0f : 8388608.0f + 127.0f);
  return wf_from_bits((j & 0x007fffffu) + 0x3f3504f3u);
}
WEFT_FN double wf__split_log(double x, double* e) {
  bool sub = x < 0x1p-1022;
  double xs = sub ? x * 0x1p54 : x;
  wf_u64 j = wf_bits(xs) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  *e = wf_from_bits((j >> 52) | 0x4330000000000000ull) - (sub ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0);
  return wf_from_bits((j & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
}
// Puts in the special results of the logarithms: r is right for 0 < x < inf.
WEFT_FN float wf__log_special(float x, float r) {
  r = x == WF_INF_F ? x : r;
  r = x == 0.0f ? -WF_INF_F : r;
  return x >= 0.0f ? r : WF_NAN_F;
}
WEFT_FN double wf__log_special(double x, double r) {
  r = x == WF_INF_D ? x : r;
  r = x == 0.0 ? -WF_INF_D : r;
  return x >= 0.0 ? r : WF_NAN_D;
}
WEFT_FN float wf_log(float x) {
  float e;
  float f = wf__split_log(x, &e) - 1.0f;
  float p = 0.0639351904f;
  p = wf_fma(p, f, -0.114843763f);
  p = wf_fma(p, f, 0.11923071f);
  p = wf_fma(p, f, -0.124332376f);
  p = wf_fma(p, f, 0.14219667f);
  p = wf_fma(p, f, -0.166669309f);
  p = wf_fma(p, f, 0.200020552f);
  p = wf_fma(p, f, -0.250000179f);
  p = wf_fma(p, f, 0.333333135f);
  float z = f * f;
  float y = wf_fma(z * f, p, e * 0x1.7f7d1cp-20f);
  y = wf_fma(z, -0.5f, y);
  float r = wf_fma(e, 0x1.62e4p-1f, f + y);
  return wf__log_special(x, r);
}
// log(1+f) = f - (f^2/2 - s (f^2/2 + R)), s = f/(2+f), R = z P(z), z = s^2
WEFT_FN double wf_log(double x) {
  double e;
  double f = wf__split_log(x, &e) - 1.0;
  double s = wf_div(f, 2.0 + f);
  double z = s * s;
  double p = 0.13235061087089714;
  p = wf_fma(p, z, 0.1325211742794716);
  p = wf_fma(p, z, 0.15386990148847585);
  p = wf_fma(p, z, 0.18181778328309642);
  p = wf_fma(p, z, 0.2222222260725486);
  p = wf_fma(p, z, 0.28571428569409724);
  p = wf_fma(p, z, 0.40000000000004926);
  p = wf_fma(p, z, 0.66666666666666663);
  double h = 0.5 * f * f;
  double y = h - wf_fma(s, wf_fma(z, p, h), e * 0x1.ef35793c76730p-45);
  double r = wf_fma(e, 0x1.62e42fefa3800p-1, -(y - f));
  return wf__log_special(x, r);
}

// ---- cores ------------------------------------------------------------------

// log2 of a positive normal double to about 2^-44
WEFT_FN double wf__log2_core(double x) {
  wf_u64 j = wf_bits(x) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  double e = wf_from_bits((j >> 52) | 0x4330000000000000ull) - (0x1p52 + 1023.0);
  double m = wf_from_bits((j & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
  double s = wf_div(m - 1.0, m + 1.0);
  double z = s * s;
  double p = 0.28254013620500995;
  p = wf_fma(p, z, 0.31993472996158373);
  p = wf_fma(p, z, 0.41220840314518326);
  p = wf_fma(p, z, 0.57707795317846622);
  p = wf_fma(p, z, 0.96179669405780199);
  return e + wf_fma(s * z, p, s * 0x1.71547652b82fep+1);
}
// log(1 + v) in double to about 2^-44, v > -1 finite
WEFT_FN double wf__log1p_core(double v) {
  double u = 1.0 + v;
  wf_u64 j = wf_bits(u) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
  double e = wf_from_bits((j >> 52) | 0x4330000000000000ull) - (0x1p52 + 1023.0);
  double m = wf_from_bits((j & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
  double f = e == 0.0 ? v : m - 1.0;
  double s = wf_div(f, 2.0 + f);
  double z = s * s;
  double p = 0.28254013620500995;
  p = wf_fma(p, z, 0.31993472996158373);
  p = wf_fma(p, z, 0.41220840314518326);
  p = wf_fma(p, z, 0.57707795317846622);
  p = wf_fma(p, z, 0.96179669405780199);
  return (e + wf_fma(s * z, p, s * 0x1.71547652b82fep+1)) * 0x1.62e42fefa39efp-1;
}
// s = (f + fl)/(2 + f + fl) as sh + sl; |fl| below half a unit of f or f = 0
WEFT_FN double wf__log_s(double f, double fl, double* sl) {
  double fh = f + fl;
  double fe = fl - (fh - f);
  double d = 2.0 + fh;
  double dl = (fh - (d - 2.0)) + fe;
  double rc = wf_div(1.0, d);
  double s = fh * rc;
  *sl = (wf_fma(-s, d, fh) + wf_fma(-s, dl, fe)) * rc;
  return s;
}
// log((1+s)/(1-s)) = 2 atanh(s) = 2s + s z (2/3 + z (2/5 + z P(z))), z = s^2, |s| < 0.1716,
// with a relative error of about 2^-68
WEFT_FN double wf__log_dd(double s, double sl, double* lo) {
  double z = s * s;
  double zl = wf_fma(s, s, -z) + 2.0 * s * sl;
  double p = 0.11910946634461411;
  p = wf_fma(p, z, 0.11685044664981864);
  p = wf_fma(p, z, 0.13335762997022557);
  p = wf_fma(p, z, 0.15384572901493454);
  p = wf_fma(p, z, 0.18181818605413094);
  p = wf_fma(p, z, 0.22222222220012575);
  p = wf_fma(p, z, 0.28571428571433161);
  double q = z * p;
  double ah = 0.4 + q, al = (q - (ah - 0.4)) - 0x1.999999999999ap-56;
  double bh = ah * z, bl = wf_fma(ah, z, -bh) + wf_fma(ah, zl, al * z);
  double ch = 0x1.5555555555555p-1 + bh,
         cl = (bh - (ch - 0x1.5555555555555p-1)) + (bl + 0x1.5555555555555p-55);
  double dh = ch * z, dl = wf_fma(ch, z, -dh) + wf_fma(ch, zl, cl * z);
  double eh = dh * s, el = wf_fma(dh, s, -eh) + wf_fma(dh, sl, dl * s);
  double s2 = s + s;
  double h = s2 + eh, l = (eh - (h - s2)) + (sl + sl + el);
  double r = h + l;
  *lo = l - (r - h);
  return r;
}
// 2^-e, for scaling a low part that no longer matters at e > 1000
WEFT_FN double wf__pow2_neg(double e) {
  return wf__pow2_magic(WF_MAGIC_D - (e > 1000.0 ? 1000.0 : e));
}
// e ln2 + h + l, rounded
WEFT_FN double wf__log_join(double e, double h, double l) {
  double t = e * WF_LN2_HI;
  double s = t + h;
  return s + ((h - (s - t)) + wf_fma(e, WF_LN2_LO, l));
}

// ---- log2, log10, log1p -----------------------------------------------------

WEFT_FN float wf_log2(float x) { return wf__log_special(x, float(wf__log2_core(double(x)))); }
WEFT_FN float wf_log10(float x) {
  return wf__log_special(x, float(wf__log2_core(double(x)) * 0x1.34413509f79ffp-2));
}
WEFT_FN double wf_log2(double x) {
  double e, sl, l;
  double m = wf__split_log(x, &e);
  double s = wf__log_s(m - 1.0, 0.0, &sl);
  double h = wf__log_dd(s, sl, &l);
  double ph = h * 0x1.71547652b82fep+0;
  double pl = wf_fma(h, 0x1.71547652b82fep+0, -ph) +
              wf_fma(h, 0x1.777d0ffda0d24p-56, l * 0x1.71547652b82fep+0);
  double r = e + ph;
  return wf__log_special(x, r + ((ph - (r - e)) + pl));
}
WEFT_FN double wf_log10(double x) {
  double e, sl, l;
  double m = wf__split_log(x, &e);
  double s = wf__log_s(m - 1.0, 0.0, &sl);
  double h = wf__log_dd(s, sl, &l);
  double ph = h * 0x1.bcb7b1526e50ep-2;
  double pl = wf_fma(h, 0x1.bcb7b1526e50ep-2, -ph) +
              wf_fma(h, 0x1.95355baaafad3p-57, l * 0x1.bcb7b1526e50ep-2);
  double t = e * 0x1.34413509f7000p-2;
  double r = t + ph;
  return wf__log_special(x, r + ((ph - (r - t)) + wf_fma(e, 0x1.3fde623e2566bp-43, pl)));
}
WEFT_FN float wf_log1p(float x) {
  double u = 1.0 + double(x);
  double r = wf__log1p_core(double(x));
  r = wf__log_special(u, r);
  return x == 0.0f ? x : float(r);
}
WEFT_FN double wf_log1p(double x) {
  double u = 1.0 + x;
  double ul = wf_fabs(x) < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
  double e, sl, l;
  double m = wf__split_log(u, &e);
  double s = wf__log_s(m - 1.0, ul * wf__pow2_neg(e), &sl);
  double h = wf__log_dd(s, sl, &l);
  double r = wf__log_special(u, wf__log_join(e, h, l));
  return wf_fabs(x) < 0x1p-60 ? x : r;
}

// ---- pow --------------------------------------------------------------------

// y log2|x| and 2 to that, both in double
WEFT_FN float wf_pow(float x, float y) {
  double a = double(wf_fabs(x)), b = double(y);
  double l = wf__log2_core(a);
  l = a == 0.0 ? -WF_INF_D : l;
  l = a == WF_INF_D ? WF_INF_D : l;
  double t = b * l;
  t = t > 300.0 ? 300.0 : t;
  t = t < -300.0 ? -300.0 : t;
  float r = float(wf__exp2_core(t));
  r = a != a ? x : r;
  r = ((x == -1.0f) & (wf_fabs(y) == WF_INF_F)) ? 1.0f : r;
  bool yint = wf_round(y) == y;
  bool yodd = yint & (wf_round(0.5f * y) != 0.5f * y);
  r = ((x < 0.0f) & (x > -WF_INF_F) & !yint) ? WF_NAN_F : r;
  r = wf_from_bits(wf_bits(r) ^ (yodd ? wf_bits(x) & 0x80000000u : 0u));
  return ((x == 1.0f) | (y == 0.0f)) ? 1.0f : r;
}
WEFT_FN double wf_pow(double x, double y) {
  double a = wf_fabs(x), e, sl, l;
  double m = wf__split_log(a, &e);
  double s = wf__log_s(m - 1.0, 0.0, &sl);
  double h = wf__log_dd(s, sl, &l);
  double t = e * WF_LN2_HI;
  double lh = t + h;
  double ll = (h - (lh - t)) + wf_fma(e, WF_LN2_LO, l);
  lh = a == 0.0 ? -WF_INF_D : lh;
  lh = a == WF_INF_D ? WF_INF_D : lh;
  double ph = y * lh;
  double pl = wf_fma(y, lh, -ph) + y * ll;
  bool big = wf_fabs(ph) > 800.0;
  ph = big ? wf_copysign(800.0, ph) : ph;
  pl = big ? 0.0 : pl;
  double n;
  double r = wf__exp_dd(ph, pl, &n);
  r = wf__scale(r, n);
  r = a != a ? x : r;
  r = ((x == -1.0) & (wf_fabs(y) == WF_INF_D)) ? 1.0 : r;
  bool yint = wf_round(y) == y;
  bool yodd = yint & (wf_round(0.5 * y) != 0.5 * y);
  r = ((x < 0.0) & (x > -WF_INF_D) & !yint) ? WF_NAN_D : r;
  r = wf_from_bits(wf_bits(r) ^ (yodd ? wf_bits(x) & 0x8000000000000000ull : 0ull));
  return ((x == 1.0) | (y == 0.0)) ? 1.0 : r;
}

// ---- inverse hyperbolic functions -------------------------------------------

WEFT_FN float wf_asinh(float x) {
  double a = double(wf_fabs(x));
  double a2 = a * a;
  double v = a + wf_div(a2, 1.0 + wf_sqrt(1.0 + a2));
  float r = float(wf__log1p_core(v));
  r = wf_fabs(x) < WF_INF_F ? r : wf_fabs(x);
  return wf_copysign(r, x);
}
WEFT_FN double wf_asinh(double x) {
  double a = wf_fabs(x);
  bool big = a > 0x1p30;  // there the value is log(2a)
  double c = big ? 1.0 : a;
  double p = c * c, pe = wf_fma(c, c, -p);
  double t = 1.0 + p;
  double te = (p < 1.0 ? p - (t - 1.0) : 1.0 - (t - p)) + pe;
  double q = wf_sqrt(t);
  double ql = wf_div(0.5 * (wf_fma(-q, q, t) + te), q);
  // a + sqrt(1 + a^2)
  double u = q + c;
  double ul = (c - (u - q)) + ql;
  u = big ? a : u;
  ul = big ? 0.0 : ul;
  double e, sl, l;
  double m = wf__split_log(u, &e);
  double s = wf__log_s(m - 1.0, ul * wf__pow2_neg(e), &sl);
  e = big ? e + 1.0 : e;
  // small a: s = a / (1 + sqrt(1 + a^2))
  double d = 1.0 + q, dl = (1.0 - (d - q)) + ql;
  double rc = wf_div(1.0, d);
  double s2 = c * rc;
  double s2l = (wf_fma(-s2, d, c) - s2 * dl) * rc;
  bool small = a < 0.35;
  s = small ? s2 : s;
  sl = small ? s2l : sl;
  e = small ? 0.0 : e;
  double h = wf__log_dd(s, sl, &l);
  double r = wf__log_join(e, h, l);
  r = a < 0x1p-60 ? a : r;
  r = a < WF_INF_D ? r : a;
  return wf_copysign(r, x);
}
WEFT_FN float wf_acosh(float x) {
  double w = double(x) - 1.0;
  double v = w + wf_sqrt(w * (w + 2.0));
  float r = float(wf__log1p_core(v));
  r = x < WF_INF_F ? r : x;
  return x >= 1.0f ? r : WF_NAN_F;
}
WEFT_FN double wf_acosh(double x) {
  bool big = x > 0x1p30;
  double c = big ? 2.0 : x;
  double w = c - 1.0, g = c + 1.0;
  double ge = 1.0 - (g - c);
  double p = w * g, pe = wf_fma(w, g, -p) + w * ge;
  double q = wf_sqrt(p);
  double ql = wf_div(0.5 * (wf_fma(-q, q, p) + pe), q > 0.0 ? q : 1.0);
  double u = c + q;
  double ul = (q - (u - c)) + ql;
  u = big ? x : u;
  ul = big ? 0.0 : ul;
  double e, sl, l;
  double m = wf__split_log(u, &e);
  double s = wf__log_s(m - 1.0, ul * wf__pow2_neg(e), &sl);
  e = big ? e + 1.0 : e;
  double h = wf__log_dd(s, sl, &l);
  double r = wf__log_join(e, h, l);
  r = x < WF_INF_D ? r : x;
  return x >= 1.0 ? r : WF_NAN_D;
}
WEFT_FN float wf_atanh(float x) {
  double a = double(wf_fabs(x));
  double v = wf_div(a + a, 1.0 - a);
  float r = float(0.5 * wf__log1p_core(v));
  r = a == 1.0 ? WF_INF_F : r;
  return wf_copysign(a <= 1.0 ? r : WF_NAN_F, x);
}
WEFT_FN double wf_atanh(double x) {
  double a = wf_fabs(x);
  bool small = a < 0.17;  // there s = a itself
  double n = 1.0 + a, nl = a - (n - 1.0);
  double d = 1.0 - a, dl = (1.0 - d) - a;
  double rc = wf_div(1.0, d);
  double q = n * rc;
  double ql = (wf_fma(-q, d, n) + wf_fma(-q, dl, nl)) * rc;
  double e, sl, l;
  double m = wf__split_log(q, &e);
  double s = wf__log_s(m - 1.0, ql * wf__pow2_neg(e), &sl);
  s = small ? a : s;
  sl = small ? 0.0 : sl;
  e = small ? 0.0 : e;
  double h = wf__log_dd(s, sl, &l);
  double r = 0.5 * wf__log_join(e, h, l);
  r = a == 1.0 ? WF_INF_D : r;
  return wf_copysign(a <= 1.0 ? r : WF_NAN_D, x);
}

#endif
