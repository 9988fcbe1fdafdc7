// Programs as users write them: each form that the library promises compiles, and does what it says.
#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

namespace {

using Values = std::vector<double>;

Values values(const Tensor& x) { return x.to_vector<double>(); }

template <class T>
std::string text_of(const T& x) {
  std::ostringstream text;
  text << x;
  return text.str();
}

// ---- what must not compile

template <class A, class B>
concept JoinsByAnd = requires(A a, B b) { a && b; };
template <class A, class B>
concept JoinsByOr = requires(A a, B b) { a || b; };
template <class T>
concept IsCondition = requires(T t) { t ? 1 : 2; };
template <class T>
concept ElementIsAssignable = requires(T t, Tensor y) { t[0] = y; };
template <class T>
concept ElementTakesNumber = requires(T t) { t[0] = 1; };
template <class T>
concept IndexIsAssignable = requires(T t, Tensor y) { t.index({0}) = y; };
template <class A, class B>
concept HasMax = requires(A a, B b) { weft::max(a, b); };
template <class A, class B>
concept HasMaximum = requires(A a, B b) { weft::maximum(a, b); };

static_assert(!std::convertible_to<Tensor, bool> && !std::constructible_from<bool, Tensor>);
static_assert(!std::convertible_to<Variable, bool> && !std::constructible_from<bool, Variable>);
static_assert(!std::convertible_to<Tensor, float> && !std::convertible_to<Tensor, int>);
static_assert(std::same_as<decltype(Tensor() == Tensor()), Tensor>);
static_assert(!IsCondition<Tensor> && !IsCondition<Variable>);
static_assert(!JoinsByAnd<Tensor, Tensor> && !JoinsByAnd<Tensor, bool> &&
              !JoinsByAnd<Variable, Variable>);
static_assert(!JoinsByOr<Tensor, Tensor> && !JoinsByOr<bool, Tensor>);
static_assert(!ElementIsAssignable<Tensor&> && !ElementIsAssignable<Variable&>);
static_assert(!ElementTakesNumber<Tensor&> && !IndexIsAssignable<Tensor&>);
static_assert(!HasMax<int, int> && !HasMax<double, double> && !HasMax<float, int>);
static_assert(HasMaximum<Tensor, int> && HasMaximum<float, Variable>);
static_assert(!std::copy_constructible<On> && !std::copy_constructible<Scope> &&
              !std::copy_constructible<NoGrad>);
static_assert(std::convertible_to<Variable, Tensor> && std::convertible_to<const char*, Device>);
static_assert(std::derived_from<Error, std::runtime_error> &&
              std::derived_from<TraceError, Error> && std::derived_from<UnsupportedError, Error> &&
              std::derived_from<FileError, Error> && std::derived_from<InternalError, Error>);

}  // namespace

TEST_CASE("tour: devices") {
  CHECK(cuda::is_available() == (cuda::device_count() > 0));
  CHECK(cuda::current_device() == 0);
  CHECK_THROWS_AS(cuda::device_name(cuda::device_count()), DeviceError);
  const Device cpu;
  const Device gpu("cuda:0");
  CHECK(cpu == Device::cpu());
  CHECK(cpu.is_cpu());
  CHECK(gpu == Device::cuda(0));
  CHECK(text_of(gpu) == "cuda:0");
  CHECK(Device("cuda:3").index() == 3);
  CHECK(Device(std::string("sim:1")).is_sim());
  const Device d = best_device();
  CHECK(d == (cuda::is_available() ? gpu : cpu));
  CHECK(all_gpus().front() == d);
  CHECK(try_gpu(100000).is_cpu());
  synchronize(d);
  sim::enable(2);
  CHECK(sim::device_count() >= 2);
  synchronize("sim:1");
}

TEST_CASE("tour: making tensors") {
  const Device d = best_device();
  const Tensor x = tensor({1, 2, 3}), m = tensor({{1.0, 2.0}, {3.0, 4.0}});
  CHECK(x.dtype() == i64);
  CHECK(x.device().is_cpu());
  CHECK(m.dtype() == f32);
  const Tensor g = tensor({1, 2, 3}, {.device = d}), h = tensor({1, 2, 3}, {.dtype = f64});
  CHECK(make_plan({g + 1}).count(StepKind::transfer) == 0);
  CHECK(h.dtype() == f64);
  CHECK(tensor(2.0).ndim() == 0);
  CHECK(tensor({1, 2}, {.dtype = u8}).dtype() == DType::u8);
  CHECK(tensor({{{1}, {2}}, {{3}, {4}}}).shape() == Shape({2, 2, 1}));
  CHECK(tensor({true, false}).dtype() == bool_);
  CHECK(tensor({1, 2.5}).dtype() == f32);
  CHECK(tensor({}).shape() == Shape({0}));
  CHECK(values(zeros({2, 3})) == Values(6, 0));
  CHECK(values(ones({2, 3})) == Values(6, 1));
  CHECK(values(full({2, 3}, 7.5)) == Values(6, 7.5));
  CHECK(values(arange(5)) == Values{0, 1, 2, 3, 4});
  CHECK(values(arange(0, 10, 2)) == Values{0, 2, 4, 6, 8});
  CHECK(values(linspace(0.0, 1.0, 5)) == Values{0, 0.25, 0.5, 0.75, 1});
  CHECK(values(eye(3)) == Values{1, 0, 0, 0, 1, 0, 0, 0, 1});
  CHECK(zeros({2, 3}, {.dtype = i32, .device = d}).dtype() == i32);
  CHECK(values(zeros_like(m) + ones_like(m) + full_like(m, 2.0)) == Values(4, 3));
  const std::vector<double> v = {1, 2, 3, 4};
  CHECK(from_span(std::span<const double>(v), {2, 2}).dtype() == f64);
  CHECK(from_span(std::span(v), {2, 2}).shape() == Shape({2, 2}));
  CHECK(from_vector(v, {4, 1}).shape() == Shape({4, 1}));
  CHECK(from_vector(std::vector<std::uint8_t>{1}).dtype() == u8);
  CHECK(zeros(std::vector<int>{2, 1}).ndim() == 2);  // any vector of integers is a shape
  CHECK(zeros(std::array<std::size_t, 1>{4}).numel() == 4);
  CHECK(zeros(m.shape()).shape() == m.shape());
  CHECK(zeros({}).ndim() == 0);
  CHECK(x.shape() == Shape({3}));
  CHECK(m.numel() == 4);
  CHECK(m.size(0) == 2);
  CHECK(m.size(-1) == 2);
  CHECK(x[2].item<long>() == 3);
  CHECK(x.to_vector<float>() == std::vector<float>{1, 2, 3});
  CHECK(text_of(x) == "tensor([1, 2, 3])");
  sim::enable(2);
  CHECK(text_of(x.to("sim:1")) == "tensor([1, 2, 3], device='sim:1')");
  CHECK(x.cpu().ref() == x.ref());
  CHECK(x.to(i64).ref() == x.ref());
  CHECK(x.to(d).to(d, f16).dtype() == f16);
  CHECK(pow(x.to("sim:0"), 2).device() == Device("sim:0"));
  CHECK_THROWS_AS(x.to("sim:0") + x.cpu(), DeviceError);
}

TEST_CASE("tour: operators") {
  const Tensor x = tensor({1.0, 4.0}), y = tensor({3.0, 2.0}), n = tensor({6, 3});
  CHECK(values(x + y) == Values{4, 6});
  CHECK(values(1 - x) == Values{0, -3});
  CHECK(values(x * 2.5f) == Values{2.5, 10});
  CHECK(values(2 / y * 3) == Values{2, 3});
  CHECK(values(n % 4) == Values{2, 3});
  CHECK(values(7 % n) == Values{1, 1});
  CHECK(values(!(x > 2)) == Values{1, 0});
  CHECK(values(~n) == Values{-7, -4});
  CHECK(values((n & 2) + (n | 8) * 10 + (n ^ 1) * 100) == Values{2 + 140 + 700, 2 + 110 + 200});
  CHECK(values((x > 0) & (x < 2)) == Values{1, 0});
  CHECK(values((x == 1) | (y == 2)) == Values{1, 1});
  CHECK(values((x != y) ^ (x <= y)) == Values{0, 1});
  CHECK(values(2 >= x) == Values{1, 0});
  CHECK(values(-x) == Values{-1, -4});
  Tensor a = x;
  const Tensor before = a;
  a += y;
  a -= 1;
  a *= a;
  a /= 3;
  CHECK(values(a) == Values{3, 25.0f / 3});
  CHECK(values(before) == Values{1, 4});
  CHECK(equal(x, before));
  CHECK_FALSE(equal(x, y));
  CHECK(allclose(x, x + 1e-9));
  CHECK(values(n * true) == Values{6, 3});
  CHECK((n + 1.5).dtype() == f32);
  CHECK((n.to(u8) + 1).dtype() == u8);
}

TEST_CASE("tour: indexing") {
  const Tensor x = arange(12).reshape({3, 4});
  CHECK(values(x[0]) == Values{0, 1, 2, 3});
  CHECK(values(x[-1][1]) == Values{9});
  CHECK(values(x.index({0, slice(1, 3)})) == Values{1, 2});
  CHECK(values(x.index({slice(), 2})) == Values{2, 6, 10});
  CHECK(values(x.index({slice(0, std::nullopt, 2), slice(-1, std::nullopt)})) == Values{3, 11});
  CHECK(values(x.slice(1, 0, 4, 2)) == Values{0, 2, 4, 6, 8, 10});
  CHECK(values(slice(x, 0, 1, 2)) == Values{4, 5, 6, 7});
  CHECK(values(x.select(1, 3)) == Values{3, 7, 11});
  CHECK(values(slice_update(x, 0, 1, zeros({1, 4}, {.dtype = i64}))[1]) == Values(4, 0));
  CHECK(values(masked_fill(x, x > 2, -1)[1]) == Values(4, -1));
  CHECK(values(x.masked_fill(x < 11, 0)[2]) == Values{0, 0, 0, 11});
  CHECK(values(x) == values(arange(12)));
}

TEST_CASE("tour: functions, members and Variables in place of tensors") {
  const Tensor x = tensor({{1.0, -4.0}, {9.0, 16.0}});
  const Variable v = variable(x);
  const auto same = [](const Tensor& a, const Tensor& b, const Tensor& c, const Tensor& d) {
    return equal(a, b) && equal(a, c) && equal(a, d);
  };
  CHECK(same(abs(x), x.abs(), abs(v), v.abs()));
  CHECK(same(relu(x), x.relu(), relu(v), v.relu()));
  CHECK(same(square(x), x.square(), square(v), v.square()));
  CHECK(same(sum(x), x.sum(), sum(v), v.sum()));
  CHECK(same(sum(x, 1), x.sum(1), sum(v, 1), v.sum(1)));
  CHECK(same(mean(x, {0, 1}), x.mean({0, 1}), mean(v, {0, 1}), v.mean({-2, -1})));
  CHECK(same(amax(x, 0, keepdim), x.amax(0, keepdim), amax(v, 0, true), v.max(0, keepdim)));
  CHECK(same(argmax(x, 1), x.argmax(1), argmax(v, 1), v.argmax(1)));
  CHECK(same(reshape(x, {4}), x.reshape({-1}), reshape(v, {-1}), v.reshape(4)));
  CHECK(same(transpose(x, 0, 1), x.transpose(0, 1), transpose(v, 0, 1), permute(v, {1, 0})));
  CHECK(same(matmul(x, x), x.matmul(v), matmul(v, x), v.matmul(x)));
  CHECK(same(maximum(x, 0), maximum(0, x), maximum(v, 0), v.maximum(0)));
  CHECK(same(pow(x, 2), x.pow(2), pow(v, 2), v.pow(2)));
  CHECK(same(softmax(x, 1), x.softmax(1), softmax(v, 1), v.softmax(1)));
  CHECK(same(clamp(x, 0, 10), x.clamp(0, 10), clamp(v, 0, 10), v.clamp(0, 10)));
  CHECK(same(x + x, x + v, v + x, v + v));
  CHECK(same(1 - x, 1 - v, -(v - 1), -(x - 1)));
  CHECK(values(clamp(x, std::nullopt, 1.0)) == Values{1, -4, 1, 1});
  CHECK(values(where(v > 0, v, 0)) == Values{1, 0, 9, 16});
  CHECK(values(where(x > 0, 1, 0)) == Values{1, 0, 1, 1});
  CHECK(values(max(x, 1)) == Values{1, 16});
  CHECK(values(min(x)) == Values{-4});
  CHECK(sum(x, {0, 1}, keepdim).shape() == Shape({1, 1}));
  CHECK(values(cat({x, v}, 1)).size() == 8);
  CHECK(stack({v, v}).shape() == Shape({2, 2, 2}));
  CHECK(cat(std::vector<Tensor>{x, x}).size(0) == 4);
  CHECK(stack(std::vector<Variable>{v, v}, 2).size(2) == 2);
  CHECK(split(x, 1).size() == 2);
  CHECK(split(v, {1, 1}, 1)[1].shape() == Shape({2, 1}));
  CHECK(chunk(x, 2, 1).size() == 2);
  const auto [top, where_top] = topk(x, 1, 1);
  CHECK(values(top) == Values{1, 16});
  CHECK(values(where_top) == Values{0, 1});
  CHECK(x.topk(2).second.dtype() == i64);
  CHECK(values(gather(v, 1, tensor({{1}, {0}}))) == Values{-4, 9});
  CHECK(values(index_select(x, 0, tensor({1}))) == Values{9, 16});
  CHECK(values(scatter_add(x, 0, tensor({{0, 0}}), ones({1, 2}))) == Values{2, -3, 9, 16});
  CHECK(unsqueeze(x, 0).squeeze().shape() == x.shape());
  CHECK(expand(x, {3, -1, -1}).shape() == Shape({3, 2, 2}));
  CHECK(values(flip(x, {0, 1})) == Values{16, 9, -4, 1});
  CHECK(flatten(ones({2, 3, 4}), 1).shape() == Shape({2, 12}));
  CHECK(linear(x, ones({3, 2}), v.sum(0).sum().expand({3})).shape() == Shape({2, 3}));
  CHECK(values(logsumexp(zeros({1}))) == Values{0});
  CHECK(values(isnan(x) | isinf(x) | !isfinite(x)) == Values(4, 0));
}

TEST_CASE("tour: losses and their options") {
  const Tensor logits = tensor({{2.0, 1.0, 0.0}, {0.0, 0.0, 0.0}}), labels = tensor({0, 2});
  const Tensor plain = cross_entropy(logits, labels);
  CHECK(allclose(plain, nll_loss(log_softmax(logits, 1), labels)));
  CHECK(allclose(plain, cross_entropy(logits, labels, {.label_smoothing = 0.0})));
  CHECK_FALSE(allclose(plain, cross_entropy(logits, labels, {.label_smoothing = 0.1})));
  CHECK(cross_entropy(logits, labels, {.reduction = Reduction::none}).shape() == Shape({2}));
  CHECK(values(mse_loss(tensor({1.0, 3.0}), tensor({1.0, 1.0}))) == Values{2});
  CHECK(values(l1_loss(tensor({1.0, 3.0}), tensor({1.0, 1.0}), {.reduction = Reduction::sum})) ==
        Values{2});
}

TEST_CASE("tour: evaluation") {
  const Tensor a = ones({3, 2}), w = ones({2, 1}), b = tensor(1.0);
  const Tensor loss = mean(square(matmul(a, w) - b)), other = a * 2;
  CHECK(loss.is_pending());
  eval(loss);
  CHECK_FALSE(loss.is_pending());
  eval(loss, other);
  CHECK(loss.item<float>() == 1);
  const Tensor held = a + 5;
  flush();
  CHECK_FALSE(held.is_pending());
  const Tensor last = held * 2;
  last.wait();
  CHECK_FALSE(last.is_pending());
  const Variable v = variable(a + 1);
  eval(v, w);
  CHECK(values(v) == Values(6, 2));
}

TEST_CASE("tour: placement and plans") {
  sim::enable(2);
  const Tensor x = ones({4, 4}), w = full({4, 4}, 2.0);
  eval(x, w);
  Tensor y;
  {
    const On scope("sim:0");
    y = relu(matmul(x, w));
  }
  CHECK(y.device() == Device("sim:0"));
  CHECK(make_plan({y}).count(StepKind::transfer) == 2);
  {
    const On scope(automatic);
    y = relu(y);
  }
  const Tensor loss = mean(y);
  const Graph graph = capture({loss});
  CHECK(graph.verify().empty());
  const Plan plan = make_plan({loss});
  CHECK_FALSE(plan.steps().empty());
  CHECK(plan.count(StepKind::kernel) + plan.count(StepKind::library) > 0);
  CHECK(plan.peak_bytes("sim:0") > 0);
  for (const Step& step : plan.steps()) {
    if (step.kind == StepKind::kernel) CHECK_FALSE(plan.source(step.index).empty());
    if (step.kind == StepKind::transfer) CHECK_FALSE(step.reason.empty());
  }
  CHECK(text_of(plan).find("matmul") != std::string::npos);
  std::ostringstream dot;
  write_dot(dot, graph);
  write_dot(dot, plan);
  CHECK(dot.str().find("digraph") != std::string::npos);
  CHECK(loss.is_pending());
  plan.run();
  CHECK_FALSE(loss.is_pending());
  CHECK(values(loss) == Values{8});
  Tensor named = loss.cpu();
  {
    const Scope s("encoder");
    named = -named;
  }
  CHECK(text_of(make_plan({named})).find("encoder") != std::string::npos);
  CHECK(values(named) == Values{-8});
}
