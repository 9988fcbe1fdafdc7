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

/// How long it pays to stay awake where there are processors to spare: for what another thread
/// hands over, and for a GPU's work, of which the driver's own waiting is awake, too.
enum class Awake { for_hand_over, for_device };

inline std::chrono::microseconds awake_time(Awake what) noexcept {
  static const bool has_spare = std::thread::hardware_concurrency() >= 8;
  if (!has_spare) return std::chrono::microseconds(20);
  return std::chrono::microseconds(what == Awake::for_device ? 2000 : 100);
}

/// Whether `done()` came true in that time.
template <class Done>
bool spin_until(Awake what, Done done) {
  const auto end = std::chrono::steady_clock::now() + awake_time(what);
  do {
    for (int i = 0; i < 32; ++i) {
      if (done()) return true;
      pause_processor();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

}  // namespace weft::detail
