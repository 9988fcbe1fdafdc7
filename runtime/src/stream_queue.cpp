#include "stream_queue.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <pthread.h>

#include "host_calls.h"
#include "run.h"
#include "spin.h"

namespace weft::detail {
namespace {

constinit std::atomic<StreamQueue*> started_queues{nullptr};
thread_local StreamQueue* own_queue = nullptr;
thread_local const StreamQueue* running_here = nullptr;  // by run_now

}  // namespace

void StreamQueue::await_change(const std::atomic<std::uint32_t>& counter,
                               std::uint32_t old) noexcept {
  const auto has_changed = [&] { return counter.load(std::memory_order_acquire) != old; };
  if (!spin_until(Awake::for_hand_over, has_changed)) counter.wait(old, std::memory_order_acquire);
}

StreamQueue::StreamQueue(std::string name) : name_(std::move(name)), ring_(64) {}

bool StreamQueue::is_queue_thread() noexcept { return own_queue != nullptr; }

bool StreamQueue::is_orphaned() const noexcept {
  return started_.load(std::memory_order_acquire) &&
         generation_.load(std::memory_order_relaxed) != fork_generation();
}

void StreamQueue::submit(Segment segment) {
  if (is_orphaned())
    fail<DeviceError>(no_place,
                      name_ + ": this process was forked after the device had started work, and "
                              "its threads did not come along; fork before the first "
                              "evaluation, or start a new program in the child");
  {
    const ForkSafeLock lock(mutex_);
    if (!started_.load(std::memory_order_relaxed)) start();
    append(std::move(segment));
  }
  submitted_.notify_one();
}

bool StreamQueue::run_now(Segment& segment) noexcept {
  if (is_orphaned()) return false;
  {
    const ForkSafeLock lock(mutex_);
    if (!is_idle()) return false;
    running_now_.store(fork_generation() + 1, std::memory_order_relaxed);
  }
  running_here = this;
  carry_out(segment);
  segment = {};
  running_here = nullptr;
  running_now_.store(0, std::memory_order_release);
  running_now_.notify_all();
  return true;
}

void StreamQueue::await_running_now() const noexcept {
  while (is_running_now()) running_now_.wait(fork_generation() + 1, std::memory_order_acquire);
}

// Under the lock.
void StreamQueue::append(Segment&& segment) {
  const std::uint32_t end = submitted_.load(std::memory_order_relaxed);
  if (end - taken_ == ring_.size()) {
    std::vector<Segment> larger(2 * ring_.size());
    for (std::uint32_t i = taken_; i != end; ++i)
      larger[i & (larger.size() - 1)] = std::move(ring_[i & (ring_.size() - 1)]);
    ring_ = std::move(larger);
  }
  ring_[end & (ring_.size() - 1)] = std::move(segment);
  submitted_.store(end + 1, std::memory_order_release);
}

// Under the lock.
void StreamQueue::start() {
  static const int registered = std::atexit([] { drain_all(); });
  static_cast<void>(registered);
  generation_.store(fork_generation(), std::memory_order_relaxed);
  if (!host_calls().start_thread(run_thread, this))
    fail<OutOfMemoryError>(no_place, name_ + ": the system starts no further thread");
  started_.store(true, std::memory_order_release);
  next_started_ = started_queues.load(std::memory_order_relaxed);
  while (!started_queues.compare_exchange_weak(next_started_, this, std::memory_order_release)) {
  }
}

void* StreamQueue::run_thread(void* queue) {
  own_queue = static_cast<StreamQueue*>(queue);
  char name[16];  // the system's limit
  std::snprintf(name, sizeof name, "weft %s", own_queue->name_.c_str());
  pthread_setname_np(pthread_self(), name);
  own_queue->work();
}

void StreamQueue::await_submission(std::uint32_t done) noexcept {
  const auto end = std::chrono::steady_clock::now() + awake_time(Awake::for_device);
  const auto has_come = [&] { return submitted_.load(std::memory_order_acquire) != done; };
  while (!spin_until(Awake::for_hand_over, has_come))
    if (!is_busy() || std::chrono::steady_clock::now() > end)
      return submitted_.wait(done, std::memory_order_acquire);
}

void StreamQueue::work() noexcept {
  for (std::uint32_t done = 0;; ++done) {
    await_submission(done);
    await_running_now();
    {
      Segment segment = take();
      carry_out(segment);
    }
    completed_.store(done + 1, std::memory_order_release);
    completed_.notify_all();
  }
}

Segment StreamQueue::take() {
  const ForkSafeLock lock(mutex_);
  return std::exchange(ring_[taken_++ & (ring_.size() - 1)], {});
}

void StreamQueue::drain() noexcept {
  if (own_queue == this || running_here == this || is_orphaned()) return;
  await_running_now();
  const std::uint32_t target = submitted_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t done = completed_.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(done - target) >= 0) return settle();
    await_change(completed_, done);
  }
}

void StreamQueue::drain_all() noexcept {
  if (own_queue) return;  // exit() was called by the work itself
  for (StreamQueue* queue = started_queues.load(std::memory_order_acquire); queue;
       queue = queue->next_started_)
    queue->drain();
}

}  // namespace weft::detail
