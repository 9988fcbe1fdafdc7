#include "sha256.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::detail {
namespace {

// Fractional parts of the cube roots of the first 64 primes.
constexpr std::uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t big_endian(const unsigned char* bytes) noexcept {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::uint32_t small_sigma(std::uint32_t x, int a, int b, int shift) noexcept {
  return std::rotr(x, a) ^ std::rotr(x, b) ^ x >> shift;
}

std::uint32_t big_sigma(std::uint32_t x, int a, int b, int c) noexcept {
  return std::rotr(x, a) ^ std::rotr(x, b) ^ std::rotr(x, c);
}

}  // namespace

void Sha256::take_block(const unsigned char* block) noexcept {
  std::uint32_t w[64];
  for (int t = 0; t < 16; ++t) w[t] = big_endian(block + 4 * t);
  for (int t = 16; t < 64; ++t)
    w[t] =
        small_sigma(w[t - 2], 17, 19, 10) + w[t - 7] + small_sigma(w[t - 15], 7, 18, 3) + w[t - 16];
  std::uint32_t v[8];
  std::copy(std::begin(state_), std::end(state_), v);
  auto& [a, b, c, d, e, f, g, h] = v;
  for (int t = 0; t < 64; ++t) {
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    const std::uint32_t first = h + big_sigma(e, 6, 11, 25) + choice + round_constants[t] + w[t];
    const std::uint32_t second = big_sigma(a, 2, 13, 22) + majority;
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  for (int i = 0; i < 8; ++i) state_[i] += v[i];
}

void Sha256::add(const void* data, std::size_t bytes) noexcept {
  const auto* from = static_cast<const unsigned char*>(data);
  while (bytes != 0) {
    const std::size_t filled = bytes_ % 64, taken = std::min(bytes, 64 - filled);
    if (taken == 64) {
      take_block(from);
    } else {
      std::memcpy(block_ + filled, from, taken);
      if (filled + taken == 64) take_block(block_);
    }
    from += taken;
    bytes -= taken;
    bytes_ += taken;
  }
}

Sha256::Digest Sha256::finish() noexcept {
  const std::uint64_t bits = 8 * bytes_;
  unsigned char padding[72] = {0x80};
  const std::size_t zeros = (119 - bytes_ % 64) % 64;  // bytes after 0x80, up to the length
  for (int i = 0; i < 8; ++i)
    padding[1 + zeros + static_cast<std::size_t>(i)] =
        static_cast<unsigned char>(bits >> (56 - 8 * i));
  add(padding, 1 + zeros + 8);
  Digest digest;
  for (std::size_t i = 0; i < 32; ++i)
    digest[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Sha256::Digest sha256(std::string_view message) noexcept {
  Sha256 sum;
  sum.add(message.data(), message.size());
  return sum.finish();
}

std::string to_hex(const Sha256::Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest)
    for (const int nibble : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[static_cast<std::size_t>(nibble)];
  return text;
}

}  // namespace weft::detail
