// The scalar functions of codegen/kernels against libm in long double, against facts written out
// by hand, and at the edges. The greatest errors found are printed; README.md there quotes them.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "codegen/math_trials.h"
#include "support/catch.h"

#include "math.cuh"
#include "scalar.cuh"

namespace {

using namespace weft::testing::math;

const Unary unaries[] = {
    WEFT_UNARY(exp, std::exp(x), -60, 11),
    WEFT_UNARY(exp2, std::exp2(x), -60, 11),
    WEFT_UNARY(expm1, std::expm1(x), -1074, 11),
    WEFT_UNARY(log, std::log(x), -1074, 1023),
    WEFT_UNARY(log2, std::log2(x), -1074, 1023),
    WEFT_UNARY(log10, std::log10(x), -1074, 1023),
    WEFT_UNARY(log1p, std::log1p(x), -1074, 1023),
    WEFT_UNARY(sin, std::sin(x), -1074, 1023),
    WEFT_UNARY(cos, std::cos(x), -60, 1023),
    WEFT_UNARY(tan, std::tan(x), -1074, 1023),
    WEFT_UNARY(tanh, std::tanh(x), -1074, 6),
    WEFT_UNARY(sigmoid, x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)), -60, 11),
    WEFT_UNARY(sinh, std::sinh(x), -1074, 11),
    WEFT_UNARY(cosh, std::cosh(x), -60, 11),
    WEFT_UNARY(asin, std::asin(x), -1074, 1),
    WEFT_UNARY(acos, std::acos(x), -60, 1),
    WEFT_UNARY(atan, std::atan(x), -1074, 1023),
    WEFT_UNARY(asinh, std::asinh(x), -1074, 1023),
    WEFT_UNARY(acosh, std::acosh(x), 0, 1023),
    WEFT_UNARY(atanh, std::atanh(x), -1074, 1),
    WEFT_UNARY(erf, std::erf(x), -1074, 4),
    WEFT_UNARY(erfc, std::erfc(x), -60, 6),
    WEFT_UNARY(rsqrt, x == 0 ? std::copysign(Real{inf}, x) : 1 / std::sqrt(x), -1074, 1023),
};

TEST_CASE("unary functions are within 2 ulp everywhere", "[math]") {
  for (const Unary& f : unaries) check_unary(f);
}

TEST_CASE("the trigonometric functions for small arguments have the same bits", "[math]") {
  Random random;
  bool same = true;
  for (std::uint64_t i = 0; i < 400000 / thinning; ++i) {
    const double x = random.wide(-40, 30);
    const float y = static_cast<float>(random.wide(-40, 47));
    same = same && wf_sin_small(x) == wf_sin(x) && wf_cos_small(x) == wf_cos(x);
    same = same && wf_sin_small(y) == wf_sin(y) && wf_cos_small(y) == wf_cos(y);
  }
  CHECK(same);
}

TEST_CASE("binary functions are within 2 ulp", "[math]") {
  Worst pow32, pow64, atan32, atan64, hypot32, hypot64;
  Random random;
  const auto pow_at = [&](double x, double y) {
    const Real exact = std::pow(Real{x}, Real{y});
    pow64.see(ulp_error(wf_pow(x, y), exact), x, y);
    const float a = static_cast<float>(x), b = static_cast<float>(y);
    pow32.see(ulp_error(wf_pow(a, b), std::pow(Real{a}, Real{b})), a, b);
  };
  const auto others_at = [&](double x, double y) {
    const float a = static_cast<float>(x), b = static_cast<float>(y);
    atan64.see(ulp_error(wf_atan2(x, y), std::atan2(Real{x}, Real{y})), x, y);
    atan32.see(ulp_error(wf_atan2(a, b), std::atan2(Real{a}, Real{b})), a, b);
    hypot64.see(ulp_error(wf_hypot(x, y), std::hypot(Real{x}, Real{y})), x, y);
    hypot32.see(ulp_error(wf_hypot(a, b), std::hypot(Real{a}, Real{b})), a, b);
  };
  for (std::uint64_t i = 0; i < 300000 / thinning; ++i) {
    const double x = std::fabs(random.any());
    pow_at(x, (2 * random.unit() - 1) * 1080 / std::log2(x));
    const float z = static_cast<float>(std::fabs(random.wide(-149, 127)));
    pow_at(z, (2 * random.unit() - 1) * 152 / std::log2(z));
    pow_at(1 + random.wide(-50, -2), random.wide(0, 54));
    pow_at(random.wide(-3, 3), std::floor(random.wide(0, 9)));
    pow_at(std::fabs(random.wide(-3, 3)), random.wide(0, 9));
    others_at(random.any(), random.any());
    others_at(random.wide(-4, 4), random.wide(-4, 4));
    others_at(random.wide(-149, 127), random.wide(-149, 127));
    const double a = random.wide(-1074, 1022);
    others_at(a, a * (1 + random.unit()));
  }
  std::vector<double> points = {0.0,
                                1,
                                2,
                                3,
                                0.5,
                                1.5,
                                1e-320,
                                1e-40,
                                1e30,
                                1e300,
                                9007199254740991.0,
                                9007199254740993.0,
                                16777215,
                                16777217,
                                inf,
                                nan64};
  for (std::size_t i = points.size(); i-- > 0;) points.push_back(-points[i]);
  bool zeros = true;
  for (double x : points)
    for (double y : points) {
      pow_at(x, y);
      others_at(x, y);
      zeros = zeros && same_zero(wf_pow(x, y), std::pow(Real{x}, Real{y})) &&
              same_zero(wf_atan2(x, y), std::atan2(Real{x}, Real{y}));
    }
  CHECK(zeros);
  std::printf("  pow      max ulp  f32 %.3f  f64 %.3f\n", pow32.error, pow64.error);
  std::printf("  atan2    max ulp  f32 %.3f  f64 %.3f\n", atan32.error, atan64.error);
  std::printf("  hypot    max ulp  f32 %.3f  f64 %.3f\n", hypot32.error, hypot64.error);
  INFO("pow at " << pow32.at[0] << ", " << pow32.at[1] << " and " << pow64.at[0] << ", "
                 << pow64.at[1]);
  CHECK(pow32.error <= 2);
  CHECK(pow64.error <= 2);
  INFO("atan2 at " << atan32.at[0] << ", " << atan32.at[1] << " and " << atan64.at[0] << ", "
                   << atan64.at[1]);
  CHECK(atan32.error <= 2);
  CHECK(atan64.error <= 2);
  INFO("hypot at " << hypot32.at[0] << ", " << hypot32.at[1] << " and " << hypot64.at[0] << ", "
                   << hypot64.at[1]);
  CHECK(hypot32.error <= 2);
  CHECK(hypot64.error <= 2);
}

TEST_CASE("known values", "[math]") {
  // references to more digits than a double holds
  const struct {
    double got, exact;
  } facts[] = {
      {wf_exp(1.0), 2.7182818284590452354},
      {wf_exp(-745.0), 2.8223507304719370764e-324},
      {wf_log(10.0), 2.302585092994045684},
      {wf_log1p(1e-10), 9.9999999995000003644e-11},
      {wf_expm1(1e-10), 1.0000000000500000364e-10},
      {wf_tanh(0.5), 0.4621171572600097585},
      {wf_erf(0.5), 0.52049987781304653768},
      {wf_erfc(10.0), 2.088487583762544757e-45},
      {wf_erfc(26.5), 2.2109076642637342759e-307},
      {wf_sin(1e22), -0.85220084976718880177},
      {wf_cos(1e22), 0.5232147853951389455},
      {wf_sin(0x1p100), -0.87218360541826730978},
      {wf_cos(1.5707963267948966), 6.1232339957367658861e-17},
      {wf_cos(std::ldexp(6381956970095103.0, 797)), -4.687165924254627611123e-19},
      {wf_tan(std::ldexp(6381956970095103.0, 797)), -2133485385753703843.7},
      {wf_asinh(1e300), 691.46867507877365057},
      {wf_acosh(1.0000001), 0.00044721359190373472707},
      {wf_atanh(0.5), 0.5493061443340548457},
      {wf_pow(2.0, 0.5), 1.4142135623730950488},
      {wf_hypot(3e200, 4e200), 5e200},
  };
  for (const auto& fact : facts) CHECK(ulp_error(fact.got, fact.exact) <= 2);
  CHECK(wf_exp(0.0) == 1.0);
  CHECK(wf_exp(0.0f) == 1.0f);
  CHECK(wf_exp(88.7229f) == inff);
  CHECK(wf_exp(-104.0f) == 0.0f);
  CHECK(wf_exp(-103.5f) == 0x1p-149f);
  CHECK(wf_log(0x1p-149f) == Catch::Approx(-103.2789299).epsilon(1e-7));
  CHECK(wf_sigmoid(-100.0f) == Catch::Approx(3.7835e-44).epsilon(0.02));
  CHECK(wf_sin(1e22f) == Catch::Approx(std::sin(double{1e22f})).epsilon(1e-7));
  for (int n = -1074; n < 1024; ++n) {
    const double x = std::ldexp(1.0, n);
    if (wf_exp2(double(n)) != x || wf_log2(x) != n) FAIL("power of two " << n);
  }
  for (int n = 0; n <= 22; ++n)
    if (wf_log10(std::pow(10.0, n)) != n) FAIL("power of ten " << n);
  CHECK(wf_log2(8.0f) == 3.0f);
  CHECK(wf_log10(1000.0f) == 3.0f);
  CHECK(wf_pow(3.0f, 2.0f) == 9.0f);
  CHECK(wf_pow(10.0, 15.0) == 1e15);
}

TEST_CASE("special arguments", "[math]") {
  CHECK(std::isnan(wf_log(-1.0f)));
  CHECK(std::isnan(wf_sin(inf)));
  CHECK(std::isnan(wf_cos(-inff)));
  CHECK(std::isnan(wf_asin(1.5)));
  CHECK(std::isnan(wf_acosh(0.5f)));
  CHECK(wf_atanh(1.0) == inf);
  CHECK(wf_rsqrt(0.0f) == inff);
  CHECK(wf_rsqrt(inf) == 0.0);
  // pow, as C99's annex F has it
  for (double y : {0.0, -0.0, 1.0, inf, nan64}) CHECK(wf_pow(1.0, y) == 1.0);
  for (double x : {0.0, -2.0, inf, nan64}) CHECK(wf_pow(x, -0.0) == 1.0);
  CHECK(wf_pow(-1.0, inf) == 1.0);
  CHECK(wf_pow(-1.0f, -inff) == 1.0f);
  CHECK(std::isnan(wf_pow(-8.0, 1.0 / 3)));
  CHECK(std::isnan(wf_pow(-1.0, nan64)));
  CHECK(wf_pow(-2.0, 3.0) == -8.0);
  CHECK(wf_pow(-2.0f, 2.0f) == 4.0f);
  CHECK(wf_pow(0.0, -1.0) == inf);
  CHECK(wf_pow(-0.0, -3.0) == -inf);
  CHECK(wf_pow(-0.0, -2.0) == inf);
  CHECK(std::signbit(wf_pow(-0.0, 3.0)));
  CHECK(!std::signbit(wf_pow(-0.0, 0.5)));
  CHECK(wf_pow(-inf, 0.5) == inf);
  CHECK(wf_pow(-inf, 3.0) == -inf);
  CHECK(std::signbit(wf_pow(-inf, -3.0)));
  CHECK(wf_pow(0.5, -inf) == inf);
  CHECK(wf_pow(0.5f, inff) == 0.0f);
  // rounding to integers: halves to even
  CHECK(wf_round(0.5f) == 0.0f);
  CHECK(wf_round(1.5) == 2.0);
  CHECK(wf_round(-2.5) == -2.0);
  CHECK(wf_floor(-0.5) == -1.0);
  CHECK(std::signbit(wf_ceil(-0.5f)));
  CHECK(wf_trunc(-1.75f) == -1.0f);
}

TEST_CASE("fmod is exact, and NaN where the quotient overflows", "[math]") {
  Random random;
  bool same = true;
  for (std::uint64_t i = 0; i < 200000 / thinning; ++i) {
    const double x = random.any(), y = i % 2 ? random.any() : random.wide(-4, 4);
    const double expected = std::isinf(x / y) ? nan64 : std::fmod(x, y), got = wf_fmod(x, y);
    same =
        same && (std::isnan(got) ? std::isnan(expected)
                                 : got == expected && std::signbit(got) == std::signbit(expected));
    const float a = static_cast<float>(random.wide(-149, 127)),
                b = static_cast<float>(random.wide(-149, 127));
    const float expected32 = std::isinf(a / b) ? nan32 : std::fmod(a, b), got32 = wf_fmod(a, b);
    same = same && (std::isnan(got32) ? std::isnan(expected32) : got32 == expected32);
  }
  CHECK(same);
  CHECK(std::signbit(wf_fmod(-6.0, 3.0)));
  CHECK(std::isnan(wf_fmod(1.0, 0.0)));
  CHECK(std::isnan(wf_fmod(inff, 2.0f)));
  CHECK(wf_fmod(5.0, inf) == 5.0);
}

TEST_CASE("float division that floors, and its remainder", "[math]") {
  CHECK(wf_remainder(-0.75, 0.5) == 0.25);
  CHECK(wf_remainder(-0.75f, 0.5f) == 0.25f);
  CHECK(wf_remainder(0.75, -0.5) == -0.25);
  CHECK(wf_floor_divide(-0.75, 0.5) == -2.0);
  CHECK(wf_floor_divide(7.0f, -2.0f) == -4.0f);
  CHECK(wf_floor_divide(1.0, 0.1) == 9.0);  // 0.1 is a little more than a tenth
  CHECK(wf_floor_divide(1.0, 0.0) == inf);
  CHECK(std::isnan(wf_floor_divide(0.0f, 0.0f)));
  CHECK(std::isnan(wf_remainder(1.0, 0.0)));
  CHECK(std::signbit(wf_floor_divide(-0.0, 1.0)));
  CHECK(wf_remainder(-1.0, inf) == inf);
  CHECK(wf_floor_divide(-1.0, inf) == -1.0);
}

TEST_CASE("maximum and minimum spread NaN, fmax and fmin drop it", "[math]") {
  for (double x : {1.0, -inf, inf}) {
    CHECK(std::isnan(wf_maximum(x, nan64)));
    CHECK(std::isnan(wf_maximum(nan64, x)));
    CHECK(std::isnan(wf_minimum(x, nan64)));
    CHECK(std::isnan(wf_minimum(nan64, x)));
    CHECK(wf_fmax(x, nan64) == x);
    CHECK(wf_fmax(nan64, x) == x);
    CHECK(wf_fmin(nan64, x) == x);
  }
  CHECK(std::isnan(wf_fmax(nan32, nan32)));
  CHECK(std::isnan(wf_relu(nan32)));
  CHECK(wf_maximum(2.0f, 3.0f) == 3.0f);
  CHECK(wf_minimum(2, 3) == 2);
  CHECK(wf_relu(-3) == 0);
}

}  // namespace
