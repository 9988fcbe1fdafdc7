// Simulated devices: memory that the host can not follow, streams, faults, and what they notice.
#include <cmath>
#include <string>
#include <vector>

#include <weft/runtime/memory.h>
#include <weft/runtime/sim.h>

#include "frozen_plans.h"
#include "support/catch.h"

namespace {

using namespace weft;
using test::PlanBuilder;

constexpr StreamKind compute = StreamKind::compute;
constexpr StreamKind in = StreamKind::host_to_device;
constexpr StreamKind out = StreamKind::device_to_host;
const Device sim0 = Device::sim(0), sim1 = Device::sim(1);

detail::Backend& backend() { return detail::backend(DeviceKind::sim); }

// Two devices as new; and so again afterwards.
struct Simulation {
  explicit Simulation(sim::Options options = {}) {
    sim::enable(2);
    sim::configure(options);
    sim::clear_faults();
    sim::reset_counters();
  }
  ~Simulation() {
    sim::configure({});
    sim::clear_faults();
  }
};

// cpu → sim:0 → sim:1 → cpu, each on a stream of its own.
std::shared_ptr<const detail::FrozenPlan> tour(std::int64_t numel, bool wait = true) {
  PlanBuilder b;
  const auto x = b.leaf(Device::cpu(), numel), first = b.scratch(sim0, 64, numel);
  const auto second = b.scratch(sim1, 0, numel), y = b.output(Device::cpu(), numel);
  b.step(StepKind::transfer, sim0, in, {x}, {first});
  b.record(sim0, in, 0);
  if (wait) b.wait(sim1, compute, 0);
  b.step(StepKind::transfer, sim1, compute, {first}, {second});
  b.record(sim1, compute, 1);
  b.wait(sim1, out, 1);
  b.step(StepKind::transfer, sim1, out, {second}, {y});
  return b.share();
}

std::vector<float> numbers(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i) + 0.5f);
  return values;
}

template <class E>
std::string failure_of(const detail::Run& run) {
  try {
    if (run.failure()) std::rethrow_exception(run.failure());
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("sim: enabling", "[sim]") {
  sim::enable(2);
  const int count = sim::device_count();
  CHECK(count >= 2);
  sim::enable(1);
  CHECK(sim::device_count() == count);
  CHECK_THROWS_AS(sim::enable(-1), ValueError);
  CHECK_THROWS_AS(sim::enable(64), ValueError);
  CHECK_THROWS_AS(sim::counters(62), DeviceError);
  CHECK_THROWS_AS(sim::fail_copy(0, -1), ValueError);
}

TEST_CASE("sim: memory is its device's alone", "[sim]") {
  const Simulation simulation;
  detail::BufferRef buffer = detail::allocate_buffer(sim0, 64);
  const std::uintptr_t address = buffer->address();
  void* const host = backend().host_address(sim0, address);
  CHECK(reinterpret_cast<std::uintptr_t>(host) != address);
  CHECK(backend().host_address(sim0, address + 8) == static_cast<char*>(host) + 8);
  CHECK_THROWS_AS(backend().host_address(sim1, address), InternalError);
  CHECK_THROWS_AS(backend().host_address(sim0, reinterpret_cast<std::uintptr_t>(host)),
                  InternalError);
  char bytes[128];
  CHECK_THROWS_AS(backend().copy_to_host(sim0, bytes, address, 128), InternalError);
  buffer = {};
  CHECK_THROWS_AS(backend().host_address(sim0, address), InternalError);
}

TEST_CASE("sim: memory that nobody wrote is NaN, in every floating type", "[sim]") {
  const Simulation simulation;
  const detail::Storage fresh{detail::allocate_buffer(sim0, 64)};
  for (const float value : test::download(fresh)) CHECK(std::isnan(value));
  const void* const host = backend().host_address(sim0, fresh.address());
  CHECK(std::isnan(static_cast<const double*>(host)[1]));
  CHECK(std::isnan(static_cast<float>(static_cast<const Half*>(host)[3])));
  CHECK(std::isnan(static_cast<float>(static_cast<const BFloat16*>(host)[3])));
}

TEST_CASE("sim: a device has only so much memory", "[sim]") {
  sim::enable(1);
  REQUIRE(backend().arena(sim0, 1) != 0);  // 2 MiB
  sim::Options options;
  options.memory_bytes = std::size_t{8} << 20;
  const Simulation simulation(options);
  detail::BufferRef most = detail::allocate_buffer(sim0, std::size_t{5} << 20);
  CHECK_THROWS_AS(detail::allocate_buffer(sim0, std::size_t{4} << 20), OutOfMemoryError);
  CHECK(backend().arena(sim0, std::size_t{6} << 20) == 0);
  CHECK(memory_stats(sim0).in_use == std::size_t{5} << 20);
  most = {};
  CHECK(detail::allocate_buffer(sim0, std::size_t{4} << 20));
}

TEST_CASE("sim: allocations that fail", "[sim][faults]") {
  const Simulation simulation;
  sim::fail_allocation(0, 1);
  CHECK(detail::allocate_buffer(sim1, 64));
  const detail::BufferRef first = detail::allocate_buffer(sim0, 64);
  CHECK(backend().arena(sim0, 64) == 0);
  CHECK(backend().arena(sim0, 64) != 0);
  sim::fail_allocation(0, 0, true);
  CHECK_THROWS_AS(detail::allocate_buffer(sim0, 64), OutOfMemoryError);
  CHECK_THROWS_AS(detail::allocate_buffer(sim0, 64), OutOfMemoryError);
  sim::clear_faults();
  CHECK(detail::allocate_buffer(sim0, 64));
  CHECK(sim::counters(0).allocations == 2);
}

TEST_CASE("sim: a value goes round", "[sim]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    sim::Options options;
    options.seed = seed;
    options.max_delay_us = 200;
    const Simulation simulation(options);
    const auto values = numbers(100);
    const auto run = test::bind(tour(100), {test::upload(Device::cpu(), values)});
    const detail::Storage result = run->output(0);
    test::start(run);
    run->wait();
    REQUIRE(run->failure() == nullptr);
    CHECK(test::download(result) == values);
    CHECK(sim::counters(0).bytes_to_device == 400);
    CHECK(sim::counters(1).bytes_between_devices == 400);
    CHECK(sim::counters(1).bytes_to_host == 400);
    CHECK(sim::counters(0).bytes_to_host == 0);
    CHECK(sim::counters(1).waits == 2);
    CHECK(sim::counters(1).copies == 2);
  }
}

TEST_CASE("sim: a missing wait fails the run, whatever the timing", "[sim]") {
  const Simulation simulation;
  const auto run = test::bind(tour(100, false), {test::upload(Device::cpu(), numbers(100))});
  test::start(run);
  run->wait();
  CHECK(contains(failure_of<InternalError>(*run), "without a wait"));
  backend().synchronize(sim0);
  backend().synchronize(sim1);
}

TEST_CASE("sim: scratch memory holds nothing of the run before", "[sim]") {
  sim::Options options;
  options.check_hazards = false;
  const Simulation simulation(options);
  const auto values = numbers(16);
  for (int round = 0; round < 2; ++round) {
    PlanBuilder b;
    const auto x = b.leaf(Device::cpu(), 16), s = b.scratch(sim0, 0, 16);
    const auto y = b.output(Device::cpu(), 16);
    if (round == 0) b.step(StepKind::transfer, sim0, compute, {x}, {s});
    b.step(StepKind::transfer, sim0, compute, {s}, {y});
    const auto run = test::bind(b.share(), {test::upload(Device::cpu(), values)});
    const detail::Storage result = run->output(0);
    test::start(run);
    run->wait();
    REQUIRE(run->failure() == nullptr);
    const std::vector<float> read = test::download(result);
    if (round == 0)
      CHECK(read == values);
    else
      for (const float value : read) CHECK(std::isnan(value));
  }
}

TEST_CASE("sim: a lost device", "[sim][faults]") {
  const Simulation simulation;
  const detail::Storage x = test::upload(Device::cpu(), numbers(8));
  SECTION("at a copy of a run, with other streams waiting for it") {
    sim::fail_copy(0);
    const auto run = test::bind(tour(8), {x});
    test::start(run);
    run->wait();
    CHECK(contains(failure_of<DeviceLostError>(*run),
                   "sim:0: the device was lost at step 0 (transfer): injected fault"));
    const auto next = test::bind(tour(8), {x});
    const detail::Storage result = next->output(0);
    test::start(next);
    next->wait();
    CHECK(next->failure() == nullptr);
    CHECK(test::download(result) == numbers(8));
  }
  SECTION("at the second copy, for good") {
    sim::fail_copy(1, 1, true);
    for (int i = 0; i < 2; ++i) {
      const auto run = test::bind(tour(8), {x});
      test::start(run);
      run->wait();
      CHECK(contains(failure_of<DeviceLostError>(*run), "sim:1: the device was lost at step "));
    }
  }
  SECTION("at a read by the host") {
    const detail::Storage there = test::upload(sim0, numbers(8));
    sim::fail_copy(0);
    CHECK_THROWS_AS(test::download(there), DeviceLostError);
    CHECK(test::download(there) == numbers(8));
  }
  SECTION("at a kernel") {
    sim::fail_kernel(0);
    PlanBuilder b;
    const auto s = b.leaf(sim0, 8), y = b.output(sim0, 8);
    b.step(StepKind::kernel, sim0, compute, {s}, {y});
    const auto run = test::bind(b.share(), {test::upload(sim0, numbers(8))});
    test::start(run);
    run->wait();
    CHECK(contains(failure_of<DeviceLostError>(*run), "step 0 (kernel)"));
    CHECK(sim::counters(0).kernels == 0);
  }
}
