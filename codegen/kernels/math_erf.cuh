// erf, erfc.
#ifndef WEFT_MATH_ERF_CUH
#define WEFT_MATH_ERF_CUH

#ifndef __CUDACC_RTC__
#include "math_exp.cuh"
#endif

// erf(a) for 0 <= a <= 3.925 in double to about 2^-31
WEFT_FN double wf__erf_core(double a) {
  double t = a * a;
  double p = 6.1052696445732675e-21;
  p = wf_fma(p, t, -9.8230090494229526e-19);
  p = wf_fma(p, t, 7.4201219705911045e-17);
  p = wf_fma(p, t, -3.5093198408246448e-15);
  p = wf_fma(p, t, 1.1707329990384398e-13);
  p = wf_fma(p, t, -2.9478462184046281e-12);
  p = wf_fma(p, t, 5.8659693672305019e-11);
  p = wf_fma(p, t, -9.5569356471389011e-10);
  p = wf_fma(p, t, 1.3122926480248154e-08);
  p = wf_fma(p, t, -1.554590615756668e-07);
  p = wf_fma(p, t, 1.6151958814387499e-06);
  p = wf_fma(p, t, -1.4836389325973881e-05);
  p = wf_fma(p, t, 0.00012036325866797763);
  p = wf_fma(p, t, -0.00085454452945162745);
  p = wf_fma(p, t, 0.0052236832698461209);
  p = wf_fma(p, t, -0.026865984464112393);
  p = wf_fma(p, t, 0.1128378534269794);
  p = wf_fma(p, t, -0.37612638032004131);
  p = wf_fma(p, t, 1.1283791668906826);
  return a * p;
}
WEFT_FN float wf_erf(float x) {
  float a = wf_fabs(x);
  return wf_copysign(float(wf__erf_core(double(a > 3.925f ? 3.925f : a))), x);
}
// exp(-a^2) times a polynomial in w = (a-3)/(a+3) over 1 + 2a
WEFT_FN float wf_erfc(float x) {
  double a = double(wf_fabs(x));
  a = a > 10.5 ? 10.5 : a;
  double e = wf__exp2_core(a * a * -0x1.71547652b82fep+0);
  double w = wf_div(a - 3.0, a + 3.0);
  double p = 2.2069284012995832e-05;
  p = wf_fma(p, w, 0.00011192418845003939);
  p = wf_fma(p, w, -0.00012126939616540635);
  p = wf_fma(p, w, -0.00077708455367318254);
  p = wf_fma(p, w, 0.0018943791252498188);
  p = wf_fma(p, w, 0.0025293241415546741);
  p = wf_fma(p, w, -0.02377145461410362);
  p = wf_fma(p, w, 0.068307992252078994);
  p = wf_fma(p, w, -0.11927359189452642);
  p = wf_fma(p, w, 0.12964516162755804);
  p = wf_fma(p, w, -0.047562296384470341);
  p = wf_fma(p, w, -0.13562110617129758);
  p = wf_fma(p, w, 1.2530080582792398);
  double big = wf_div(p * e, wf_fma(2.0, a, 1.0));
  double r = a < 0.5 ? 1.0 - wf__erf_core(a > 1.0 ? 1.0 : a) : big;
  return float(x < 0.0f ? 2.0 - r : r);
}
// erf(x) for |x| < 0.9
WEFT_FN double wf__erf_small(double x) {
  double t = x * x;
  double p = 7.0142567063106893e-11;
  p = wf_fma(p, t, -1.1909316017749867e-09);
  p = wf_fma(p, t, 1.4779083407881249e-08);
  p = wf_fma(p, t, -1.6365578931030599e-07);
  p = wf_fma(p, t, 1.6462241008397203e-06);
  p = wf_fma(p, t, -1.4925661926344305e-05);
  p = wf_fma(p, t, 0.00012055333503014798);
  p = wf_fma(p, t, -0.00085483270373156871);
  p = wf_fma(p, t, 0.0052239776256628821);
  p = wf_fma(p, t, -0.026866170645151118);
  p = wf_fma(p, t, 0.11283791670955214);
  p = wf_fma(p, t, -0.37612638903183754);
  return wf_fma(x, 0x1.20dd750429b6dp+0, x * wf_fma(t, p, 0x1.1ae3a914fed80p-56));
}
// erfc(a) for 0.28 <= a <= 27.4
WEFT_FN double wf__erfc_big(double a) {
  double w = wf_div(a - 3.0, a + 3.0);
  double p = 6.1531433515354767e-10;
  p = wf_fma(p, w, -5.2692740893294061e-09);
  p = wf_fma(p, w, -1.1993932956780238e-08);
  p = wf_fma(p, w, 3.6776104040453749e-08);
  p = wf_fma(p, w, 9.9826322046777143e-08);
  p = wf_fma(p, w, -1.3724853420867243e-07);
  p = wf_fma(p, w, -6.1489318411917137e-07);
  p = wf_fma(p, w, 3.5456612073497444e-07);
  p = wf_fma(p, w, 3.4714907547096453e-06);
  p = wf_fma(p, w, -7.3078399523797848e-07);
  p = wf_fma(p, w, -2.0100263643992309e-05);
  p = wf_fma(p, w, 4.9493481923376736e-06);
  p = wf_fma(p, w, 0.00012509929102778186);
  p = wf_fma(p, w, -0.00010515978635034321);
  p = wf_fma(p, w, -0.00077983226517816279);
  p = wf_fma(p, w, 0.0018886903586470066);
  p = wf_fma(p, w, 0.0025293918157380684);
  p = wf_fma(p, w, -0.023770514918631892);
  p = wf_fma(p, w, 0.068308027343973038);
  p = wf_fma(p, w, -0.11927366341531052);
  p = wf_fma(p, w, 0.12964515870276147);
  p = wf_fma(p, w, -0.047562294353450683);
  p = wf_fma(p, w, -0.1356211061245812);
  double wp = w * p;
  double h = 1.2530080582697296 + wp, l = (wp - (h - 1.2530080582697296)) + 4.4108002359548079e-17;
  double d = wf_fma(2.0, a, 1.0), dl = wf_fma(2.0, a, 1.0 - d);
  double rc = wf_div(1.0, d);
  double q = h * rc;
  double ql = (wf_fma(-q, d, h) + wf_fma(-q, dl, l)) * rc;
  // exp(-a^2) = 2^n (1 + r + c)
  double s = a * a, sl = wf_fma(a, a, -s);
  double n = wf_fma(s, -0x1.71547652b82fep+0, WF_MAGIC_D) - WF_MAGIC_D;
  double r0 = wf_fma(n, -WF_LN2_HI, -s);
  double c0 = wf_fma(n, -WF_LN2_LO, -sl);
  double r = r0 + c0;
  double rl = c0 - (r - r0);
  double c = wf_fma(r * r, wf__exp_poly(r), rl);
  double g = r + c;
  double y = 1.0 + g;
  double yl = (g - (y - 1.0)) + (c - (g - r));
  return wf__scale(wf_fma(y, q, wf_fma(y, ql, yl * q)), n);
}
WEFT_FN double wf_erf(double x) {
  double a = wf_fabs(x);
  double big = 1.0 - wf__erfc_big(a > 6.0 ? 6.0 : a);
  return wf_copysign(a < 0.85 ? wf__erf_small(a) : big, x);
}
WEFT_FN double wf_erfc(double x) {
  double a = wf_fabs(x);
  double small = 1.0 - wf__erf_small(a < 0.3 ? x : 0.0);
  double big = wf__erfc_big(a > 28.0 ? 28.0 : a);
  big = x < 0.0 ? 2.0 - big : big;
  return a < 0.3 ? small : big;
}

#endif
