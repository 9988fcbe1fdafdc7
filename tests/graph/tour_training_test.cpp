// Programs as users write them: gradients, modules, optimisers and data.
#include <array>
#include <concepts>
#include <filesystem>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

namespace {

using Values = std::vector<double>;

Values values(const Tensor& x) { return x.to_vector<double>(); }

static_assert(std::same_as<decltype(grad(Tensor(), Variable())), Tensor>);
static_assert(std::same_as<decltype(grad(Tensor(), {Variable(), Variable()})),
                           std::array<Tensor, 2>>);
static_assert(std::same_as<decltype(grad(Tensor(), std::vector<Variable>())), std::vector<Tensor>>);
static_assert(std::same_as<decltype(grad(Tensor(), std::vector<Tensor>())), std::vector<Tensor>>);

struct Net : nn::Module {
  nn::Linear hidden{6, 4}, out{4, 2};
  Net() {
    register_module("hidden", hidden);
    register_module("out", out);
  }
  Tensor forward(const Tensor& x) override { return out(relu(hidden(flatten(x, 1)))); }
};

struct Pair : nn::Module {
  Variable scale = register_parameter("scale", tensor(2.0));
  Variable count = register_buffer("count", tensor(0));
  using nn::Module::forward;
  Tensor forward(const Tensor& x, const Tensor& y) const override { return x * scale + y; }
  Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) const override {
    return x * scale + y - z;
  }
};

}  // namespace

TEST_CASE("tour: gradients") {
  Variable w = variable(randn({3, 1})), b = variable(zeros({1}));
  const Tensor x = ones({4, 3});
  const Tensor loss = mean(square(matmul(x, w) - 1 + b));
  const Tensor dw1 = grad(loss, w);
  CHECK(dw1.shape() == w.shape());
  const auto [dw, db] = grad(loss, {w, b});
  CHECK(equal(dw, dw1));
  CHECK(db.shape() == Shape({1}));
  const auto [alone] = grad(loss, {w});
  CHECK(equal(alone, dw1));
  const std::vector<Tensor> all = grad(loss, std::vector<Variable>{w, b});
  CHECK(all.size() == 2);
  CHECK(equal(all[1], db));
  const Tensor inside = x * 2, y = inside * inside;
  CHECK(values(grad(sum(y), inside)) == Values(12, 4));
  CHECK(grad(sum(y), std::vector<Tensor>{inside}).size() == 1);
  CHECK(values(grad(b * 3, b, tensor({5.0}))) == Values{15});
  CHECK(values(grad(grad(sum(b * b * b + b * b), b), b)) == Values{2});  // again
  loss.backward();
  CHECK(equal(w.grad(), dw1));
  mean(matmul(x, w) * 0).backward();
  CHECK(allclose(w.grad(), dw1));
  {
    const NoGrad off;
    w.assign(w - 0.1 * w.grad());
    CHECK_FALSE((w * 2).requires_grad());
  }
  w.zero_grad();
  CHECK_FALSE(w.grad().defined());
  w = ones({3, 1});
  w = 2;
  w -= 0.5;
  CHECK(values(w) == Values(3, 1.5));
  Variable shared = variable(zeros({3, 1}));
  shared = w;
  w = 7.0;
  CHECK(values(shared) == Values(3, 7));
  sim::enable(1);
  w.to("sim:0");
  CHECK(shared.device() == Device("sim:0"));
  w.cpu();
  w.to(f64);
  CHECK(shared.dtype() == f64);
  static_assert(std::is_void_v<decltype(w.to(f64))>);
  const Tensor t = (w * 2).detach();
  CHECK_FALSE(t.requires_grad());
  (w * w).backward(ones({3, 1}, {.dtype = f64}));
  CHECK(values(w.grad()) == Values(3, 14));
  backward(sum(w), {.retain_graph = true});
  CHECK(values(w.grad()) == Values(3, 15));
}

TEST_CASE("tour: modules") {
  Net net;
  CHECK(net(ones({5, 2, 3})).shape() == Shape({5, 2}));
  CHECK(net.parameters().size() == 4);
  CHECK(net.named_parameters()[2].first == "out.weight");
  CHECK(net.parameters()[0].device().is_cpu());
  Net copy = net;
  sim::enable(1);
  net.to("sim:0");
  CHECK(copy.hidden.weight.device() == Device("sim:0"));
  CHECK(net(ones({5, 2, 3}, {.device = "sim:0"})).device() == Device("sim:0"));
  net.cpu();
  net.to(bf16);
  CHECK(net.out.bias.dtype() == bf16);
  net.to(f32);
  const Pair pair;
  CHECK(values(pair(ones({1}), ones({1}))) == Values{3});
  CHECK(values(pair(ones({1}), ones({1}), ones({1}))) == Values{2});
  CHECK(pair.named_buffers()[0].first == "count");
  nn::Sequential mlp{nn::Flatten(), nn::Linear(6, 4), nn::ReLU(), nn::Linear(4, 2)};
  CHECK(mlp(ones({3, 6})).shape() == Shape({3, 2}));
  CHECK(mlp.named_parameters()[0].first == "1.weight");
  mlp.train();
  CHECK(mlp.is_training());
  mlp.train(false);
  CHECK_FALSE(mlp[0].is_training());
  const auto state = mlp.state_dict();
  nn::Sequential other{nn::Flatten(), nn::Linear(6, 4), nn::ReLU(), nn::Linear(4, 2)};
  other.load_state_dict(state);
  CHECK(equal(other(ones({1, 6})), mlp(ones({1, 6}))));
  nn::Linear single(3, 1), twin = single, own = single.clone();
  single.weight = 5;
  CHECK(equal(twin.weight, single.weight));
  CHECK_FALSE(equal(own.weight, single.weight));
  CHECK(nn::Linear(3, 1, {.bias = false}).parameters().size() == 1);
}

TEST_CASE("tour: an optimiser and a loop") {
  manual_seed(7);
  const Tensor inputs = randn({64, 3});
  const Tensor targets = matmul(inputs, tensor({{1.0}, {-2.0}, {0.5}})) + 0.25;
  nn::Linear net(3, 1);
  optim::SGD opt(net.parameters(), {.lr = 0.1, .momentum = 0.9, .weight_decay = 0, .nesterov = true});
  data::Loader loader(inputs, targets, {.batch = 16, .shuffle = true});
  CHECK(loader.size() == 4);
  Tensor loss;
  for (int epoch = 0; epoch < 40; ++epoch) {
    for (auto [x, y] : loader) {
      loss = mse_loss(net(x), y);
      opt.zero_grad();
      loss.backward();
      opt.step();
    }
  }
  CHECK(loss.item<double>() < 1e-6);
  CHECK(allclose(net.weight, tensor({{1.0, -2.0, 0.5}}), 1e-3, 1e-3));
  opt.set_lr(0.01);
  CHECK(opt.lr() == 0.01);
  for (auto [x, y] : data::Loader(inputs, targets, {.batch = 48, .device = {}, .drop_last = true})) {
    CHECK(x.size(0) == 48);
    CHECK(y.shape() == Shape({48, 1}));
  }
}

TEST_CASE("tour: random numbers") {
  manual_seed(7);
  const Tensor a = rand({2}), b = randn({2}), c = randint(0, 10, {2}), d = bernoulli(0.5, {2});
  const Tensor e = randperm(10);
  manual_seed(7);
  CHECK(equal(rand({2}), a));
  CHECK(equal(randn({2}), b));
  CHECK(equal(randint(0, 10, {2}), c));
  CHECK(equal(bernoulli(0.5, {2}), d));
  CHECK(equal(randperm(10), e));
  CHECK(c.dtype() == i64);
  CHECK(e.sum().item<int>() == 45);
}

TEST_CASE("tour: errors are runtime errors with a place") {
  try {
    matmul(ones({2, 3}), ones({2, 3}));
    FAIL("nothing was thrown");
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    CHECK(text.find("matmul") == 0);
    CHECK(text.find("tour_training_test.cpp:") != std::string::npos);
  }
}
