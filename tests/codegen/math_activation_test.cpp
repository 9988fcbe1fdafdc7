// Activations and the gamma functions of codegen/kernels against plain definitions in long double,
// literals worked out to more digits than a double holds, and at the edges.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>

#include "codegen/math_trials.h"
#include "support/catch.h"
#include "support/math_references.h"

#include "math.cuh"

namespace {

using namespace weft::testing::math;
namespace exact = weft::testing;

const Unary functions[] = {
    WEFT_UNARY(gelu, x* exact::ndtr(x), -1074, 7),
    WEFT_UNARY(gelu_tanh, exact::gelu_tanh(x), -1074, 6),
    WEFT_UNARY(silu, exact::gated(x, x), -1074, 11),
    WEFT_UNARY(mish, exact::mish(x), -1074, 11),
    WEFT_UNARY(softplus, exact::softplus(x), -60, 11),
    WEFT_UNARY(log_sigmoid, exact::log_sigmoid(x), -60, 11),
    WEFT_UNARY(ndtr, exact::ndtr(x), -60, 6),
    WEFT_UNARY(cbrt, std::cbrt(x), -1074, 1023),
    WEFT_UNARY(trigamma, exact::trigamma(x), -512, 1023),
};
// These cross 0 between the negative integers.
Unary crossing(Unary f, double slack) {
  f.slack = slack;
  return f;
}
const Unary crossing_functions[] = {
    crossing(WEFT_UNARY(lgamma, exact::log_gamma(x), -1074, 1000), 0x1p-53),
    crossing(WEFT_UNARY(digamma, exact::digamma(x), -1022, 1023), 0x1p-52),
};

TEST_CASE("activations, cbrt and trigamma are within 2 ulp everywhere", "[math]") {
  for (const Unary& f : functions) check_unary(f);
}

TEST_CASE("lgamma and digamma are within 2 ulp but for f64 near zeros below 0", "[math]") {
  for (const Unary& f : crossing_functions) check_unary(f);
  // Each of the zeros that a float can be near to.
  Worst lgamma32, digamma32;
  for (int n = 1; n < 40; ++n)
    for (int i = 1; i < 2000; ++i) {
      const float x = static_cast<float>(-n + i / 2000.0);
      lgamma32.see(ulp_error(wf_lgamma(x), exact::log_gamma(Real{x})), x);
      digamma32.see(ulp_error(wf_digamma(x), exact::digamma(Real{x})), x);
    }
  INFO(lgamma32.at[0] << " " << digamma32.at[0]);
  CHECK(lgamma32.error <= 1);
  CHECK(digamma32.error <= 1);
}

TEST_CASE("logaddexp is within 2 ulp, or 2 to the -53 near 0", "[math]") {
  Worst w32, w64;
  Random random;
  const auto see = [&](double x, double y) {
    const Real want = exact::logaddexp(Real{x}, Real{y});
    if (!(std::fabs(want - Real{wf_logaddexp(x, y)}) <= 0x1p-53))
      w64.see(ulp_error(wf_logaddexp(x, y), want), x, y);
    const float a = static_cast<float>(x), b = static_cast<float>(y);
    const Real narrow = exact::logaddexp(Real{a}, Real{b});
    if (!(std::fabs(narrow - Real{wf_logaddexp(a, b)}) <= 0x1p-53))
      w32.see(ulp_error(wf_logaddexp(a, b), narrow), a, b);
  };
  for (std::uint64_t i = 0; i < 200000 / thinning; ++i) {
    const double x = 40 * random.unit() - 20, near = random.wide(-20, 6);
    see(random.any(), random.any());
    see(x, 40 * random.unit() - 20);
    see(near, near + random.wide(-30, 10));
    see(-random.unit(), std::log1p(-std::exp(-random.unit())));
    see(random.wide(-1074, 1023), random.wide(-1074, 1023));
  }
  std::printf("  logaddexp max ulp  f32 %.3f  f64 %.3f\n", w32.error, w64.error);
  INFO(w32.at[0] << ", " << w32.at[1] << " and " << w64.at[0] << ", " << w64.at[1]);
  CHECK(w32.error <= 2);
  CHECK(w64.error <= 2);
}

TEST_CASE("logaddexp at infinities and NaN", "[math]") {
  CHECK(wf_logaddexp(-inf, -inf) == -inf);
  CHECK(wf_logaddexp(inf, inf) == inf);
  CHECK(wf_logaddexp(inf, -inf) == inf);
  CHECK(wf_logaddexp(-inff, 3.0f) == 3.0f);
  CHECK(wf_logaddexp(3.0, -inf) == 3.0);
  for (const double x : {1.0, inf, -inf, nan64}) {
    CHECK(std::isnan(wf_logaddexp(x, nan64)));
    CHECK(std::isnan(wf_logaddexp(nan64, x)));
    CHECK(std::isnan(wf_logaddexp(static_cast<float>(x), nan32)));
  }
  CHECK(wf_logaddexp(0.0, -744.0) == 0x1p-1073);
  CHECK(wf_logaddexp(1.7e308, -1.7e308) == 1.7e308);
}

TEST_CASE("known values of activations and gamma functions", "[math]") {
  const struct {
    double got, exact;
  } facts[] = {
      {wf_gelu(0.5), 0.345731230637006552},
      {wf_gelu(-8.0), -4.9767684594174273e-15},
      {wf_gelu_tanh(0.5), 0.345714009825143922},
      {wf_gelu_tanh(-8.0), -3.10778293750111122e-21},
      {wf_silu(2.0), 1.76159415595576489},
      {wf_silu(-40.0), -1.69934170211663559e-16},
      {wf_mish(2.0), 1.94395895953399452},
      {wf_mish(-40.0), -1.69934170211663559e-16},
      {wf_softplus(-40.0), 4.24835425529158899e-18},
      {wf_log_sigmoid(3.0), -0.0485873515737420588},
      {wf_ndtr(3.0), 0.998650101968369905},
      {wf_lgamma(0.25), 1.28802252469807746},
      {wf_lgamma(100.0), 359.134205369575399},
      {wf_lgamma(-2.5), -0.0562437164976740507},
      {wf_digamma(0.25), -4.22745353337626541},
      {wf_digamma(-0.5), 0.0364899739785765206},
      {wf_trigamma(0.25), 17.1973291545071107},
      {wf_trigamma(-0.5), 8.93480220054467931},
      {wf_cbrt(2.0), 1.25992104989487316},
      {wf_logaddexp(-3.0, 0.5), 0.529750418272620565},
  };
  for (const auto& fact : facts) CHECK(ulp_error(fact.got, fact.exact) <= 2);
}

template <class T>
void check_edges() {
  const T infinity = std::numeric_limits<T>::infinity();
  for (T (*f)(T) : {+[](T x) { return wf_gelu(x); }, +[](T x) { return wf_gelu_tanh(x); },
                    +[](T x) { return wf_silu(x); }, +[](T x) { return wf_mish(x); }}) {
    CHECK(f(infinity) == infinity);
    CHECK(std::isnan(f(-infinity)));
    CHECK((f(T(0)) == 0 && !std::signbit(f(T(0)))));
    CHECK((f(T(-0.0)) == 0 && std::signbit(f(T(-0.0)))));
    CHECK((f(T(-1e4)) == 0 && std::signbit(f(T(-1e4)))));
    CHECK(f(std::numeric_limits<T>::max()) == std::numeric_limits<T>::max());
  }
  CHECK(wf_softplus(infinity) == infinity);
  CHECK((wf_softplus(-infinity) == 0 && !std::signbit(wf_softplus(-infinity))));
  CHECK(wf_softplus(T(20.5)) == T(20.5));
  CHECK((wf_log_sigmoid(infinity) == 0 && !std::signbit(wf_log_sigmoid(infinity))));
  CHECK(wf_log_sigmoid(-infinity) == -infinity);
  CHECK(wf_ndtr(infinity) == 1);
  CHECK(wf_ndtr(-infinity) == 0);
  for (const T x : {T(0), T(-0.0), T(-1), T(-7), T(-1e20), infinity, -infinity})
    CHECK(wf_lgamma(x) == infinity);
  CHECK((wf_lgamma(T(1)) == 0 && wf_lgamma(T(2)) == 0));
  CHECK(wf_digamma(T(0)) == -infinity);
  CHECK(wf_digamma(T(-0.0)) == infinity);
  CHECK(wf_digamma(infinity) == infinity);
  for (const T x : {T(-1), T(-7), T(-1e20), -infinity}) CHECK(std::isnan(wf_digamma(x)));
  for (const T x : {T(0), T(-0.0), T(-1), T(-7)}) CHECK(wf_trigamma(x) == infinity);
  CHECK(wf_trigamma(infinity) == 0);
  for (const T x : {T(0), T(-0.0), infinity, -infinity})
    CHECK((wf_cbrt(x) == x && std::signbit(wf_cbrt(x)) == std::signbit(x)));
  CHECK(wf_cbrt(T(-27)) == -3);
}

TEST_CASE("activations and gamma functions at zeros, poles and infinities", "[math]") {
  check_edges<float>();
  check_edges<double>();
}

}  // namespace
