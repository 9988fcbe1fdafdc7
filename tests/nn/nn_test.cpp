// Functions, losses, modules and optimisers. Values by hand, or facts of PyTorch 2.11.
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include <weft/graph/autograd.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>
#include <weft/nn/nn.h>
#include <weft/runtime/sim.h>

#include "support/catch.h"

using namespace weft;

namespace {

using Values = std::vector<double>;

Values values(const Tensor& x) { return x.to_vector<double>(); }

bool is_near(const Values& got, const Values& want, double tolerance = 1e-6) {
  if (got.size() != want.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!(std::abs(got[i] - want[i]) <= tolerance * std::max(1.0, std::abs(want[i])))) return false;
  return true;
}

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

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Net : nn::Module {
  nn::Linear hidden{4, 3}, out{3, 2};
  Variable scale = register_buffer("scale", ones({}));
  Net() {
    register_module("hidden", hidden);
    register_module("out", out);
  }
  Tensor forward(const Tensor& x) override { return out(relu(hidden(flatten(x, 1)))) * scale; }
};

struct Sum : nn::Module {
  Tensor forward(const Tensor& x, const Tensor& y) override { return x + y; }
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) const override {
    return x + y + z;
  }
};

}  // namespace

TEST_CASE("softmax") {
  CHECK(is_near(values(softmax(tensor({1000.0, 1001.0}), 0)), {0.268941, 0.731059}));
  CHECK(values(softmax(tensor({-infinity, 2.0, 2.0}), -1)) == Values{0, 0.5, 0.5});
  CHECK(values(log_softmax(tensor({0.0, -1000.0}, {.dtype = f64}), 0)) == Values{0, -1000});
  CHECK(softmax(zeros({2, 0}), 1).shape() == Shape({2, 0}));
  CHECK(softmax(ones({2, 3}, {.dtype = bf16}), 1).dtype() == bf16);
  CHECK_THROWS_AS(softmax(tensor({1, 2}), 0), DTypeError);
  CHECK_THROWS_AS(softmax(ones({2}), 1), IndexError);
}

TEST_CASE("linear") {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}}), w = tensor({{1.0, 0.0}, {0.5, 1.0}, {2.0, 2.0}});
  CHECK(values(linear(x, w)) == Values{1, 2.5, 6, 3, 5.5, 14});
  CHECK(values(linear(x, w, tensor({1.0, 0.0, -1.0}))) == Values{2, 2.5, 5, 4, 5.5, 13});
  CHECK(values(linear(x, tensor({1.0, 10.0}))) == Values{21, 43});
  const std::string message = message_of<ShapeError>([&] { linear(ones({2, 3}), w); });
  CHECK(has(message, "f32[2,3]"));
  CHECK(has(message, "f32[3,2]"));
}

TEST_CASE("cross entropy") {
  const Variable logits = variable(tensor({{0.0, std::log(3.0)}}, {.dtype = f64}));
  const Tensor loss = cross_entropy(logits, tensor({1}));
  CHECK(is_near(values(loss), {0.287682072451781}, 1e-12));
  CHECK(is_near(values(grad(loss, logits)), {0.25, -0.25}, 1e-12));
  CHECK(is_near(values(cross_entropy(logits.value()[0], tensor(1))), {0.287682072451781}, 1e-12));

  const Tensor ignored = tensor({-100});
  CHECK(values(cross_entropy(logits, ignored, {.reduction = Reduction::sum})) == Values{0});
  CHECK(std::isnan(cross_entropy(logits, ignored).item<double>()));
  CHECK(values(cross_entropy(logits, ignored, {.reduction = Reduction::none})) == Values{0});

  // log(4) - log(3) and log(4), half of it smoothed away: 0.5 x + 0.25 (x + y)
  const double x = std::log(4.0) - std::log(3.0), y = std::log(4.0);
  CHECK(is_near(values(cross_entropy(logits, tensor({1}), {.label_smoothing = 0.5})),
                {0.5 * x + 0.25 * (x + y)}, 1e-12));
  CHECK(is_near(values(cross_entropy(logits, tensor({{0.25, 0.75}}, {.dtype = f64}))),
                {0.25 * y + 0.75 * x}, 1e-12));

  const Tensor two = tensor({{0.0, std::log(3.0)}, {0.0, std::log(3.0)}}, {.dtype = f64});
  const Tensor weight = tensor({3.0, 1.0}, {.dtype = f64});
  const Tensor labels = tensor({0, 1});
  CHECK(is_near(values(cross_entropy(two, labels, {.weight = weight})), {(3 * y + x) / 4}, 1e-12));
  CHECK(is_near(values(nll_loss(log_softmax(two, 1), labels, {.weight = weight})),
                {(3 * y + x) / 4}, 1e-12));
  CHECK(is_near(values(cross_entropy(two, tensor({0, -100}))), {y}, 1e-12));
  CHECK(cross_entropy(ones({2, 3, 4}), zeros({2, 4}, {.dtype = i64}),
                      {.reduction = Reduction::none}).shape() == Shape({2, 4}));
  CHECK(cross_entropy(ones({2, 3}, {.dtype = f16}), labels).dtype() == f16);

  CHECK(has(message_of<ShapeError>([&] { cross_entropy(two, tensor({0, 1, 1})); }), "i64[3]"));
  CHECK(has(message_of<DTypeError>([&] { cross_entropy(two, tensor({0.0, 1.0})); }), "f32[2]"));
  CHECK_THROWS_AS(cross_entropy(two, labels, {.label_smoothing = 1.5}), ValueError);
}

TEST_CASE("losses of differences") {
  const Tensor x = tensor({1.0, 5.0}), y = tensor({3.0, 4.0});
  CHECK(values(mse_loss(x, y)) == Values{2.5});
  CHECK(values(mse_loss(x, y, {.reduction = Reduction::sum})) == Values{5});
  CHECK(values(mse_loss(x, y, {.reduction = Reduction::none})) == Values{4, 1});
  CHECK(values(l1_loss(x, y)) == Values{1.5});
  const Tensor wide = full({4096}, 24.0, {.dtype = f16});
  CHECK(values(l1_loss(wide, zeros_like(wide))) == Values{24});
}

TEST_CASE("a module computes, and names what it holds") {
  manual_seed(3);
  Net net;
  CHECK(net(ones({5, 2, 2})).shape() == Shape({5, 2}));
  std::string names;
  for (const auto& [name, parameter] : net.named_parameters()) names += name + " ";
  CHECK(names == "hidden.weight hidden.bias out.weight out.bias ");
  CHECK(net.parameters().size() == 4);
  CHECK(net.buffers().size() == 1);
  CHECK(net.named_buffers()[0].first == "scale");
  CHECK_FALSE(net.scale.requires_grad());
  CHECK(net.is_training());
  net.train(false);
  CHECK_FALSE(net.hidden.is_training());
  sum(net(ones({1, 4}))).backward();
  CHECK(net.out.bias.grad().defined());
  net.zero_grad();
  CHECK_FALSE(net.out.bias.grad().defined());

  const double bound = 0.5;
  for (const double w : values(nn::Linear(4, 50).weight)) CHECK(std::abs(w) <= bound);
  CHECK(nn::Linear(4, 3, {.bias = false}).parameters().size() == 1);
  CHECK(nn::Linear(4, 3, {.dtype = f64}).weight.dtype() == f64);
}

TEST_CASE("modules share their state when copied, and clones do not") {
  nn::Linear a(2, 2);
  nn::Linear shared = a, own = a.clone();
  const Values before = values(a.weight);
  a.weight = 0;
  CHECK(values(shared.weight) == Values{0, 0, 0, 0});
  CHECK(values(own.weight) == before);
  CHECK(own.parameters().size() == 2);
  nn::Module pair;
  pair.register_module("a", a);
  pair.register_module("b", shared);
  CHECK(pair.parameters().size() == 2);
  CHECK(pair.state_dict().size() == 4);
}

TEST_CASE("a sequence of modules") {
  nn::Sequential mlp{nn::Flatten(), nn::Linear(4, 3), nn::ReLU(), nn::Linear(3, 2)};
  CHECK(mlp.size() == 4);
  CHECK(mlp(ones({7, 2, 2})).shape() == Shape({7, 2}));
  CHECK(mlp.named_parameters()[0].first == "1.weight");
  nn::Sequential copy{mlp};
  CHECK(copy.size() == 4);
  nn::Sequential outer{mlp, nn::ReLU()};
  CHECK(outer.size() == 2);
  CHECK(outer.named_parameters()[0].first == "0.1.weight");
  Net net;
  outer.push_back(net);
  CHECK(outer.parameters().size() == 8);
  CHECK(values(nn::Sequential()(ones({2}))) == Values{1, 1});
}

TEST_CASE("forward of one to three tensors") {
  Sum add;
  const Tensor one = ones({});
  const Variable two = variable(ones({}) * 2);
  CHECK(values(add(one, two)) == Values{3});
  CHECK(values(add(one, two, one)) == Values{4});
  int line = 0;
  try {
    line = __LINE__; add(one);
    FAIL("a forward that does not exist was called");
  } catch (const UnsupportedError& error) {
    CHECK(error.line() == line);
    CHECK(has(error.what(), "one tensor"));
  }
  const Sum constant;
  CHECK(values(constant(one, one, one)) == Values{3});
  CHECK_THROWS_AS(constant(one, one), UnsupportedError);
  nn::Linear layer(3, 1);
  try {
    line = __LINE__; layer(ones({2, 4}));
    FAIL("sizes that differ were accepted");
  } catch (const ShapeError& error) {
    CHECK(error.line() == line);
  }
}

TEST_CASE("registering is checked") {
  nn::Module module;
  module.register_parameter("w", ones({2}));
  CHECK_THROWS_AS(module.register_parameter("w", ones({2})), ValueError);
  CHECK_THROWS_AS(module.register_buffer("w", ones({2})), ValueError);
  CHECK_THROWS_AS(module.register_parameter("a.b", ones({2})), ValueError);
  CHECK_THROWS_AS(module.register_parameter("", ones({2})), ValueError);
  CHECK_THROWS_AS(module.register_parameter("u", Variable()), ValueError);
  CHECK_THROWS_AS(module.register_module("self", module), ValueError);
  nn::Module inner;
  module.register_module("inner", inner);
  CHECK_THROWS_AS(inner.register_module("outer", module), ValueError);
  CHECK(module.parameters().size() == 1);
}

TEST_CASE("a module moves and converts with all that it holds") {
  sim::enable(2);
  Net net;
  net.to("sim:1");
  CHECK(net.hidden.weight.device() == Device("sim:1"));
  CHECK(net.scale.device() == Device("sim:1"));
  CHECK_THROWS_AS(net(ones({1, 4})), DeviceError);
  net.cpu();
  net.register_buffer("count", tensor(3));
  net.to(f64);
  CHECK(net.out.bias.dtype() == f64);
  CHECK(net.buffers()[1].dtype() == i64);
  CHECK_THROWS_AS(net.to(i32), DTypeError);
}

TEST_CASE("state is saved and loaded whole or not at all") {
  Net from, to;
  const StateDict state = from.state_dict();
  CHECK(state.size() == 5);
  CHECK(state.begin()->first == "hidden.weight");
  to.load_state_dict(state);
  CHECK(values(to.out.weight) == values(from.out.weight));

  std::map<std::string, Tensor> wrong = state;
  wrong.erase("out.bias");
  wrong["extra"] = ones({1});
  wrong["hidden.weight"] = ones({3, 5});
  wrong["out.weight"] = zeros({2, 3});
  const std::string message = message_of<ValueError>([&] { to.load_state_dict(wrong); });
  CHECK(has(message, "missing: out.bias"));
  CHECK(has(message, "unexpected: extra"));
  CHECK(has(message, "hidden.weight is [3,4] here, [3,5] there"));
  CHECK(values(to.out.weight) == values(from.out.weight));

  nn::Linear layer(1, 1);
  layer.load_state_dict({{"weight", tensor({{2}})}, {"bias", ones({1}, {.dtype = f64})}});
  CHECK(layer.weight.dtype() == f32);
  CHECK(values(layer(tensor({3.0}))) == Values{7});
  CHECK_THROWS_AS(state.at("nothing"), ValueError);
}

TEST_CASE("SGD") {
  // p = 1, gradient 1 each step: PyTorch's formulas by hand.
  const auto run = [](const optim::SGDOptions& options, DType dtype = f64) {
    Variable p = variable(ones({1}, {.dtype = dtype}));
    optim::SGD sgd({p}, options);
    Values seen;
    for (int i = 0; i < 3; ++i) {
      sgd.zero_grad();
      sum(p).backward();
      sgd.step();
      seen.push_back(p.item<double>());
    }
    return seen;
  };
  CHECK(is_near(run({.lr = 0.1}), {0.9, 0.8, 0.7}, 1e-12));
  CHECK(is_near(run({.lr = 0.1, .momentum = 0.5}), {0.9, 0.75, 0.575}, 1e-12));
  CHECK(is_near(run({.lr = 0.1, .momentum = 0.5, .dampening = 0.5}), {0.9, 0.8, 0.7}, 1e-12));
  CHECK(is_near(run({.lr = 0.1, .momentum = 0.5, .nesterov = true}), {0.85, 0.675, 0.4875}, 1e-12));
  CHECK(is_near(run({.lr = 0.5, .weight_decay = 1}), {0, -0.5, -0.75}, 1e-12));
  CHECK(is_near(run({.lr = 0.1}, f32), {0.9, 0.8, 0.7}, 1e-6));
  CHECK(run({.lr = 0.25}, f16) == Values{0.75, 0.5, 0.25});
}

TEST_CASE("an optimiser's state and rate") {
  Variable p = variable(ones({2})), unused = variable(ones({2}));
  optim::SGD sgd({p, unused, p}, {.lr = 0.5, .momentum = 0.5});
  CHECK(sgd.parameters().size() == 2);
  CHECK(sgd.lr() == 0.5);
  const auto step = [&] {
    sgd.zero_grad();
    sum(p).backward();
    sgd.step();
  };
  step();
  CHECK_FALSE(p.is_pending());
  CHECK(values(p) == Values{0.5, 0.5});
  CHECK(values(unused) == Values{1, 1});
  sgd.set_lr(2);
  CHECK(sgd.lr() == 2);
  step();
  CHECK(values(p) == Values{-2.5, -2.5});
  sim::enable(2);
  p.to("sim:0");
  p.to(f64);
  step();
  CHECK(p.device() == Device("sim:0"));
  CHECK(values(p) == Values{-6, -6});
  {
    const On elsewhere("sim:1");
    sgd.step();
  }
  CHECK(p.device() == Device("sim:0"));

  CHECK_THROWS_AS(optim::SGD({p}, {.lr = -1}), ValueError);
  CHECK_THROWS_AS(optim::SGD({p}, {.momentum = -1}), ValueError);
  CHECK_THROWS_AS(optim::SGD({p}, {.nesterov = true}), ValueError);
  CHECK_THROWS_AS(optim::SGD(std::vector<Variable>{}), ValueError);
  CHECK_THROWS_AS(optim::SGD({Variable()}), ValueError);
  CHECK_THROWS_AS(sgd.set_lr(-1), ValueError);
}

TEST_CASE("a linear model learns") {
  manual_seed(1);
  const Tensor x = randn({64, 3}), truth = tensor({{1.0, -2.0, 0.5}});
  const Tensor y = (linear(x, truth) + 0.25).detach();
  nn::Linear net(3, 1);
  optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  for (int i = 0; i < 120; ++i) {
    sgd.zero_grad();
    mse_loss(net(x), y).backward();
    sgd.step();
  }
  CHECK(is_near(values(net.weight), {1, -2, 0.5}, 0.02));
  CHECK(is_near(values(net.bias), {0.25}, 0.02));
}
