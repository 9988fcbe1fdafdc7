// The scalar functions of codegen/kernels against libm in long double, against facts written out
// by hand, and at the edges. The greatest errors found are printed; README.md there quotes them.
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "math.cuh"
#include "philox.cuh"
#include "scalar.cuh"

namespace {

using Real = long double;
constexpr double inf = std::numeric_limits<double>::infinity();
constexpr float inff = std::numeric_limits<float>::infinity();
const double nan64 = std::numeric_limits<double>::quiet_NaN();
const float nan32 = std::numeric_limits<float>::quiet_NaN();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr std::uint64_t thinning = 16;
#else
constexpr std::uint64_t thinning = 1;
#endif

template <class T>
constexpr int precision = std::numeric_limits<T>::digits;
template <class T>
constexpr int least_exponent = std::numeric_limits<T>::min_exponent;

/// Distance in units in the last place of the exact result, subnormals included; NaN must meet NaN.
template <class T>
double ulp_error(T got, Real exact) {
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) && std::isnan(got) ? 0 : inf;
  const T nearest = static_cast<T>(exact);
  if (std::isinf(nearest) || std::isinf(got)) {
    if (got == nearest) return 0;
    if (std::isinf(exact) || (std::isinf(got) && std::isinf(nearest))) return inf;
    const Real value =
        std::isinf(got)
            ? std::copysign(std::ldexp(Real{1}, std::numeric_limits<T>::max_exponent), Real{got})
            : Real{got};
    return static_cast<double>(
        std::fabs(value - exact) /
        std::ldexp(Real{1}, std::numeric_limits<T>::max_exponent - precision<T>));
  }
  int exponent = least_exponent<T>;
  if (exact != 0) std::frexp(exact, &exponent);
  if (exponent < least_exponent<T>) exponent = least_exponent<T>;
  return static_cast<double>(std::fabs(Real{got} - exact) /
                             std::ldexp(Real{1}, exponent - precision<T>));
}

struct Worst {
  double error = 0;
  double at[2] = {0, 0};
  void see(double e, double x, double y = 0) {
    if (e > error) {
      error = e;
      at[0] = x;
      at[1] = y;
    }
  }
};

class Random {
 public:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double any() {  // all bit patterns alike
    const std::uint64_t bits = next();
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double wide(double low, double high) {  // exponents alike, both signs
    const double x =
        std::ldexp(1 + unit(), static_cast<int>(std::floor(low + (high - low) * unit())));
    return next() & 1 ? x : -x;
  }

 private:
  std::uint64_t state_ = 2024;
};

/// Zeros, subnormals, powers of two and the neighbours of what is special to some function.
template <class T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> list = {0,
                         Limits::infinity(),
                         Limits::quiet_NaN(),
                         Limits::denorm_min(),
                         Limits::min(),
                         Limits::max()};
  std::vector<double> around = {1,
                                2,
                                3,
                                0.5,
                                0.25,
                                0.35,
                                0.41421356,
                                0.55,
                                0.85,
                                0.9,
                                2.4142135,
                                3.925,
                                6,
                                10.5,
                                27.23,
                                28,
                                0.70710678118,
                                1.41421356237,
                                0.785398163397,
                                1.57079632679,
                                3.14159265359,
                                6.28318530718,
                                9.01,
                                20,
                                88.7228,
                                89.4159,
                                103.9721,
                                104,
                                126,
                                127,
                                128,
                                149,
                                150,
                                151,
                                709.7827,
                                710.4758,
                                744.4401,
                                745.1332,
                                746,
                                1022,
                                1023,
                                1024,
                                1074,
                                1075,
                                1e-4,
                                1e-8,
                                1e-20,
                                1e5,
                                1e10,
                                1e20};
  for (int e = -1074; e < 1024; e += 7) around.push_back(std::ldexp(1.0, e));
  for (double centre : around) {
    T low = static_cast<T>(centre), high = low;
    list.push_back(low);
    for (int step = 0; step < 3; ++step) {
      low = std::nextafter(low, -Limits::infinity());
      high = std::nextafter(high, Limits::infinity());
      list.push_back(low);
      list.push_back(high);
    }
  }
  for (std::size_t i = list.size(); i-- > 0;) list.push_back(-list[i]);
  return list;
}

struct Unary {
  const char* name;
  float (*f32)(float);
  double (*f64)(double);
  Real (*exact)(Real);
  double low, high;  // exponents of arguments that are not trivial
};

#define WEFT_UNARY(name, exact, low, high)                                                         \
  Unary {                                                                                          \
#name, [](float x) { return wf_##name(x); }, [](double x) { return wf_##name(x); }, \
        [](Real x) -> Real { return exact; }, low, high              \
  }
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

// Signs of zeros are part of the result.
template <class T>
bool same_zero(T got, Real exact) {
  return got != 0 || exact != 0 || std::signbit(got) == std::signbit(exact);
}

TEST_CASE("unary functions are within 2 ulp everywhere", "[math]") {
  for (const Unary& f : unaries) {
    Worst w32, w64;
    bool zeros = true;
    const auto see32 = [&](float x) {
      const Real exact = f.exact(x);
      w32.see(ulp_error(f.f32(x), exact), x);
      zeros = zeros && same_zero(f.f32(x), exact);
    };
    for (std::uint64_t i = 0; i < (1ull << 32); i += 4099 * thinning) {
      const auto bits = static_cast<std::uint32_t>(i);
      float x;
      std::memcpy(&x, &bits, sizeof x);
      see32(x);
    }
    for (float x : edges<float>()) see32(x);

    const auto see64 = [&](double x) {
      const Real exact = f.exact(x);
      w64.see(ulp_error(f.f64(x), exact), x);
      zeros = zeros && same_zero(f.f64(x), exact);
    };
    Random random;
    for (std::uint64_t i = 0; i < 240000 / thinning; ++i) {
      switch (i % 4) {
        case 0: see64(random.any()); break;
        case 1: see64(random.wide(f.low, f.high)); break;
        case 2: see64(random.wide(-6, 5)); break;
        default: see64(1 + random.wide(-53, -1));
      }
    }
    for (double x : edges<double>()) see64(x);

    std::printf("  %-8s max ulp  f32 %.3f  f64 %.3f\n", f.name, w32.error, w64.error);
    INFO(f.name << " f32 at " << w32.at[0] << ", f64 at " << w64.at[0]);
    CHECK(w32.error <= 2);
    CHECK(w64.error <= 2);
    CHECK(zeros);
  }
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

TEST_CASE("integers wrap and never trap", "[scalar]") {
  constexpr wf_i32 min32 = std::numeric_limits<wf_i32>::min(),
                   max32 = std::numeric_limits<wf_i32>::max();
  constexpr wf_i64 min64 = std::numeric_limits<wf_i64>::min(),
                   max64 = std::numeric_limits<wf_i64>::max();
  CHECK(wf_add(max32, 1) == min32);
  CHECK(wf_sub(min64, 1ll) == max64);
  CHECK(wf_mul(max32, 2) == -2);
  CHECK(wf_neg(min32) == min32);
  CHECK(wf_abs(min64) == min64);
  CHECK(wf_wrap_i8(200) == -56);
  CHECK(wf_wrap_i8(-129) == 127);
  CHECK(wf_wrap_u8(-1) == 255);

  CHECK(wf_div_trunc(7, 0) == 0);
  CHECK(wf_div_trunc(min32, -1) == min32);
  CHECK(wf_div_trunc(-7, 2) == -3);
  CHECK(wf_floor_divide(-7, 2) == -4);
  CHECK(wf_floor_divide(7, -2) == -4);
  CHECK(wf_floor_divide(min32, -1) == min32);
  CHECK(wf_floor_divide(min64, -1ll) == min64);
  CHECK(wf_floor_divide(5ll, 0ll) == 0);
  CHECK(wf_remainder(-7, 2) == 1);
  CHECK(wf_remainder(7, -2) == -1);
  CHECK(wf_remainder(min32, -1) == 0);
  CHECK(wf_remainder(9ll, 0ll) == 0);
  CHECK(wf_fmod(-7, 2) == -1);
  CHECK(wf_fmod(-7ll, 0ll) == 0);
  Random random;
  bool same = true;
  for (int i = 0; i < 200000; ++i) {
    const auto a = static_cast<wf_i32>(random.next()),
               b = static_cast<wf_i32>(random.next() >> (random.next() % 32)) | 1;
    if (b == -1) continue;
    const wf_i32 q = a / b, r = a % b;
    const bool down = r != 0 && (r < 0) != (b < 0);
    same = same && wf_div_trunc(a, b) == q && wf_fmod(a, b) == r;
    same = same && wf_floor_divide(a, b) == q - down && wf_remainder(a, b) == r + (down ? b : 0);
    same = same && wf_floor_divide(wf_i64{a}, wf_i64{b}) == q - down &&
           wf_remainder(wf_i64{a}, wf_i64{b}) == r + (down ? b : 0);
  }
  CHECK(same);

  CHECK(wf_pow(3, 4) == 81);
  CHECK(wf_pow(2, 31) == min32);
  CHECK(wf_pow(2ll, 64ll) == 0);
  CHECK(wf_pow(-3ll, 3ll) == -27);
  CHECK(wf_pow(0, 0) == 1);
  CHECK(wf_pow(0, -1) == 0);
  CHECK(wf_pow(5, -2) == 0);
  CHECK(wf_pow(1, -7) == 1);
  CHECK(wf_pow(-1, -7) == -1);
  CHECK(wf_pow(-1ll, -8ll) == 1);

  CHECK(wf_shl(1, 31) == min32);
  CHECK(wf_shl(1, 32) == 0);
  CHECK(wf_shl(1, -1) == 0);
  CHECK(wf_shl(1ll, 63ll) == min64);
  CHECK(wf_shl(1ll, 64ll) == 0);
  CHECK(wf_shr(-8, 1) == -4);
  CHECK(wf_shr(-8, 40) == -1);
  CHECK(wf_shr(8, 32) == 0);
  CHECK(wf_shr(min64, 64ll) == -1);
}

TEST_CASE("casts truncate, saturate and send NaN to 0; narrowing integers wrap", "[scalar]") {
  constexpr wf_i32 min32 = std::numeric_limits<wf_i32>::min(),
                   max32 = std::numeric_limits<wf_i32>::max();
  constexpr wf_i64 min64 = std::numeric_limits<wf_i64>::min(),
                   max64 = std::numeric_limits<wf_i64>::max();
  CHECK(wf_to_i32(2.9f) == 2);
  CHECK(wf_to_i32(-2.9) == -2);
  CHECK(wf_to_i32(nan32) == 0);
  CHECK(wf_to_i32(nan64) == 0);
  CHECK(wf_to_i32(3e9f) == max32);
  CHECK(wf_to_i32(-inff) == min32);
  CHECK(wf_to_i32(2147483647.9) == max32);
  CHECK(wf_to_i32(-2147483649.0) == min32);
  CHECK(wf_to_i32(2147483520.0f) == 2147483520);
  CHECK(wf_to_i64(inf) == max64);
  CHECK(wf_to_i64(-1e300) == min64);
  CHECK(wf_to_i64(nan32) == 0);
  CHECK(wf_to_i64(-0x1p63) == min64);
  CHECK(wf_to_i64(0x1.fffffffffffffp62) == 0x7ffffffffffffc00ll);
  CHECK(wf_to_i64(-1.5) == -1);
  CHECK(wf_to_i8(300.0f) == 127);
  CHECK(wf_to_i8(-300.0) == -128);
  CHECK(wf_to_i8(nan32) == 0);
  CHECK(wf_to_u8(-5.0f) == 0);
  CHECK(wf_to_u8(1e9) == 255);
  CHECK(wf_to_u8(nan64) == 0);
  CHECK(wf_to_bool(nan32) == 1);
  CHECK(wf_to_bool(-0.0) == 0);
  CHECK(wf_to_i8(wf_i64{511}) == -1);
  CHECK(wf_to_i32(0x180000000ll) == min32);
  CHECK(wf_to_u8(-1) == 255);
  Random random;
  bool same = true;
  for (int i = 0; i < 200000; ++i) {
    const auto x = static_cast<wf_i64>(random.next()) >> (random.next() % 64);
    same = same && wf_to_f32(x) == static_cast<float>(x) && wf_to_f64(x) == static_cast<double>(x);
    const double y = static_cast<double>(x) * 0.371;
    same = same && wf_to_i64(y) == static_cast<wf_i64>(y);
  }
  CHECK(same);
}

/// What a 16-bit float with that many mantissa bits means.
double half_value(unsigned bits, int mantissa, int bias) {
  const int exponent = static_cast<int>((bits & 0x7fff) >> mantissa),
            top = (1 << (15 - mantissa)) - 1;
  const int fraction = static_cast<int>(bits & ((1u << mantissa) - 1));
  double x = exponent == 0     ? std::ldexp(fraction, 1 - bias - mantissa)
             : exponent == top ? (fraction != 0 ? nan64 : inf)
                               : std::ldexp((1 << mantissa) + fraction, exponent - bias - mantissa);
  return bits & 0x8000 ? -x : x;
}

template <class Widen, class From32, class From64>
void check_half(int mantissa, int bias, unsigned nan, Widen widen, From32 from32, From64 from64) {
  int wrong = 0;
  const auto expect = [&](double x, unsigned bits) {
    wrong += from64(x) != bits;
    if (static_cast<float>(x) == x) wrong += from32(static_cast<float>(x)) != bits;
  };
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const double x = half_value(bits, mantissa, bias);
    const float y = widen(static_cast<wf_u16>(bits));
    if (std::isnan(x)) {
      wrong += !std::isnan(y) + (from32(y) != nan) + (from64(double{y}) != nan);
      continue;
    }
    wrong += y != static_cast<float>(x) || std::signbit(y) != std::signbit(x);
    expect(x, bits);
    if ((bits & 0x7fff) >= (((1u << (15 - mantissa)) - 1) << mantissa)) continue;
    // Halfway to the next one goes to the even one, the rest to the nearer one. The step from the
    // greatest finite value to infinity is as long as the one before it.
    const double step = std::ldexp(1.0, std::max(static_cast<int>((bits & 0x7fff) >> mantissa), 1) -
                                            bias - mantissa);
    const double middle = x + std::copysign(step / 2, x);
    expect(middle, bits & 1 ? bits + 1 : bits);
    expect(std::nextafter(middle, 0.0), bits);
    expect(std::nextafter(middle, 2 * middle), bits + 1);
    const float middle32 = static_cast<float>(middle);
    if (middle32 == middle) {
      expect(std::nextafter(middle32, 0.0f), bits);
      expect(std::nextafter(middle32, 2 * middle32), bits + 1);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("half conversions, all of them", "[scalar]") {
  check_half(
      10, 15, 0x7e00, [](wf_u16 h) { return wf_f16_to_f32(h); },
      [](float x) { return wf_f32_to_f16(x); }, [](double x) { return wf_f64_to_f16(x); });
  check_half(
      7, 127, 0x7fc0, [](wf_u16 h) { return wf_bf16_to_f32(h); },
      [](float x) { return wf_f32_to_bf16(x); }, [](double x) { return wf_f64_to_bf16(x); });
  CHECK(wf_to_f16(65504) == 0x7bff);
  CHECK(wf_to_f16(65520) == 0x7c00);
  CHECK(wf_to_f16(1e300) == 0x7c00);
  CHECK(wf_to_f16(-wf_i64{1}) == 0xbc00);
  CHECK(wf_to_bf16(wf_i64{257}) == 0x4380);
  CHECK(wf_to_bf16((wf_i64{0x101} << 54) + 1) ==
        0x5e81);  // one more than halfway, which a double cannot hold
  CHECK(wf_to_bf16(-((wf_i64{0x101} << 54) + 1)) == 0xde81);
  CHECK(wf_to_bf16(wf_i64{0x101} << 54) == 0x5e80);
}

TEST_CASE("Philox: known answers", "[random]") {
  const auto check = [](wf_u32x4 got, std::vector<wf_u32> expected) {
    CHECK(std::vector<wf_u32>{got.x, got.y, got.z, got.w} == expected);
  };
  check(wf_philox4x32_10(0, 0, 0, 0, 0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const wf_u32 ones = 0xffffffff;
  check(wf_philox4x32_10(ones, ones, ones, ones, ones, ones),
        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check(wf_philox4x32_10(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0),
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  check(wf_random_block(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u),
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("an element's draw is its place in the blocks", "[random]") {
  const wf_u64 seed = 7, call = 3;
  for (wf_u64 i :
       {wf_u64{0}, wf_u64{1}, wf_u64{2}, wf_u64{3}, wf_u64{4}, wf_u64{1000003}, wf_u64{1} << 40}) {
    const wf_u32x4 b4 = wf_random_block(seed, call, i / 4), b2 = wf_random_block(seed, call, i / 2);
    const wf_u32 w4[] = {b4.x, b4.y, b4.z, b4.w}, w2[] = {b2.x, b2.y, b2.z, b2.w};
    CHECK(wf_random_u32(seed, call, i) == w4[i % 4]);
    CHECK(wf_random_u64(seed, call, i) == (wf_u64{w2[2 * (i % 2) + 1]} << 32 | w2[2 * (i % 2)]));
    CHECK(wf_rand_f32(seed, call, i) == wf_uniform_f32(w4[i % 4]));
    const unsigned pair = i % 4 / 2 * 2;
    CHECK(wf_randn_f32(seed, call, i) == wf_normal_f32(w4[pair], w4[pair + 1], i % 2 != 0));
  }
  CHECK(wf_random_u32(7, 0, 5) != wf_random_u32(7, 1, 5));
  CHECK(wf_random_u32(7, 0, 5) != wf_random_u32(7 + (wf_u64{1} << 32), 0, 5));
}

TEST_CASE("draws have the ranges and moments that they should", "[random]") {
  CHECK(wf_uniform_f32(0) == 0.0f);
  CHECK(wf_uniform_f32(0xffffffff) == 1.0f - 0x1p-24f);
  CHECK(wf_uniform_f64(~wf_u64{0}) == 1.0 - 0x1p-53);
  CHECK(wf_randint(0, -3, 10) == -3);
  CHECK(wf_randint(~wf_u64{0}, -3, 10) == 6);
  CHECK(wf_randint(~wf_u64{0}, 0, 0) == -1);
  CHECK(wf_randint(wf_u64{1} << 63, std::numeric_limits<wf_i64>::min(), 0) == 0);
  for (bool odd : {false, true}) {
    CHECK(std::isfinite(wf_normal_f32(0, 0, odd)));
    CHECK(std::isfinite(wf_normal_f64(0, 0, odd)));
    CHECK(wf_normal_f32(0xffffffff, 0x12345678, odd) == 0.0f);
  }
  constexpr int n = 100000;
  double sums[4][4] = {};
  int counts[10] = {};
  for (wf_u64 i = 0; i < n; ++i) {
    const double draws[] = {wf_rand_f32(7, 0, i), wf_rand_f64(7, 1, i), wf_randn_f32(7, 2, i),
                            wf_randn_f64(7, 3, i)};
    for (int k = 0; k < 4; ++k)
      for (int power = 0; power < 4; ++power) sums[k][power] += std::pow(draws[k], power + 1) / n;
    ++counts[wf_rand_int(7, 4, i, 0, 10)];
  }
  for (int k = 0; k < 2; ++k)
    for (int power = 0; power < 4; ++power)
      CHECK(sums[k][power] == Catch::Approx(1.0 / (power + 2)).epsilon(0.01));
  for (int k = 2; k < 4; ++k) {
    CHECK(std::fabs(sums[k][0]) < 0.015);
    CHECK(sums[k][1] == Catch::Approx(1).epsilon(0.02));
    CHECK(std::fabs(sums[k][2]) < 0.05);
    CHECK(sums[k][3] == Catch::Approx(3).epsilon(0.04));
  }
  for (int count : counts) CHECK(std::abs(count - n / 10) < 500);
}

}  // namespace
