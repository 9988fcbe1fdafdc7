// Random numbers of a range of elements, a counter block at a time.
#include "isa.h"

#include "philox.cuh"

namespace weft::detail {
namespace {

// Blocks of counters made together: the compiler vectorises over them.
constexpr int lot = 16;

struct Words {
  wf_u32 w[4][lot];
};

inline __attribute__((always_inline)) void draw(Words& words, uint64_t seed, uint64_t call,
                                                uint64_t block) {
  for (int i = 0; i < lot; ++i) {
    const wf_u32x4 four = wf_random_block(seed, call, block + uint64_t(i));
    words.w[0][i] = four.x;
    words.w[1][i] = four.y;
    words.w[2][i] = four.z;
    words.w[3][i] = four.w;
  }
}

struct Uniform32 {
  using T = float;
  static constexpr int per_block = 4;
  static inline __attribute__((always_inline)) void make(float* r, const Words& words) {
    for (int i = 0; i < lot; ++i)
      for (int j = 0; j < 4; ++j) r[4 * i + j] = wf_uniform_f32(words.w[j][i]);
  }
  static float one(uint64_t seed, uint64_t call, uint64_t i) { return wf_rand_f32(seed, call, i); }
};
struct Uniform64 {
  using T = double;
  static constexpr int per_block = 2;
  static inline __attribute__((always_inline)) void make(double* r, const Words& words) {
    for (int i = 0; i < lot; ++i)
      for (int j = 0; j < 2; ++j)
        r[2 * i + j] = wf_uniform_f64(wf_u64(words.w[2 * j + 1][i]) << 32 | words.w[2 * j][i]);
  }
  static double one(uint64_t seed, uint64_t call, uint64_t i) { return wf_rand_f64(seed, call, i); }
};
struct Normal32 {
  using T = float;
  static constexpr int per_block = 4;
  static inline __attribute__((always_inline)) void make(float* r, const Words& words) {
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < lot; ++i) {
        r[4 * i + 2 * j] = wf_normal_f32(words.w[2 * j][i], words.w[2 * j + 1][i], false);
        r[4 * i + 2 * j + 1] = wf_normal_f32(words.w[2 * j][i], words.w[2 * j + 1][i], true);
      }
  }
  static float one(uint64_t seed, uint64_t call, uint64_t i) { return wf_randn_f32(seed, call, i); }
};
struct Normal64 {
  using T = double;
  static constexpr int per_block = 2;
  static inline __attribute__((always_inline)) void make(double* r, const Words& words) {
    for (int i = 0; i < lot; ++i) {
      const wf_u64 radius = wf_u64(words.w[1][i]) << 32 | words.w[0][i];
      const wf_u64 angle = wf_u64(words.w[3][i]) << 32 | words.w[2][i];
      r[2 * i] = wf_normal_f64(radius, angle, false);
      r[2 * i + 1] = wf_normal_f64(radius, angle, true);
    }
  }
  static double one(uint64_t seed, uint64_t call, uint64_t i) { return wf_randn_f64(seed, call, i); }
};

template <class Kind>
void fill(void* result, int64_t first, int64_t n, uint64_t seed, uint64_t call) {
  auto* r = static_cast<typename Kind::T*>(result);
  constexpr int step = lot * Kind::per_block;
  int64_t i = 0;
  for (; i < n && (first + i) % Kind::per_block != 0; ++i) r[i] = Kind::one(seed, call, uint64_t(first + i));
  for (; i + step <= n; i += step) {
    Words words;
    draw(words, seed, call, uint64_t(first + i) / Kind::per_block);
    Kind::make(r + i, words);
  }
  for (; i < n; ++i) r[i] = Kind::one(seed, call, uint64_t(first + i));
}

void integers(int64_t* result, int64_t first, int64_t n, uint64_t seed, uint64_t call, int64_t low,
              uint64_t span) {
  WEFT_EACH
  for (int64_t i = 0; i < n; ++i) result[i] = wf_rand_int(seed, call, uint64_t(first + i), low, span);
}

void keys(uint64_t* result, int64_t first, int64_t n, uint64_t seed, uint64_t call) {
  WEFT_EACH
  for (int64_t i = 0; i < n; ++i) result[i] = wf_perm_key(seed, call, uint64_t(first + i));
}

}  // namespace

void WEFT_ISA_NAME(fill_random_)(KernelTable& table) {
  table.uniform[class_f32] = fill<Uniform32>;
  table.uniform[class_f64] = fill<Uniform64>;
  table.normal[class_f32] = fill<Normal32>;
  table.normal[class_f64] = fill<Normal64>;
  table.integers = integers;
  table.keys = keys;
}

}  // namespace weft::detail
