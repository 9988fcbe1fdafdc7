// What the engine asks of devices: memory, arenas, queues, forks and exits, and which there are.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <weft/runtime/device.h>

#include "arena.h"
#include "devices.h"
#include "frozen_plans.h"
#include "host_calls.h"
#include "stream_queue.h"
#include "support/catch.h"
#include "support/fake_cuda.h"

namespace {

using namespace weft;
using detail::host_calls;
using detail::Run;
using detail::Segment;
using test::PlanBuilder;

detail::Backend& cpu() { return detail::backend(DeviceKind::cpu); }

// A run with no steps, of so many segments.
std::shared_ptr<Run> empty_run(std::uint32_t segments = 1) {
  auto run = std::make_shared<Run>(PlanBuilder().share());
  run->expect(segments);
  return run;
}

// A run that waits on the cpu's queue until event 0 is signalled.
std::shared_ptr<Run> held_run() {
  PlanBuilder b;
  b.wait(Device::cpu(), StreamKind::compute, 0);
  return test::bind(b.share(), {});
}

// Numbers segments in the order in which it carries them out.
class CountingQueue final : public detail::StreamQueue {
 public:
  CountingQueue() : StreamQueue("counting") {}
  std::vector<std::uint32_t> seen;
  std::atomic<bool> hold{false};
  std::chrono::microseconds work{0};

 private:
  void carry_out(Segment& segment) noexcept override {
    while (hold.load()) std::this_thread::yield();
    std::this_thread::sleep_for(work);
    seen.push_back(segment.first);
    segment.run->segment_done();
  }
};

// Queues live for ever.
CountingQueue& counting_queue() { return *new CountingQueue; }

struct RestoreHostCalls {
  detail::HostCalls before = host_calls();
  ~RestoreHostCalls() { host_calls() = before; }
};

int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Runs one hidden test of this program in a fresh process.
int run_alone(const char* name) {
  const pid_t child = fork();
  if (child == 0) {
    execl("/proc/self/exe", "test", name, static_cast<char*>(nullptr));
    _exit(127);
  }
  return status_of(child);
}

std::string message(Device device) {
  try {
    detail::require_device(device, {});
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cpu backend: memory and arena", "[backend]") {
  const std::uintptr_t block = cpu().allocate({}, 100);
  CHECK(block % 64 == 0);
  std::memset(cpu().host_address({}, block), 1, 100);
  float value = 2.5f, back = 0;
  cpu().copy_from_host({}, block, &value, sizeof value);
  cpu().copy_to_host({}, &back, block, sizeof back);
  CHECK(back == 2.5f);
  cpu().deallocate({}, block, 100);

  const std::uintptr_t base = cpu().arena({}, 1000);
  REQUIRE(base != 0);
  CHECK(base % detail::huge_page == 0);
  auto* const data = reinterpret_cast<unsigned char*>(base);
  data[999] = 7;
  CHECK(cpu().arena({}, std::size_t{40} << 20) == base);
  CHECK(data[999] == 7);
  data[(std::size_t{40} << 20) - 1] = 8;
  CHECK(cpu().arena({}, std::size_t{1} << 50) == 0);
  CHECK(cpu().arena({}, 5) == base);
  cpu().synchronize({});
  cpu().trim({});
  CHECK(data[999] == 0);
}

TEST_CASE("arena: smaller ranges where the system has no large one, and no memory", "[backend]") {
  const RestoreHostCalls restore;
  static detail::HostCalls real;
  static std::size_t most;
  real = host_calls();
  most = std::size_t{4} << 30;
  host_calls().reserve = [](std::size_t bytes) noexcept -> void* {
    return bytes > most ? nullptr : real.reserve(bytes);
  };
  detail::Arena arena(std::size_t{1} << 40);
  CHECK(arena.grow(std::size_t{5} << 30) == 0);
  const std::uintptr_t base = arena.grow(1);
  REQUIRE(base != 0);
  host_calls().commit = [](void*, std::size_t) noexcept { return false; };
  CHECK(arena.grow(std::size_t{3} << 20) == 0);
  CHECK(arena.grow(1) == base);
  host_calls().commit = real.commit;
  CHECK(arena.grow(std::size_t{3} << 20) == base);
  most = 0;
  detail::Arena none(std::size_t{1} << 40);
  CHECK(none.grow(1) == 0);
  CHECK(none.grow(1) == 0);
  none.discard();
}

TEST_CASE("stream queue: segments run in order, and more than fit at first", "[backend]") {
  CountingQueue& queue = counting_queue();
  queue.hold = true;
  const auto run = empty_run(1000);
  for (std::uint32_t i = 0; i < 1000; ++i) queue.submit({run, i, i});
  CHECK(queue.seen.empty());
  queue.hold = false;
  queue.drain();
  REQUIRE(queue.seen.size() == 1000);
  for (std::uint32_t i = 0; i < 1000; ++i)
    if (queue.seen[i] != i) FAIL("segment " << queue.seen[i] << " came as number " << i);
  CHECK(run->has_ended());
  CHECK(run.use_count() == 1);
}

TEST_CASE("stream queue: no thread to be had", "[backend][faults]") {
  CountingQueue& queue = counting_queue();
  const auto run = empty_run();
  {
    const RestoreHostCalls restore;
    host_calls().start_thread = [](void* (*)(void*), void*) noexcept { return false; };
    CHECK_THROWS_AS(queue.submit({run, 0, 0}), OutOfMemoryError);
    queue.drain();
  }
  queue.submit({run, 1, 1});
  queue.drain();
  CHECK(queue.seen == std::vector<std::uint32_t>{1});
}

TEST_CASE("cpu backend: a run waits for the one before it, reads for all", "[backend]") {
  const auto first = held_run();
  test::start(first);
  const auto second = empty_run();
  second->depends.push_back(first->completion());
  cpu().submit({}, StreamKind::compute, {second, 0, 0});
  CHECK_FALSE(first->has_ended());
  CHECK_FALSE(second->has_ended());
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    first->signal(0);
  });
  synchronize(Device::cpu());
  CHECK(first->has_ended());
  CHECK(second->has_ended());
  CHECK(first->failure() == nullptr);
  other.join();
}

TEST_CASE("cpu backend: submissions from many threads", "[backend][threads]") {
  const auto run = empty_run(400);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&run] {
      for (int i = 0; i < 100; ++i) {
        cpu().submit({}, StreamKind::compute, {run, 0, 0});
        if (i % 10 == 0) cpu().synchronize({});
      }
    });
  for (std::thread& thread : threads) thread.join();
  run->wait();
  CHECK(run->has_ended());
}

TEST_CASE("fork: after use the child gets an error, and ends well", "[backend][fork]") {
  const auto before = empty_run();
  cpu().submit({}, StreamKind::compute, {before, 0, 0});
  const auto held = held_run();
  test::start(held);
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      cpu().submit({}, StreamKind::compute, {empty_run(), 0, 0});
    } catch (const DeviceError& error) {
      code = contains(error.what(), "cpu: this process was forked") ? 0 : 2;
    }
    cpu().synchronize({});
    cpu().trim({});
    detail::allocate_buffer(Device::cpu(), 4096);
    _exit(code);
  }
  held->signal(0);
  CHECK(status_of(child) == 0);
  cpu().synchronize({});
  CHECK(held->has_ended());
}

TEST_CASE("fork: before use the child works", "[backend][fork]") {
  CHECK(run_alone("alone: fork before use") == 0);
}

TEST_CASE("alone: fork before use", "[.alone]") {
  const std::uintptr_t base = cpu().arena({}, 100);
  const detail::BufferRef buffer = detail::allocate_buffer(Device::cpu(), 100);
  const pid_t child = fork();
  if (child == 0) {
    const auto run = empty_run();
    cpu().submit({}, StreamKind::compute, {run, 0, 0});
    cpu().synchronize({});
    _exit(run->has_ended() && cpu().arena({}, 100) == base ? 0 : 1);
  }
  CHECK(status_of(child) == 0);
}

TEST_CASE("exit: what is queued is carried out first", "[backend][exit]") {
  CHECK(run_alone("alone: exit in flight") == 42);
}

TEST_CASE("alone: exit in flight", "[.alone]") {
  static CountingQueue* queue;
  queue = &counting_queue();
  // Registered before the queue's own handler, so called after it.
  std::atexit([] { _exit(queue->seen.size() == 20 ? 42 : 43); });
  queue->work = std::chrono::microseconds(500);
  const auto run = empty_run(20);
  for (std::uint32_t i = 0; i < 20; ++i) queue->submit({run, i, i});
  std::exit(1);
}

TEST_CASE("exit: with the cpu at work", "[backend][exit]") {
  CHECK(run_alone("alone: exit with the cpu at work") == 7);
}

TEST_CASE("alone: exit with the cpu at work", "[.alone]") {
  static detail::BufferRef kept = detail::allocate_buffer(Device::cpu(), 1 << 20);
  const auto held = held_run();
  test::start(held);
  std::thread([held] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    held->signal(0);
  }).detach();
  std::exit(7);
}

TEST_CASE("devices: no GPU is no error until one is asked for", "[devices]") {
  const testing::FakeCuda none({.gpus = 0});
  CHECK_FALSE(cuda::is_available());
  CHECK(cuda::device_count() == 0);
  CHECK(best_device() == Device::cpu());
  CHECK(all_gpus() == std::vector<Device>{Device::cpu()});
  CHECK(try_gpu(3) == Device::cpu());
  CHECK(try_gpu(-1) == Device::cpu());
  CHECK_THROWS_AS(cuda::properties(0), DeviceError);
  CHECK_THROWS_AS(cuda::DeviceGuard(0), DeviceError);
  CHECK(cuda::current_device() == 0);
  CHECK_THROWS_AS(synchronize("cuda:0"), DeviceError);
  try {
    cuda::device_name(2);
    FAIL("there is no GPU number 2");
  } catch (const DeviceError& error) {
    CHECK(contains(error.what(),
                   "device_name: no GPU number 2: there are 0: the fake driver has none"));
    CHECK(contains(error.what(), "backend_test.cpp"));
  }
}

TEST_CASE("devices: which may be used", "[devices]") {
  const testing::FakeCuda none({.gpus = 0});
  CHECK(message(Device::cpu()) == "");
  CHECK(contains(message(Device(DeviceKind::cpu, 1)), "the cpu is one device"));
  CHECK(contains(message("cuda:0"), "cuda:0: no usable GPU: the fake driver has none"));
  CHECK(contains(message("sim:62"), "sim:62: no such device: "));
  CHECK(contains(message("sim:62"), "call sim::enable(n) with n > 62"));
  CHECK(contains(message(Device(DeviceKind::automatic, 0)), "On(automatic)"));
}
