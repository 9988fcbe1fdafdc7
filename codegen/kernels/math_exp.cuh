// exp, exp2, expm1, tanh, sigmoid, sinh, cosh.
//
// Cody-Waite reduction by ln 2, a minimax polynomial of the rest, and scaling in
// two exact steps, so that a subnormal result is rounded once.
#ifndef WEFT_MATH_EXP_CUH
#define WEFT_MATH_EXP_CUH

#ifndef __CUDACC_RTC__
#include "math_base.cuh"
#endif

#define WF_LN2_HI 0x1.62e42fefa3800p-1 /* 42 bits: e * WF_LN2_HI is exact */
#define WF_LN2_LO 0x1.ef35793c76730p-45

// (e^r - 1 - r) / r^2 for |r| <= ln2/2
WEFT_FN float wf__exp_poly(float r) {
  float p = 0.0013839053f;
  p = wf_fma(p, r, 0.00836919341f);
  p = wf_fma(p, r, 0.0416681021f);
  p = wf_fma(p, r, 0.166665167f);
  p = wf_fma(p, r, 0.49999994f);
  return p;
}
WEFT_FN double wf__exp_poly(double r) {
  double p = 2.0977769892414107e-09;
  p = wf_fma(p, r, 2.5113947073600941e-08);
  p = wf_fma(p, r, 2.7557067884652446e-07);
  p = wf_fma(p, r, 2.7557228662581967e-06);
  p = wf_fma(p, r, 2.4801587559097359e-05);
  p = wf_fma(p, r, 0.00019841269903376983);
  p = wf_fma(p, r, 0.0013888888888777941);
  p = wf_fma(p, r, 0.0083333333333138922);
  p = wf_fma(p, r, 0.041666666666666824);
  p = wf_fma(p, r, 0.16666666666666688);
  p = wf_fma(p, r, 0.5);
  return p;
}
WEFT_FN float wf_exp(float x) {
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  float n = wf_fma(x, 0x1.715476p+0f, WF_MAGIC_F) - WF_MAGIC_F;
  float r = wf_fma(n, -0x1.62e4p-1f, x);
  r = wf_fma(n, -0x1.7f7d1cp-20f, r);
  float y = 1.0f + wf_fma(r * r, wf__exp_poly(r), r);
  return wf__scale(y, n);
}
// The same bits for |x| < 87 (float) and |x| < 708 (double), where no result is subnormal or infinite.
WEFT_FN float wf_exp_small(float x) {
  float m = wf_fma(x, 0x1.715476p+0f, WF_MAGIC_F);
  float n = m - WF_MAGIC_F;
  float r = wf_fma(n, -0x1.62e4p-1f, x);
  r = wf_fma(n, -0x1.7f7d1cp-20f, r);
  return (1.0f + wf_fma(r * r, wf__exp_poly(r), r)) * wf__pow2_magic(m);
}
WEFT_FN double wf_exp_small(double x) {
  double m = wf_fma(x, 0x1.71547652b82fep+0, WF_MAGIC_D);
  double n = m - WF_MAGIC_D;
  double r = wf_fma(n, -WF_LN2_HI, x);
  r = wf_fma(n, -WF_LN2_LO, r);
  return (1.0 + wf_fma(r * r, wf__exp_poly(r), r)) * wf__pow2_magic(m);
}
WEFT_FN double wf_exp(double x) {
  x = x > 710.0 ? 710.0 : x;
  x = x < -746.0 ? -746.0 : x;
  double n = wf_fma(x, 0x1.71547652b82fep+0, WF_MAGIC_D) - WF_MAGIC_D;
  double r = wf_fma(n, -WF_LN2_HI, x);
  r = wf_fma(n, -WF_LN2_LO, r);
  double y = 1.0 + wf_fma(r * r, wf__exp_poly(r), r);
  return wf__scale(y, n);
}

// 2^t in double to about 2^-34, |t| < 1000
WEFT_FN double wf__exp2_core(double t) {
  double m = t + WF_MAGIC_D;
  double r = t - (m - WF_MAGIC_D);
  double p = 1.5200237405019075e-05;
  p = wf_fma(p, r, 0.000154693342379982);
  p = wf_fma(p, r, 0.0013333928443168275);
  p = wf_fma(p, r, 0.009618027119863504);
  p = wf_fma(p, r, 0.055504103469470753);
  p = wf_fma(p, r, 0.24022651199118436);
  p = wf_fma(p, r, 0.69314718072998116);
  p = wf_fma(p, r, 0.99999999996158395);
  return p * wf__pow2_magic(m);
}
// exp(h + l), |l| well below |h|, |h| <= 800; the scale 2^n is left to the caller
WEFT_FN double wf__exp_dd(double h, double l, double* n) {
  double k = wf_fma(h, 0x1.71547652b82fep+0, WF_MAGIC_D) - WF_MAGIC_D;
  double r0 = wf_fma(k, -WF_LN2_HI, h);
  double c = wf_fma(k, -WF_LN2_LO, l);
  double r = r0 + c;
  double rl = c - (r - r0);
  *n = k;
  return 1.0 + (r + wf_fma(r * r, wf__exp_poly(r), rl));
}
// e^x - 1 in double to about 2^-31, |x| < 700
WEFT_FN double wf__expm1_core(double x) {
  double m = wf_fma(x, 0x1.71547652b82fep+0, WF_MAGIC_D);
  double n = m - WF_MAGIC_D;
  double r = wf_fma(n, -0x1.62e42fefa39efp-1, x);
  double p = 0.00019883193777593143;
  p = wf_fma(p, r, 0.0013941678734182396);
  p = wf_fma(p, r, 0.0083333180174922847);
  p = wf_fma(p, r, 0.041666345958086257);
  p = wf_fma(p, r, 0.16666666674491024);
  p = wf_fma(p, r, 0.50000000487053786);
  double k = wf__pow2_magic(m);
  return wf_fma(k, wf_fma(r * r, p, r), k - 1.0);
}

// ---- exp2, expm1 ------------------------------------------------------------

WEFT_FN float wf_exp2(float x) {
  x = x > 129.0f ? 129.0f : x;
  x = x < -151.0f ? -151.0f : x;
  float n = (x + WF_MAGIC_F) - WF_MAGIC_F;
  float r = x - n;
  float p = 0.000154414476f;
  p = wf_fma(p, r, 0.00133919634f);
  p = wf_fma(p, r, 0.00961810537f);
  p = wf_fma(p, r, 0.055503577f);
  p = wf_fma(p, r, 0.240226507f);
  p = wf_fma(p, r, 0.693147182f);
  return wf__scale(wf_fma(r, p, 1.0f), n);
}
WEFT_FN double wf_exp2(double x) {
  x = x > 1025.0 ? 1025.0 : x;
  x = x < -1076.0 ? -1076.0 : x;
  double n = (x + WF_MAGIC_D) - WF_MAGIC_D;
  double f = x - n;
  double r = f * 0x1.62e42fefa39efp-1;
  double rl = wf_fma(f, 0x1.abc9e3b39803fp-56, wf_fma(f, 0x1.62e42fefa39efp-1, -r));
  double y = 1.0 + (r + wf_fma(r * r, wf__exp_poly(r), rl));
  return wf__scale(y, n);
}
WEFT_FN float wf_expm1(float x) {
  float c = x > 91.0f ? 91.0f : x;
  c = c < -30.0f ? -30.0f : c;
  float r = float(wf__expm1_core(double(c)));
  return x == 0.0f ? x : r;
}
// 2^n ((1 - 2^-n) + (e^r - 1)), x = n ln2 + r
WEFT_FN double wf_expm1(double x) {
  double c = x > 710.0 ? 710.0 : x;
  c = c < -40.0 ? -40.0 : c;
  double n = wf_fma(c, 0x1.71547652b82fep+0, WF_MAGIC_D) - WF_MAGIC_D;
  double r0 = wf_fma(n, -WF_LN2_HI, c);
  double r = wf_fma(n, -WF_LN2_LO, r0);
  double rl = wf_fma(n, -WF_LN2_LO, r0 - r);
  double q = wf_fma(r * r, wf__exp_poly(r), rl);
  double u = wf__pow2_magic(WF_MAGIC_D - (n > 60.0 ? 60.0 : n));
  double t = 1.0 - u;
  double s = t + r;
  double y = s + ((r - (s - t)) + q);
  return x == 0.0 ? x : wf__scale(y, n);
}

// ---- hyperbolic functions, sigmoid ------------------------------------------

WEFT_FN float wf_tanh(float x) {
  float a = wf_fabs(x);
  // near 0: x + x^3 P(x^2)
  float t = a * a;
  float p = -0.00589796668f;
  p = wf_fma(p, t, 0.0207986254f);
  p = wf_fma(p, t, -0.0537847169f);
  p = wf_fma(p, t, 0.133319363f);
  p = wf_fma(p, t, -0.333332986f);
  float small = wf_fma(a * t, p, a);
  // else 1 - 2/(e^(2x) + 1), which is 1 from 9.1 on
  float b = a > 10.0f ? 20.0f : a + a;
  float m = wf_fma(b, 0x1.715476p+0f, WF_MAGIC_F);
  float n = m - WF_MAGIC_F;
  float r = wf_fma(n, -0x1.62e4p-1f, b);
  r = wf_fma(n, -0x1.7f7d1cp-20f, r);
  float y = 1.0f + wf_fma(r * r, wf__exp_poly(r), r);
  float big = 1.0f - wf__two_over(wf_fma(y, wf__pow2_magic(m), 1.0f));
  return wf_copysign(a < 0.55f ? small : big, x);
}
WEFT_FN double wf_tanh(double x) {
  double a = wf_fabs(x);
  double t = a * a;
  double p = 7.0837048699508337e-06;
  p = wf_fma(p, t, -3.2315829467730075e-05);
  p = wf_fma(p, t, 9.346272464015026e-05);
  p = wf_fma(p, t, -0.00023799025471414327);
  p = wf_fma(p, t, 0.00058977042826447129);
  p = wf_fma(p, t, -0.0014557943710843504);
  p = wf_fma(p, t, 0.0035921237746913436);
  p = wf_fma(p, t, -0.0088632352275131044);
  p = wf_fma(p, t, 0.021869488522563488);
  p = wf_fma(p, t, -0.053968253967900108);
  p = wf_fma(p, t, 0.13333333333332884);
  p = wf_fma(p, t, -0.33333333333333331);
  double small = wf_fma(a * t, p, a);
  double b = a > 20.0 ? 40.0 : a + a;
  double m = wf_fma(b, 0x1.71547652b82fep+0, WF_MAGIC_D);
  double n = m - WF_MAGIC_D;
  double r = wf_fma(n, -WF_LN2_HI, b);
  r = wf_fma(n, -WF_LN2_LO, r);
  double y = 1.0 + wf_fma(r * r, wf__exp_poly(r), r);
  double big = 1.0 - wf_div(2.0, wf_fma(y, wf__pow2_magic(m), 1.0));
  return wf_copysign(a < 0.55 ? small : big, x);
}
// 1/(1+e) or e/(1+e) with e = exp(-|x|). Two rounding errors are fed back, that of
// 1+e and, where e is the numerator, that of the last addition of the exponential.
WEFT_FN float wf_sigmoid(float x) {
  float a = wf_fabs(x);
  a = a > 104.0f ? 104.0f : a;
  float n = wf_fma(a, -0x1.715476p+0f, WF_MAGIC_F) - WF_MAGIC_F;
  float r = wf_fma(n, -0x1.62e4p-1f, -a);
  r = wf_fma(n, -0x1.7f7d1cp-20f, r);
  float p = wf_fma(r * r, wf__exp_poly(r), r);
  float y = 1.0f + p;
  float d = p - (y - 1.0f);
  float e = wf__scale(y, n);
  float s = 1.0f + e;
  float c = e - (s - 1.0f);
  float q = wf_div(x < 0.0f ? e : 1.0f, s);
  return wf_fma(q, x < 0.0f ? d - c : -c, q);
}
WEFT_FN double wf_sigmoid(double x) {
  double a = wf_fabs(x);
  a = a > 746.0 ? 746.0 : a;
  double n = wf_fma(a, -0x1.71547652b82fep+0, WF_MAGIC_D) - WF_MAGIC_D;
  double r = wf_fma(n, -WF_LN2_HI, -a);
  r = wf_fma(n, -WF_LN2_LO, r);
  double p = wf_fma(r * r, wf__exp_poly(r), r);
  double y = 1.0 + p;
  double d = p - (y - 1.0);
  double e = wf__scale(y, n);
  double s = 1.0 + e;
  double c = e - (s - 1.0);
  double q = wf_div(x < 0.0 ? e : 1.0, s);
  return wf_fma(q, x < 0.0 ? d - c : -c, q);
}
WEFT_FN float wf_sinh(float x) {
  float a = wf_fabs(x);
  double e = wf__expm1_core(double(a > 91.0f ? 91.0f : a));
  return wf_copysign(float(0.5 * (e + wf_div(e, e + 1.0))), x);
}
WEFT_FN float wf_cosh(float x) {
  float a = wf_fabs(x);
  double e = wf__expm1_core(double(a > 91.0f ? 91.0f : a)) + 1.0;
  return float(0.5 * (e + wf_div(1.0, e)));
}
// e^|x| / 4, for |x| < 1000
WEFT_FN double wf__exp_quarter(double a) {
  double n;
  double y = wf__exp_dd(a > 711.0 ? 711.0 : a, 0.0, &n);
  return wf__scale(y, n - 2.0);
}
WEFT_FN double wf_sinh(double x) {
  double a = wf_fabs(x);
  double t = a * a;
  double p = 7.775699570424293e-13;
  p = wf_fma(p, t, 1.6056687038036211e-10);
  p = wf_fma(p, t, 2.5052130675595444e-08);
  p = wf_fma(p, t, 2.7557319108484226e-06);
  p = wf_fma(p, t, 0.00019841269841589247);
  p = wf_fma(p, t, 0.0083333333333329151);
  p = wf_fma(p, t, 0.16666666666666669);
  double small = wf_fma(a * t, p, a);
  double h = wf__exp_quarter(a);
  double big = 2.0 * (h - wf_div(0.0625, h));
  return wf_copysign(a < 1.0 ? small : big, x);
}
WEFT_FN double wf_cosh(double x) {
  double h = wf__exp_quarter(wf_fabs(x));
  return 2.0 * (h + wf_div(0.0625, h));
}

#endif
