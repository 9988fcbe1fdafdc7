// One source, one set of bits: the functions of codegen/kernels compiled for three instruction-set
// levels, vectorised, in one translation unit. A level that this processor lacks is skipped, and
// the output says so.
#include "support/catch.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)

#pragma GCC optimize("O3,no-math-errno,no-trapping-math")
#include "math.cuh"
#include "philox.cuh"
#include "scalar.cuh"

namespace {

constexpr int count = 1 << 14;
alignas(64) float x32[count], z32[count], y32[count];
alignas(64) double x64[count], z64[count], y64[count];
alignas(64) wf_u16 y16[count];

using Hashes = std::vector<std::pair<const char*, std::uint64_t>>;

// FNV over the results; a NaN is a NaN, whatever its sign and payload.
template <class T>
std::uint64_t hash(const T* y) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
  std::uint64_t h = 0xcbf29ce484222325u;
  for (int i = 0; i < count; ++i) {
    Bits bits;
    const T value = y[i] == y[i] ? y[i] : std::numeric_limits<T>::quiet_NaN();
    std::memcpy(&bits, &value, sizeof bits);
    h = (h ^ bits) * 0x100000001b3u;
  }
  return h;
}

void fill() {
  std::uint64_t state = 1;
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
  };
  const double special[] = {0.0,     -0.0,  1,      -1,    0.5,  1e-310,   -1e-42,    88.8,
                            -103.99, 709.9, -745.2, 1e300, 1e22, HUGE_VAL, -HUGE_VAL, std::nan("")};
  for (int i = 0; i < count; ++i) {
    for (double* at : {x64, z64}) {
      const std::uint64_t bits = next();
      const double unit = static_cast<double>(bits >> 11) * 0x1p-53;
      if (i % 3 == 0)
        std::memcpy(&at[i], &bits, sizeof bits);
      else
        at[i] = i % 3 == 1 ? 40 * unit - 20
                           : (2 * unit - 1) * std::ldexp(1.0, static_cast<int>(bits % 256) - 128);
    }
    if (i < 256) {
      x64[i] = special[i % 16];
      z64[i] = special[i / 16];
    }
    x32[i] = static_cast<float>(x64[i]);
    z32[i] = static_cast<float>(z64[i]);
  }
}

// clang-format off
#define WEFT_UNARIES(F)                                                                            \
  F(exp) F(exp2) F(expm1) F(log) F(log2) F(log10) F(log1p) F(sin) F(cos) F(tan) F(tanh)            \
  F(sigmoid) F(sinh) F(cosh) F(asin) F(acos) F(atan) F(asinh) F(acosh) F(atanh) F(erf) F(erfc)     \
  F(sqrt) F(rsqrt) F(floor) F(ceil) F(trunc) F(round) F(cbrt) F(lgamma) F(digamma) F(trigamma)     \
  F(gelu) F(gelu_tanh) F(silu) F(mish) F(softplus) F(log_sigmoid) F(ndtr)
#define WEFT_BINARIES(F)                                                                           \
  F(pow) F(atan2) F(hypot) F(fmod) F(remainder) F(floor_divide)                                    \
  F(maximum) F(minimum) F(fmax) F(fmin) F(logaddexp)
#define WEFT_OTHERS(F)                                                                             \
  F(to_f16_32, y16, wf_to_f16(x32[i]))                                                             \
  F(to_f16_64, y16, wf_to_f16(x64[i]))                                                             \
  F(to_bf16_32, y16, wf_to_bf16(x32[i]))                                                           \
  F(to_bf16_64, y16, wf_to_bf16(x64[i]))                                                           \
  F(to_i32_32, y64, double(wf_to_i32(x32[i])))                                                     \
  F(to_i64_64, y64, double(wf_to_i64(x64[i])))                                                     \
  F(rand_32, y32, wf_rand_f32(7, 1, wf_u64(i)))                                                    \
  F(rand_64, y64, wf_rand_f64(7, 2, wf_u64(i)))                                                    \
  F(randn_32, y32, wf_randn_f32(7, 3, wf_u64(i)))                                                  \
  F(randn_64, y64, wf_randn_f64(7, 4, wf_u64(i)))

#define WEFT_LOOP(name, y, expression)                                                             \
  __attribute__((noinline)) void name() {                                                          \
    for (int i = 0; i < count; ++i) y[i] = expression;                                             \
  }
#define WEFT_UNARY_LOOPS(f)                                                                        \
  WEFT_LOOP(f##_32, y32, wf_##f(x32[i]))                                                           \
  WEFT_LOOP(f##_64, y64, wf_##f(x64[i]))
#define WEFT_BINARY_LOOPS(f)                                                                       \
  WEFT_LOOP(f##_32, y32, wf_##f(x32[i], z32[i]))                                                   \
  WEFT_LOOP(f##_64, y64, wf_##f(x64[i], z64[i]))
#define WEFT_LEVEL_LOOPS                                                                           \
  WEFT_UNARIES(WEFT_UNARY_LOOPS)                                                                   \
  WEFT_BINARIES(WEFT_BINARY_LOOPS)                                                                 \
  WEFT_OTHERS(WEFT_LOOP)

#define WEFT_HASH(name, y, expression)                                                             \
  name();                                                                                          \
  list.emplace_back(#name, hash(y));
#define WEFT_HASHES(f)                                                                             \
  WEFT_HASH(f##_32, y32, )                                                                         \
  WEFT_HASH(f##_64, y64, )
#define WEFT_LEVEL_HASHES                                                                          \
  Hashes list;                                                                                     \
  WEFT_UNARIES(WEFT_HASHES)                                                                        \
  WEFT_BINARIES(WEFT_HASHES)                                                                       \
  WEFT_OTHERS(WEFT_HASH)                                                                           \
  return list;
// clang-format on

namespace v2 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v2")
WEFT_LEVEL_LOOPS
#pragma GCC pop_options
Hashes hashes() { WEFT_LEVEL_HASHES }
}  // namespace v2
namespace v3 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
WEFT_LEVEL_LOOPS
#pragma GCC pop_options
Hashes hashes() { WEFT_LEVEL_HASHES }
}  // namespace v3
namespace v4 {
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
WEFT_LEVEL_LOOPS
#pragma GCC pop_options
Hashes hashes() { WEFT_LEVEL_HASHES }
}  // namespace v4

TEST_CASE("the same bits at every instruction-set level", "[math]") {
  fill();
  const Hashes expected = v2::hashes();
  const auto compare = [&](const char* level, bool runs, Hashes (*hashes)()) {
    if (!runs) {
      std::printf("  bits: x86-64-%s skipped, this processor lacks it\n", level);
      return;
    }
    const Hashes got = hashes();
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      INFO(level << " " << got[i].first);
      CHECK(got[i].second == expected[i].second);
    }
  };
  __builtin_cpu_init();
  compare("v3",
          __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2"),
          v3::hashes);
  compare("v4",
          __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
              __builtin_cpu_supports("avx512cd"),
          v4::hashes);
  // All of them in one number. It changes with the functions and with nothing else.
  std::uint64_t all = 0;
  for (const auto& [name, value] : expected) all = all * 0x100000001b3u + value;
  CHECK(all == 0x40a97ac483646725u);
}

}  // namespace

#endif
