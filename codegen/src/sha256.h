// SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::detail {

class Sha256 {
 public:
  using Digest = std::array<unsigned char, 32>;
  void add(const void* data, std::size_t bytes) noexcept;
  /// Ends the message; nothing may be added after it.
  Digest finish() noexcept;

 private:
  void take_block(const unsigned char* block) noexcept;
  std::uint32_t state_[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char block_[64] = {};
  std::uint64_t bytes_ = 0;
};

Sha256::Digest sha256(std::string_view message) noexcept;
/// 64 lower-case hexadecimal digits.
std::string to_hex(const Sha256::Digest& digest);

}  // namespace weft::detail
