// Address space first, memory later.
#include "arena.h"

#include <algorithm>

#include "host_calls.h"

namespace weft::detail {
namespace {

constexpr std::size_t smallest = std::size_t{1} << 30;

void* to_pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

Arena::~Arena() {
  if (reserved_ > 0) host_calls().release(to_pointer(start_), reserved_);
}

// Under the lock. The base is aligned to huge pages by giving up the first part of one.
bool Arena::reserve() noexcept {
  for (std::size_t bytes = budget_; bytes >= smallest; bytes /= 16) {
    void* const start = host_calls().reserve(bytes);
    if (!start) continue;
    reserved_ = bytes;
    start_ = reinterpret_cast<std::uintptr_t>(start);
    base_.store((start_ + huge_page - 1) / huge_page * huge_page, std::memory_order_release);
    return true;
  }
  return false;
}

std::uintptr_t Arena::grow(std::size_t bytes) noexcept {
  if (base() != 0 && bytes <= this->bytes()) return base();
  const ForkSafeLock lock(mutex_);
  if (reserved_ == 0 && !reserve()) return 0;
  const std::size_t committed = this->bytes();
  const std::size_t usable = reserved_ - (base() - start_);
  if (bytes > usable) return 0;
  if (bytes > committed) {
    const std::size_t wanted = std::min(usable, (bytes + huge_page - 1) / huge_page * huge_page);
    if (!host_calls().commit(to_pointer(base() + committed), wanted - committed)) return 0;
    committed_.store(wanted, std::memory_order_release);
  }
  return base();
}

void Arena::discard() noexcept {
  const std::size_t committed = bytes();
  if (committed > 0) host_calls().discard(to_pointer(base()), committed);
}

}  // namespace weft::detail
