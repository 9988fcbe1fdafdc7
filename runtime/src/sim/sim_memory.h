// Memory of one simulated device: the host's, at addresses that the host can not follow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "../arena.h"
#include "../fork.h"

namespace weft::detail {

class SimMemory {
 public:
  explicit SimMemory(int device) noexcept;

  /// 0 beyond `limit` bytes of memory in all.
  std::uintptr_t allocate(std::size_t bytes, std::size_t limit, bool poison);
  /// Ends the program for what was not allocated.
  void deallocate(std::uintptr_t address, std::size_t bytes) noexcept;
  std::uintptr_t arena(std::size_t bytes, std::size_t limit) noexcept;
  /// Where the host finds `bytes` at a device address; InternalError if they are not all within one
  /// block in use, or within the arena.
  void* host(std::uintptr_t address, std::size_t bytes) const;
  void discard_arena() noexcept { arena_.discard(); }

  /// Fills memory with a pattern that is NaN in every floating type, and no bool.
  static void poison(void* memory, std::size_t bytes) noexcept;

 private:
  std::uintptr_t tagged(std::uintptr_t real) const noexcept { return real | tag_; }

  const std::uintptr_t tag_;
  mutable ForkSafeMutex mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;  // by real address
  std::size_t allocated_ = 0;
  Arena arena_;
};

}  // namespace weft::detail
