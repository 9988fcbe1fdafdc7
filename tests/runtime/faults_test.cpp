// Allocations that fail, one by one, through a small training program; devices that are lost;
// errors that only the device can find. After each the engine gives right answers.
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

#include <weft/nn/optim.h>
#include <weft/runtime/data.h>
#include <weft/runtime/memory.h>
#include <weft/runtime/sim.h>
#include <weft/weft.h>

#include "backend.h"
#include "engine.h"
#include "support/alloc_faults.h"
#include "support/catch.h"
#include "support/sanitized.h"

namespace {

using namespace weft;
using test::AllocationFault;
using test::FaultScope;

const Device sim0 = Device::sim(0);

struct Simulation {
  Simulation() {
    sim::enable(2);
    sim::configure({});
    sim::clear_faults();
  }
  ~Simulation() { sim::clear_faults(); }
};

constexpr float input_data[] = {1, 2, 3, 4, 5, 6, 7, 8}, target_data[] = {1, 0, 1, 0};

/// What the program itself allocates: that it fails is not the library's to say.
template <class F>
auto own(F make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("the program's own", {});
  }
}

/// Two steps of training, all from host data to a read of what was learnt.
std::vector<float> train(Device device) {
  const Tensor inputs = from_span(std::span(input_data), {4, 2});
  const Tensor targets = from_span(std::span(target_data), {4, 1});
  Variable weight(tensor({{0.5f}, {0.25f}}).to(device));
  Variable bias(tensor({0.0f}).to(device));
  const auto parameters = own([&] { return std::vector<Variable>{weight, bias}; });
  optim::SGD sgd(parameters, {.lr = 0.125, .momentum = 0.5});
  data::Loader loader(inputs, targets, {.batch = 2, .shuffle = true, .device = device, .seed = 3});
  for (auto& [x, y] : loader) {
    const auto scope = own([] { return std::make_unique<Scope>("step"); });
    const Tensor error = x.matmul(weight) + bias - y;
    sgd.zero_grad();
    mean(error * error).backward();
    sgd.step();
  }
  std::vector<float> result = weight.to_vector<float>();
  const float last = bias.item<float>();
  own([&] {
    result.push_back(last);
    return 0;
  });
  return result;
}

/// Nothing that an earlier program made is there for the next but warm lists.
void forget() {
  detail::backend(DeviceKind::cpu).synchronize(Device::cpu());
  if (sim::device_count()) detail::backend(DeviceKind::sim).synchronize(sim0);
  detail::Engine::instance().clear_plans();
  empty_cache();  // how much it keeps depends on how far the runs were behind
}

struct Held {
  std::size_t tensors, bytes;
  std::int64_t blocks;
};

Held held(Device device) {
  forget();
  (ones({1}) + 1.0f).wait();  // takes the place of runs that have ended, and of their plans
  forget();
  return {memory_stats().tensors + (device.is_cpu() ? 0 : memory_stats(device).tensors),
          memory_stats().in_use, test::outstanding_allocations().blocks};
}

struct Outcome {
  int tried = 0, failed = 0, untyped = 0, wrong = 0;
};

/// Fails the k-th allocation of the program for every k.
Outcome fail_each(Device device, bool forever, FaultScope scope, int step) {
  const std::vector<float> expected = train(device);
  Outcome outcome;
  for (int k = 1;; k += step) {
    std::vector<float> result;
    bool fired = false, threw = false;
    forget();
    {
      const AllocationFault fault(k, forever, scope);
      try {
        result = train(device);
      } catch (const Error&) {
        threw = true;
      } catch (const std::bad_alloc&) {
        threw = true;
        ++outcome.untyped;
      }
      fired = fault.has_fired();
    }
    ++outcome.tried;
    outcome.failed += threw;
    if (!threw && result != expected) ++outcome.wrong;
    if (k % (8 * step) == 1 && train(device) != expected) ++outcome.wrong;
    if (!fired) return outcome;
  }
}

void check_faults(Device device, bool forever, FaultScope scope) {
  const std::vector<float> expected = train(device);
  fail_each(device, forever, scope, 97);  // lists grow to what a fault may make of them
  const Held before = held(device);
  const Outcome outcome = fail_each(device, forever, scope, test::scaled(1, 7));
  const Held after = held(device);
  INFO(outcome.tried << " allocations, " << outcome.untyped << " untyped errors");
  CHECK(outcome.tried > 20);
  CHECK(outcome.failed > outcome.tried / 2);
  CHECK(outcome.wrong == 0);
  // Where nothing can be allocated an error's own text can not either.
  if (!forever) CHECK(outcome.untyped == 0);
  CHECK(after.tensors == before.tensors);
  CHECK(after.bytes == before.bytes);
  // Lists may still grow a little; a single object lost is LeakSanitizer's to find.
  CHECK(after.blocks - before.blocks <= 16);
  CHECK(train(device) == expected);
}

}  // namespace

TEST_CASE("faults: each allocation of a program fails, on the cpu", "[faults]") {
  const bool forever = GENERATE(false, true);
  const auto scope = GENERATE(FaultScope::this_thread, FaultScope::all_threads);
  check_faults(Device::cpu(), forever, scope);
}

TEST_CASE("faults: each allocation of a program fails, on a simulated device", "[faults]") {
  const Simulation simulation;
  const bool forever = GENERATE(false, true);
  const auto scope = GENERATE(FaultScope::this_thread, FaultScope::all_threads);
  check_faults(sim0, forever, scope);
}

TEST_CASE("faults: looking at a plan, and differentiating, without memory", "[faults]") {
  const auto program = [] {
    const Variable x(tensor({1.0f, 2.0f}));
    const Tensor y = sum(exp(x) * x);
    const Tensor g = grad(y, {x})[0];
    const Plan plan = make_plan(g);
    plan.run();
    flush();
    return g.to_vector<float>();
  };
  const std::vector<float> expected = program();
  int untyped = 0, wrong = 0;
  for (int k = 1;; ++k) {
    forget();
    const AllocationFault fault(k);
    try {
      wrong += program() != expected;
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {
      ++untyped;
    }
    if (!fault.has_fired()) break;
  }
  CHECK(untyped == 0);
  CHECK(wrong == 0);
  CHECK(program() == expected);
}

TEST_CASE("faults: a device without memory leaves everything pending", "[faults]") {
  const Simulation simulation;
  const std::vector<float> expected = train(sim0);
  const std::size_t before = memory_stats(sim0).tensors;
  for (int after = 0;; ++after) {
    sim::fail_allocation(0, after);
    bool threw = false;
    std::vector<float> result = expected;
    try {
      result = train(sim0);
    } catch (const OutOfMemoryError&) {
      threw = true;
    }
    CHECK(result == expected);
    sim::clear_faults();
    forget();
    REQUIRE(memory_stats(sim0).tensors == before);
    if (!threw) break;
    REQUIRE(after < 1000);
  }
  const Tensor x = tensor({1.0f, 2.0f}).to(sim0) * 3.0f;
  sim::fail_allocation(0, 0, true);
  CHECK_THROWS_AS(eval(x), OutOfMemoryError);
  CHECK(x.is_pending());
  sim::clear_faults();
  CHECK(x.to_vector<float>() == std::vector<float>{3, 6});
}

TEST_CASE("faults: a device that is lost at any copy or kernel", "[faults]") {
  const Simulation simulation;
  const std::vector<float> expected = train(sim0);
  const bool at_copy = GENERATE(true, false);
  const std::size_t before = memory_stats(sim0).tensors;
  const Tensor on_host = tensor({4.0f, 5.0f}) * 2.0f;
  eval(on_host);
  int lost = 0;
  for (int after = 0;; ++after) {
    at_copy ? sim::fail_copy(0, after) : sim::fail_kernel(0, after);
    bool threw = false;
    std::vector<float> result = expected;
    try {
      result = train(sim0);
    } catch (const DeviceLostError& error) {
      threw = true;
      CHECK(std::string(error.what()).find("sim:0: the device was lost") != std::string::npos);
    }
    CHECK(result == expected);
    sim::clear_faults();
    forget();
    CHECK(on_host.to_vector<float>() == std::vector<float>{8, 10});
    REQUIRE(memory_stats(sim0).tensors == before);
    if (!threw) break;
    ++lost;
    REQUIRE(after < 1000);
  }
  CHECK(lost > 2);
  CHECK(train(sim0) == expected);
}

TEST_CASE("faults: a step that failed is heard of, though nobody reads what it made", "[faults]") {
  const Simulation simulation;
  Variable state(tensor({1.0f}).to(sim0));
  const Tensor other = tensor({5.0f}) * 2.0f;
  eval(state, other);
  sim::fail_kernel(0);
  state += 1.0f;
  eval(state);
  detail::backend(DeviceKind::sim).synchronize(sim0);
  SECTION("by a read of another value") { CHECK_THROWS_AS(other.item<float>(), DeviceLostError); }
  SECTION("by a flush") {
    const Tensor pending = ones({2}) + 1.0f;
    int line = 0;
    try {
      line = __LINE__ + 1;
      flush();
      FAIL_CHECK("the failure was not said");
    } catch (const DeviceLostError& error) {
      CHECK(error.line() == line);
    }
    CHECK(pending.is_pending());
  }
  SECTION("by a read of the Variable") { CHECK_THROWS_AS(state.item<float>(), DeviceLostError); }
  // Once.
  CHECK(state.item<float>() == 1);
  CHECK(other.item<float>() == 10);
  state += 1.0f;
  CHECK(state.item<float>() == 2);
}

namespace {

struct BadIndex {
  Tensor picked;
  int line;
};

BadIndex pick(const Tensor& data, std::int64_t index) {
  const Scope scope("lookup");
  return {gather(data, 0, tensor({std::int64_t{0}, index}).to(data.device())), __LINE__};
}

}  // namespace

TEST_CASE("faults: an index that only the device can find to be bad", "[faults]") {
  const Simulation simulation;
  const Device device = GENERATE(Device::cpu(), Device::sim(0));
  const Tensor data = tensor({1.0f, 2.0f, 3.0f}).to(device);
  Variable state(tensor({10.0f, 20.0f}).to(device));
  eval(state, data);
  const BadIndex bad = pick(data, 7);
  const Tensor later = bad.picked * 2.0f;
  state += bad.picked;
  eval({later, state});
  for (int i = 0; i < 2; ++i) {
    std::string message;
    try {
      later.to_vector<float>();
    } catch (const IndexError& error) {
      message = error.what();
      CHECK(error.line() == bad.line);
    }
    INFO(message);
    CHECK(message.find("gather in scope lookup: index 7") != std::string::npos);
    CHECK(message.find("extent 3") != std::string::npos);
    CHECK(message.find("faults_test.cpp:" + std::to_string(bad.line)) != std::string::npos);
  }
  CHECK_THROWS_AS(later.wait(), IndexError);
  const Tensor more = later + 1.0f;
  CHECK_THROWS_AS(more.to_vector<float>(), IndexError);
  CHECK(state.to_vector<float>() == std::vector<float>{10, 20});
  state += pick(data, 2).picked;
  CHECK(state.to_vector<float>() == std::vector<float>{11, 23});
}
