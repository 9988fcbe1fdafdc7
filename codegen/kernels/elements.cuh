// What hand-written kernels share: elements of each dtype, index spaces, the run's error block.
#ifndef WEFT_ELEMENTS_CUH
#define WEFT_ELEMENTS_CUH

#ifndef __CUDACC_RTC__
#include "device.cuh"
#include "scalar.cuh"
#endif

#ifdef __CUDACC__
#define WF_UNROLL _Pragma("unroll")
#else
#define WF_UNROLL
#endif

// ---- dtypes: how an element is stored, and its value in its compute class ----

#define WF_DTYPE(name, S, T, load_value, store_value)                                              \
  struct wf_as_##name {                                                                            \
    typedef S stored;                                                                              \
    typedef T value;                                                                               \
    WEFT_FN T load(S x) { return load_value; }                                                     \
    template <class V>                                                                             \
    WEFT_FN S store(V x) {                                                                         \
      return S(store_value);                                                                       \
    }                                                                                              \
  };
WF_DTYPE(f16, wf_u16, float, wf_f16_to_f32(x), wf_to_f16(x))
WF_DTYPE(bf16, wf_u16, float, wf_bf16_to_f32(x), wf_to_bf16(x))
WF_DTYPE(f32, float, float, x, wf_to_f32(x))
WF_DTYPE(f64, double, double, x, wf_to_f64(x))
WF_DTYPE(i8, wf_i8, wf_i32, x, wf_to_i8(x))
WF_DTYPE(i32, wf_i32, wf_i32, x, wf_to_i32(x))
WF_DTYPE(i64, wf_i64, wf_i64, x, wf_to_i64(x))
WF_DTYPE(u8, wf_u8, wf_i32, x, wf_to_u8(x))
WF_DTYPE(bool, wf_u8, wf_i32, x, wf_to_bool(x))
#undef WF_DTYPE

// ---- index spaces -----------------------------------------------------------
// Numbers of elements are unsigned, 32 or 64 bits wide (U); offsets wrap in U, and are signed.
// A space of rank R over K operands is (2 + K) R words: of each axis its extent with the shift of
// its divisor above, the divisor's multiplier, and a stride per operand.

WEFT_FN wf_i64 wf_signed(wf_u32 x) { return wf_i64(wf_i32(x)); }
WEFT_FN wf_i64 wf_signed(wf_u64 x) { return wf_i64(x); }

// n / extent, n < 2^31 where U is 32 bits (Granlund and Montgomery, PLDI 1994).
WEFT_FN wf_u32 wf_quotient(wf_u32 n, const wf_u64* axis) {
  wf_u32 high = wf_u32((wf_u64(n) * wf_u32(axis[1])) >> 32);
  return (high + n) >> wf_u32(axis[0] >> 32);
}
WEFT_FN wf_u64 wf_quotient(wf_u64 n, const wf_u64* axis) { return n / axis[0]; }

// Offsets of element number n, in row-major order, of each operand; added to what is there.
template <int R, int K, class U>
WEFT_FN void wf_offsets(const wf_u64* space, U n, U* offset) {
  WF_UNROLL
  for (int d = R - 1; d >= 0; --d) {
    const wf_u64* axis = space + d * (2 + K);
    U at = n;
    if (d > 0) {
      n = wf_quotient(n, axis);
      at -= n * U(axis[0]);
    }
    WF_UNROLL
    for (int k = 0; k < K; ++k) offset[k] += at * U(axis[2 + k]);
  }
}
template <int R, class U>
WEFT_FN U wf_offset(const wf_u64* space, U n) {
  U offset[1] = {0};
  wf_offsets<R, 1>(space, n, offset);
  return offset[0];
}

template <class T>
WEFT_FN T* wf_pointer(wf_u64 word) {
  return reinterpret_cast<T*>(word);
}

// Number of this thread in a grid of blocks along x.
template <class U>
WEFT_FN U wf_thread() {
  return U(blockIdx.x) * blockDim.x + threadIdx.x;
}

// ---- the error block --------------------------------------------------------

struct wf_error {
  wf_u32 step, unused;
  wf_i64 index, limit;
};
WEFT_FN bool wf_has_failed(wf_u64 error) {
  return *static_cast<const volatile wf_u32*>(&wf_pointer<wf_error>(error)->step) != 0;
}
// Whether 0 <= index < limit; else the run's first fault is kept.
WEFT_FN bool wf_is_within(wf_i64 index, wf_i64 limit, wf_u64 error, wf_u64 step) {
  if (index >= 0 && index < limit) return true;
  wf_error* block = wf_pointer<wf_error>(error);
  if (atomicCAS(&block->step, 0u, wf_u32(step)) == 0u) {
    block->index = index;
    block->limit = limit;
  }
  return false;
}

#endif
