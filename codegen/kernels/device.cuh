// What the texts of all kernels share: storage types, vectors of elements, parameter words.
#ifndef WEFT_DEVICE_CUH
#define WEFT_DEVICE_CUH

#ifndef __CUDACC_RTC__
#include "math_base.cuh"
#endif

typedef signed char wf_i8;
typedef unsigned char wf_u8;

// N elements, moved by one instruction where they have at most 16 bytes.
template <class T, int N>
struct __align__(sizeof(T) * N) wf_vector {
  T v[N];
};
template <int N, class T>
WEFT_FN void wf_load(T* to, const T* from) {
  const wf_vector<T, N> all = *reinterpret_cast<const wf_vector<T, N>*>(from);
  for (int i = 0; i < N; ++i) to[i] = all.v[i];
}
// The same of elements that no other thread reads: they need not stay in the first cache.
template <int N, class T>
WEFT_FN void wf_load_once(T* to, const T* from) {
#ifdef WEFT_DEVICE
  if constexpr (N * sizeof(T) == 16) {
    wf_vector<unsigned, 4> all;
    asm("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(all.v[0]), "=r"(all.v[1]), "=r"(all.v[2]), "=r"(all.v[3])
        : "l"(from));
    const wf_vector<T, N> elements = __builtin_bit_cast(wf_vector<T, N>, all);
    for (int i = 0; i < N; ++i) to[i] = elements.v[i];
    return;
  }
#endif
  wf_load<N>(to, from);
}
template <int N, class T>
WEFT_FN void wf_store(T* to, const T* from) {
  wf_vector<T, N> all;
  for (int i = 0; i < N; ++i) all.v[i] = from[i];
  *reinterpret_cast<wf_vector<T, N>*>(to) = all;
}

// Memory of the launch's `shared_bytes`, aligned to 16 bytes; in a kernel's body.
#ifdef __CUDACC__
#define WF_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#else
#define WF_DYNAMIC_SHARED(name) unsigned char* const name = wf_dynamic_shared()
#endif

// n / d by a word that the host made of d: for 32 bits, n < 2^31, a multiplier below a shift.
WEFT_FN wf_u32 wf_divide(wf_u32 n, wf_u64 word) {
  wf_u32 high = wf_u32((wf_u64(n) * wf_u32(word)) >> 32);
  return (high + n) >> wf_u32(word >> 32);
}
WEFT_FN wf_u64 wf_divide(wf_u64 n, wf_u64 word) { return n / word; }

// Whether a step of the run has failed: the first word of its error block.
WEFT_FN bool wf_run_failed(wf_u64 block) {
  return *reinterpret_cast<const volatile wf_u32*>(block) != 0u;
}

#endif
