// The end of the process while NVRTC is at work: exit handlers would destroy what it uses.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include <pthread.h>

#include "device_compiler.h"
#include "system_calls.h"

namespace weft::detail {
namespace {

constinit std::atomic<int> inside{0};
constinit std::atomic<bool> is_ending{false};
constinit std::atomic<bool> has_compiled{false};

void register_end() {
  static_cast<void>(std::atexit([] { end_compilations(); }));
}

void* keep_registering(void* context) {
  const std::unique_ptr<std::shared_ptr<std::atomic<bool>>> is_done(
      static_cast<std::shared_ptr<std::atomic<bool>>*>(context));
  while (!(*is_done)->load() && !is_ending.load()) {
    register_end();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return nullptr;
}

}  // namespace

[[noreturn]] void fail_process_ending() {
  fail<DeviceError>({}, "nvrtc: the process is ending, and compiles no more kernels");
}

bool is_process_ending() noexcept { return is_ending.load(std::memory_order_relaxed); }

// Exit handlers run in reverse order, and NVRTC registers its own while it is loaded and at its
// first compilation. Ours must come before those, so it is registered again and again meanwhile, at
// 32 bytes each time. (An end of the main thread is noticed earlier: kernel_builder().)
InsideNvrtc::InsideNvrtc() {
  // A forked child has the count of its parent, but not the threads.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { inside.store(0); });
  static_cast<void>(registered);
  if (!has_compiled.load(std::memory_order_relaxed)) {
    is_done_ = std::make_shared<std::atomic<bool>>(false);
    auto context = std::make_unique<std::shared_ptr<std::atomic<bool>>>(is_done_);
    if (system_calls().start_thread(keep_registering, context.get()))
      static_cast<void>(context.release());
  }
  inside.fetch_add(1);
  if (is_ending.load()) {
    leave();
    fail_process_ending();
  }
}

InsideNvrtc::~InsideNvrtc() { leave(); }

void InsideNvrtc::leave() noexcept {
  if (is_done_) {
    is_done_->store(true);
    register_end();
  }
  inside.fetch_sub(1);
}

void InsideNvrtc::has_compiled_once() noexcept { has_compiled.store(true); }

void end_compilations() noexcept {
  is_ending.store(true);
  while (inside.load() > 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace weft::detail
