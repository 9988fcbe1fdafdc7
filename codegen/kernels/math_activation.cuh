// gelu, gelu_tanh, silu, mish, softplus, log_sigmoid, logaddexp, ndtr.
//
// All of them are made of e^-a for an a >= 0, so nothing overflows. The float forms evaluate in
// double; the double forms carry that power as (y + yl) 2^n and round once or twice at the end, a
// subnormal result once.
#ifndef WEFT_MATH_ACTIVATION_CUH
#define WEFT_MATH_ACTIVATION_CUH

#ifndef __CUDACC_RTC__
#include "math_log.cuh"
#endif

// exp(h + l) = (y + yl) 2^n to about 2^-56, for -1700 <= h <= 0 and l well below h or small
WEFT_FN double wf__exp_parts(double h, double l, double* yl, double* n) {
  double k = wf_fma(h, 0x1.71547652b82fep+0, WF_MAGIC_D) - WF_MAGIC_D;
  double r0 = wf_fma(k, -WF_LN2_HI, h);
  double c0 = wf_fma(k, -WF_LN2_LO, l);
  double r = r0 + c0;
  double c = wf_fma(r * r, wf__exp_poly(r), c0 - (r - r0));
  double g = r + c;
  double y = 1.0 + g;
  *yl = (g - (y - 1.0)) + (c - (g - r));
  *n = k;
  return y;
}
// 2^n for n <= 0; below 2^-1000, where only a sum with 1 is wanted, 2^-1000
WEFT_FN double wf__pow2_down(double n) {
  return wf__pow2_magic(WF_MAGIC_D + (n < -1000.0 ? -1000.0 : n));
}
// (a + al) / (d + dl), rounded, and in *lo the rest
WEFT_FN double wf__quotient(double a, double al, double d, double dl, double* lo) {
  double rc = wf_div(1.0, d);
  double q = a * rc;
  *lo = (wf_fma(-q, d, a) + wf_fma(-q, dl, al)) * rc;
  return q;
}
// e^-v for |v| beyond what a float can tell from 0 and infinity, which is all that a quotient needs
WEFT_FN double wf__exp_minus(double v) {
  v = v > 690.0 ? 690.0 : v;
  v = v < -690.0 ? -690.0 : v;
  return wf__exp2_core(v * -0x1.71547652b82fep+0);
}

// ---- silu, gelu_tanh: x / (1 + e^-v) ----------------------------------------

// v = vh + vl of the sign of x, |vh| <= 1400
WEFT_FN double wf__gated(double x, double vh, double vl) {
  bool neg = vh < 0.0;
  double n, yl;
  double y = wf__exp_parts(neg ? vh : -vh, neg ? vl : -vl, &yl, &n);
  double p = wf__pow2_down(n);
  double e = y * p;
  double d = 1.0 + e, dl = (e - (d - 1.0)) + yl * p;
  double ql;
  double q = wf__quotient(neg ? y : 1.0, neg ? yl : 0.0, d, dl, &ql);
  return wf_copysign(wf__scale(wf_fma(x, q, x * ql), neg ? n : 0.0), x);
}
WEFT_FN float wf_silu(float x) {
  double v = double(x);
  float r = float(wf_div(v, 1.0 + wf__exp_minus(v)));
  return x == -WF_INF_F ? WF_NAN_F : r;
}
WEFT_FN double wf_silu(double x) {
  double c = x < -1400.0 ? -1400.0 : x;
  double r = wf__gated(c, c > 1400.0 ? 1400.0 : c, 0.0);
  r = x > 1400.0 ? x : r;
  return x == -WF_INF_D ? WF_NAN_D : r;
}
// 2 sqrt(2/pi) (x + 0.044715 x^3)
WEFT_FN float wf_gelu_tanh(float x) {
  double v = double(x);
  double u = v * wf_fma(v * v, 0x1.2444f2a4d8b4bp-4, 0x1.9884533d43651p+0);
  float r = float(wf_div(v, 1.0 + wf__exp_minus(u)));
  return x == -WF_INF_F ? WF_NAN_F : r;
}
WEFT_FN double wf_gelu_tanh(double x) {
  double c = x < -26.0 ? -26.0 : x;
  c = c > 26.0 ? 26.0 : c;
  double s = c * c, sl = wf_fma(c, c, -s);
  double a = 0x1.2444f2a4d8b4bp-4 * s;
  double al = wf_fma(0x1.2444f2a4d8b4bp-4, s, -a) +
              wf_fma(0x1.2444f2a4d8b4bp-4, sl, -0x1.6c843a29d1c70p-61 * s);
  double b = 0x1.9884533d43651p+0 + a;
  double t = b - 0x1.9884533d43651p+0;
  double bl = ((0x1.9884533d43651p+0 - (b - t)) + (a - t)) + (al - 0x1.cbc0d30ebfd15p-54);
  double v = c * b;
  double r = wf__gated(c, v, wf_fma(c, b, -v) + c * bl);
  r = x > 26.0 ? x : r;
  return x == -WF_INF_D ? WF_NAN_D : r;
}

// ---- mish: x tanh(log(1 + e^x)) ---------------------------------------------
// With e = e^-|x|: x (1 + 2e) / (1 + 2e + 2e^2) and, below 0, x e (2 + e) / (2 + e (2 + e)).

WEFT_FN float wf_mish(float x) {
  bool neg = x < 0.0f;
  double e = wf__exp_minus(double(wf_fabs(x)));
  double p = neg ? e * (e + 2.0) : wf_fma(2.0, e, 1.0);
  double d = p + (neg ? 2.0 : 2.0 * e * e);
  float r = float(wf_div(double(x) * p, d));
  return x == -WF_INF_F ? WF_NAN_F : r;
}
WEFT_FN double wf_mish(double x) {
  bool neg = x < 0.0;
  double c = x < -1400.0 ? -1400.0 : x;
  double a = wf_fabs(c), n, yl;
  double y = wf__exp_parts(a > 1400.0 ? -1400.0 : -a, 0.0, &yl, &n);
  double p = wf__pow2_down(n);
  double e = y * p, el = yl * p;
  // below 0: (y + yl) (t + tl) over 2 + (e + el) (t + tl)
  double t = 2.0 + e, tl = (e - (t - 2.0)) + el;
  double p1 = y * t, p1l = wf_fma(y, t, -p1) + wf_fma(y, tl, yl * t);
  double f = e * t, fl = wf_fma(e, t, -f) + wf_fma(e, tl, el * t);
  double d1 = 2.0 + f, d1l = (f - (d1 - 2.0)) + fl;
  // above
  double e2 = e + e;
  double p2 = 1.0 + e2, p2l = (e2 - (p2 - 1.0)) + 2.0 * el;
  double g = e2 * e, gl = wf_fma(e2, e, -g) + 2.0 * e2 * el;
  double d2 = p2 + g, d2l = (g - (d2 - p2)) + (gl + p2l);
  double ql;
  double q = wf__quotient(neg ? p1 : p2, neg ? p1l : p2l, neg ? d1 : d2, neg ? d1l : d2l, &ql);
  double r = wf_copysign(wf__scale(wf_fma(c, q, c * ql), neg ? n : 0.0), x);
  r = x > 1400.0 ? x : r;
  return x == -WF_INF_D ? WF_NAN_D : r;
}

// ---- softplus, log_sigmoid, logaddexp: m + log(1 + e^-d) --------------------

// m + log(1 + exp(h + l)), h as in wf__exp_parts
WEFT_FN double wf__add_log1p_exp(double m, double h, double l) {
  double n, yl, e, sl, gl;
  double y = wf__exp_parts(h, l, &yl, &n);
  double p = wf__pow2_down(n);
  double v = y * p;
  double u = 1.0 + v, ul = (v - (u - 1.0)) + yl * p;
  double k = wf__split_log(u, &e);
  double s = wf__log_s(k - 1.0, ul * wf__pow2_neg(e), &sl);
  double g = wf__log_dd(s, sl, &gl);
  double t = e * WF_LN2_HI;
  double b = t + g, bl = (g - (b - t)) + wf_fma(e, WF_LN2_LO, gl);
  double r = m + b;
  double w = r - m;
  r = r + (((m - (r - w)) + (b - w)) + bl);
  return n < -60.0 ? m + wf__scale(y, n) : r;
}
// PyTorch's: the identity above 20
WEFT_FN float wf_softplus(float x) {
  double a = double(wf_fabs(x));
  double v = wf__log1p_core(wf__exp_minus(a));
  float r = float((x <= 0.0f ? 0.0 : a) + v);
  return x > 20.0f ? x : r;
}
WEFT_FN double wf_softplus(double x) {
  double a = wf_fabs(x);
  double r = wf__add_log1p_exp(x <= 0.0 ? 0.0 : a, a > 1400.0 ? -1400.0 : -a, 0.0);
  return x > 20.0 ? x : r;
}
// log(1 / (1 + e^-x)); +0 where that is 1
WEFT_FN float wf_log_sigmoid(float x) {
  double a = double(wf_fabs(x));
  double v = wf__log1p_core(wf__exp_minus(a));
  return 0.0f - float((x >= 0.0f ? 0.0 : a) + v);
}
WEFT_FN double wf_log_sigmoid(double x) {
  double a = wf_fabs(x);
  return 0.0 - wf__add_log1p_exp(x >= 0.0 ? 0.0 : a, a > 1400.0 ? -1400.0 : -a, 0.0);
}
WEFT_FN double wf_logaddexp(double x, double y) {
  double m = x < y ? y : x, o = x < y ? x : y;
  double d = m - o;
  double b = d - m;
  double l = (m - (d - b)) - (o + b);
  bool far = d > 1400.0;
  double r = wf__add_log1p_exp(m, far ? -1400.0 : -d, far ? 0.0 : -l);
  return (wf_isinf(m) & (o == o)) ? m : r;
}
WEFT_FN float wf_logaddexp(float x, float y) { return float(wf_logaddexp(double(x), double(y))); }

// ---- ndtr: Phi(x), the standard normal distribution; gelu: x Phi(x) ----------
// Below 0.4 x/2 + x^2 R(x^2). Above, of t = |x|: -t Phi(-t), which is exp(-t^2/2) times a
// polynomial of (t - 4.25)/(t + 4.25) over 1 + 1.5 t, and x + that for positive x.

// R and, for 0.39 <= t <= 16, Phi(-t), each to about 2^-34
WEFT_FN double wf__ndtr_poly_f(double z) {
  double p = 0.00011135408246202837;
  p = wf_fma(p, z, -0.0011867027415871766);
  p = wf_fma(p, z, 0.0099735177476624921);
  p = wf_fma(p, z, -0.066490379203341693);
  p = wf_fma(p, z, 0.39894228039839713);
  return p;
}
WEFT_FN double wf__ndtr_tail_f(double t) {
  double w = wf_div(t - 4.25, t + 4.25);
  double q = 1.3392965165484808e-05;
  q = wf_fma(q, w, 6.1006091715809919e-05);
  q = wf_fma(q, w, -6.5593954672871606e-05);
  q = wf_fma(q, w, -0.00042230384158809225);
  q = wf_fma(q, w, 0.0010128904727605742);
  q = wf_fma(q, w, 0.001394180894912594);
  q = wf_fma(q, w, -0.01288884658169785);
  q = wf_fma(q, w, 0.037125718193836969);
  q = wf_fma(q, w, -0.065457811235054897);
  q = wf_fma(q, w, 0.073137342138797357);
  q = wf_fma(q, w, -0.03242877294459591);
  q = wf_fma(q, w, -0.06208567507544864);
  q = wf_fma(q, w, 0.6590249748344289);
  return wf_div(q * wf__exp2_core(t * t * -0x1.71547652b82fep-1), wf_fma(1.5, t, 1.0));
}
WEFT_FN float wf_ndtr(float x) {
  double v = double(x), t = double(wf_fabs(x));
  double small = wf_fma(v, wf__ndtr_poly_f(v * v), 0.5);
  double big = wf__ndtr_tail_f(t > 16.0 ? 16.0 : t);
  big = x > 0.0f ? 1.0 - big : big;
  return float(t < 0.4 ? small : big);
}
WEFT_FN float wf_gelu(float x) {
  double v = double(x), t = double(wf_fabs(x));
  t = t > 16.0 ? 16.0 : t;
  double small = v * wf_fma(v, wf__ndtr_poly_f(v * v), 0.5);
  double big = -t * wf__ndtr_tail_f(t);
  big = x > 0.0f ? v + big : big;
  float r = float(t < 0.4 ? small : big);
  return x == -WF_INF_F ? WF_NAN_F : r;
}
// R, and factor Phi(-t) for 0.39 <= t <= 41
WEFT_FN double wf__ndtr_poly(double z) {
  double p = 6.4103967755369985e-07;
  p = wf_fma(p, z, -9.4386518121678896e-06);
  p = wf_fma(p, z, 0.00011543396800611521);
  p = wf_fma(p, z, -0.0011873281711491446);
  p = wf_fma(p, z, 0.0099735570087345245);
  p = wf_fma(p, z, -0.066490380066891119);
  p = wf_fma(p, z, 0.39894228040143265);
  return p;
}
WEFT_FN double wf__ndtr_tail(double t, double factor) {
  double w = wf_div(t - 4.25, t + 4.25);
  double p = -2.7543379843821108e-09;
  p = wf_fma(p, w, -5.24198160070837e-09);
  p = wf_fma(p, w, 1.8904928574151731e-08);
  p = wf_fma(p, w, 5.1843808676038511e-08);
  p = wf_fma(p, w, -6.8675128597390592e-08);
  p = wf_fma(p, w, -3.2813218577798679e-07);
  p = wf_fma(p, w, 1.6637714627811118e-07);
  p = wf_fma(p, w, 1.855242418360843e-06);
  p = wf_fma(p, w, -2.8054663181526563e-07);
  p = wf_fma(p, w, -1.0753625425646356e-05);
  p = wf_fma(p, w, 2.107232079165342e-06);
  p = wf_fma(p, w, 6.7242923797342623e-05);
  p = wf_fma(p, w, -5.3808189349256547e-05);
  p = wf_fma(p, w, -0.00042245401721194655);
  p = wf_fma(p, w, 0.0010082431695497803);
  p = wf_fma(p, w, 0.001393588924371055);
  p = wf_fma(p, w, -0.012887983437626326);
  p = wf_fma(p, w, 0.037125855201280325);
  p = wf_fma(p, w, -0.065457886145430536);
  p = wf_fma(p, w, 0.073137332068439545);
  p = wf_fma(p, w, -0.032428770456747011);
  p = wf_fma(p, w, -0.06208567488872882);
  double c = w * p;
  double h = 0x1.516bb8b432eb8p-1 + c;
  double l = (c - (h - 0x1.516bb8b432eb8p-1)) + 0x1.8e6f424fb8c08p-58;
  double d = wf_fma(1.5, t, 1.0);
  double ql;
  double q = wf__quotient(h, l, d, wf_fma(1.5, t, 1.0 - d), &ql);
  double s = t * t, n, yl;
  double y = wf__exp_parts(-0.5 * s, -0.5 * wf_fma(t, t, -s), &yl, &n);
  double g = factor * q, gl = wf_fma(factor, q, -g) + factor * ql;
  return wf__scale(wf_fma(y, g, wf_fma(y, gl, yl * g)), n);
}
WEFT_FN double wf_ndtr(double x) {
  double small = wf_fma(x, wf__ndtr_poly(x * x), 0.5);
  double t = wf_fabs(x);
  double big = wf__ndtr_tail(t > 40.0 ? 40.0 : t, 1.0);
  big = x > 0.0 ? 1.0 - big : big;
  return t < 0.4 ? small : big;
}
WEFT_FN double wf_gelu(double x) {
  double small = wf_fma(x, 0.5, x * (x * wf__ndtr_poly(x * x)));
  double t = wf_fabs(x);
  t = t > 40.0 ? 40.0 : t;
  double big = wf__ndtr_tail(t, -t);
  big = x > 0.0 ? x + big : big;
  double r = wf_copysign(t < 0.4 ? small : big, x);
  return x == -WF_INF_D ? WF_NAN_D : r;
}

#endif
