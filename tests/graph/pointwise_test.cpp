// Point-wise functions beyond their rows: bounds that are tensors, activations made of other ops,
// shifts as operators, and gradients where two branches meet.
#include <cmath>
#include <limits>

#include <weft/weft.h>

#include "gradcheck.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::numeric_limits<double>::quiet_NaN();

Values gradient_of(const std::function<Tensor(const Tensor&)>& f, const Values& at) {
  const Variable x = variable(of(at));
  return values(grad(sum(f(x)), x));
}

/// Elements equal; NaN equals NaN.
bool same(const Values& got, const Values& want) {
  if (got.size() != want.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != want[i] && !(std::isnan(got[i]) && std::isnan(want[i]))) return false;
  return true;
}

}  // namespace

TEST_CASE("clamp with tensors as bounds") {
  const Tensor x = of({-5, 0, 5, nan_value, 2});
  CHECK(same(values(clamp(x, of({-1, 1, 7, 0, 0}), of({1, 2, 8, 1, nan_value}))),
             {-1, 1, 7, nan_value, nan_value}));
  CHECK(same(values(clamp(x, std::nullopt, of({1}))), {-5, 0, 1, nan_value, 1}));
  CHECK(same(values(x.clamp(variable(of({1})))), {1, 1, 5, nan_value, 2}));
  // A lower bound above the upper one gives the upper.
  CHECK(values(clamp(of({0.0}), of({3.0}), of({2.0}))) == Values{2});
  const Tensor whole = clamp(tensor({-5, 5}), tensor({0, 0}), tensor({2.5}));
  CHECK(whole.dtype() == f32);
  CHECK(values(whole) == Values{0, 2.5});
  CHECK(clamp(ones({2, 3}), zeros({3}), full({2, 1}, 0.5)).shape() == Shape({2, 3}));

  const Variable low = variable(of({0.0, 0.0})), v = variable(of({-1.0, 1.0}));
  const auto g = grad(sum(clamp(v, low) * of({3.0, 5.0})), {v.value(), low.value()});
  CHECK(values(g[0]) == Values{0, 5});
  CHECK(values(g[1]) == Values{3, 0});
}

TEST_CASE("activations made of other ops") {
  const Tensor x = of({-infinity, -4, -3, -1, 0, 1, 3, 4, infinity, nan_value});
  const double e = std::expm1(-1.0);
  CHECK(same(values(elu(x)),
             {-1, std::expm1(-4.0), std::expm1(-3.0), e, 0, 1, 3, 4, infinity, nan_value}));
  CHECK(values(x.elu(2))[3] == 2 * e);
  CHECK(same(values(leaky_relu(x)),
             {-infinity, -0.04, -0.03, -0.01, 0, 1, 3, 4, infinity, nan_value}));
  CHECK(values(x.leaky_relu(0.5))[1] == -2);
  CHECK(same(values(relu6(x * 2)), {0, 0, 0, 0, 0, 2, 6, 6, 6, nan_value}));
  CHECK(same(values(hardsigmoid(x)), {0, 0, 0, 2.0 / 6, 3.0 / 6, 4.0 / 6, 1, 1, 1, nan_value}));
  // As PyTorch: at -infinity x times 0.
  CHECK(same(values(hardswish(x)),
             {nan_value, 0, 0, -2.0 / 6, 0, 4.0 / 6, 3, 4, infinity, nan_value}));

  // Large arguments of the branch that is not taken leave the slope alone.
  CHECK(gradient_of([](const Tensor& t) { return elu(t); }, {1000, -1000, 0}) == Values{1, 0, 1});
  CHECK(gradient_of([](const Tensor& t) { return leaky_relu(t, 0.25); }, {2, -2, 0}) ==
        Values{1, 0.25, 0.25});
  // At the corners as PyTorch's: on the flat side.
  CHECK(gradient_of([](const Tensor& t) { return hardswish(t); }, {-5, -3, 0, 3, 6}) ==
        Values{0, 0, 0.5, 1, 1});
  CHECK(gradient_of([](const Tensor& t) { return relu6(t); }, {-1, 0, 1, 6, 7}) ==
        Values{0, 0, 1, 0, 0});
  CHECK(gradient_of([](const Tensor& t) { return hardsigmoid(t) * 6; }, {-3, 0, 3}) ==
        Values{0, 1, 0});

  const Function smooth[] = {
      [](const auto& in) { return elu(in[0] * 2, 1.5); },
      [](const auto& in) { return leaky_relu(in[0], 0.1); },
      [](const auto& in) { return hardswish(in[0] * 2); },
      [](const auto& in) { return hardsigmoid(in[0]); },
      [](const auto& in) { return relu6(in[0] * 3); },
  };
  for (const Function& f : smooth) CHECK(second_order_fault(f, {varied({2, 3}, 1)}) == "");
}

TEST_CASE("an activation rounds halves once") {
  // In f16 steps, 1.5 * expm1(x) would round twice: expm1(-0.75) = -0.527633 -> -0.52783.
  const Tensor x = of({-0.75, -1.25, -2.5, -0.3125}).to(f16);
  Values want;
  for (const double v : values(x)) want.push_back(1.5 * std::expm1(v));
  CHECK(values(elu(x, 1.5)) == values(of(want).to(f16)));
  CHECK(elu(x).dtype() == f16);
}

TEST_CASE("shifts as operators") {
  Tensor x = tensor({1, -5, 3});
  CHECK(values(x << 2) == Values{4, -20, 12});
  CHECK(values(x >> 1) == Values{0, -3, 1});
  CHECK(values(1 << tensor({0, 3, 70, -1})) == Values{1, 8, 0, 0});
  x <<= 1;
  CHECK(values(x) == Values{2, -10, 6});
  x >>= tensor({1, 100, 0});
  CHECK(values(x) == Values{1, -1, 6});
  Variable v = variable(tensor({1, 2}));
  v <<= 3;
  v >>= 1;
  CHECK(values(v) == Values{4, 8});
  CHECK(values(tensor({100}, {.dtype = i8}) << 1) == Values{-56});
  CHECK(values(tensor({200}, {.dtype = u8}) >> 3) == Values{25});
}

TEST_CASE("gradients of pairs at ties, NaN and zero") {
  const auto both = [](Tensor (*f)(const Operand&, const Operand&), const Values& a,
                       const Values& b) {
    const Variable x = variable(of(a)), y = variable(of(b));
    const auto g = grad(sum(f(x, y)), {x.value(), y.value()});
    Values all = values(g[0]);
    for (const double each : values(g[1])) all.push_back(each);
    return all;
  };
  const Values a = {1, 2, 3, nan_value, 1, nan_value}, b = {2, 1, 3, 1, nan_value, nan_value};
  CHECK(both(fmax, a, b) == Values{0, 1, 0.5, 0, 1, 1, 1, 0, 0.5, 1, 0, 0});
  CHECK(both(fmin, a, b) == Values{1, 0, 0.5, 0, 1, 1, 0, 1, 0.5, 1, 0, 0});
  CHECK(both(copysign, {2, -2, 0, 3}, {-1, -1, 5, -0.0}) == Values{-1, 1, 0, -1, 0, 0, 0, 0});
  CHECK(both(fmod, {7, -7}, {2, 2}) == Values{1, 1, -3, 3});
  // Neither overflows on the way.
  CHECK(is_near(both(hypot, {3e200}, {4e200}), {0.6, 0.8}));
  const Values turned = both(atan2, {3e200}, {4e200});
  CHECK(std::abs(turned[0] * 1e201 - 1.6) < 1e-14);
  CHECK(std::abs(turned[1] * 1e201 + 1.2) < 1e-14);
}

TEST_CASE("the derivative of trigamma") {
  // psi''(1) = -2 zeta(3), psi''(1/2) = -14 zeta(3); by reflection psi''(1/4) = -56 zeta(3) - 2
  // pi^3.
  const double zeta3 = 1.2020569031595942854, pi3 = 31.006276680299820175;
  const Values got = gradient_of([](const Tensor& x) { return trigamma(x); }, {1, 0.5, 0.25, 40});
  CHECK(std::abs(got[0] / (-2 * zeta3) - 1) < 1e-14);
  CHECK(std::abs(got[1] / (-14 * zeta3) - 1) < 1e-14);
  CHECK(std::abs(got[2] / (-56 * zeta3 - 2 * pi3) - 1) < 1e-14);
  // The first terms of the asymptotic series.
  const double y = 40, want = -(1 / y + 1) / (y * y) - 1 / (2 * y * y * y * y) +
                              1 / (6 * y * y * y * y * y * y) -
                              1 / (6 * y * y * y * y * y * y * y * y);
  CHECK(std::abs(got[3] / want - 1) < 1e-13);
  const Function f = [](const auto& in) { return trigamma(in[0]); };
  CHECK(second_order_fault(f, {of({0.7, 1.3, -0.4, -1.6, 3.2})}) == "");
}
