#include "sim_memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <weft/graph/error.h>

#include "../host_calls.h"

namespace weft::detail {
namespace {

// Above every address of a process, so that following one faults.
constexpr int tag_shift = 48;
constexpr std::uintptr_t address_mask = (std::uintptr_t{1} << tag_shift) - 1;
constexpr std::size_t arena_budget = std::size_t{4} << 30;

}  // namespace

SimMemory::SimMemory(int device) noexcept
    : tag_(static_cast<std::uintptr_t>(device + 1) << tag_shift), arena_(arena_budget) {}

std::uintptr_t SimMemory::allocate(std::size_t bytes, std::size_t limit, bool poisoned) {
  {
    const ForkSafeLock lock(mutex_);
    const std::size_t used = allocated_ + arena_.bytes();
    if (used > limit || bytes > limit - used) return 0;
    allocated_ += bytes;
  }
  void* const block = host_calls().allocate(bytes);
  const auto real = reinterpret_cast<std::uintptr_t>(block);
  try {
    const ForkSafeLock lock(mutex_);
    if (!block)
      allocated_ -= bytes;
    else
      blocks_.emplace(real, bytes);
  } catch (...) {
    host_calls().free(block, bytes);
    const ForkSafeLock lock(mutex_);
    allocated_ -= bytes;
    throw;
  }
  if (!block) return 0;
  if (poisoned) poison(block, bytes);
  return tagged(real);
}

void SimMemory::deallocate(std::uintptr_t address, std::size_t bytes) noexcept {
  const std::uintptr_t real = address & address_mask;
  {
    const ForkSafeLock lock(mutex_);
    const auto found = blocks_.find(real);
    WEFT_ENSURE(found != blocks_.end() && found->second == bytes && tagged(real) == address);
    blocks_.erase(found);
    allocated_ -= bytes;
  }
  host_calls().free(reinterpret_cast<void*>(real), bytes);
}

std::uintptr_t SimMemory::arena(std::size_t bytes, std::size_t limit) noexcept {
  {
    const ForkSafeLock lock(mutex_);
    if (bytes > arena_.bytes() && (allocated_ > limit || bytes > limit - allocated_)) return 0;
  }
  const std::uintptr_t base = arena_.grow(bytes);
  return base == 0 ? 0 : tagged(base);
}

void* SimMemory::host(std::uintptr_t address, std::size_t bytes) const {
  const std::uintptr_t real = address & address_mask;
  const auto holds = [&](std::uintptr_t start, std::size_t size) {
    return real >= start && real - start <= size && bytes <= size - (real - start);
  };
  bool found =
      tagged(real) == address && arena_.base() != 0 && holds(arena_.base(), arena_.bytes());
  if (!found && tagged(real) == address) {
    const ForkSafeLock lock(mutex_);
    const auto after = blocks_.upper_bound(real);
    found = after != blocks_.begin() && holds(std::prev(after)->first, std::prev(after)->second);
  }
  if (!found) {
    const auto device = static_cast<std::int64_t>(tag_ >> tag_shift) - 1;
    throw InternalError("sim:" + std::to_string(device) + ": " + std::to_string(bytes) +
                            " bytes are used at an address where the device has none in use",
                        {});
  }
  return reinterpret_cast<void*>(real);
}

void SimMemory::poison(void* memory, std::size_t bytes) noexcept {
  constexpr unsigned char pattern[2] = {0xF7, 0xFF};
  auto* const to = static_cast<unsigned char*>(memory);
  const std::size_t head = std::min<std::size_t>(bytes, 4096);
  for (std::size_t i = 0; i < head; ++i) to[i] = pattern[i % 2];
  for (std::size_t done = head; done < bytes; done += 4096)
    std::memcpy(to + done, to, std::min<std::size_t>(4096, bytes - done));
}

}  // namespace weft::detail
