// Functions of the program as steps of a plan.
#include <atomic>
#include <sstream>
#include <stdexcept>

#include <weft/runtime/counters.h>
#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;
using Catch::Matchers::ContainsSubstring;
using Floats = std::vector<float>;
using Inputs = std::span<const HostInput>;
using Outputs = std::span<const HostOutput>;

namespace {

void doubled(Inputs in, Outputs out) {
  const auto x = in[0].span<float>();
  const auto y = out[0].span<float>();
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
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

TEST_CASE("host_callback: a step between others", "[callback]") {
  const Tensor x = tensor({1.0, 2.0, 3.0});
  const Tensor y = host_callback(doubled, {x + 1}, {{{3}, f32}})[0] * 10;
  CHECK(y.is_pending());
  std::ostringstream table;
  table << make_plan({y});
  CHECK_THAT(table.str(), ContainsSubstring("host_callback"));
  CHECK(y.to_vector<float>() == Floats{40, 60, 80});
}

TEST_CASE("host_callback: views arrive in order, with shape and dtype", "[callback]") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  std::vector<std::int64_t> seen;
  Shape shape;
  const std::vector<Tensor> out = host_callback(
      [&](Inputs in, Outputs results) {
        const auto values = in[0].span<std::int64_t>();
        seen.assign(values.begin(), values.end());
        shape = in[0].shape();
        CHECK(in[1].dtype() == bool_);
        CHECK(in[1].span<bool>()[0]);
        results[0].span<double>()[0] = 0.5;
        results[1].span<std::uint8_t>()[1] = 7;
        results[1].span<std::uint8_t>()[0] = 9;
        results[2].span<std::int32_t>()[0] = -1;
      },
      {transpose(x, 0, 1), x[0][0] == 1}, {{{}, f64}, {{2}, u8}, {{1, 1}, i32}});
  CHECK(out[2].to_vector<int>() == std::vector<int>{-1});
  CHECK(out[1].to_vector<int>() == std::vector<int>{9, 7});
  CHECK(out[0].item<double>() == 0.5);
  CHECK(seen == std::vector<std::int64_t>{1, 4, 2, 5, 3, 6});
  CHECK(shape == Shape({3, 2}));
}

TEST_CASE("host_callback: each call runs once, equal or not, needed later or not", "[callback]") {
  std::atomic<int> calls{0};
  const auto count = [&](Inputs, Outputs out) { out[0].span<float>()[0] = float(++calls); };
  const Tensor x = tensor({1.0});
  const auto call = [&] { return host_callback(count, {x}, {{{}, f32}})[0]; };
  const Tensor a = call(), b = call();
  const Tensor both = a * 10 + b * 10;
  CHECK(both.item<float>() == 30);
  CHECK(calls == 2);
  CHECK(a.item<float>() + b.item<float>() == 3);
  CHECK(calls == 2);
  // One that is needed again after its value was only a way to another's.
  const Variable v = variable(tensor(2.0f));
  const Tensor w = v * call();
  CHECK(w.item<float>() == 6);
  CHECK(grad(w, v).item<float>() == 3);
  CHECK(calls == 3);
  { const Tensor unused = call(); }
  flush();
  CHECK(calls == 3);
}

TEST_CASE("host_callback: a plan is found again for another function", "[callback]") {
  const Tensor x = tensor({1.0f});
  const auto add = [&](float amount) {
    return host_callback(
               [=](Inputs in, Outputs out) {
                 out[0].span<float>()[0] = in[0].span<float>()[0] + amount;
               },
               {x}, {{{1}, f32}})[0]
        .item<float>();
  };
  CHECK(add(1) == 2);
  const auto before = counters().plans_made;
  CHECK(add(5) == 6);
  CHECK(counters().plans_made == before);
}

TEST_CASE("host_callback: values of devices come and go by planned transfers", "[callback]") {
  sim::enable(1);
  const Tensor x = tensor({1.0, 2.0}, {.device = "sim:0"});
  const Tensor y = host_callback(doubled, {x * 3}, {{{2}, f32}}, {.device = "sim:0"})[0];
  CHECK(y.device() == Device("sim:0"));
  const Tensor z = y + x;
  CHECK(make_plan({z}).count(StepKind::transfer) == 2);
  CHECK(z.to_vector<float>() == Floats{7, 14});
  const On scope("sim:0");
  CHECK(host_callback(doubled, {x}, {{{2}, f32}})[0].device().is_cpu());
}

TEST_CASE("host_callback: an exception is the failure of that run", "[callback]") {
  const Tensor x = tensor({1.0f});
  Variable state = variable(tensor({5.0f}));
  state.wait();
  int line = 0;
  Tensor bad;
  {
    const Scope scope("reader");
    line = __LINE__ + 1;
    bad = host_callback([](Inputs, Outputs) { throw std::out_of_range("no such row"); }, {x},
                        {{{1}, f32}}, {.name = "lookup"})[0];
  }
  state += bad;
  try {
    state.to_vector<float>();
    FAIL("nothing was thrown");
  } catch (const CallbackError& error) {
    CHECK(error.line() == line);
    CHECK_THAT(error.what(),
               ContainsSubstring("lookup in scope reader") && ContainsSubstring("no such row"));
    CHECK_THROWS_AS(std::rethrow_if_nested(error), std::out_of_range);
  }
  CHECK(state.to_vector<float>() == Floats{5});
  CHECK((x + 1).item<float>() == 2);
  const Tensor odd = host_callback([](Inputs, Outputs) { throw 7; }, {x}, {{{1}, f32}})[0];
  CHECK_THAT(message_of([&] { odd.wait(); }), ContainsSubstring("what is no std::exception"));
  const Tensor wrong =
      host_callback([](Inputs in, Outputs) { (void)in[0].span<double>(); }, {x}, {{{1}, f32}})[0];
  CHECK_THAT(message_of([&] { wrong.wait(); }), ContainsSubstring("the elements are f32"));
}

TEST_CASE("host_callback: it may record, but not evaluate", "[callback]") {
  const Tensor x = tensor({1.0f}), y = x + 1;
  for (const int what : {0, 1, 2}) {
    const Tensor z = host_callback(
        [&](Inputs, Outputs out) {
          const Tensor recorded = x * 2;
          if (what == 0) recorded.item<float>();
          if (what == 1) eval(recorded);
          if (what == 2) y.wait();
          out[0].span<float>()[0] = 1;
        },
        {x}, {{{1}, f32}})[0];
    CHECK_THAT(message_of([&] { z.wait(); }), ContainsSubstring("may not evaluate, read or wait"));
  }
  Tensor kept;
  const Tensor fine = host_callback(
      [&](Inputs, Outputs out) {
        kept = x * 2;
        flush();  // does nothing here
        out[0].span<float>()[0] = 1;
      },
      {x}, {{{1}, f32}})[0];
  fine.wait();
  CHECK(kept.item<float>() == 2);
}

TEST_CASE("host_callback: gradients, where it has one", "[callback]") {
  const Variable x = variable(tensor({1.0, 2.0}));
  const auto with = [](CallGradient gradient) {
    return [=](const Variable& v) {
      return host_callback(doubled, {v}, {{{2}, f32}}, {.gradient = gradient})[0];
    };
  };
  const auto f = with([](const std::vector<Tensor>&, const std::vector<Tensor>&,
                         const std::vector<Tensor>& g) { return std::vector<Tensor>{g[0] * 2}; });
  CHECK(grad(sum(f(x) * x), x).to_vector<float>() == Floats{4, 8});
  CHECK(grad(sum(f(x) * f(x)), x).to_vector<float>() == Floats{8, 16});
  CHECK_THROWS_AS(grad(sum(with({})(x)), x), ValueError);
  const auto wrong =
      with([](const std::vector<Tensor>& in, const std::vector<Tensor>&,
              const std::vector<Tensor>&) { return std::vector<Tensor>{sum(in[0])}; });
  CHECK_THROWS_AS(grad(sum(wrong(x)), x), ShapeError);
}

TEST_CASE("host_callback: mistakes, and values without elements", "[callback]") {
  const Tensor x = tensor({1.0});
  CHECK_THROWS_AS(host_callback({}, {x}, {{{1}, f32}}), ValueError);
  CHECK_THROWS_AS(host_callback(doubled, {x}, {}), ValueError);
  CHECK_THROWS_AS(host_callback(doubled, {x}, std::vector<TensorSpec>(9)), ValueError);
  CHECK_THROWS_AS(host_callback(doubled, {Tensor()}, {{{1}, f32}}), ValueError);
  CHECK_THROWS_AS(host_callback(doubled, {x}, {{{-1}, f32}}), ShapeError);
  CHECK(host_callback(doubled, {zeros({0, 3})}, {{{0, 3}, f32}})[0].to_vector<float>().empty());
}
