// Indices of extremes: of equal elements the first, NaN before all.
#ifndef WEFT_ARG_REDUCE_CUH
#define WEFT_ARG_REDUCE_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#endif

// The best so far and its index; no index where there was no element.
template <class V, class U>
struct wf_best {
  V value;
  U index;
};
#define WF_NO_INDEX(U) U(~U(0))

template <bool greatest, class V>
WEFT_FN bool wf_is_better(V x, V best) {
  return (greatest ? x > best : x < best) | ((x != x) & (best == best));
}
// Of both, whichever stands first in the sequence among the best.
template <bool greatest, class V, class U>
WEFT_FN wf_best<V, U> wf_better(wf_best<V, U> a, wf_best<V, U> b) {
  bool is_none = b.index == WF_NO_INDEX(U);
  bool takes = wf_is_better<greatest>(b.value, a.value) |
               (!wf_is_better<greatest>(a.value, b.value) & (b.index < a.index));
  return !is_none & (takes | (a.index == WF_NO_INDEX(U))) ? b : a;
}

// The best of elements start+g, start+g+G, ... before `end`.
template <bool greatest, class X, int R, int G, class U>
WEFT_FN wf_best<typename X::value, U> wf_arg_lane(const typename X::stored* first,
                                                  const wf_u64* space, U start, U end, U g) {
  wf_best<typename X::value, U> best = {typename X::value(0), WF_NO_INDEX(U)};
  for (U i = start + g; i < end; i += G) {
    typename X::value x = X::load(first[wf_signed(wf_offset<R>(space, i))]);
    if (best.index == WF_NO_INDEX(U) || wf_is_better<greatest>(x, best.value)) {
      best.value = x;
      best.index = i;
    }
  }
  return best;
}

// Over a group of G threads whose numbers in a block are `pitch` apart; the result is the first's.
template <bool greatest, int G, class V, class U>
WEFT_FN wf_best<V, U> wf_arg_shared(wf_best<V, U> best, int g, int pitch, V* values, U* indices) {
  WF_UNROLL
  for (int h = G / 2; h > 0; h /= 2) {
    *values = best.value;
    *indices = best.index;
    __syncthreads();
    if (g < h) {
      wf_best<V, U> other = {values[h * pitch], indices[h * pitch]};
      best = wf_better<greatest>(best, other);
    }
    __syncthreads();
  }
  return best;
}
template <bool greatest, int G, class V, class U>
WEFT_FN wf_best<V, U> wf_arg_group(wf_best<V, U> best) {
  if constexpr (G == 32) {
    WF_UNROLL
    for (int h = 16; h > 0; h /= 2) {
      wf_best<V, U> other = {__shfl_down_sync(0xffffffffu, best.value, h),
                             __shfl_down_sync(0xffffffffu, best.index, h)};
      best = wf_better<greatest>(best, other);
    }
    return best;
  } else {
    __shared__ V values[G];
    __shared__ U indices[G];
    return wf_arg_shared<greatest, G>(best, int(threadIdx.x), 1, values + threadIdx.x,
                                      indices + threadIdx.x);
  }
}

// ---- kernels ----------------------------------------------------------------
// Words: 0 input, 1 output, or values of the parts' bests, 2 their indices, 3 outputs, 4 length of
// a sequence, 5 parts of a sequence, 6 elements of a part, 7 ... the kept and the reduced axes.
// Part c of output o goes to o parts + c.

template <bool is_part, class V, class U>
WEFT_FN void wf_arg_store(const wf_u64* w, U at, wf_best<V, U> best) {
  if (is_part) {
    wf_pointer<V>(w[1])[at] = best.value;
    wf_pointer<U>(w[2])[at] = best.index;
  } else {
    wf_pointer<wf_i64>(w[1])[at] = best.index == WF_NO_INDEX(U) ? 0 : wf_i64(best.index);
  }
}

// A thread for an output.
template <bool greatest, class X, int K, int R, class U>
WEFT_FN void wf_arg_short(const wf_u64* w) {
  U o = wf_thread<U>();
  if (o >= U(w[3])) return;
  const typename X::stored* first =
      wf_pointer<const typename X::stored>(w[0]) + wf_signed(wf_offset<K>(w + 7, o));
  wf_arg_store<false>(w, o,
                      wf_arg_lane<greatest, X, R, 1>(first, w + 7 + 3 * K, U(0), U(w[4]), U(0)));
}

// A group of G threads for a part; blocks of 256.
template <bool greatest, bool is_part, class X, int K, int R, int G, class U>
WEFT_FN void wf_arg_rows(const wf_u64* w) {
  U unit = U(blockIdx.x) * (256 / G) + threadIdx.x / G, parts = U(w[5]), length = U(w[4]);
  if (unit >= U(w[3]) * parts) return;
  U o = is_part ? unit / parts : unit, c = unit - o * parts, g = threadIdx.x % G;
  U start = is_part ? c * U(w[6]) : U(0);
  U end = is_part && length - start > U(w[6]) ? start + U(w[6]) : length;
  const typename X::stored* first =
      wf_pointer<const typename X::stored>(w[0]) + wf_signed(wf_offset<K>(w + 7, o));
  wf_best<typename X::value, U> best = wf_arg_group<greatest, G>(
      wf_arg_lane<greatest, X, R, G>(first, w + 7 + 3 * K, start, end, g));
  if (g == 0) wf_arg_store<is_part>(w, unit, best);
}

// C neighbouring outputs, 32 threads each: blocks of C x 32.
template <bool greatest, bool is_part, class X, int K, int R, int C, class U>
WEFT_FN void wf_arg_columns(const wf_u64* w) {
  typedef typename X::value V;
  U parts = U(w[5]), length = U(w[4]), tile = U(blockIdx.x) / parts;
  U c = U(blockIdx.x) - tile * parts, o = tile * C + threadIdx.x;
  wf_best<V, U> best = {V(0), WF_NO_INDEX(U)};
  if (o < U(w[3])) {
    U start = is_part ? c * U(w[6]) : U(0);
    U end = is_part && length - start > U(w[6]) ? start + U(w[6]) : length;
    const typename X::stored* first =
        wf_pointer<const typename X::stored>(w[0]) + wf_signed(wf_offset<K>(w + 7, o));
    best = wf_arg_lane<greatest, X, R, 32>(first, w + 7 + 3 * K, start, end, U(threadIdx.y));
  }
  __shared__ V values[32 * C];
  __shared__ U indices[32 * C];
  int at = int(threadIdx.y * C + threadIdx.x);
  best = wf_arg_shared<greatest, 32>(best, int(threadIdx.y), C, values + at, indices + at);
  if (o < U(w[3]) && threadIdx.y == 0) wf_arg_store<is_part>(w, o * parts + c, best);
}

// The best of the parts' bests. Words: 0 values, 1 output, 2 indices, 3 outputs, 4 parts.
template <bool greatest, class V, class U>
WEFT_FN void wf_arg_finish(const wf_u64* w) {
  U o = U(blockIdx.x) * 8 + threadIdx.x / 32, parts = U(w[4]);
  if (o >= U(w[3])) return;
  const V* values = wf_pointer<const V>(w[0]) + o * parts;
  const U* indices = wf_pointer<const U>(w[2]) + o * parts;
  wf_best<V, U> best = {V(0), WF_NO_INDEX(U)};
  for (U c = threadIdx.x % 32; c < parts; c += 32) {
    wf_best<V, U> other = {values[c], indices[c]};
    best = wf_better<greatest>(best, other);
  }
  best = wf_arg_group<greatest, 32>(best);
  if (threadIdx.x % 32 == 0) wf_arg_store<false>(w, o, best);
}

#endif
