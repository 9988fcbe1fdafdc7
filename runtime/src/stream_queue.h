// A thread that carries out segments in the order of their submission: the cpu's queue, and the
// streams of simulated devices.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "backend.h"
#include "fork.h"

namespace weft::detail {

/// Never destroyed: its thread, started at the first submission, lives as long as the process. What
/// is queued when the process exits is carried out first.
class StreamQueue {
 public:
  /// `name` starts the messages of its errors.
  explicit StreamQueue(std::string name);
  StreamQueue(const StreamQueue&) = delete;
  StreamQueue& operator=(const StreamQueue&) = delete;

  /// Returns before the segment runs. DeviceError in the child of a fork where the thread was
  /// running before; OutOfMemoryError where no thread can be started. Appends nothing then.
  void submit(Segment segment);
  /// Carries the segment out on the calling thread, unless something is queued or running: false
  /// then, and in the child of a fork that has lost the thread. What is submitted meanwhile waits.
  bool run_now(Segment& segment) noexcept;
  /// Whether the calling thread is a queue's.
  static bool is_queue_thread() noexcept;
  /// Waits until all that has been submitted is done and its runs are released. In a forked child,
  /// and on the queue's own thread, returns at once.
  void drain() noexcept;
  /// Calls `action` if nothing is queued or running; submissions wait for its end.
  template <class F>
  void if_idle(F action) noexcept {
    if (is_orphaned()) return;
    const ForkSafeLock lock(mutex_);
    if (is_idle()) action();
  }

 protected:
  ~StreamQueue() = default;
  /// Returns when the counter is no longer `old`; awake at first.
  static void await_change(const std::atomic<std::uint32_t>& counter, std::uint32_t old) noexcept;
  /// Called on the queue's thread.
  virtual void carry_out(Segment& segment) noexcept = 0;
  /// Waits for what was carried out and goes on elsewhere; part of `drain`.
  virtual void settle() noexcept {}
  /// Whether what was carried out goes on elsewhere: then more is likely to come soon.
  virtual bool is_busy() const noexcept { return false; }

 private:
  static void drain_all() noexcept;
  static void* run_thread(void* queue);
  [[noreturn]] void work() noexcept;
  void await_submission(std::uint32_t done) noexcept;
  Segment take();
  void start();
  void append(Segment&& segment);
  /// Under the lock.
  bool is_idle() const noexcept {
    return completed_.load(std::memory_order_acquire) ==
               submitted_.load(std::memory_order_relaxed) &&
           !is_running_now();
  }
  bool is_running_now() const noexcept {
    return running_now_.load(std::memory_order_acquire) == fork_generation() + 1;
  }
  void await_running_now() const noexcept;
  bool is_orphaned() const noexcept;

  const std::string name_;
  ForkSafeMutex mutex_;
  std::vector<Segment> ring_;  // a power of two
  std::atomic<std::uint32_t> submitted_{0}, completed_{0};
  // While a thread carries a segment out by `run_now`: of which process, plus one; else 0.
  std::atomic<std::uint32_t> running_now_{0};
  std::uint32_t taken_ = 0;
  std::atomic<bool> started_{false};
  std::atomic<std::uint32_t> generation_{0};
  StreamQueue* next_started_ = nullptr;
};

}  // namespace weft::detail
