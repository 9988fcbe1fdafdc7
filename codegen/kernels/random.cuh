// Values from nothing: sequences, and random numbers from seed, call and index.
#ifndef WEFT_RANDOM_CUH
#define WEFT_RANDOM_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#include "philox.cuh"
#endif

// Words: 0 output, 1 elements, 2 first, 3 step, both the bits of a double for floats.
template <class Y, bool is_float, class U>
WEFT_FN void wf_iota(const wf_u64* w) {
  U i = wf_thread<U>();
  if (i >= U(w[1])) return;
  if (is_float)
    wf_pointer<typename Y::stored>(w[0])[i] =
        Y::store(wf_from_bits(w[2]) + double(wf_i64(i)) * wf_from_bits(w[3]));
  else
    wf_pointer<typename Y::stored>(w[0])[i] = Y::store(wf_i64(w[2] + wf_u64(i) * w[3]));
}

// ---- random: a thread for a block of the generator --------------------------
// Each kind makes the `count` elements of a block of four words. Words: 0 output, 1 elements,
// 2 seed, 3 call, 4 and 5 what the kind needs.

struct wf_uniforms_f32 {
  static const int count = 4;
  WEFT_FN void make(wf_u32x4 b, const wf_u64*, float* x) {
    x[0] = wf_uniform_f32(b.x);
    x[1] = wf_uniform_f32(b.y);
    x[2] = wf_uniform_f32(b.z);
    x[3] = wf_uniform_f32(b.w);
  }
  typedef float value;
};
struct wf_uniforms_f64 {
  static const int count = 2;
  WEFT_FN void make(wf_u32x4 b, const wf_u64*, double* x) {
    x[0] = wf_uniform_f64((wf_u64(b.y) << 32) | b.x);
    x[1] = wf_uniform_f64((wf_u64(b.w) << 32) | b.z);
  }
  typedef double value;
};
struct wf_normals_f32 {
  static const int count = 4;
  WEFT_FN void make(wf_u32x4 b, const wf_u64*, float* x) {
    x[0] = wf_normal_f32(b.x, b.y, false);
    x[1] = wf_normal_f32(b.x, b.y, true);
    x[2] = wf_normal_f32(b.z, b.w, false);
    x[3] = wf_normal_f32(b.z, b.w, true);
  }
  typedef float value;
};
struct wf_normals_f64 {
  static const int count = 2;
  WEFT_FN void make(wf_u32x4 b, const wf_u64*, double* x) {
    wf_u64 radius = (wf_u64(b.y) << 32) | b.x, angle = (wf_u64(b.w) << 32) | b.z;
    x[0] = wf_normal_f64(radius, angle, false);
    x[1] = wf_normal_f64(radius, angle, true);
  }
  typedef double value;
};
// Word 4 is the least, 5 the number of them.
struct wf_integers {
  static const int count = 2;
  WEFT_FN void make(wf_u32x4 b, const wf_u64* w, wf_i64* x) {
    x[0] = wf_randint((wf_u64(b.y) << 32) | b.x, wf_i64(w[4]), w[5]);
    x[1] = wf_randint((wf_u64(b.w) << 32) | b.z, wf_i64(w[4]), w[5]);
  }
  typedef wf_i64 value;
};

// is_aligned: a thread's elements are stored at once.
template <class Kind, class Y, bool is_aligned, class U>
WEFT_FN void wf_random(const wf_u64* w) {
  U block = wf_thread<U>(), n = U(w[1]), first = block * Kind::count;
  if (first >= n) return;
  typename Kind::value x[Kind::count];
  Kind::make(wf_random_block(w[2], w[3], wf_u64(block)), w, x);
  wf_vector<typename Y::stored, Kind::count> stored;
  WF_UNROLL
  for (int j = 0; j < Kind::count; ++j) stored.v[j] = Y::store(x[j]);
  typename Y::stored* out = wf_pointer<typename Y::stored>(w[0]) + first;
  if (is_aligned && n - first >= U(Kind::count)) {
    *reinterpret_cast<wf_vector<typename Y::stored, Kind::count>*>(out) = stored;
    return;
  }
  WF_UNROLL
  for (int j = 0; j < Kind::count; ++j)
    if (n - first > U(j)) out[j] = stored.v[j];
}

// ---- permutations -----------------------------------------------------------

// Words: 0 keys, 1 elements, 2 seed, 3 call.
template <class U>
WEFT_FN void wf_permutation_keys(const wf_u64* w) {
  U i = wf_thread<U>();
  if (i < U(w[1])) wf_pointer<wf_u64>(w[0])[i] = wf_perm_key(w[2], w[3], wf_u64(i));
}
// Words: 0 order, 1 elements, 2 output.
template <class Y, class U>
WEFT_FN void wf_permutation_store(const wf_u64* w) {
  U i = wf_thread<U>();
  if (i < U(w[1]))
    wf_pointer<typename Y::stored>(w[2])[i] = Y::store(wf_i64(wf_pointer<const U>(w[0])[i]));
}

#endif
