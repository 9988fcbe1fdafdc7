// The greatest or least elements of lines, in order, equal ones by index.
#ifndef WEFT_TOPK_CUH
#define WEFT_TOPK_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#include "sort.cuh"
#endif

// Words of all: 0 input, 1 values, 2 indices, 3 extent of the axis, 4 how many of it, 5 the input's
// stride along it, 6 elements of the axes after it, 7 lines, 8 and 9 keys and order where the lines
// are sorted together, 10 ... the space of the lines.

// Place of element k of a line in the outputs.
template <class U>
WEFT_FN U wf_topk_place(const wf_u64* w, U line, U k) {
  U inner = U(w[6]), outer = line / inner;
  return (outer * U(w[4]) + k) * inner + (line - outer * inner);
}
template <class T, int R, class U>
WEFT_FN const T* wf_topk_line(const wf_u64* w, U line) {
  return wf_pointer<const T>(w[0]) + wf_signed(wf_offset<R>(w + 10, line));
}
template <class X, bool greatest, class U>
WEFT_FN wf_u64 wf_topk_key(const wf_u64* w, const typename X::stored* line, U i) {
  auto key = wf_order_key(X::load(line[wf_signed(i * U(w[5]))]));
  return greatest ? decltype(key)(~key) : key;
}

// A block of N/2 threads for a line of at most N elements.
template <class X, bool greatest, int R, int N, class U>
WEFT_FN void wf_topk_block(const wf_u64* w) {
  __shared__ wf_u64 keys[N];
  __shared__ wf_u32 numbers[N];
  U line = U(blockIdx.x);
  const typename X::stored* x = wf_topk_line<typename X::stored, R>(w, line);
  wf_u32 extent = wf_u32(w[3]);
  for (wf_u32 i = threadIdx.x; i < N; i += N / 2) {
    keys[i] = i < extent ? wf_topk_key<X, greatest>(w, x, U(i)) : ~0ull;
    numbers[i] = i;
  }
  wf_sort_shared<N>(keys, numbers);
  for (wf_u32 k = threadIdx.x; k < wf_u32(w[4]); k += N / 2) {
    U to = wf_topk_place(w, line, U(k));
    wf_pointer<typename X::stored>(w[1])[to] = x[wf_signed(U(numbers[k]) * U(w[5]))];
    wf_pointer<wf_i64>(w[2])[to] = wf_i64(numbers[k]);
  }
}

// Keys of all lines' elements, of 32 bits with their line's number above, else without.
template <class X, bool greatest, int R, class U>
WEFT_FN void wf_topk_keys(const wf_u64* w) {
  U n = wf_thread<U>(), extent = U(w[3]), line = n / extent;
  if (line >= U(w[7])) return;
  const typename X::stored* x = wf_topk_line<typename X::stored, R>(w, line);
  wf_u64 key = wf_topk_key<X, greatest>(w, x, n - line * extent);
  if (sizeof(typename X::value) == 4) key |= wf_u64(line) << 32;
  wf_pointer<wf_u64>(w[8])[n] = key;
}

// Sorted elements' lines as the keys of a second sort.
template <class U>
WEFT_FN void wf_topk_lines(const wf_u64* w) {
  U n = wf_thread<U>(), extent = U(w[3]);
  if (n >= U(w[7]) * extent) return;
  wf_pointer<wf_u64>(w[8])[n] = wf_u64(wf_pointer<const U>(w[9])[n] / extent);
}

// A thread for an element of the outputs, T of the input's element's size.
template <class T, int R, class U>
WEFT_FN void wf_topk_pick(const wf_u64* w) {
  U n = wf_thread<U>(), count = U(w[4]), line = n / count, k = n - line * count;
  if (line >= U(w[7])) return;
  U extent = U(w[3]), i = wf_pointer<const U>(w[9])[line * extent + k] - line * extent;
  U to = wf_topk_place(w, line, k);
  wf_pointer<T>(w[1])[to] = wf_topk_line<T, R>(w, line)[wf_signed(i * U(w[5]))];
  wf_pointer<wf_i64>(w[2])[to] = wf_i64(i);
}

#endif
