// What the tests of the scalar functions share: distances in ulp, arguments, and a sweep of one
// function against libm in long double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include "support/catch.h"

namespace weft::testing::math {

using Real = long double;
inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr float inff = std::numeric_limits<float>::infinity();
inline const double nan64 = std::numeric_limits<double>::quiet_NaN();
inline const float nan32 = std::numeric_limits<float>::quiet_NaN();

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
inline constexpr std::uint64_t thinning = 16;
#else
inline constexpr std::uint64_t thinning = 1;
#endif

template <class T>
inline constexpr int precision = std::numeric_limits<T>::digits;
template <class T>
inline constexpr int least_exponent = std::numeric_limits<T>::min_exponent;

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
  // clang-format off
  std::vector<double> around = {
      1, 2, 3, 0.5, 0.25, 0.35, 0.4, 0.41421356, 0.55, 0.85, 0.9, 2.4142135, 3.925, 4, 4.5, 6, 10.5,
      27.23, 28, 0.70710678118, 1.41421356237, 0.785398163397, 1.57079632679, 3.14159265359,
      6.28318530718, 9.01, 14.2, 16, 20, 26, 38.5, 40, 88.7228, 89.4159, 103.9721, 104, 126, 127, 128,
      149, 150, 151, 709.7827, 710.4758, 744.4401, 745.1332, 746, 1022, 1023, 1024, 1074, 1075, 1400,
      1e-4, 1e-8, 1e-20, 1e5, 1e10, 1e20, 2.5599833e305};
  // clang-format on
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
  /// In f64, below 0, where terms cancel: an absolute error that is right too.
  double slack = 0;
};

#define WEFT_UNARY(name, exact, low, high)                                                         \
  Unary {                                                                                          \
#name, [](float x) { return wf_##name(x); }, [](double x) { return wf_##name(x); }, \
        [](Real x) -> Real { return exact; }, low, high              \
  }

// Signs of zeros are part of the result.
template <class T>
bool same_zero(T got, Real exact) {
  return got != 0 || exact != 0 || std::signbit(got) == std::signbit(exact);
}

/// One function over a sample of all arguments; prints the greatest errors found.
inline void check_unary(const Unary& f) {
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
    const bool is_near = x < 0 && std::fabs(Real{f.f64(x)} - exact) <= f.slack;
    if (!is_near) w64.see(ulp_error(f.f64(x), exact), x);
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

}  // namespace weft::testing::math
