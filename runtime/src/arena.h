// A large range of addresses that gets memory as it grows: its base never changes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fork.h"

namespace weft::detail {

class Arena {
 public:
  /// Tries to reserve `budget` bytes at the first growth, then less, down to 1 GiB.
  explicit Arena(std::size_t budget) noexcept : budget_(budget) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// The base, with at least these bytes usable; 0 where that can not be.
  std::uintptr_t grow(std::size_t bytes) noexcept;
  /// Gives memory back without taking it from use: contents become zero. Only while no step runs.
  void discard() noexcept;
  std::uintptr_t base() const noexcept { return base_.load(std::memory_order_acquire); }
  std::size_t bytes() const noexcept { return committed_.load(std::memory_order_acquire); }

 private:
  bool reserve() noexcept;

  ForkSafeMutex mutex_;
  std::size_t budget_;
  std::size_t reserved_ = 0;
  std::uintptr_t start_ = 0;
  std::atomic<std::uintptr_t> base_{0};
  std::atomic<std::size_t> committed_{0};
};

}  // namespace weft::detail
