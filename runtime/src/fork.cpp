// Handlers around fork: every lock is taken before it, and free on both sides after it.
#include "fork.h"

#include <atomic>

#include <pthread.h>

namespace weft::detail {
namespace {

constinit std::atomic<std::uint32_t> generation{0};
constinit std::mutex registry;
constinit ForkSafeMutex* first = nullptr;

}  // namespace

struct ForkHandlers {
  static void before() {
    registry.lock();
    for (ForkSafeMutex* mutex = first; mutex; mutex = mutex->next_) mutex->mutex_.lock();
  }
  static void after() {
    for (ForkSafeMutex* mutex = first; mutex; mutex = mutex->next_) mutex->mutex_.unlock();
    registry.unlock();
  }
  static void in_child() {
    generation.fetch_add(1, std::memory_order_relaxed);
    after();
  }
  static void install() {
    static const int result = pthread_atfork(before, after, in_child);
    static_cast<void>(result);
  }
};

std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

ForkSafeMutex::ForkSafeMutex() {
  ForkHandlers::install();
  const std::lock_guard lock(registry);
  next_ = first;
  first = this;
}

ForkSafeMutex::~ForkSafeMutex() {
  const std::lock_guard lock(registry);
  ForkSafeMutex** link = &first;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

}  // namespace weft::detail
