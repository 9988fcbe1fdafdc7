// From a hash to the numbers stored under it: one flat table, probed in line, so that a look-up in
// a graph of a million vertices is one miss of the cache and not a walk through a list.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::detail {

class HashIndex {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// The first number under the hash that `is_same` accepts; `none` without one.
  template <class Same>
  std::uint32_t find(std::uint64_t hash, Same is_same) const {
    if (slots_.empty()) return none;
    const std::uint32_t tag = tag_of(hash);
    for (std::size_t i = tag & mask(); slots_[i].number != none; i = (i + 1) & mask())
      if (slots_[i].tag == tag && is_same(slots_[i].number)) return slots_[i].number;
    return none;
  }

  void add(std::uint64_t hash, std::uint32_t number) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({tag_of(hash), number});
    ++count_;
  }

 private:
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t number = none;
  };

  static std::uint32_t tag_of(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }
  std::size_t mask() const noexcept { return slots_.size() - 1; }

  void put(Slot slot) noexcept {
    std::size_t i = slot.tag & mask();
    while (slots_[i].number != none) i = (i + 1) & mask();
    slots_[i] = slot;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != none) put(slot);
  }

  std::vector<Slot> slots_;  // a power of two, at most half of it in use
  std::size_t count_ = 0;
};

}  // namespace weft::detail
