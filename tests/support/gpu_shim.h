// What a kernel's text needs to be host C++: the words of CUDA C++ over a machine that runs one
// block at a time, its threads one after the other. Included before a text, never in weft.
#pragma once

#include <cmath>
#include <cstring>

#include "support/gpu_machine.h"

namespace shim {
inline Machine* machine;
}  // namespace shim

inline shim::Index threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// In a section of their own, so that they can be filled with rubbish before each block.
#define __shared__ static __attribute__((section("weft_shared"), aligned(16)))

#define WF_HOST_SHIM 1
inline unsigned char* wf_dynamic_shared() { return shim::machine->dynamic_shared; }

inline void __syncthreads() { shim::machine->block_barrier(0); }
inline int __syncthreads_count(int predicate) {
  return shim::machine->block_barrier(predicate != 0);
}
inline int __syncthreads_or(int predicate) { return __syncthreads_count(predicate) != 0; }
inline int __syncthreads_and(int predicate) { return __syncthreads_count(predicate == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { shim::machine->warp_barrier(mask); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

namespace shim {
template <class T>
T shuffled(unsigned mask, T value, int source) {
  machine->shuffle(mask, &value, sizeof value, source);
  return value;
}
inline int segment(int width) { return static_cast<int>(machine->lane) & ~(width - 1); }
}  // namespace shim

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  return shim::shuffled(mask, value, shim::segment(width) + (source & (width - 1)));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int source = static_cast<int>(shim::machine->lane) - static_cast<int>(delta);
  return shim::shuffled(mask, value, source < shim::segment(width) ? -1 : source);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int source = static_cast<int>(shim::machine->lane + delta);
  return shim::shuffled(mask, value, source >= shim::segment(width) + width ? -1 : source);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int source = static_cast<int>(shim::machine->lane) ^ bits;
  return shim::shuffled(mask, value, source >= shim::segment(width) + width ? -1 : source);
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return shim::machine->ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate == 0) == 0;
}

// No two threads run at once.
namespace shim {
template <class T>
struct Same {
  using Type = T;
};
template <class T, class F>
T exchange(T* p, F f) {
  const T old = *p;
  *p = f(old);
  return old;
}
}  // namespace shim

template <class T>
T atomicCAS(T* p, typename shim::Same<T>::Type expected, typename shim::Same<T>::Type desired) {
  return shim::exchange(p, [&](T old) { return old == expected ? desired : old; });
}
template <class T>
T atomicAdd(T* p, typename shim::Same<T>::Type value) {
  static_assert(T(0.5) == T(0), "sums of floats would depend on their order");
  return shim::exchange(p, [&](T old) { return T(old + value); });
}
template <class T>
T atomicMax(T* p, typename shim::Same<T>::Type value) {
  return shim::exchange(p, [&](T old) { return old < value ? value : old; });
}
template <class T>
T atomicMin(T* p, typename shim::Same<T>::Type value) {
  return shim::exchange(p, [&](T old) { return value < old ? value : old; });
}
template <class T>
T atomicOr(T* p, typename shim::Same<T>::Type value) {
  return shim::exchange(p, [&](T old) { return T(old | value); });
}
template <class T>
T atomicAnd(T* p, typename shim::Same<T>::Type value) {
  return shim::exchange(p, [&](T old) { return T(old & value); });
}
template <class T>
T atomicXor(T* p, typename shim::Same<T>::Type value) {
  return shim::exchange(p, [&](T old) { return T(old ^ value); });
}
template <class T>
T atomicExch(T* p, typename shim::Same<T>::Type value) {
  return shim::exchange(p, [&](T) { return value; });
}

template <class T>
T __ldg(const T* p) {
  return *p;
}
template <class T>
T __ldcs(const T* p) {
  return *p;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}
template <class T>
void __stcs(T* p, typename shim::Same<T>::Type value) {
  *p = value;
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((static_cast<unsigned long long>(a) * b) >> 32);
}
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1u) << (31 - i);
  return reversed;
}

namespace shim {

template <class P>
void call(void (*kernel)(P), const void* words) {
  P params;
  std::memcpy(&params, words, sizeof params);
  kernel(params);
}

}  // namespace shim

extern "C" {
extern unsigned char __start_weft_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_weft_shared[] __attribute__((weak, visibility("hidden")));
__attribute__((used, visibility("default"))) shim::Variables weft_shim_variables() {
  return {&threadIdx,     &blockIdx,           &blockDim,         &gridDim,
          &shim::machine, __start_weft_shared, __stop_weft_shared};
}
}
