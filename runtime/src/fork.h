// What survives a fork: locks that nobody else holds, and knowing that threads are gone.
#pragma once

#include <cstdint>
#include <mutex>

namespace weft::detail {

/// Grows by one in a child: a thread started under another number does not exist here.
std::uint32_t fork_generation() noexcept;

/// A mutex that every fork waits for, so that the child finds it free. A thread holds at most one.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  friend struct ForkHandlers;
  std::mutex mutex_;
  ForkSafeMutex* next_ = nullptr;
};

using ForkSafeLock = std::lock_guard<ForkSafeMutex>;

}  // namespace weft::detail
