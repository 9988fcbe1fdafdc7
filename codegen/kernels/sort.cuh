// Stable sorting of numbers by keys: a block's worth in shared memory, more by radix 256 from the
// low digit up, where each block counts digits, the counts are summed, and each block moves.
#ifndef WEFT_SORT_CUH
#define WEFT_SORT_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#include "order.cuh"
#endif

// ---- in a block -------------------------------------------------------------

// Sorts N keys in shared memory, equal ones by their numbers, by N/2 threads (Batcher, 1968).
template <int N>
WEFT_FN void wf_sort_shared(wf_u64* keys, wf_u32* numbers) {
  for (wf_u32 size = 2; size <= N; size *= 2)
    for (wf_u32 stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      wf_u32 t = threadIdx.x, i = 2 * t - (t & (stride - 1)), j = i + stride;
      bool is_ascending = (i & size) == 0;
      wf_u64 a = keys[i], b = keys[j];
      wf_u32 p = numbers[i], q = numbers[j];
      bool is_after = a > b || (a == b && p > q);
      if (is_after == is_ascending) {
        keys[i] = b;
        keys[j] = a;
        numbers[i] = q;
        numbers[j] = p;
      }
    }
  __syncthreads();
}

// One block. Words: 0 keys, 1 sorted keys, 2 order, 3 how many: at most N.
template <int N, class U>
WEFT_FN void wf_sort_block(const wf_u64* w) {
  __shared__ wf_u64 keys[N];
  __shared__ wf_u32 numbers[N];
  wf_u32 n = wf_u32(w[3]);
  for (wf_u32 i = threadIdx.x; i < N; i += N / 2) {
    keys[i] = i < n ? wf_pointer<const wf_u64>(w[0])[i] : ~0ull;
    numbers[i] = i;
  }
  wf_sort_shared<N>(keys, numbers);
  for (wf_u32 i = threadIdx.x; i < n; i += N / 2) {
    wf_pointer<wf_u64>(w[1])[i] = keys[i];
    wf_pointer<U>(w[2])[i] = numbers[i];
  }
}

// ---- by radix ---------------------------------------------------------------
// Words of a pass: 0 keys, 1 order or 0 for the numbers themselves, 2 keys out, 3 order out, 4 how
// many, 5 shift of the digit, 6 counts [256][blocks], 7 their sums [256], 8 blocks. Blocks of 256
// threads take 2048 keys.

template <class U>
WEFT_FN void wf_sort_count(const wf_u64* w) {
  __shared__ wf_u32 counts[256];
  counts[threadIdx.x] = 0;
  __syncthreads();
  U n = U(w[4]), first = U(blockIdx.x) * 2048;
  for (wf_u32 r = 0; r < 2048; r += 256) {
    U i = first + r + threadIdx.x;
    if (i < n)
      atomicAdd(&counts[wf_u32(wf_pointer<const wf_u64>(w[0])[i] >> wf_u32(w[5])) & 255u], 1u);
  }
  __syncthreads();
  wf_pointer<U>(w[6])[U(threadIdx.x) * U(w[8]) + blockIdx.x] = counts[threadIdx.x];
}

// The sum of a warp's values up to this thread's.
template <class U>
WEFT_FN U wf_sum_warp(U sum) {
  WF_UNROLL
  for (wf_u32 h = 1; h < 32; h *= 2) {
    U other = __shfl_up_sync(0xffffffffu, sum, h);
    sum += threadIdx.x % 32 >= h ? other : U(0);
  }
  return sum;
}

// A warp for a digit, eight to a block: its counts become the sums of those of the blocks before.
template <class U>
WEFT_FN void wf_sort_sum(const wf_u64* w) {
  U blocks = U(w[8]), digit = U(blockIdx.x) * 8 + threadIdx.x / 32, carry = 0;
  U* counts = wf_pointer<U>(w[6]) + digit * blocks;
  for (U first = 0; first < blocks; first += 32) {
    U i = first + threadIdx.x % 32, count = i < blocks ? counts[i] : U(0);
    U sum = wf_sum_warp(count);
    if (i < blocks) counts[i] = carry + sum - count;
    carry += __shfl_sync(0xffffffffu, sum, 31);
  }
  if (threadIdx.x % 32 == 0) wf_pointer<U>(w[7])[digit] = carry;
}

template <class U>
WEFT_FN void wf_sort_move(const wf_u64* w) {
  __shared__ U place[256];  // of the next key with the digit
  __shared__ U warp_sums[8];
  __shared__ wf_u32 digits[256];  // of this round's keys
  __shared__ wf_u32 counts[8][256];
  wf_u32 t = threadIdx.x, warp = t / 32;
  U n = U(w[4]), first = U(blockIdx.x) * 2048;
  U total = wf_pointer<const U>(w[7])[t], before = wf_sum_warp(total);
  if (t % 32 == 31) warp_sums[warp] = before;
  __syncthreads();
  for (wf_u32 q = 0; q < warp; ++q) before += warp_sums[q];
  place[t] = before - total + wf_pointer<const U>(w[6])[U(t) * U(w[8]) + blockIdx.x];
  for (wf_u32 r = 0; r < 2048; r += 256) {
    U i = first + r + t;
    wf_u64 key = i < n ? wf_pointer<const wf_u64>(w[0])[i] : 0ull;
    wf_u32 digit = i < n ? wf_u32(key >> wf_u32(w[5])) & 255u : 256u;
    digits[t] = digit;
    for (wf_u32 q = 0; q < 8; ++q) counts[q][t] = 0;
    __syncthreads();
    if (i < n) atomicAdd(&counts[warp][digit], 1u);
    wf_u32 rank = 0;
    for (wf_u32 k = warp * 32; k < t; ++k) rank += digits[k] == digit ? 1u : 0u;
    __syncthreads();
    if (i < n) {
      U at = place[digit] + rank;
      for (wf_u32 q = 0; q < warp; ++q) at += counts[q][digit];
      wf_pointer<wf_u64>(w[2])[at] = key;
      wf_pointer<U>(w[3])[at] = w[1] != 0 ? wf_pointer<const U>(w[1])[i] : i;
    }
    __syncthreads();
    for (wf_u32 q = 0; q < 8; ++q) place[t] += counts[q][t];
  }
}

#endif
