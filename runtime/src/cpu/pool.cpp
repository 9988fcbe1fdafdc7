#include "cpu/pool.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <weft/graph/detail/environment.h>
#include <weft/graph/error.h>
#include <weft/graph/log.h>
#include <weft/runtime/settings.h>

#include "fork.h"
#include "host_calls.h"

namespace weft::detail {
namespace {

constexpr auto spin_time = std::chrono::microseconds(50);
constexpr int most_threads = 1024;

thread_local bool is_busy = false;  // this thread is in a parallel loop

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int initial_threads() {
  const int processors =
      std::clamp<int>(static_cast<int>(std::thread::hardware_concurrency()), 1, most_threads);
  const char* const text = environment("WEFT_NUM_THREADS");
  if (!text || !*text) return processors;
  int count = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, count);
  if (rest == end && error == std::errc() && count >= 1 && count <= most_threads) return count;
  warn_of_value("WEFT_NUM_THREADS", text, std::to_string(processors));
  return processors;
}

// Spins, then sleeps, until `done(value)`; returns the value.
template <class Done>
std::uint32_t wait_until(const std::atomic<std::uint32_t>& word, Done done) noexcept {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  std::uint32_t value;
  do {
    for (int i = 0; i < 64; ++i) {
      value = word.load(std::memory_order_acquire);
      if (done(value)) return value;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  while (!done(value = word.load(std::memory_order_acquire)))
    word.wait(value, std::memory_order_acquire);
  return value;
}

// Never destroyed: its threads live as long as the process.
class Pool {
 public:
  Pool() : threads_(static_cast<std::uint32_t>(initial_)), generation_(fork_generation()) {
    log(LogLevel::info, "cpu: threads: " + std::to_string(initial_));
  }

  int threads() const noexcept { return static_cast<int>(threads_.load()); }

  /// 0: as many as at first.
  void set_threads(int count) noexcept {
    threads_.store(
        static_cast<std::uint32_t>(count > 0 ? std::min(count, most_threads) : initial_));
    threads_.notify_all();
  }

  bool run(std::int64_t count, void (*body)(void*, std::int64_t), void* context) {
    const std::uint32_t threads = threads_.load();
    if (threads == 1 || generation_ != fork_generation()) return false;
    if (in_use_.exchange(true, std::memory_order_acquire)) return false;
    start(threads);
    most_inside_ = threads - 1;
    body_ = body;
    context_ = context;
    count_ = count;
    error_ = nullptr;
    next_.store(0, std::memory_order_relaxed);
    gate_.store(open, std::memory_order_release);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
    take_part();
    // Workers that have not come by now stay out.
    gate_.fetch_and(~open, std::memory_order_acq_rel);
    wait_until(gate_, [](std::uint32_t inside) { return inside == 0; });
    const std::exception_ptr error = std::exchange(error_, nullptr);
    in_use_.store(false, std::memory_order_release);
    if (error) std::rethrow_exception(error);
    return true;
  }

 private:
  static constexpr std::uint32_t open = 1u << 31;

  // Under in_use_. Fewer workers than wanted are no error: the caller does what they do not.
  void start(std::uint32_t threads) {
    while (asked_for_ < threads)
      if (!host_calls().start_thread(run_worker, this))
        asked_for_ = most_threads;
      else
        ++asked_for_;
  }

  static void* run_worker(void* pool) {
    is_busy = true;
    static_cast<Pool*>(pool)->work();
  }

  [[noreturn]] void work() noexcept {
    const std::uint32_t number = ++workers_;
    for (std::uint32_t seen = 0;;) {
      // One that is too many sleeps where no loop wakes it.
      for (std::uint32_t now; (now = threads_.load()) <= number;) threads_.wait(now);
      seen = wait_until(epoch_, [seen](std::uint32_t epoch) { return epoch != seen; });
      if (!enter()) continue;
      take_part();
      if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_one();
    }
  }

  bool enter() noexcept {
    std::uint32_t gate = gate_.load(std::memory_order_acquire);
    do {
      if (!(gate & open) || (gate & ~open) >= most_inside_.load(std::memory_order_relaxed))
        return false;
    } while (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                          std::memory_order_acquire));
    return true;
  }

  void take_part() noexcept {
    const bool was_busy = std::exchange(is_busy, true);
    for (;;) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= count_) break;
      try {
        body_(context_, i);
      } catch (...) {
        next_.store(count_, std::memory_order_relaxed);
        const std::lock_guard lock(error_mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
    is_busy = was_busy;
  }

  const int initial_ = initial_threads();
  std::atomic<std::uint32_t> threads_;
  const std::uint32_t generation_;
  std::atomic<bool> in_use_{false};
  std::uint32_t asked_for_ = 1;            // threads, the caller among them
  std::atomic<std::uint32_t> workers_{0};  // that have begun

  // One loop: written while the gate is shut and no one is inside.
  void (*body_)(void*, std::int64_t) = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  std::exception_ptr error_;
  std::mutex error_mutex_;
  std::atomic<std::uint32_t> most_inside_{0};

  alignas(64) std::atomic<std::int64_t> next_{0};
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  alignas(64) std::atomic<std::uint32_t> gate_{0};  // `open`, and how many workers are inside
};

Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

void parallel_for(std::int64_t count, void (*body)(void* context, std::int64_t i), void* context) {
  if (count > 1 && !is_busy && pool().run(count, body, context)) return;
  // Loops within a piece stay on its thread, whether or not the outer one got the workers.
  struct Busy {
    explicit Busy(bool now) : before(std::exchange(is_busy, is_busy || now)) {}
    ~Busy() { is_busy = before; }
    const bool before;
  };
  const Busy busy(count > 1);
  for (std::int64_t i = 0; i < count; ++i) body(context, i);
}

void limit_threads(int count) noexcept { pool().set_threads(count); }

}  // namespace weft::detail

namespace weft {

void set_num_threads(int count, Where at) {
  if (count < 1)
    detail::fail<ValueError>(at, "set_num_threads: " + std::to_string(count) +
                                     " threads; at least 1, the calling thread, takes part");
  detail::pool().set_threads(count);
}

int num_threads() { return detail::pool().threads(); }

}  // namespace weft
