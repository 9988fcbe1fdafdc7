// Workers that build kernels: sharing, errors, forks, and the end of the process.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cache_scratch.h"
#include "fake_nvrtc.h"
#include "kernel_cache.h"
#include "kernels_alone.h"
#include "support/catch.h"
#include "support/sanitized.h"
#include "system_calls.h"

namespace {

using namespace weft;
using namespace weft::detail;
using test::as_text;
using test::fake_cubin;
using test::fake_options_90;
using test::has_nvrtc;
using test::RestoreSystemCalls;
using test::rich;
using test::run_alone;
using test::share;
using test::status_of;
using test::WithFake;

}  // namespace

TEST_CASE("builder: equal requests are built once, others side by side", "[codegen][builder]") {
  WithFake with;
  with.nvrtc.work = std::chrono::milliseconds(5);
  KernelCache cache(with.compiler, {});
  KernelBuilder builder(cache, 3);
  std::vector<KernelHandle> handles;
  for (int i = 0; i < 60; ++i)
    handles.push_back(builder.request(share("t" + std::to_string(i % 20)), 90));
  for (int i = 59; i >= 0; --i)
    CHECK(as_text(*builder.wait(handles[static_cast<std::size_t>(i)])) ==
          fake_cubin(fake_options_90, "t" + std::to_string(i % 20)));
  CHECK(with.nvrtc.compiles == 20);
  const KernelHandle again = builder.request(share("t7"), 90);
  CHECK(KernelBuilder::is_done(again));
  CHECK(builder.wait(again) == builder.wait(handles[7]));
  CHECK(as_text(*builder.wait(builder.request(share("t7"), 80))) != as_text(*builder.wait(again)));
  CHECK(with.nvrtc.compiles == 21);
}

TEST_CASE("builder: errors reach every waiter, and are not kept", "[codegen][builder]") {
  WithFake with;
  KernelCache cache(with.compiler, {});
  KernelBuilder builder(cache, 2);
  const KernelHandle handle = builder.request(share("wrong"), 90);
  std::atomic<int> caught{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      try {
        builder.wait(handle);
      } catch (const CompileError&) {
        ++caught;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(caught == 4);
  CHECK_THROWS_AS(builder.wait(builder.request(share("wrong"), 90)), CompileError);
  CHECK(with.nvrtc.compiles == 2);
}

TEST_CASE("builder: from many threads", "[codegen][builder][threads]") {
  WithFake with;
  KernelCache cache(with.compiler, {});
  KernelBuilder builder(cache, 4);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string text = "t" + std::to_string((i * (t + 1)) % 37);
        right += as_text(*builder.wait(builder.request(share(text), 90))) ==
                 fake_cubin(fake_options_90, text);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 800);
  CHECK(with.nvrtc.compiles == 37);
}

TEST_CASE("builder: without threads, whoever waits builds", "[codegen][builder][faults]") {
  const RestoreSystemCalls restore;
  system_calls().start_thread = [](void* (*)(void*), void*) noexcept { return false; };
  WithFake with;
  KernelCache cache(with.compiler, {});
  KernelBuilder builder(cache);
  const KernelHandle a = builder.request(share("a"), 90), b = builder.request(share("b"), 90);
  CHECK_FALSE(KernelBuilder::is_done(a));
  CHECK(as_text(*builder.wait(b)) == fake_cubin(fake_options_90, "b"));
  CHECK(as_text(*builder.wait(a)) == fake_cubin(fake_options_90, "a"));
  // The threads come when there are some.
  system_calls() = restore.before;
  CHECK(as_text(*builder.wait(builder.request(share("c"), 90))) ==
        fake_cubin(fake_options_90, "c"));
}

TEST_CASE("builder: its end gives up the queue", "[codegen][builder]") {
  WithFake with;
  with.nvrtc.work = std::chrono::milliseconds(20);
  KernelCache cache(with.compiler, {});
  std::vector<KernelHandle> handles;
  std::unique_ptr<KernelBuilder> builder = std::make_unique<KernelBuilder>(cache, 1);
  for (int i = 0; i < 10; ++i)
    handles.push_back(builder->request(share("t" + std::to_string(i)), 90));
  builder->wait(handles[0]);
  builder->end();
  CHECK_THROWS_AS(builder->wait(handles[9]), DeviceError);
  CHECK_THROWS_AS(builder->wait(builder->request(share("u"), 90)), DeviceError);
  CHECK_FALSE(builder->wait(builder->request(share("t0"), 90))->empty());
  builder.reset();
  CHECK(with.nvrtc.compiles < 10);
}

TEST_CASE("builder: a child forked after use is told so, one before works", "[codegen][fork]") {
  WithFake with;
  with.nvrtc.work = std::chrono::milliseconds(50);
  KernelCache cache(with.compiler, {});
  KernelBuilder used(cache, 1), unused(cache, 1);
  const KernelHandle early = used.request(share("early"), 90);
  used.wait(early);
  const KernelHandle open = used.request(share("open"), 90);
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      used.request(share("late"), 90);
    } catch (const DeviceError& error) {
      code = std::strstr(error.what(), "this process was forked") ? 0 : 2;
    }
    try {
      used.wait(open);
      code = 3;
    } catch (const DeviceError&) {
    }
    if (used.wait(early)->empty()) code = 4;
    if (!test::thread_sanitized && unused.wait(unused.request(share("own"), 90))->empty()) code = 5;
    used.end();
    _exit(code);
  }
  CHECK(status_of(child) == 0);
  used.wait(open);
}

TEST_CASE("exit: in the middle of a compilation", "[codegen][exit][nvrtc]") {
  if (!has_nvrtc()) return;
  for (const char* delay : {"0", "5", "20", "60", "120", "200"})
    CHECK(run_alone("alone: exit while compiling", "WEFT_TEST_DELAY", delay) == 42);
}

TEST_CASE("alone: exit while compiling", "[.alone]") {
  for (int i = 0; i < 40; ++i)
    kernel_builder().request(share(rich.text + "// " + std::to_string(i), "rich"), 90);
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(std::getenv("WEFT_TEST_DELAY"))));
  std::exit(42);
}

TEST_CASE("exit: by a thread that asked for nothing", "[codegen][exit][nvrtc]") {
  if (!has_nvrtc()) return;
  CHECK(run_alone("alone: exit while another thread waits", "WEFT_TEST_DELAY", "400") == 42);
}

TEST_CASE("alone: exit while another thread waits", "[.alone]") {
  std::thread([] {
    std::vector<KernelHandle> handles;
    for (int i = 0; i < 100; ++i)
      handles.push_back(
          kernel_builder().request(share(rich.text + "// " + std::to_string(i), "rich"), 90));
    try {
      for (const KernelHandle& handle : handles) kernel_builder().wait(handle);
      _exit(1);
    } catch (const DeviceError&) {
    }
  }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(std::getenv("WEFT_TEST_DELAY"))));
  std::exit(42);
}
