#include "cpu/pool.h"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

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

int wanted_threads() {
  if (const char* text = std::getenv("WEFT_NUM_THREADS")) {
    int count = 0;
    const char* end = text + std::strlen(text);
    if (std::from_chars(text, end, count).ptr == end && count >= 1)
      return count < most_threads ? count : most_threads;
  }
  const int count = static_cast<int>(std::thread::hardware_concurrency());
  return count < 1 ? 1 : count < most_threads ? count : most_threads;
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
  Pool() : threads_(wanted_threads()), generation_(fork_generation()) {}

  int threads() const noexcept { return threads_; }

  void limit(int count) noexcept { limit_.store(count > 0 ? count : most_threads); }

  bool run(std::int64_t count, void (*body)(void*, std::int64_t), void* context) {
    if (threads_ == 1 || generation_ != fork_generation() || limit_.load() == 1) return false;
    if (in_use_.exchange(true, std::memory_order_acquire)) return false;
    start();
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
  void start() {
    if (started_) return;
    started_ = true;
    for (int i = 1; i < threads_; ++i)
      if (!host_calls().start_thread(run_worker, this)) break;
  }

  static void* run_worker(void* pool) {
    is_busy = true;
    static_cast<Pool*>(pool)->work();
  }

  [[noreturn]] void work() noexcept {
    for (std::uint32_t seen = 0;;) {
      seen = wait_until(epoch_, [seen](std::uint32_t epoch) { return epoch != seen; });
      if (!enter()) continue;
      take_part();
      if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_one();
    }
  }

  bool enter() noexcept {
    std::uint32_t gate = gate_.load(std::memory_order_relaxed);
    const auto most = static_cast<std::uint32_t>(limit_.load(std::memory_order_relaxed)) - 1;
    do {
      if (!(gate & open) || (gate & ~open) >= most) return false;
    } while (!gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acquire,
                                          std::memory_order_relaxed));
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

  const int threads_;
  const std::uint32_t generation_;
  std::atomic<int> limit_{most_threads};
  std::atomic<bool> in_use_{false};
  bool started_ = false;

  // One loop: written while the gate is shut and no one is inside.
  void (*body_)(void*, std::int64_t) = nullptr;
  void* context_ = nullptr;
  std::int64_t count_ = 0;
  std::exception_ptr error_;
  std::mutex error_mutex_;

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

int thread_count() { return pool().threads(); }

void limit_threads(int count) noexcept { pool().limit(count); }

}  // namespace weft::detail
