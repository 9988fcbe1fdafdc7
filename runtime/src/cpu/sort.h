// Sorting by keys, equal ones by index.
#pragma once

#include <bit>
#include <cstdint>

namespace weft::detail {

/// Numbers whose unsigned order is that of the elements: NaN greatest, both zeros equal.
inline std::uint64_t order_of(float x) noexcept {
  if (x != x) return ~std::uint64_t{0};
  const auto bits = std::bit_cast<std::uint32_t>(x == 0 ? 0.0f : x);
  return bits >> 31 ? static_cast<std::uint32_t>(~bits) : bits | 0x80000000u;
}
inline std::uint64_t order_of(double x) noexcept {
  if (x != x) return ~std::uint64_t{0};
  const auto bits = std::bit_cast<std::uint64_t>(x == 0 ? 0.0 : x);
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}
inline std::uint64_t order_of(std::int32_t x) noexcept {
  return static_cast<std::uint32_t>(x) ^ 0x80000000u;
}
inline std::uint64_t order_of(std::int64_t x) noexcept {
  return static_cast<std::uint64_t>(x) ^ 1ull << 63;
}

struct KeyedIndex {
  std::uint64_t key;
  std::int64_t index;
  friend bool operator<(const KeyedIndex& a, const KeyedIndex& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  }
};

}  // namespace weft::detail
