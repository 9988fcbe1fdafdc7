// lgamma, digamma, trigamma, cbrt.
//
// The gamma functions are evaluated on one interval of length 1, from which recurrences lead to
// others, by Stirling's series above 4, and by reflection below 0. Their double forms carry every
// term in two doubles up to the last addition, since terms cancel near the zeros; the float forms
// are the double ones rounded.
#ifndef WEFT_MATH_GAMMA_CUH
#define WEFT_MATH_GAMMA_CUH

#ifndef __CUDACC_RTC__
#include "math_log.cuh"
#endif

// ---- sums in two doubles ----------------------------------------------------

// Adds b + bl to *h + *l; the sizes may be in any order.
WEFT_FN void wf__accumulate(double* h, double* l, double b, double bl) {
  double a = *h;
  double s = a + b;
  double t = s - a;
  *l += ((a - (s - t)) + (b - t)) + bl;
  *h = s;
}
// log(u + ul) as a sum of two doubles, for u > 0 and ul below half a unit of u, 0 for tiny u
WEFT_FN double wf__log_two(double u, double ul, double* lo) {
  double e, sl, l;
  double m = wf__split_log(u, &e);
  double s = wf__log_s(m - 1.0, ul * wf__pow2_neg(e < -1000.0 ? -1000.0 : e), &sl);
  double h = wf__log_dd(s, sl, &l);
  double t = e * WF_LN2_HI;
  double r = t + h;
  *lo = (h - (r - t)) + wf_fma(e, WF_LN2_LO, l);
  return r;
}
// sin(pi f) / (pi f) - 1 for |f| <= 1/2, and in *lo the rest
WEFT_FN double wf__sinc_minus_one(double f, double* lo) {
  double z = f * f, zl = wf_fma(f, f, -z);
  double p = 2.45092641621097e-07;
  p = wf_fma(p, z, -6.9721664679208785e-06);
  p = wf_fma(p, z, 0.00014842787045858403);
  p = wf_fma(p, z, -0.0023460809021498205);
  p = wf_fma(p, z, 0.026147847806425272);
  p = wf_fma(p, z, -0.19075182412156075);
  p = wf_fma(p, z, 0.81174242528334184);
  double h = z * -0x1.a51a6625307d3p+0;
  double l = wf_fma(z, -0x1.a51a6625307d3p+0, -h) +
             wf_fma(zl, -0x1.a51a6625307d3p+0, z * wf_fma(z, p, 0x1.17a62b58db072p-54));
  double r = h + l;
  *lo = l - (r - h);
  return r;
}

// ---- lgamma: log |Gamma(x)| -------------------------------------------------

// lgamma(2 + t) for |t| <= 1/2, and in *lo the rest
WEFT_FN double wf__lgamma_near_2(double t, double* lo) {
  double p = 6.4798374920197803e-08;
  p = wf_fma(p, t, -1.3438007532483096e-07);
  p = wf_fma(p, t, 2.0185757758406607e-07);
  p = wf_fma(p, t, -4.3007922242026798e-07);
  p = wf_fma(p, t, 9.5845829239934736e-07);
  p = wf_fma(p, t, -2.0450469337854174e-06);
  p = wf_fma(p, t, 4.3742139780021846e-06);
  p = wf_fma(p, t, -9.4384273130686084e-06);
  p = wf_fma(p, t, 2.0507293414197671e-05);
  p = wf_fma(p, t, -4.492635565248659e-05);
  p = wf_fma(p, t, 9.945750656094508e-05);
  p = wf_fma(p, t, -0.00022315475035619529);
  p = wf_fma(p, t, 0.00050966952503085183);
  p = wf_fma(p, t, -0.0011927539120198463);
  p = wf_fma(p, t, 0.0028905103307342128);
  p = wf_fma(p, t, -0.0073855510286676938);
  p = wf_fma(p, t, 0.020580808427784633);
  p = wf_fma(p, t, -0.067352301053198144);
  double w = t * p;
  double h1 = 0x1.4a34cc4a60fa6p-2 + w;
  double l1 = (w - (h1 - 0x1.4a34cc4a60fa6p-2)) + 0x1.12f6fb8abca19p-56;
  double th = t * h1, tl = wf_fma(t, h1, -th) + t * l1;
  double h0 = 0x1.b0ee6072093cep-2 + th;
  double l0 = (th - (h0 - 0x1.b0ee6072093cep-2)) + (tl + 0x1.710a58860bf81p-58);
  double h = t * h0;
  *lo = wf_fma(t, h0, -h) + t * l0;
  return h;
}
// (lgamma(v) - (v - 1/2) log v + v - log(2 pi)/2) v for 1/v^2 = z, v >= 4.5
WEFT_FN double wf__stirling_poly(double z) {
  double p = 0.048084217840142079;
  p = wf_fma(p, z, -0.020881720179300785);
  p = wf_fma(p, z, 0.0060433113096759264);
  p = wf_fma(p, z, -0.0019077796298818774);
  p = wf_fma(p, z, 0.00084159294026450954);
  p = wf_fma(p, z, -0.00059523662510622207);
  p = wf_fma(p, z, 0.00079365078666491942);
  p = wf_fma(p, z, -0.0027777777777646426);
  p = wf_fma(p, z, 0.083333333333333329);
  return p;
}
// log |Gamma(v)| for -1/2 <= v <= 2.56e305. Below 4.5: lgamma(2 + t) and the logarithm of the
// product by which Gamma differs there.
WEFT_FN double wf__lgamma_two(double v, double* lo) {
  bool big = v >= 4.5;
  double k = wf_floor((big ? 2.0 : v) + 0.5);  // v - k = t
  double t = (big ? 2.0 : v) - k;
  bool zero = k == 0.0;
  double a = zero ? wf_fabs(v) : k == 1.0 ? v : k == 2.0 ? 1.0 : v - 1.0;
  double b = zero ? 1.0 + v : k == 4.0 ? v - 2.0 : 1.0;
  double bl = zero ? v - (b - 1.0) : 0.0;
  double u = a * b, ul = wf_fma(a, b, -u) + a * bl;
  ul = wf_fabs(v) < 0x1p-60 ? 0.0 : ul;
  double gl;
  double g = wf__log_two(big ? v : u, big ? 0.0 : ul, &gl);
  // small: lgamma(2 + t) + or - g
  double l;
  double h = wf__lgamma_near_2(t, &l);
  bool minus = k < 2.0;
  wf__accumulate(&h, &l, minus ? -g : g, minus ? -gl : gl);
  // big: (v - 1/2) (g - 1) + (log(2 pi) - 1)/2 + S/v
  double w = v - 0.5, d = g - 1.0;
  double dl = (-1.0 - (d - g)) + gl;
  double rv = wf_div(1.0, v);
  double h2 = w * d, l2 = wf_fma(w, d, -h2) + w * dl;
  wf__accumulate(&h2, &l2, 0x1.acfe390c97d69p-2, 0x1.3494bc9001442p-56);
  l2 += rv * wf__stirling_poly(rv * rv);
  *lo = big ? l2 : l;
  return big ? h2 : h;
}
// Below -1/2: -log(a |f| sin(pi f)/(pi f)) - lgamma(a) with a = -x and f what a differs by from the
// nearest integer.
WEFT_FN double wf_lgamma(double x) {
  bool neg = x < -0.5;
  double a = wf_fabs(x), l;
  double v = neg ? a : x;
  double h = wf__lgamma_two(v > 2.56e305 ? 2.56e305 : v, &l);
  double f = wf_fabs(a - wf_round(a));
  double spl, sp = wf__sinc_minus_one(f, &spl);
  double c = 1.0 + sp, cl = (sp - (c - 1.0)) + spl;
  double b = neg ? a * f : 1.0, bl = wf_fma(a, f, -b);
  double u = b * c, ul = wf_fma(b, c, -u) + wf_fma(b, cl, bl * c);
  u = neg ? u : 1.0;
  ul = neg ? ul : 0.0;
  double gl;
  double g = wf__log_two(u, ul, &gl);
  double h2 = -h, l2 = -l;
  wf__accumulate(&h2, &l2, -g, -gl);
  double r = neg ? h2 + l2 : h + l;
  r = x > 0x1.754d9278b51a7p+1014 ? WF_INF_D : r;
  bool pole = (x <= 0.0) & ((f == 0.0) | (a == WF_INF_D));
  return pole ? WF_INF_D : r;
}
WEFT_FN float wf_lgamma(float x) { return float(wf_lgamma(double(x))); }

// ---- digamma: the derivative of log Gamma -----------------------------------

// (psi(t + 3/2) over its distance from the root - 0.951) / t for |t| <= 1/2
WEFT_FN double wf__digamma_poly(double t) {
  double p = 0.00012278609027198897;
  p = wf_fma(p, t, -0.00017808969095407229);
  p = wf_fma(p, t, 9.1056765916683094e-05);
  p = wf_fma(p, t, -0.00014499222322385914);
  p = wf_fma(p, t, 0.00032722474708570752);
  p = wf_fma(p, t, -0.0004858348323176673);
  p = wf_fma(p, t, 0.0006898249602066411);
  p = wf_fma(p, t, -0.0010364991518573721);
  p = wf_fma(p, t, 0.00156360029695804);
  p = wf_fma(p, t, -0.0023454858431350982);
  p = wf_fma(p, t, 0.0035180754475180585);
  p = wf_fma(p, t, -0.0052799385062348757);
  p = wf_fma(p, t, 0.0079270245008860422);
  p = wf_fma(p, t, -0.011908219993127607);
  p = wf_fma(p, t, 0.017907248170068567);
  p = wf_fma(p, t, -0.026975796666111832);
  p = wf_fma(p, t, 0.040760833945567634);
  p = wf_fma(p, t, -0.061922133275283453);
  p = wf_fma(p, t, 0.094988724452811188);
  p = wf_fma(p, t, -0.14840492305388422);
  p = wf_fma(p, t, 0.24054248424078753);
  p = wf_fma(p, t, -0.42362742128146058);
  return p;
}
// (log v - 1/(2v) - psi(v)) v^2 for 1/v^2 = z, v >= 4
WEFT_FN double wf__digamma_series(double z) {
  double p = 16.382329113855366;
  p = wf_fma(p, z, -7.9085488967027331);
  p = wf_fma(p, z, 2.0048885218383412);
  p = wf_fma(p, z, -0.39961102592573794);
  p = wf_fma(p, z, 0.082061754078157939);
  p = wf_fma(p, z, -0.021067833831795581);
  p = wf_fma(p, z, 0.0075754427809914919);
  p = wf_fma(p, z, -0.004166664299735329);
  p = wf_fma(p, z, 0.0039682539589327376);
  p = wf_fma(p, z, -0.0083333333333185031);
  p = wf_fma(p, z, 0.083333333333333329);
  return p;
}
// (1/f - pi cot(pi f)) / f = pi^2/3 + z (2.16 + z P(z)) for f^2 = z <= 1/4: P
WEFT_FN double wf__cot_poly(double z) {
  double p = 18.478045706241726;
  p = wf_fma(p, z, -18.552541775461094);
  p = wf_fma(p, z, 15.078201024539059);
  p = wf_fma(p, z, -3.2282747150330318);
  p = wf_fma(p, z, 3.4279623547066076);
  p = wf_fma(p, z, 1.7225430095207745);
  p = wf_fma(p, z, 2.0390784441441836);
  p = wf_fma(p, z, 1.9959999043459531);
  p = wf_fma(p, z, 2.0003279006328674);
  p = wf_fma(p, z, 2.0001068227452228);
  p = wf_fma(p, z, 2.0004927419282312);
  p = wf_fma(p, z, 2.0019891367432745);
  p = wf_fma(p, z, 2.0081547125895711);
  p = wf_fma(p, z, 2.0346861239674419);
  return p;
}
// psi(1 + a) for a negative x = -a, to which pi cot(pi a) is then added; psi(a) for x = a
WEFT_FN double wf_digamma(double x) {
  bool neg = x < 0.0;
  double a = wf_fabs(x);
  bool tiny = a < 0x1p-60;
  a = tiny ? 1.5 : a;
  bool big = a >= 4.0;
  double ra = wf_div(1.0, a), ral = wf_fma(-ra, a, 1.0) * ra;
  // psi on [1, 2), or of a
  double c = big ? 1.5 : a, k = wf_floor(c), t = (c - k) - 0.5;
  double d = t + 0x1.3a4f395283812p-5;
  double b = d - t;
  double dl = ((t - (d - b)) + (0x1.3a4f395283812p-5 - b)) + 0x1.e563779a1f5b1p-60;
  double o = t * wf__digamma_poly(t);
  double q = 0x1.e6f0cbb873616p-1 + o;
  double ql = (o - (q - 0x1.e6f0cbb873616p-1)) + 0x1.87d4df66bc730p-55;
  double h = d * q, l = wf_fma(d, q, -h) + wf_fma(d, ql, dl * q);
  double g, gl, z = ra * ra;
  g = wf__log_two(a, 0.0, &gl);
  h = big ? g : h;
  l = big ? gl - z * wf__digamma_series(z) : l;
  // 1/(c - 1), and 1/(c - 2) from 3 on
  double n = k < 2.0 ? 0.0 : k == 2.0 ? 1.0 : 2.0 * c - 3.0;
  double m1 = k < 2.0 ? 1.0 : c - 1.0, m2 = k < 3.0 ? 1.0 : c - 2.0;
  double m = m1 * m2, ml = wf_fma(m1, m2, -m);
  double rm = wf_div(1.0, m);
  double s = n * rm, sl = (wf_fma(-s, m, n) - s * ml) * rm;
  wf__accumulate(&h, &l, s, sl);
  double w = big ? (neg ? 0.5 : -0.5) : k == 0.0 ? (neg ? 0.0 : -1.0) : (neg ? 1.0 : 0.0);
  wf__accumulate(&h, &l, w * ra, w * ral);
  // 1/f - f (pi^2/3 + f^2 R)
  double f = neg ? a - wf_round(a) : 0.5;
  double rf = wf_div(1.0, f), rfl = wf_fma(-rf, f, 1.0) * rf;
  double zf = f * f, zl = wf_fma(f, f, -zf);
  double u = zf * wf__cot_poly(zf);
  double a1 = 2.1646464674222807 + u, a1l = u - (a1 - 2.1646464674222807);
  double a0 = zf * a1, a0l = wf_fma(zf, a1, -a0) + wf_fma(zf, a1l, zl * a1);
  double v = 0x1.a51a6625307d3p+1 + a0;
  double vl = (a0 - (v - 0x1.a51a6625307d3p+1)) + (a0l + 0x1.0dd57a2371c44p-54);
  double y = f * v, yl = wf_fma(f, v, -y) + f * vl;
  double h2 = h, l2 = l;
  wf__accumulate(&h2, &l2, rf, rfl);
  wf__accumulate(&h2, &l2, -y, -yl);
  double r = neg ? h2 + l2 : h + l;
  r = x == WF_INF_D ? x : r;
  r = (neg & (f == 0.0)) ? WF_NAN_D : r;
  return tiny ? wf_div(-1.0, x) : r;
}
WEFT_FN float wf_digamma(float x) { return float(wf_digamma(double(x))); }

// ---- trigamma: its derivative -----------------------------------------------

// (psi'(v) - 1/v - 1/(2 v^2)) v^3 for 1/v^2 = z, v >= 4
WEFT_FN double wf__trigamma_series(double z) {
  double p = -2084.0235558328836;
  p = wf_fma(p, z, 1011.8726471241242);
  p = wf_fma(p, z, -245.22598409239131);
  p = wf_fma(p, z, 42.580367648338701);
  p = wf_fma(p, z, -6.6896959171471329);
  p = wf_fma(p, z, 1.1573507898149573);
  p = wf_fma(p, z, -0.2529659202060231);
  p = wf_fma(p, z, 0.075756054784345508);
  p = wf_fma(p, z, -0.03333332392194148);
  p = wf_fma(p, z, 0.023809523778981021);
  p = wf_fma(p, z, -0.033333333333293733);
  p = wf_fma(p, z, 0.16666666666666666);
  return p;
}
// 1/(s + sl)^2 as a sum of two doubles; infinity where 1/s is
WEFT_FN double wf__inverse_square(double s, double sl, double* lo) {
  double r = wf_div(1.0, s);
  double rl = (wf_fma(-r, s, 1.0) - r * sl) * r;
  double h = r * r;
  *lo = wf_fabs(r) < 0x1p500 ? wf_fma(r, r, -h) + 2.0 * r * rl : 0.0;
  return h;
}
// Four terms of the sum over 1/(v + i)^2 and the series from there on; below 0 by reflection.
WEFT_FN double wf_trigamma(double x) {
  bool neg = x < 0.0;
  double a = wf_fabs(x);
  double v = neg ? a + 1.0 : a;
  bool big = v >= 4.0;
  double c = big ? v : v + 4.0;
  double rc = wf_div(1.0, c), z = rc * rc;
  double rest = wf_fma(z, 0.5, z * rc * wf__trigamma_series(z));
  double l, v1 = v + 1.0, v2 = v + 2.0, v3 = v + 3.0;
  double h = wf__inverse_square(v, 0.0, &l);
  double tiny = h + l;
  l += rest;
  wf__accumulate(&h, &l, rc, wf_fma(-rc, c, 1.0) * rc);
  wf__accumulate(&h, &l, wf_div(1.0, v1 * v1), 0.0);
  wf__accumulate(&h, &l, wf_div(1.0, v2 * v2), 0.0);
  wf__accumulate(&h, &l, wf_div(1.0, v3 * v3), 0.0);
  double psi = big ? rc + rest : v < 0x1p-60 ? tiny : h + l;
  double f = neg ? a - wf_round(a) : 0.5;
  double spl, sp = wf__sinc_minus_one(f, &spl);
  double o = 1.0 + sp, ol = (sp - (o - 1.0)) + spl;
  double s = f * o, sl = wf_fma(f, o, -s) + f * ol;
  double l2;
  double h2 = wf__inverse_square(s, sl, &l2);
  double r = neg ? h2 + (l2 - psi) : psi;
  return (neg & (f == 0.0)) ? WF_INF_D : r;
}
WEFT_FN float wf_trigamma(float x) { return float(wf_trigamma(double(x))); }

// ---- cbrt -------------------------------------------------------------------

// An approximation of m^(1/3) to 2^-19.6, m in [sqrt(1/2), sqrt(2)), then one step of Halley's
// method on m 2^r, whose exponent is left divisible by 3.
WEFT_FN double wf__cbrt_start(double a, double* m, double* k) {
  double e;
  double x = wf__split_log(a, &e);
  double p = 0.026940860710708094;
  p = wf_fma(p, x, -0.17949695924770703);
  p = wf_fma(p, x, 0.510872288230241);
  p = wf_fma(p, x, -0.83600670302535907);
  p = wf_fma(p, x, 1.0560001214841601);
  p = wf_fma(p, x, 0.42168938762035657);
  double q = wf_fma(e, 0x1.5555555555555p-2, WF_MAGIC_D) - WF_MAGIC_D;
  double r = wf_fma(q, -3.0, e);
  *m = x * (r > 0.0 ? 2.0 : r < 0.0 ? 0.5 : 1.0);
  *k = q;
  return p * (r > 0.0 ? 0x1.428a2f98d728bp+0 : r < 0.0 ? 0x1.965fea53d6e3dp-1 : 1.0);
}
WEFT_FN float wf_cbrt(float x) {
  double m, k, a = double(wf_fabs(x));
  double y = wf__cbrt_start(a, &m, &k);
  double c = y * y * y;
  y = wf_fma(y, wf_div(m - c, wf_fma(2.0, c, m)), y) * wf__pow2_magic(WF_MAGIC_D + k);
  return ((a > 0.0) & (a < WF_INF_D)) ? wf_copysign(float(y), x) : x;
}
WEFT_FN double wf_cbrt(double x) {
  double m, k, a = wf_fabs(x);
  double y = wf__cbrt_start(a, &m, &k);
  double s = y * y, sl = wf_fma(y, y, -s);
  double c = s * y, cl = wf_fma(s, y, -c) + sl * y;
  y = wf_fma(y, wf_div((m - c) - cl, wf_fma(2.0, c, m)), y) * wf__pow2_magic(WF_MAGIC_D + k);
  return ((a > 0.0) & (a < WF_INF_D)) ? wf_copysign(y, x) : x;
}

#endif
