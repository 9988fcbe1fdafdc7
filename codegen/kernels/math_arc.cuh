// asin, acos, atan, atan2.
#ifndef WEFT_MATH_ARC_CUH
#define WEFT_MATH_ARC_CUH

#ifndef __CUDACC_RTC__
#include "math_base.cuh"
#endif

#define WF_PIO2_HI 0x1.921fb54442d18p+0
#define WF_PIO2_LO 0x1.1a62633145c07p-54

// asin(s) for s <= 1/2 in double to about 2^-31; t = s^2
WEFT_FN double wf__asin_core(double s, double t) {
  double p = 0.037564757938807515;
  p = wf_fma(p, t, 0.014402881013341914);
  p = wf_fma(p, t, 0.03181755255768004);
  p = wf_fma(p, t, 0.044515725594841654);
  p = wf_fma(p, t, 0.075005108937764242);
  p = wf_fma(p, t, 0.16666659872450595);
  return wf_fma(s * t, p, s);
}
WEFT_FN float wf_asin(float x) {
  double a = double(wf_fabs(x));
  bool big = a > 0.5;
  double t = big ? 0.5 - 0.5 * a : a * a;
  double p = wf__asin_core(big ? wf_sqrt(t) : a, t);
  return wf_copysign(float(big ? WF_PIO2_HI - 2.0 * p : p), x);
}
WEFT_FN float wf_acos(float x) {
  double a = double(wf_fabs(x));
  bool big = a > 0.5;
  double t = big ? 0.5 - 0.5 * a : a * a;
  double p = wf__asin_core(big ? wf_sqrt(t) : a, t);
  double r = x < 0.0f ? 2.0 * WF_PIO2_HI - 2.0 * p : 2.0 * p;
  return float(big ? r : WF_PIO2_HI - wf_mulsign(p, double(x)));
}
// s = sqrt(t) or |x|; returns s and in *c the rest of asin(s)
WEFT_FN double wf__asin_parts(double a, bool big, double* c) {
  double t = big ? 0.5 - 0.5 * a : a * a;
  double q = wf_sqrt(t);
  double ql = wf_div(0.5 * wf_fma(-q, q, t), q > 0.0 ? q : 1.0);
  double s = big ? q : a;
  double p = 0.032695174811715681;
  p = wf_fma(p, t, -0.021106171725417042);
  p = wf_fma(p, t, 0.021783629873814197);
  p = wf_fma(p, t, 0.0036748952616957593);
  p = wf_fma(p, t, 0.010788647533791034);
  p = wf_fma(p, t, 0.011397405899369897);
  p = wf_fma(p, t, 0.013981005572354826);
  p = wf_fma(p, t, 0.017351596516921818);
  p = wf_fma(p, t, 0.022372215852831601);
  p = wf_fma(p, t, 0.030381942677025382);
  p = wf_fma(p, t, 0.044642857175253146);
  p = wf_fma(p, t, 0.074999999999701292);
  p = wf_fma(p, t, 0.16666666666666763);
  *c = wf_fma(s * t, p, big ? ql : 0.0);
  return s;
}
WEFT_FN double wf_asin(double x) {
  double a = wf_fabs(x), c;
  bool big = a > 0.5;
  double s = wf__asin_parts(a, big, &c);
  double h = WF_PIO2_HI - 2.0 * s;
  double r = h + (((WF_PIO2_HI - h) - 2.0 * s) + (WF_PIO2_LO - 2.0 * c));
  r = big ? r : s + c;
  return wf_copysign(a <= 1.0 ? r : WF_NAN_D, x);
}
WEFT_FN double wf_acos(double x) {
  double a = wf_fabs(x), c;
  bool big = a > 0.5, neg = x < 0.0;
  double s = wf__asin_parts(a, big, &c);
  // base - sg (s + c) with base 0, pi/2 or pi
  double k = big ? (neg ? 2.0 : -2.0) : (neg ? -1.0 : 1.0);
  double bh = big ? (neg ? 2.0 * WF_PIO2_HI : 0.0) : WF_PIO2_HI;
  double bl = big ? (neg ? 2.0 * WF_PIO2_LO : 0.0) : WF_PIO2_LO;
  double ks = k * s;
  double h = bh - ks;
  double r = h + (((bh - h) - ks) + wf_fma(-k, c, bl));
  return a <= 1.0 ? r : WF_NAN_D;
}
// (atan(r) - r) / r^3 for r^2 = t <= 0.1716, to 2^-35 and 2^-59
WEFT_FN double wf__atan_poly_f(double t) {
  double p = 0.047480603912178454;
  p = wf_fma(p, t, -0.084783058814293266);
  p = wf_fma(p, t, 0.11045076226675528);
  p = wf_fma(p, t, -0.14282040727318585);
  p = wf_fma(p, t, 0.19999905141653418);
  p = wf_fma(p, t, -0.3333333251413535);
  return p;
}
WEFT_FN double wf__atan_poly(double t) {
  double p = -0.017915303873303035;
  p = wf_fma(p, t, 0.038071820325710937);
  p = wf_fma(p, t, -0.05039584149814709);
  p = wf_fma(p, t, 0.058479496211573979);
  p = wf_fma(p, t, -0.066631120585459627);
  p = wf_fma(p, t, 0.076920608917789193);
  p = wf_fma(p, t, -0.090908977942356015);
  p = wf_fma(p, t, 0.11111110784686795);
  p = wf_fma(p, t, -0.14285714280220557);
  p = wf_fma(p, t, 0.19999999999953819);
  p = wf_fma(p, t, -0.33333333333333198);
  return p;
}
// Angle of (x, y), both >= 0 or NaN, in double to about 2^-35
WEFT_FN double wf__atan2_core(double y, double x) {
  bool swap = !(y <= x);
  double mn = swap ? x : y, mx = swap ? y : x;
  bool red = mn > 0.41421356237309503 * mx;
  bool eq = (mn == mx) & (mx > 0.0);  // infinities too
  double n = red ? mn - mx : mn, d = red ? mn + mx : mx;
  n = eq ? 0.0 : n;
  d = (eq | (mx == 0.0)) ? 1.0 : d;
  double r = wf_div(n, d);
  double t = r * r;
  double p = wf_fma(r * t, wf__atan_poly_f(t), r);
  p = (red | eq) ? 0x1.921fb54442d18p-1 + p : p;
  return swap ? WF_PIO2_HI - p : p;
}
// a up to tan(pi/8), (a-1)/(a+1) up to tan(3pi/8), then -1/a
WEFT_FN float wf_atan(float x) {
  double a = double(wf_fabs(x));
  bool mid = a > 0.41421356237309503, top = a > 2.4142135623730949;
  double n = top ? -1.0 : mid ? a - 1.0 : a;
  double d = top ? a : mid ? a + 1.0 : 1.0;
  double r = wf_div(n, d);
  double t = r * r;
  double p = wf_fma(r * t, wf__atan_poly_f(t), r);
  double b = top ? WF_PIO2_HI : mid ? 0x1.921fb54442d18p-1 : 0.0;
  return wf_copysign(float(b + p), x);
}
WEFT_FN float wf_atan2(float y, float x) {
  double r = wf__atan2_core(double(wf_fabs(y)), double(wf_fabs(x)));
  r = wf_signbit(x) ? 2.0 * WF_PIO2_HI - r : r;
  r = x != x ? double(x) : r;
  return wf_copysign(float(r), y);
}
// double: base + sg atan(n/d), the quotient with a correction
WEFT_FN double wf__atan2_core2(double y, double x, bool xneg) {
  bool swap = !(y <= x);
  double mn = swap ? x : y, mx = swap ? y : x;
  double sc = mx > 0x1p1000 ? 0x1p-120 : mx < 0x1p60 ? 0x1p600 : 1.0;
  bool eq = (mn == mx) & (mx > 0.0);
  mn *= sc;
  mx *= sc;
  bool red = eq | (mn > 0.41421356237309503 * mx);
  double n = red ? mn - mx : mn, d = red ? mx + mn : mx;
  double nl = red ? mn - (n + mx) : 0.0, dl = red ? mn - (d - mx) : 0.0;
  bool triv = eq | (mx == 0.0) | (mx == WF_INF_D);
  n = triv ? 0.0 : n;
  nl = triv ? 0.0 : nl;
  d = triv ? 1.0 : d;
  dl = triv ? 0.0 : dl;
  double rc = wf_div(1.0, d);
  double r = n * rc;
  double rl = (wf_fma(-r, d, n) + wf_fma(-r, dl, nl)) * rc;
  double t = r * r;
  double c = wf_fma(r * t, wf__atan_poly(t), rl);
  // eighths of a turn: 0, 1/8, 1/4, 3/8 or 1/2
  bool minus = swap != xneg;
  double bh = red ? (xneg ? 0x1.2d97c7f3321d2p+1 : 0x1.921fb54442d18p-1)
                  : (swap   ? WF_PIO2_HI
                     : xneg ? 2.0 * WF_PIO2_HI
                            : 0.0);
  double bl = red ? (xneg ? 0x1.a79394c9e8a0ap-54 : 0x1.1a62633145c07p-55)
                  : (swap   ? WF_PIO2_LO
                     : xneg ? 2.0 * WF_PIO2_LO
                            : 0.0);
  r = minus ? -r : r;
  c = minus ? -c : c;
  double h = bh + r;
  return h + ((r - (h - bh)) + (c + bl));
}
WEFT_FN double wf_atan(double x) {
  double a = wf_fabs(x);
  a = a > 0x1p1000 ? 0x1p1000 : a;
  bool low = a <= 0.41421356237309503, top = a > 2.4142135623730949;
  double s = a - 1.0, g = a + 1.0;
  double sl = a - (s + 1.0), gl = a < 1.0 ? a - (g - 1.0) : 1.0 - (g - a);
  double n = low ? a : s, nl = low ? 0.0 : sl;
  double d = low ? 1.0 : g, dl = low ? 0.0 : gl;
  n = top ? -1.0 : n;
  nl = top ? 0.0 : nl;
  d = top ? a : d;
  dl = top ? 0.0 : dl;
  double rc = wf_div(1.0, d);
  double r = n * rc;
  double rl = (wf_fma(-r, d, n) + wf_fma(-r, dl, nl)) * rc;
  double t = r * r;
  double c = wf_fma(r * t, wf__atan_poly(t), rl);
  double bh = low ? 0.0 : 0x1.921fb54442d18p-1, bl = low ? 0.0 : 0x1.1a62633145c07p-55;
  bh = top ? WF_PIO2_HI : bh;
  bl = top ? WF_PIO2_LO : bl;
  double h = bh + r;
  return wf_copysign(h + ((r - (h - bh)) + (c + bl)), x);
}
WEFT_FN double wf_atan2(double y, double x) {
  double r = wf__atan2_core2(wf_fabs(y), wf_fabs(x), wf_signbit(x));
  r = x != x ? x : r;
  r = y != y ? y : r;
  return wf_copysign(r, y);
}

#endif
