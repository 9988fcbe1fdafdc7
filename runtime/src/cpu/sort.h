// Sorting by keys, equal ones by index.
#pragma once

#include <cstdint>

namespace weft::detail {

struct KeyedIndex {
  std::uint64_t key;
  std::int64_t index;
  friend bool operator<(const KeyedIndex& a, const KeyedIndex& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

}  // namespace weft::detail
