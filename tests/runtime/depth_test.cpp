// Programs of a million ops, on a small stack; loops that never read.
#include <ostream>
#include <streambuf>

#include <weft/runtime/counters.h>
#include <weft/runtime/memory.h>
#include <weft/weft.h>

#include "support/alloc_faults.h"
#include "support/catch.h"
#include "support/sanitized.h"
#include "support/small_stack.h"

namespace {

using namespace weft;

constexpr int depth = test::scaled(1'000'000, 20'000);

/// Takes everything, keeps its length.
struct Counting : std::streambuf {
  std::size_t count = 0;
  int overflow(int c) override {
    ++count;
    return c;
  }
  std::streamsize xsputn(const char*, std::streamsize n) override {
    count += static_cast<std::size_t>(n);
    return n;
  }
};

template <class T>
std::size_t dumped(const T& what) {
  Counting buffer;
  std::ostream out(&buffer);
  write_dot(out, what);
  return buffer.count;
}

/// While it lives that much may be pending.
struct Pending {
  PendingLimits before = pending_limits();
  explicit Pending(std::size_t nodes) { set_pending_limits({nodes, std::size_t{1} << 60}); }
  ~Pending() { set_pending_limits(before); }
};

}  // namespace

TEST_CASE("depth: a long chain is recorded, run and dropped on a small stack", "[depth]") {
  const Pending unbounded(std::size_t{1} << 40);
  float value = 0;
  test::on_small_stack([&] {
    const Tensor one = tensor({1.0f, 1.0f});
    Tensor dropped = one;
    for (int i = 0; i < depth; ++i) dropped = dropped + one;
    dropped = {};
    Tensor x = one;
    for (int i = 0; i < depth; ++i) x = x + one;
    value = x[1].item<float>();
  });
  CHECK(value == float(depth) + 1);
}

TEST_CASE("depth: a long chain is differentiated on a small stack", "[depth]") {
  const Pending unbounded(std::size_t{1} << 40);
  float gradient = 0, value = 0;
  test::on_small_stack([&] {
    const Variable start = variable(tensor(3.0f));
    const Tensor one = tensor(1.0f);
    Tensor x = start.value();
    for (int i = 0; i < depth; ++i) x = x * one;
    const Tensor g = grad(x, {start})[0];
    gradient = g.item<float>();
    value = x.item<float>();
  });
  CHECK(gradient == 1);
  CHECK(value == 3);
}

TEST_CASE("depth: a long chain is drawn on a small stack", "[depth]") {
  const Pending unbounded(std::size_t{1} << 40);
  std::size_t graph = 0, plan = 0, steps = 0;
  test::on_small_stack([&] {
    Tensor x = tensor({1.0f});
    const Tensor one = x;
    for (int i = 0; i < depth / 4; ++i) x = x + one;
    graph = dumped(capture(x));
    const Plan made = make_plan(x);
    steps = made.count(StepKind::kernel);
    plan = dumped(made);
  });
  CHECK(graph > std::size_t{10} * (depth / 4));
  CHECK(steps > depth / 4 / 200);
  CHECK(plan > 10 * steps);
}

namespace {

struct Grown {
  std::int64_t bytes;
  std::uint64_t plans;
};

/// What a loop's last three quarters add to memory, and the plans of all of it.
template <class F>
Grown run_loop(int count, F body) {
  const auto held = [] {
    return test::outstanding_allocations().bytes +
           static_cast<std::int64_t>(memory_stats().in_use + memory_stats().cached);
  };
  const Pending limit(test::sanitized ? 5000 : PendingLimits{}.nodes);
  const std::uint64_t plans = counters().plans_made;
  std::int64_t quarter = 0;
  for (int i = 0; i < count; ++i) {
    body(i);
    if (i == count / 4) quarter = held();
  }
  return {held() - quarter, counters().plans_made - plans};
}

constexpr int ops = test::scaled(1'200'000, 80'000);
constexpr std::int64_t small_growth = std::int64_t{16} << 20;

void check_bounded(Grown grown) {
  CHECK(grown.bytes < small_growth);
  CHECK(grown.plans <= 4);
}

}  // namespace

TEST_CASE("depth: a loop of ten million ops that never reads runs in flat memory", "[depth]") {
  Tensor x = tensor({1.0f, 2.0f});
  const Tensor a = tensor({1.0f, 1.0f}), b = tensor({0.5f, 0.5f});
  constexpr int count = test::scaled(10'000'000, 80'000) / 3;
  check_bounded(run_loop(count, [&](int) { x = (x + a) * b - a; }));
  CHECK(x[0].item<float>() == -1);
}

TEST_CASE("depth: a loop over several lines makes few plans", "[depth]") {
  Tensor x = tensor({1.0f, 2.0f});
  check_bounded(run_loop(ops / 3, [&](int) {
    x = x + 1.0f;
    x = x * 0.5f;
    x = x - 1.0f;
  }));
  CHECK(x[1].item<float>() == -1);
}

TEST_CASE("depth: a number that varies makes no plan of its own", "[depth]") {
  Tensor x = zeros({2});
  check_bounded(run_loop(ops / 2, [&](int i) { x = x * 0.0f + float(i % 1000); }));
  CHECK(x[1].item<float>() == float((ops / 2 - 1) % 1000));
}

TEST_CASE("depth: where a slice starts makes no plan of its own", "[depth]") {
  const Tensor data = arange(1024).to(f32);
  Tensor x = zeros({8});
  check_bounded(run_loop(ops / 3, [&](int i) {
    const int start = i % 1000;
    x = x * 0.5f + data.slice(0, start, start + 8);
  }));
  CHECK(x.to_vector<float>()[7] > 0);
  const Counters before = counters();
  for (int i = 0; i < 20; ++i) {
    const Tensor part = data.slice(0, i, i + 4) * 2.0f;
    CHECK(part.to_vector<float>()[3] == 2 * float(i + 3));
  }
  CHECK(counters().plans_made - before.plans_made <= 1);
}

TEST_CASE("depth: random draws in a loop", "[depth]") {
  Tensor x = zeros({8});
  check_bounded(run_loop(ops / 3, [&](int) { x = x * 0.5f + randn({8}); }));
  CHECK(std::abs(x.to_vector<float>()[0]) < 20);
}

TEST_CASE("depth: values that nobody keeps are not computed", "[depth]") {
  const Tensor x = ones({8});
  eval(x);
  const Counters none = counters();
  for (int i = 0; i < 100; ++i) Tensor(x * 0.5f) + 1.0f;
  flush();
  CHECK(counters().runs == none.runs);
  const Tensor kept = x * 0.5f;
  flush();
  CHECK(counters().runs == none.runs + 1);
  const Counters before = counters();
  check_bounded(run_loop(ops / 2, [&](int) {
    Tensor y = x * 0.5f;
    y = y + 1.0f;
  }));
  // What is held at the time of a flush is.
  CHECK(counters().runs - before.runs <= counters().flushes - before.flushes);
}

TEST_CASE("depth: what was read or dropped does not count as pending", "[depth]") {
  const PendingLimits before = pending_limits();
  set_pending_limits({200, 4096});
  const std::uint64_t flushes = counters().flushes;
  for (int i = 0; i < 500; ++i) {
    // The history of a plain tensor ends where it is evaluated: a flush between these lines would
    // take the gradient away.
    const Tensor x = from_vector(std::vector<double>(8, i));
    Tensor(x + 1.0) * 3.0;
    const Tensor y = sum(x * x);
    CHECK(grad(y, x)[0].item<double>() == 2 * i);
    CHECK(y.item<double>() == 8.0 * i * i);
  }
  CHECK(counters().flushes == flushes);
  // What does wait is flushed: nodes, then bytes of host data.
  Tensor x = ones({8});
  for (int i = 0; i < 500; ++i) x = x + 1.0f;
  CHECK(counters().flushes - flushes >= 2);
  CHECK(counters().flushes - flushes <= 5);
  set_pending_limits({100000, 4096});
  for (int i = 0; i < 500; ++i) x = x + from_vector(std::vector<float>(8, 1));
  CHECK(counters().flushes - flushes >= 5);
  set_pending_limits(before);
  CHECK(x[0].item<float>() == 1001);
}

TEST_CASE("depth: two values that go round a loop", "[depth]") {
  Tensor x = ones({8}), sum = zeros({8});
  check_bounded(run_loop(ops / 3, [&](int) {
    x = x * 0.5f + 1.0f;
    sum = sum + x * 0.0f;
  }));
  CHECK(sum.to_vector<float>()[3] == 0);
  CHECK(x.to_vector<float>()[3] == 2);
}

TEST_CASE("depth: a large plan that is only run is drawn when it is asked for", "[depth]") {
  const auto chain = [] {
    Tensor x = tensor({1.0f});
    const Tensor one = x;
    for (int i = 0; i < 6000; ++i) x = x + one;
    return x;
  };
  CHECK(chain().item<float>() == 6001);
  const Counters before = counters();
  const Tensor again = chain();
  const Plan plan = make_plan(again);
  CHECK(plan.steps().size() > 6000 / 200);
  CHECK(dumped(plan) > 1000);
  CHECK(counters().plans_made - before.plans_made == 1);
  plan.run();
  CHECK(again.item<float>() == 6001);
  CHECK(counters().plans_made - before.plans_made == 1);
}
