// Waiting that begins awake: a sleeping thread takes 10 µs to come back, and more than 100 where
// the processor has gone to sleep with it.
#pragma once

#include <chrono>
#include <thread>

namespace weft::detail {

inline void pause_processor() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How long it pays to stay awake: where there are processors to spare, as long as a small step on
/// a GPU takes, from submission to the end.
inline std::chrono::microseconds spin_time() noexcept {
  static const std::chrono::microseconds time(std::thread::hardware_concurrency() >= 8 ? 100 : 20);
  return time;
}

/// Whether `done()` came true in that time.
template <class Done>
bool spin_until(Done done) {
  const auto end = std::chrono::steady_clock::now() + spin_time();
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace weft::detail
