// Differentiation: values worked out by hand, what may be differentiated, and callers' mistakes.
#include <cmath>
#include <limits>

#include <weft/graph/evaluate.h>
#include <weft/graph/scope.h>
#include <weft/runtime/sim.h>

#include "gradcheck.h"
#include "support/catch.h"

using namespace weft;
using weft::testing::is_near;
using weft::testing::of;
using weft::testing::Values;
using weft::testing::values;

namespace {

Variable parameter(const Values& data) { return variable(of(data)); }
Variable number(double value) { return variable(tensor(value, {.dtype = f64})); }

template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another type: ") + error.what();
  }
  return "nothing was thrown";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a value that is used twice counts twice") {
  const Variable a = number(-3);
  CHECK(grad(a * a + a, a).item<double>() == -5);
  const Variable x = parameter({1, 2});
  const Tensor once = x * 3, twice = once * once + once;
  CHECK(values(grad(sum(twice), x)) == Values{21, 39});
}

TEST_CASE("a gradient has the shape of its value") {
  const Tensor row = of({1, 2, 3});
  const Variable v0 = number(4), v1 = parameter({4});
  const Tensor g0 = grad(sum(row * v0), v0), g1 = grad(sum(row * v1), v1);
  CHECK(g0.shape() == Shape());
  CHECK(g0.item<double>() == 6);
  CHECK(g1.shape() == Shape({1}));
  CHECK(values(g1) == Values{6});
  const Variable column = variable(of({1, 2}, {2, 1}));
  const Tensor g = grad(sum(column * row), column);
  CHECK(g.shape() == Shape({2, 1}));
  CHECK(values(g) == Values{6, 6});
  const auto [gc, gr] = grad(column - row, {column.value(), row}, of({1, 2, 3, 4, 5, 6}, {2, 3}));
  CHECK(values(gc) == Values{6, 15});
  CHECK(values(gr) == Values{-5, -7, -9});
}

TEST_CASE("gradients at ties") {
  const Variable a = number(3), b = number(3);
  const auto [ga, gb] = grad(maximum(a, b), {a, b});
  CHECK(ga.item<double>() == 0.5);
  CHECK(gb.item<double>() == 0.5);
  const Variable x = parameter({5, 5, 1});
  CHECK(values(grad(max(x), x)) == Values{0.5, 0.5, 0});
  CHECK(values(grad(amin(-x), x)) == Values{-0.5, -0.5, 0});
  const Variable zero = number(0);
  CHECK(grad(relu(zero), zero).item<double>() == 0);
}

TEST_CASE("the power rule where a factor is 0") {
  const Variable x = parameter({0, 2});
  CHECK(values(grad(sum(pow(x, 0)), x)) == Values{0, 0});
  CHECK(values(grad(sum(pow(x, 1)), x)) == Values{1, 1});
  const Variable b = number(1);
  CHECK(grad(pow(tensor(0.0, {.dtype = f64}), b), b).item<double>() == 0);
}

TEST_CASE("higher derivatives") {
  const Variable x = number(0);
  Tensor derivative = exp(-2 * pow(x, 2));
  const double expected[] = {0, -4, 0, 48};
  for (const double value : expected) {
    derivative = grad(derivative, x);
    CHECK(derivative.item<double>() == value);
  }
  const Variable y = number(0.5);
  const Tensor first = grad(y * y * y, y), second = grad(first, y), third = grad(second, y);
  CHECK(first.item<double>() == 0.75);
  CHECK(second.item<double>() == 3);
  CHECK(third.item<double>() == 6);
}

TEST_CASE("writing a Variable changes no gradient of what was recorded before") {
  Variable s = number(5);
  const Variable x = number(2);
  const Tensor y = s * x;
  s = 10;
  CHECK(grad(y, x).item<double>() == 5);
  CHECK(y.item<double>() == 10);
  CHECK(s.item<double>() == 10);
}

TEST_CASE("gradients of strided slices do not spill") {
  const Variable x = variable(of({1, 2, 3, 4}, {2, 2}));
  const Tensor loss = 3 * sum(slice(x, 0, 0, std::nullopt, 2)) +
                      8 * sum(slice(x, 0, 1, std::nullopt, 2));
  CHECK(values(grad(loss, x)) == Values{3, 3, 8, 8});
}

TEST_CASE("the branch not taken") {
  const Variable x = number(0);
  const Tensor small = x < 4;
  const Tensor guarded = where(small, 2 * x, sqrt(where(small, 1, x)));
  CHECK(grad(guarded, x).item<double>() == 2);
  // 0 times infinity: documented.
  CHECK(std::isnan(grad(where(small, 2 * x, sqrt(x)), x).item<double>()));
}

TEST_CASE("backward accumulates") {
  Variable w = parameter({1, 2}), b = number(1);
  const auto loss = [&] { return sum(w * w) + 3 * b; };
  loss().backward();
  CHECK(values(w.grad()) == Values{2, 4});
  CHECK(b.grad().item<double>() == 3);
  CHECK_FALSE(w.grad().requires_grad());
  loss().backward();
  CHECK(values(w.grad()) == Values{4, 8});
  w.zero_grad();
  CHECK_FALSE(w.grad().defined());
  backward(w * 2, of({1, 10}));
  CHECK(values(w.grad()) == Values{2, 20});
  w.zero_grad();
  (w * 2).backward(of({1, 10}));
  CHECK(values(w.grad()) == Values{2, 20});
}

TEST_CASE("all versions of a Variable accumulate") {
  Variable w = number(2);
  const Tensor before = w * w;
  w.assign(w * 10);
  const Tensor after = w * 3;
  const Tensor loss = before + after;
  CHECK(grad(loss, w).item<double>() == 7);
  loss.backward();
  CHECK(w.grad().item<double>() == 7);
}

TEST_CASE("history is given up by backward unless it is kept") {
  Variable w = number(3);
  for (const bool early : {false, true}) {
    w.zero_grad();
    const Tensor loss = w * w;
    if (early) eval(loss);
    backward(loss, {.retain_graph = true});
    loss.backward();
    CHECK(w.grad().item<double>() == 12);
    const std::string message = message_of<ValueError>([&] { loss.backward(); });
    CHECK(has(message, "mul"));
    CHECK(has(message, "retain_graph"));
    CHECK(has(message_of<ValueError>([&] { grad(loss, w); }), "retain_graph"));
    CHECK(loss.item<double>() == 9);
    CHECK(w.grad().item<double>() == 12);
  }
}

TEST_CASE("evaluating early changes no gradient") {
  const Variable w = variable(of({1, 2, 3, 4}, {2, 2}));
  const Tensor x = of({1, -1, 2, 0.5}, {2, 2});
  const auto run = [&](bool early) {
    const Tensor product = matmul(x, w);
    const Tensor active = relu(product);
    const Tensor loss = sum(active * active) + mean(product);
    if (early) {
      eval(loss);
      loss.wait();
      active.wait();
    }
    return values(grad(loss, w));
  };
  CHECK(run(true) == run(false));
}

TEST_CASE("what may be a target") {
  SECTION("a pending tensor") {
    const Tensor x = of({1, 2}) * 2;
    CHECK(values(grad(sum(x * x), x)) == Values{4, 8});
    const Tensor g = grad(sum(x * x * x), x);
    CHECK(values(grad(sum(g), x)) == Values{12, 24});
    eval(x);
    CHECK(values(grad(sum(x * x), x)) == Values{4, 8});
  }
  SECTION("data") {
    const Tensor x = of({1, 2});
    CHECK(values(grad(sum(x * x), x)) == Values{2, 4});
  }
  SECTION("a value on the way, and the output itself") {
    const Variable w = parameter({1, 2});
    const Tensor h = w * w, loss = sum(h * 3);
    const auto [gh, gl] = grad(loss, {h, loss});
    CHECK(values(gh) == Values{3, 3});
    CHECK(gl.item<double>() == 1);
    const auto [gw, ghw] = grad(loss, {w.value(), h});
    CHECK(values(gw) == Values{6, 12});
    CHECK(values(ghw) == Values{3, 3});
  }
  SECTION("one of several outputs of an op") {
    const Variable w = parameter({3, 1, 2});
    const auto [top, places] = topk(w, 2);
    CHECK(values(grad(sum(top * of({1, 10})), w)) == Values{1, 0, 10});
    CHECK(values(grad(sum(top * places.to(f64)), top)) == Values{0, 2});
  }
  SECTION("a list") {
    const std::vector<Variable> list = {number(2), number(3)};
    const std::vector<Tensor> both = grad(list[0] * list[1], list);
    CHECK(both[0].item<double>() == 3);
    CHECK(both[1].item<double>() == 2);
    const auto [one] = grad(list[0] * list[1], {list[0]});
    CHECK(one.item<double>() == 3);
  }
}

TEST_CASE("where differentiation ends") {
  const Variable w = number(2);
  SECTION("detach") {
    const Tensor t = (w * w).detach();
    CHECK(t.is_pending());
    CHECK_FALSE(t.requires_grad());
    CHECK(t.item<double>() == 4);
    CHECK(grad(w * t, w).item<double>() == 4);
    const Tensor x = of({1, 2});
    CHECK_THROWS_AS(grad(sum(x.detach() * 2), x), ValueError);
  }
  SECTION("NoGrad") {
    Tensor t;
    {
      const NoGrad off;
      t = w * w;
    }
    CHECK_FALSE(t.requires_grad());
    CHECK(grad(w * t, w).item<double>() == 4);
    CHECK(has(message_of<ValueError>([&] { t.backward(); }), "no history"));
  }
  SECTION("an integer") {
    const Tensor whole = (w * 2).to(i64);
    CHECK_FALSE(whole.requires_grad());
    CHECK(has(message_of<DTypeError>([&] { whole.backward(); }), "i64[]"));
    const Variable count = variable(tensor(3));
    CHECK_FALSE(count.requires_grad());
    CHECK(has(message_of<DTypeError>([&] { grad(w * count, count); }), "target 1 is i64[]"));
  }
  SECTION("a Variable that wants no gradient") {
    Variable frozen = number(5);
    frozen.set_requires_grad(false);
    const Tensor loss = w * frozen;
    loss.backward();
    CHECK(w.grad().item<double>() == 5);
    CHECK_FALSE(frozen.grad().defined());
    CHECK_FALSE((frozen * 2).requires_grad());
    frozen.set_requires_grad(true);
    CHECK((frozen * 2).requires_grad());
  }
  SECTION("gradients recorded under NoGrad") {
    const NoGrad off;
    const Variable v = number(2);
    Tensor loss;
    CHECK_FALSE(v.value().detach().requires_grad());
    CHECK_THROWS_AS((v * v).backward(), ValueError);
  }
}

TEST_CASE("misuse of gradients") {
  const Variable w = parameter({1, 2});
  const Tensor both = w * 2;
  std::string message = message_of<ValueError>([&] { both.backward(); });
  CHECK(has(message, "f64[2]"));
  CHECK(has(message, "cotangent"));
  CHECK(has(message_of<ShapeError>([&] { both.backward(of({1, 2, 3})); }), "f64[3]"));
  CHECK(has(message_of<DTypeError>([&] { both.backward(tensor({1.0f, 2.0f})); }), "f32[2]"));
  message = message_of<ValueError>([&] { grad(sum(both), of({1, 2})); });
  CHECK(has(message, "target 1"));
  CHECK(has(message, "does not lead"));
  CHECK_THROWS_AS(grad(sum(both), Tensor()), ValueError);
  CHECK_THROWS_AS(grad(Tensor(), w), ValueError);
  CHECK_THROWS_AS(Tensor().backward(), ValueError);

  // Evaluated without history: better no answer than part of one.
  const Tensor x = of({1, 2});
  const Tensor square_of_x = x * x;
  eval(square_of_x);
  message = message_of<ValueError>([&] { grad(sum(square_of_x + x), x); });
  CHECK(has(message, "make the target a Variable"));

  int line = 0;
  try {
    line = __LINE__; both.backward();
  } catch (const Error& error) {
    CHECK(error.line() == line);
  }
  try {
    line = __LINE__; grad(both, w);
  } catch (const Error& error) {
    CHECK(error.line() == line);
  }
}

TEST_CASE("gradients follow the op, not the guards around the call") {
  sim::enable(2);
  const Device there("sim:0");
  Variable x = parameter({3});
  const Tensor loss = sum(square(x.value().to(there)));
  CHECK(loss.device() == there);
  {
    const On elsewhere("sim:1");
    loss.backward();
  }
  CHECK(x.grad().device() == Device::cpu());
  CHECK(values(x.grad()) == Values{6});

  // A Variable that has moved since.
  x.zero_grad();
  const Tensor again = sum(square(x));
  x.to(there);
  again.backward();
  CHECK(x.grad().device() == there);
  CHECK(values(x.grad()) == Values{6});

  // A mix that On asked for, and a 0-dim value of the cpu.
  const Variable scale = number(2), near = parameter({5});
  Tensor mixed;
  {
    const On here(there);
    mixed = sum(near * x);
  }
  const auto [gn, gx] = grad(mixed * scale, {near, x});
  CHECK(gn.device() == Device::cpu());
  CHECK(gx.device() == there);
  CHECK(values(gn) == Values{6});
  CHECK(values(gx) == Values{10});
  const Tensor gs = grad(sum(x * scale), scale);
  CHECK(gs.device() == Device::cpu());
  CHECK(gs.item<double>() == 3);
}

TEST_CASE("gradients have the dtype of their value") {
  const Variable half = variable(tensor({1.5, 2.5}, {.dtype = f16})), wide = parameter({2, 4});
  const auto [gh, gw] = grad(sum(half * wide), {half, wide});
  CHECK(gh.dtype() == f16);
  CHECK(gw.dtype() == f64);
  CHECK(values(gh) == Values{2, 4});
  CHECK(values(gw) == Values{1.5, 2.5});
  CHECK(grad(sum(half * 3), half).dtype() == f16);
}

TEST_CASE("a deep chain is differentiated and destroyed without recursion") {
  const int depth = 100000;
  Variable x = number(0);
  Tensor value = x;
  for (int i = 0; i < depth; ++i) value = value + 1;
  value.backward();
  CHECK(x.grad().item<double>() == 1);
  x.zero_grad();
  Tensor wide = x;
  for (int i = 0; i < 2000; ++i) wide = wide + x;
  wide.backward();
  CHECK(x.grad().item<double>() == 2001);
  Tensor dropped = x;
  for (int i = 0; i < depth; ++i) dropped = dropped * 1.5;
  const Tensor g = grad(dropped, x);
  CHECK(g.defined());
}
