// Composites with a gradient of their own.
#include <sstream>

#include <weft/weft.h>

#include "gradcheck.h"
#include "support/catch.h"

using namespace weft;
using Catch::Matchers::ContainsSubstring;
using Tensors = std::vector<Tensor>;
using Doubles = std::vector<double>;

namespace {

Tensor doubles(const Doubles& values) { return from_vector(values); }

/// log(1 + e^x), whose plain gradient is NaN for large x: with e^x kept for its own.
CustomVjp log1p_exp() {
  return custom_vjp(
      [](const Tensors& in) {
        const Tensor e = exp(in[0]);
        return VjpResult({log(1 + e)}, {e});
      },
      [](const Tensors& residuals, const Tensors& cotangents) {
        return Tensors{cotangents[0] * (1 - 1 / (1 + residuals[0]))};
      },
      {.name = "log1p_exp"});
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("custom_vjp: the gradient is backward's, the value forward's", "[custom]") {
  const CustomVjp f = log1p_exp();
  const Variable x = variable(doubles({0.0, 1000.0}));
  const Tensor y = f(x)[0];
  CHECK(grad(sum(y), x).to_vector<double>() == Doubles{0.5, 1.0});
  // The plain one: infinity over infinity.
  CHECK(std::isnan(grad(sum(log(1 + exp(x))), x).to_vector<double>()[1]));
  CHECK(y.to_vector<double>()[0] == std::log(2.0));
}

TEST_CASE("custom_vjp: backward may say anything", "[custom]") {
  const CustomVjp straight_through =
      custom_vjp([](const Tensors& in) { return VjpResult(round(in[0])); },
                 [](const Tensors&, const Tensors& cotangents) { return cotangents; });
  const Variable x = variable(doubles({0.4, 1.6}));
  const Tensor y = straight_through(x)[0];
  const Tensor loss = sum(y * y);
  loss.backward();
  CHECK(y.to_vector<double>() == Doubles{0, 2});
  CHECK(x.grad().to_vector<double>() == Doubles{0, 4});
  CHECK_THROWS_AS(loss.backward(), ValueError);  // its history was given up, as of any op
}

TEST_CASE("custom_vjp: second derivatives go through backward and the residuals", "[custom]") {
  const CustomVjp cube =
      custom_vjp([](const Tensors& in) { return VjpResult({in[0] * in[0] * in[0]}, {in[0]}); },
                 [](const Tensors& residuals, const Tensors& cotangents) {
                   return Tensors{3 * square(residuals[0]) * cotangents[0]};
                 });
  const testing::Function f = [&](const Tensors& in) { return cube(in)[0]; };
  CHECK(testing::second_order_fault(f, {testing::varied({4}, 1)}) == "");
  const CustomVjp smooth = log1p_exp();
  const testing::Function g = [&](const Tensors& in) { return smooth(in)[0]; };
  CHECK(testing::second_order_fault(g, {testing::varied({3}, 2)}) == "");
  const Variable x = variable(tensor(2.0, {.dtype = f64}));
  const Tensor second = grad(grad(cube(x)[0], x), x);
  CHECK(second.item<double>() == 12);
  CHECK(grad(second, x).item<double>() == 6);
}

TEST_CASE("custom_vjp: several inputs and outputs, some without a cotangent", "[custom]") {
  std::vector<bool> seen;
  const auto make = [&](bool undefined) {
    return custom_vjp(
        [](const Tensors& in) {
          return VjpResult({in[0] + in[1], in[0] * in[1], argmax(in[0])}, {in[0], in[1]});
        },
        [&](const Tensors& r, const Tensors& g) {
          seen = {g[0].defined(), g[1].defined(), g[2].defined()};
          const Tensor a = g[0].defined() ? g[0] : zeros_like(r[0]);
          return Tensors{a + g[1] * r[1], a + g[1] * r[0]};
        },
        {.undefined_cotangents = undefined});
  };
  for (const bool undefined : {false, true}) {
    const Variable x = variable(doubles({1, 2})), y = variable(doubles({3, 5}));
    const Tensors out = make(undefined)({x, y});
    CHECK(out.size() == 3);
    CHECK(out[2].item<int>() == 1);
    const auto [dx, dy] = grad(sum(out[1]), {x, y});
    CHECK(seen == std::vector<bool>{!undefined, true, !undefined});
    CHECK(dx.to_vector<double>() == Doubles{3, 5});
    CHECK(dy.to_vector<double>() == Doubles{1, 2});
    const auto [ex, ey] = grad(sum(out[0] * 2) + sum(out[1]), {x, y});
    CHECK(seen == std::vector<bool>{true, true, !undefined});
    CHECK(ex.to_vector<double>() == Doubles{5, 7});
    CHECK(ey.to_vector<double>() == Doubles{3, 4});
  }
}

TEST_CASE("custom_vjp: an output that is used after it, and before, in any order", "[custom]") {
  // Every consumer of every output has spoken before backward is asked.
  int calls = 0;
  const CustomVjp split = custom_vjp(
      [](const Tensors& in) {
        return VjpResult({in[0] * 2, in[0] * 3});
      },
      [&](const Tensors&, const Tensors& g) {
        ++calls;
        return Tensors{2 * g[0] + 3 * g[1]};
      });
  const Variable x = variable(doubles({1, 4}));
  const Tensors y = split(x);
  const Tensor z = sin(y[1]) * y[0] + square(y[1] + cos(y[0]));
  const Tensor got = grad(sum(z), x);
  CHECK(calls == 1);
  const Tensor a = x * 2, b = x * 3;
  const Tensor want = grad(sum(sin(b) * a + square(b + cos(a))), x);
  CHECK(testing::is_near(got.to_vector<double>(), want.to_vector<double>()));
}

TEST_CASE("custom_vjp: it costs no step, and works where there are no gradients", "[custom]") {
  const CustomVjp f = log1p_exp();
  const Tensor x = doubles({1, 2});
  CHECK(make_plan({f({x * 2})[0] + 1}).count(StepKind::kernel) == 1);
  std::ostringstream picture;
  write_dot(picture, capture({f(x)[0]}));
  CHECK(picture.str().find("custom_vjp") != std::string::npos);
  {
    const NoGrad off;
    CHECK(f(doubles({0.0}))[0].item<double>() == std::log(2.0));
  }
}

TEST_CASE("custom_vjp: up to eight outputs, kept or not, evaluated apart", "[custom]") {
  const CustomVjp many = custom_vjp(
      [](const Tensors& in) {
        Tensors out;
        for (int i = 0; i < 8; ++i) out.push_back(in[0] * i);
        return VjpResult(out);
      },
      [](const Tensors&, const Tensors& g) {
        Tensor sum = zeros_like(g[0]);
        for (std::size_t i = 0; i < g.size(); ++i) sum = sum + g[i] * int(i);
        return Tensors{sum};
      });
  const Variable x = variable(doubles({1, 10}));
  Tensors y = many(x);
  eval(y[5], y[7]);
  CHECK(y[7].to_vector<double>() == Doubles{7, 70});
  CHECK((y[3] + y[5]).to_vector<double>() == Doubles{8, 80});
  CHECK(grad(sum(y[2] + y[6]), x).to_vector<double>() == Doubles{8, 8});
}

TEST_CASE("custom_vjp: mistakes", "[custom]") {
  const Variable x = variable(doubles({1, 2})), y = variable(doubles({1}));
  const auto with = [](CustomVjp::Backward backward) {
    return custom_vjp([](const Tensors& in) { return VjpResult(in[0] * in.back()); }, backward,
                      {.name = "mine"});
  };
  const auto of = [&](CustomVjp::Backward backward) {
    return message_of([&] { grad(sum(with(backward)({x, y})[0]), {x, y}); });
  };
  CHECK_THAT(of([](const Tensors&, const Tensors& g) { return Tensors{g[0]}; }),
             ContainsSubstring("mine: its gradient function gave 1 tensors for 2 inputs"));
  CHECK_THAT(of([](const Tensors&, const Tensors& g) {
               return Tensors{g[0], g[0]};
             }),
             ContainsSubstring("mine: gradient 2 of 2 is f64[2], input 2 is f64[1]"));
  CHECK_THAT(of([](const Tensors&, const Tensors& g) {
               return Tensors{g[0].to(f32), Tensor()};
             }),
             ContainsSubstring("the dtypes are to be the same"));
  const auto forward = [](Tensors out, Tensors kept = {}) {
    return custom_vjp([=](const Tensors&) { return VjpResult(out, kept); },
                      [](const Tensors&, const Tensors& g) { return g; });
  };
  CHECK_THROWS_AS(forward({})(x), ValueError);
  CHECK_THROWS_AS(forward(Tensors(9, doubles({1})))(x), ValueError);
  CHECK_THROWS_AS(forward({Tensor()})(x), ValueError);
  CHECK_THROWS_AS(forward({doubles({1})}, {Tensor()})(x), ValueError);
  CHECK_THROWS_AS(forward({doubles({1})})(Tensor()), ValueError);
  CHECK_THROWS_AS(custom_vjp(nullptr, nullptr), ValueError);
  sim::enable(1);
  CHECK_THROWS_AS(forward({doubles({1}), doubles({1}).to("sim:0")})(x), DeviceError);
  const CustomVjp of_integers =
      custom_vjp([](const Tensors& in) { return VjpResult(in[0] * in[1]); },
                 [](const Tensors&, const Tensors& g) {
                   return Tensors{g[0], g[0]};
                 });
  CHECK_THROWS_AS(grad(sum(of_integers({x, tensor({1, 2})})[0]), x), DTypeError);
}
