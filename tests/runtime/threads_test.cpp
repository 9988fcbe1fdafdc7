// Many threads at once, forks, exits, and memory that changes hands.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <weft/graph/detail/node.h>
#include <weft/runtime/counters.h>
#include <weft/runtime/memory.h>
#include <weft/runtime/sim.h>
#include <weft/weft.h>

#include "backend.h"
#include "support/catch.h"
#include "support/sanitized.h"

namespace {

using namespace weft;

/// The work on that many threads at once; how many threw.
int on_threads(int count, const std::function<void(int)>& work) {
  std::atomic<int> ready{0}, failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      try {
        work(t);
      } catch (...) {
        ++failed;
      }
    });
  for (std::thread& thread : threads) thread.join();
  return failed;
}

constexpr int rounds = test::scaled(300, 40);

}  // namespace

TEST_CASE("threads: recording and evaluating from four at once", "[threads]") {
  const Tensor shared = tensor({1.0f, 2.0f, 3.0f}) + 1.0f;  // not evaluated yet
  std::atomic<int> wrong{0};
  const int failed = on_threads(4, [&](int t) {
    for (int i = 0; i < rounds; ++i) {
      const Tensor mine = shared * float(t + 1);
      const Tensor more = mine + shared;
      if (i % 3 == 0) eval(more);
      if (i % 5 == 0) flush();
      if (more.to_vector<float>()[2] != 4.0f * float(t + 2)) ++wrong;
    }
  });
  CHECK(failed == 0);
  CHECK(wrong == 0);
}

TEST_CASE("threads: what takes microseconds is done where it is evaluated, in order", "[threads]") {
  synchronize(Device::cpu());
  const Tensor x = tensor({1.0f, 2.0f});
  for (int i = 0; i < 100; ++i) {
    const Tensor y = x * 2.0f + float(i);
    eval(y);
    const detail::Node* node = y.ref().node;
    REQUIRE((!node->completion || node->completion->has_ended()));
    CHECK(y[1].item<float>() == 4.0f + float(i));
  }
  // Behind longer work it waits for its turn, whoever has started that.
  std::atomic<int> wrong{0};
  const int failed = on_threads(4, [&](int t) {
    Variable total = variable(zeros({}));
    for (int i = 0; i < rounds / 4; ++i) {
      const Tensor large = full({t == 0 ? 300'000 : 3}, 1.0f) * float(i);
      eval(large);
      const Tensor last = large[-1] + 1.0f;
      total += last;
      eval(last, total);
      if (last.item<float>() != float(i + 1)) ++wrong;
    }
    const int n = rounds / 4;
    if (total.item<float>() != float(n * (n + 1) / 2)) ++wrong;
  });
  CHECK(failed == 0);
  CHECK(wrong == 0);
}

TEST_CASE("threads: differentiating from four at once, through one Variable", "[threads]") {
  const Variable x(tensor({1.0f, 2.0f}));
  const int failed = on_threads(4, [&](int t) {
    for (int i = 0; i < rounds / 4; ++i) {
      const Tensor loss = sum(x * float(t + 1));
      if (i % 2) loss.wait();
      loss.backward();
    }
  });
  CHECK(failed == 0);
  CHECK(x.grad().to_vector<float>() == std::vector<float>(2, float(rounds / 4 * 10)));
}

TEST_CASE("threads: tensors dropped elsewhere, and outliving their thread", "[threads]") {
  const std::size_t before = memory_stats().tensors;
  {
    std::vector<Tensor> made(4 * 64);
    CHECK(on_threads(4, [&](int t) {
            for (int i = 0; i < 64; ++i) {
              const Tensor x = full({4}, float(i)) + float(t);
              if (i % 2) eval(x);
              made[std::size_t(t) * 64 + std::size_t(i)] = x * 2.0f;
            }
          }) == 0);
    // Their threads are gone; other threads take over their slabs, drop half and read the rest.
    std::atomic<int> wrong{0};
    CHECK(on_threads(4, [&](int t) {
            const int from = (t + 1) % 4;
            for (int i = 0; i < 64; ++i) {
              Tensor& x = made[std::size_t(from) * 64 + std::size_t(i)];
              const Tensor own = ones({2}) + 1.0f;
              if (i % 4 == 0)
                x = {};
              else if (x.to_vector<float>()[3] != 2.0f * float(i + from))
                ++wrong;
            }
          }) == 0);
    CHECK(wrong == 0);
  }
  detail::backend(DeviceKind::cpu).synchronize(Device::cpu());
  CHECK(memory_stats().tensors == before);
}

TEST_CASE("threads: flush starts what this thread recorded and holds", "[threads]") {
  Tensor theirs;
  std::thread([&] { theirs = ones({2}) * 3.0f; }).join();
  const Tensor mine = ones({2}) * 5.0f;
  Tensor inner = ones({2}) * 7.0f;
  const Tensor outer = inner + 1.0f;
  inner = {};
  flush();
  CHECK_FALSE(mine.is_pending());
  CHECK_FALSE(outer.is_pending());
  CHECK(theirs.is_pending());
  // A new thread has the slab of the one that ended, not its work.
  std::thread([&] {
    const Tensor own = ones({2}) * 2.0f;
    flush();
    CHECK_FALSE(own.is_pending());
  }).join();
  CHECK(theirs.is_pending());
  CHECK(theirs.to_vector<float>() == std::vector<float>{3, 3});
}

// ThreadSanitizer does not follow threads that start in a child of a program with threads.
#if !defined(__SANITIZE_THREAD__)
namespace {

/// The exit status of a child that does the work; what it prints is lost.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  REQUIRE(child > 0);
  int status = 0;
  for (int i = 0; i < 3000; ++i) {
    if (waitpid(child, &status, WNOHANG) == child)
      return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return -1;  // it hung
}

}  // namespace

TEST_CASE("threads: a fork before the first evaluation works, one after it says why not",
          "[threads]") {
  const auto first_use = [] {
    // A program of its own: this one has evaluated already.
    const std::string self = "/proc/self/exe";
    execl(self.c_str(), self.c_str(), "[fork-first]", static_cast<char*>(nullptr));
    return 99;
  };
  CHECK(in_child(first_use) == 0);
  eval(ones({2}) + 1.0f);
  const Tensor ready = tensor({1.0f, 2.0f});
  CHECK(in_child([&] {
          if (ready.to_vector<float>()[1] != 2) return 1;  // what is there can be read
          try {
            (ready + 1.0f).to_vector<float>();
          } catch (const DeviceError& error) {
            return std::string(error.what()).find("forked after") != std::string::npos ? 0 : 2;
          }
          return 3;
        }) == 0);
  CHECK((ready + 1.0f).to_vector<float>() == std::vector<float>{2, 3});
}

TEST_CASE("threads: the half of the fork test that is a program of its own", "[.][fork-first]") {
  const Tensor recorded = tensor({1.0f, 2.0f}) * 2.0f;
  const auto evaluates = [&] { return recorded.to_vector<float>()[1] == 4 ? 0 : 1; };
  CHECK(in_child(evaluates) == 0);
  CHECK(in_child(evaluates) == 0);
  CHECK(evaluates() == 0);
}

TEST_CASE("threads: the program may exit while work runs", "[threads]") {
  CHECK(in_child([] {
          const std::string self = "/proc/self/exe";
          execl(self.c_str(), self.c_str(), "[exit-early]", static_cast<char*>(nullptr));
          return 99;
        }) == 7);
}

TEST_CASE("threads: the half of the exit test that is a program of its own", "[.][exit-early]") {
  static Tensor kept = ones({1 << 20});
  for (int i = 0; i < 12; ++i) {
    kept = exp(kept * 0.5f);
    eval(kept);
  }
  std::exit(7);
}
#endif

TEST_CASE("threads: never more than four runs in flight", "[threads]") {
  sim::enable(1);
  sim::configure({.seed = 1, .max_delay_us = 3000});
  std::vector<Tensor> made;
  std::size_t most = 0;
  for (int i = 0; i < 24; ++i) {
    made.push_back(ones({4}, {.device = Device::sim(0)}) + float(i));
    eval(made.back());
    std::size_t in_flight = 0;
    for (const Tensor& x : made) {
      const auto& completion = x.ref().node->completion;
      in_flight += completion && !completion->has_ended();
    }
    most = std::max(most, in_flight);
  }
  sim::configure({});
  CHECK(most <= 4);
  CHECK(most > 1);
  for (std::size_t i = 0; i < made.size(); ++i)
    CHECK(made[i].to_vector<float>()[0] == 1 + float(i));
}

TEST_CASE("threads: reading early changes no gradient", "[threads]") {
  const auto gradient = [](bool early) {
    const Variable w(tensor({{0.5f, -1.0f}, {2.0f, 0.25f}}));
    const Tensor x = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}});
    const Tensor h = tanh(x.matmul(w));
    if (early) h.to_vector<float>();
    const Tensor e = exp(h * 0.5f);
    if (early) e.to_vector<float>();
    const Tensor loss = sum(e * e);
    if (early) loss.item<float>();
    loss.backward();
    return w.grad().to_vector<float>();
  };
  CHECK(gradient(true) == gradient(false));
}

TEST_CASE("threads: what the program holds is computed once", "[threads]") {
  sim::enable(1);
  const Device device = Device::sim(0);
  const Tensor x = (tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}).to(device));
  const Tensor product = x.matmul(x);
  const Tensor top = product + 1.0f;
  CHECK(top.to_vector<float>()[0] == 8);
  CHECK_FALSE(product.is_pending());
  const std::uint64_t kernels = sim::counters(0).kernels, runs = counters().runs;
  CHECK(product.to_vector<float>()[0] == 7);
  CHECK(sim::counters(0).kernels == kernels);
  CHECK(counters().runs == runs);
  CHECK((product * 2.0f).to_vector<float>()[0] == 14);
  CHECK(sim::counters(0).kernels == kernels + 1);
}

TEST_CASE("threads: borrowed memory is given back once", "[threads]") {
  static std::atomic<int> released;
  released = 0;
  float data[] = {1, 2, 3};
  const auto borrow = [&] {
    return from_borrowed(
        data, {3}, [](void*) { ++released; }, nullptr);
  };
  {
    Tensor x = borrow();
    const Tensor y = x + 1.0f;
    x = {};
    CHECK(released == 0);
    CHECK(y.to_vector<float>() == std::vector<float>{2, 3, 4});
  }
  detail::backend(DeviceKind::cpu).synchronize(Device::cpu());
  CHECK(released == 1);
  { const Tensor dropped = borrow() * 2.0f; }
  CHECK(released == 2);
  Tensor x = borrow();
  std::thread([taken = std::move(x)]() mutable { taken = {}; }).join();
  CHECK(released == 3);
  // A Variable of it never writes to it.
  {
    Variable v(borrow());
    v += 1.0f;
    v += 1.0f;
    CHECK(v.to_vector<float>() == std::vector<float>{3, 4, 5});
    CHECK(data[0] == 1);
  }
  detail::backend(DeviceKind::cpu).synchronize(Device::cpu());
  CHECK(released == 4);
}

TEST_CASE("threads: a Variable is updated in place where nobody sees it", "[threads]") {
  Variable v(tensor({1.0f, 2.0f}) + 0.0f);
  v.wait();
  v += 1.0f;
  v.wait();
  std::uint64_t before = counters().in_place;
  for (int i = 0; i < 5; ++i) {
    v += 1.0f;
    v.wait();  // while a run ends it holds the old value, and the next may leave it alone
  }
  CHECK(counters().in_place - before == 5);
  const Tensor old = v.value();
  before = counters().in_place;
  v += 1.0f;
  eval(v);
  CHECK(counters().in_place == before);
  CHECK(old.to_vector<float>() == std::vector<float>{7, 8});
  CHECK(v.to_vector<float>() == std::vector<float>{8, 9});
  const Tensor reader = v * 10.0f;  // pending: it sees the value of now
  v += 1.0f;
  eval(v);
  CHECK(reader.to_vector<float>() == std::vector<float>{80, 90});
  CHECK(v.to_vector<float>() == std::vector<float>{9, 10});
}
