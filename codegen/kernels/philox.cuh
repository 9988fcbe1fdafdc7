// Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// A draw depends on the seed, the call number and the element's index only:
//   key     = {low, high half of seed}
//   counter = {low, high half of block, low, high half of call}
// Element i of a call
//   takes word i%4 of block i/4                       32-bit draws
//   takes words 2(i%2), 2(i%2)+1 of block i/2         64-bit draws (low word first)
//   shares words 2(j), 2(j)+1 of block i/4, j=(i%4)/2, with its neighbour i^1
//                                                     float normals (Box-Muller)
//   shares all four words of block i/2 with i^1       double normals
// In a pair the first word(s) give the radius and the last the angle; the even
// element is radius * cos, the odd one radius * sin.
#ifndef WEFT_PHILOX_CUH
#define WEFT_PHILOX_CUH

#ifndef __CUDACC_RTC__
#include "math_log.cuh"
#include "math_trig.cuh"
#endif

struct wf_u32x4 {
  wf_u32 x, y, z, w;
};

// ---- the bit generator ------------------------------------------------------

WEFT_FN wf_u32x4 wf_philox4x32_10(wf_u32 c0, wf_u32 c1, wf_u32 c2, wf_u32 c3, wf_u32 k0,
                                  wf_u32 k1) {
#define WF_PHILOX_ROUND(n)                                                                         \
  {                                                                                                \
    wf_u64 p0 = wf_u64(c0) * 0xd2511f53u, p1 = wf_u64(c2) * 0xcd9e8d57u;                           \
    c0 = wf_u32(p1 >> 32) ^ c1 ^ (k0 + n * 0x9e3779b9u);                                           \
    c2 = wf_u32(p0 >> 32) ^ c3 ^ (k1 + n * 0xbb67ae85u);                                           \
    c1 = wf_u32(p1);                                                                               \
    c3 = wf_u32(p0);                                                                               \
  }
  WF_PHILOX_ROUND(0u)
  WF_PHILOX_ROUND(1u)
  WF_PHILOX_ROUND(2u)
  WF_PHILOX_ROUND(3u)
  WF_PHILOX_ROUND(4u)
  WF_PHILOX_ROUND(5u)
  WF_PHILOX_ROUND(6u)
  WF_PHILOX_ROUND(7u)
  WF_PHILOX_ROUND(8u)
  WF_PHILOX_ROUND(9u)
#undef WF_PHILOX_ROUND
  wf_u32x4 r;
  r.x = c0;
  r.y = c1;
  r.z = c2;
  r.w = c3;
  return r;
}
WEFT_FN wf_u32x4 wf_random_block(wf_u64 seed, wf_u64 call, wf_u64 block) {
  return wf_philox4x32_10(wf_u32(block), wf_u32(block >> 32), wf_u32(call), wf_u32(call >> 32),
                          wf_u32(seed), wf_u32(seed >> 32));
}

// ---- one element's bits -----------------------------------------------------
// A loop that makes whole blocks gets the same words from wf_random_block.

WEFT_FN wf_u32 wf_random_u32(wf_u64 seed, wf_u64 call, wf_u64 i) {
  wf_u32x4 b = wf_random_block(seed, call, i >> 2);
  wf_u32 lo = (i & 1ull) != 0 ? b.y : b.x, hi = (i & 1ull) != 0 ? b.w : b.z;
  return (i & 2ull) != 0 ? hi : lo;
}
WEFT_FN wf_u64 wf_random_u64(wf_u64 seed, wf_u64 call, wf_u64 i) {
  wf_u32x4 b = wf_random_block(seed, call, i >> 1);
  wf_u32 lo = (i & 1ull) != 0 ? b.z : b.x, hi = (i & 1ull) != 0 ? b.w : b.y;
  return (wf_u64(hi) << 32) | wf_u64(lo);
}

// ---- from bits to values ----------------------------------------------------

WEFT_FN double wf__u32_to_f64(wf_u32 w) {
  return wf_from_bits(wf_u64(w) | 0x4330000000000000ull) - 0x1p52;
}

// [0, 1), multiples of 2^-24
WEFT_FN float wf_uniform_f32(wf_u32 bits) { return float(wf_i32(bits >> 8)) * 0x1p-24f; }
// [0, 1), multiples of 2^-53
WEFT_FN double wf_uniform_f64(wf_u64 bits) {
  double hi = wf__u32_to_f64(wf_u32(bits >> 32));
  double lo = wf__u32_to_f64(wf_u32((bits >> 11) & 0x1fffffull));
  return wf_fma(hi, 0x1p21, lo) * 0x1p-53;
}
// low + floor(bits * span / 2^64): each of the span values has probability
// 1/span to within 2^-64; span 0 stands for 2^64.
WEFT_FN wf_i64 wf_randint(wf_u64 bits, wf_i64 low, wf_u64 span) {
  wf_u64 k = span == 0 ? bits : wf_mulhi_u64(bits, span);
  return wf_i64(wf_u64(low) + k);
}

// Box-Muller for float, evaluated in double: radius from u1 = (w1 + 1) 2^-32,
// angle w2 2^-32 turns; odd selects sin, even cos.
WEFT_FN float wf_normal_f32(wf_u32 w1, wf_u32 w2, bool odd) {
  double l = wf__log2_core((wf__u32_to_f64(w1) + 1.0) * 0x1p-32);
  double radius = wf_sqrt(l * -0x1.62e42fefa39efp+0);
  double t = wf__u32_to_f64(w2) * 0x1p-30;
  double m = t + WF_MAGIC_D;
  double r = (t - (m - WF_MAGIC_D)) * 0x1.921fb54442d18p+0;
  return float(radius * wf__sincos_pick(r, wf_bits(m) + (odd ? 0ull : 1ull)));
}
// The same for double: u1 = ((b1 >> 11) + 1) 2^-53, angle (b2 >> 11) 2^-53 turns.
WEFT_FN double wf_normal_f64(wf_u64 b1, wf_u64 b2, bool odd) {
  double radius = wf_sqrt(-2.0 * wf_log(wf_uniform_f64(b1) + 0x1p-53));
  double t = wf_uniform_f64(b2) * 4.0;
  double m = t + WF_MAGIC_D;
  double f = t - (m - WF_MAGIC_D);
  double r = f * 0x1.921fb54442d18p+0;
  double rl = wf_fma(f, 0x1.1a62633145c07p-54, wf_fma(f, 0x1.921fb54442d18p+0, -r));
  return radius * wf__sincos_pick2(r, rl, wf_bits(m) + (odd ? 0ull : 1ull));
}

// ---- one element's value ----------------------------------------------------

WEFT_FN float wf_rand_f32(wf_u64 seed, wf_u64 call, wf_u64 i) {
  return wf_uniform_f32(wf_random_u32(seed, call, i));
}
WEFT_FN double wf_rand_f64(wf_u64 seed, wf_u64 call, wf_u64 i) {
  return wf_uniform_f64(wf_random_u64(seed, call, i));
}
WEFT_FN float wf_randn_f32(wf_u64 seed, wf_u64 call, wf_u64 i) {
  wf_u32x4 b = wf_random_block(seed, call, i >> 2);
  bool second = (i & 2ull) != 0;
  return wf_normal_f32(second ? b.z : b.x, second ? b.w : b.y, (i & 1ull) != 0);
}
WEFT_FN double wf_randn_f64(wf_u64 seed, wf_u64 call, wf_u64 i) {
  wf_u32x4 b = wf_random_block(seed, call, i >> 1);
  return wf_normal_f64((wf_u64(b.y) << 32) | b.x, (wf_u64(b.w) << 32) | b.z, (i & 1ull) != 0);
}
WEFT_FN wf_i64 wf_rand_int(wf_u64 seed, wf_u64 call, wf_u64 i, wf_i64 low, wf_u64 span) {
  return wf_randint(wf_random_u64(seed, call, i), low, span);
}
// Sort key of element i in a random permutation: the permutation is the stable
// ascending sort of the keys (as unsigned numbers).
WEFT_FN wf_u64 wf_perm_key(wf_u64 seed, wf_u64 call, wf_u64 i) {
  return wf_random_u64(seed, call, i);
}

#endif
