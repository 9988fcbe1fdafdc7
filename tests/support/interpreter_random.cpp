// The interpreter's random numbers: Philox 4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011), written from the paper, and what the draws are made into.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include <weft/graph/detail/ops.h>

#include "support/interpreter.h"
#include "support/interpreter_ops.h"

namespace weft::testing {
namespace {

using detail::OpId;
using Words = std::array<std::uint32_t, 4>;

/// One call of a generator: v0 its seed, v1 its number.
struct Call {
  std::uint64_t seed, number;
};

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

Words block(Call call, std::uint64_t number) {
  Words counter{low(number), high(number), low(call.number), high(call.number)};
  std::array<std::uint32_t, 2> key{low(call.seed), high(call.seed)};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high(second) ^ counter[1] ^ key[0], low(second), high(first) ^ counter[3] ^ key[1],
               low(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

std::uint32_t draw32(Call call, std::uint64_t i) { return block(call, i / 4)[i % 4]; }

/// The low word comes first.
std::uint64_t draw64(Call call, std::uint64_t i) {
  const Words words = block(call, i / 2);
  return words[2 * (i % 2)] | std::uint64_t{words[2 * (i % 2) + 1]} << 32;
}

/// A whole number of these bits as a fraction of their range.
long double fraction(std::uint64_t whole, int bits) {
  return std::ldexp(static_cast<long double>(whole), -bits);
}

/// Sine, or cosine, of an angle in turns; the angle is reduced exactly.
long double turned(long double turns, bool is_sine) {
  const long double quarters = std::rint(4 * turns);
  const long double rest = (4 * turns - quarters) * std::numbers::pi_v<long double> / 2;
  const int quadrant = (static_cast<int>(quarters) + (is_sine ? 3 : 0)) % 4;
  switch (quadrant) {
    case 0: return std::cos(rest);
    case 1: return -std::sin(rest);
    case 2: return -std::cos(rest);
    default: return std::sin(rest);
  }
}

/// Box and Muller's: elements 2k and 2k + 1 are the cosine and the sine of one pair of draws.
long double normal(Call call, std::uint64_t i, DType dtype) {
  const std::uint64_t even = i - i % 2;
  long double radius_draw = 0, turns = 0;
  if (dtype == DType::f64) {
    radius_draw = fraction((draw64(call, even) >> 11) + 1, 53);
    turns = fraction(draw64(call, even + 1) >> 11, 53);
  } else {
    radius_draw = fraction(std::uint64_t{draw32(call, even)} + 1, 32);
    turns = fraction(draw32(call, even + 1), 32);
  }
  return std::sqrt(-2 * std::log(radius_draw)) * turned(turns, i % 2 != 0);
}

/// v2 + floor(draw · v3 / 2^64); a v3 of 0 stands for 2^64.
std::int64_t ranged(const Step& step, std::uint64_t draw) {
  const auto start = static_cast<std::uint64_t>(step.v(2));
  const auto span = static_cast<std::uint64_t>(step.v(3));
  if (span == 0) return static_cast<std::int64_t>(start + draw);
  // Schoolbook: the high half of the 128-bit product.
  const std::uint64_t mid =
      std::uint64_t{high(draw)} * low(span) + high(std::uint64_t{low(draw)} * low(span));
  const std::uint64_t cross = std::uint64_t{low(draw)} * high(span) + low(mid);
  const std::uint64_t top = std::uint64_t{high(draw)} * high(span) + high(mid) + high(cross);
  return static_cast<std::int64_t>(start + top);
}

void permute(Step& step, Call call) {
  const auto count = static_cast<std::size_t>(step.out().numel());
  std::vector<std::uint64_t> keys(count), order(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = draw64(call, i);
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint64_t i, std::uint64_t j) { return keys[i] < keys[j]; });
  for (std::size_t i = 0; i < count; ++i)
    step.out().set_integer(static_cast<std::int64_t>(i), static_cast<std::int64_t>(order[i]));
}

}  // namespace

bool interpret_random(Step& step) {
  const OpId op = step.node.op;
  const Call call{static_cast<std::uint64_t>(step.v(0)), static_cast<std::uint64_t>(step.v(1))};
  HostValue& out = step.out();
  if (op == OpId::permutation) {
    permute(step, call);
    return true;
  }
  if (op != OpId::uniform && op != OpId::normal && op != OpId::integers) return false;
  for (std::int64_t k = 0; k < out.numel(); ++k) {
    const auto i = static_cast<std::uint64_t>(k);
    if (op == OpId::integers)
      out.set_integer(k, ranged(step, draw64(call, i)));
    else if (op == OpId::normal)
      out.set_real(k, normal(call, i, out.dtype));
    else if (out.dtype == DType::f64)
      out.set_real(k, fraction(draw64(call, i) >> 11, 53));
    else
      out.set_real(k, fraction(draw32(call, i) >> 8, 24));
  }
  return true;
}

}  // namespace weft::testing
