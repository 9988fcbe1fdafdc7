// Reductions in one launch: the block that comes last joins what all have made.
#ifndef WEFT_REDUCE_JOINED_CUH
#define WEFT_REDUCE_JOINED_CUH

#ifndef __CUDACC_RTC__
#include "reduce.cuh"
#endif

// The same that other blocks of this launch have written.
template <class A, class U>
struct wf_written {
  const volatile A* first;
  __device__ A operator()(U i) const { return first[i]; }
};

// Whether a block is the last of `count` to come here; what the others have written is seen then.
// The counter is 0 before the first and after the last.
WEFT_FN bool wf_is_last(wf_u32* counter, wf_u32 count) {
  __shared__ wf_u32 is_last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    is_last = atomicAdd(counter, 1u) == count - 1;
    if (is_last != 0) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  return is_last != 0;
}

// At most 4096 results of other blocks, by a block of 256: all are read at once.
template <class Op, class A>
WEFT_FN A wf_reduce_results(const volatile A* from, wf_u32 n) {
  A a[16];
  WF_UNROLL
  for (int j = 0; j < 16; ++j) {
    wf_u32 l = threadIdx.x + 256 * j;
    a[j] = l < n ? A(from[l]) : Op::identity(A());
  }
  WF_UNROLL
  for (int j = 2; j < 16; ++j) a[j % 2] = Op::apply(a[j % 2], a[j]);
  return wf_reduce_group<Op, 256>(Op::apply(a[0], a[1]));
}

// One output of many chunks, W for a warp of 8 in a block; the block that comes last makes one
// result of 4096, and of those the output. Words: 0 input, 1 output, 2 length, 3 chunks, 4
// counters: one, and one for each 4096 chunks, 5 room for the chunks' results, 6 for a 4096th of
// them, 7 ... the space.
template <class Op, class X, class Y, class A, int R, int W, int V, class U>
WEFT_FN void wf_reduce_whole(const wf_u64* w) {
  U length = U(w[2]), chunks = U(w[3]);
  wf_u32* counters = wf_pointer<wf_u32>(w[4]);
  A* results = wf_pointer<A>(w[5]);
  const wf_sequence<X, R, U> x = {wf_pointer<const typename X::stored>(w[0]), w + 7};
  U g = threadIdx.x % 32;
  for (int k = 0; k < W; ++k) {
    U unit = (U(blockIdx.x) * W + k) * 8 + threadIdx.x / 32;
    if (unit >= chunks) break;
    U start = unit * 4096, n = length - start < 4096 ? length - start : 4096;
    A a = wf_reduce_chunk<Op, A, 32, 16, V>(x, start, n, g);
    if (g == 0) results[unit] = a;
  }
  constexpr wf_u32 blocks = 512 / W;  // for 4096 results
  wf_u32 part = blockIdx.x / blocks, parts = (gridDim.x + blocks - 1) / blocks;
  wf_u32 mine = gridDim.x - part * blocks < blocks ? gridDim.x - part * blocks : blocks;
  if (!wf_is_last(counters + 1 + part, mine)) return;
  U rest = chunks - U(part) * 4096;
  A a = wf_reduce_results<Op>(results + U(part) * 4096, rest < 4096 ? wf_u32(rest) : 4096u);
  if (parts > 1) {
    A* of_parts = wf_pointer<A>(w[6]);
    if (threadIdx.x == 0) of_parts[part] = a;
    if (!wf_is_last(counters, parts)) return;
    a = wf_reduce_results<Op>(of_parts, parts);
  }
  if (threadIdx.x == 0) *wf_pointer<typename Y::stored>(w[1]) = Y::store(a);
}

// The rows of a column of vectors.
template <class X, int R, class U>
struct wf_column {
  const typename X::stored* first;
  const wf_u64* space;
  U start;
  __device__ const typename X::stored* operator()(U row) const {
    return first + wf_signed(wf_offset<R>(space, start + row));
  }
};

// B rows of V columns, 64 apart, each to its own accumulators.
template <class Op, int V, int B, class A, class X, int R, class U>
WEFT_FN void wf_add_rows(A* a, const wf_column<X, R, U>& column, U row) {
  typename X::stored x[B * V];
  WF_UNROLL
  for (int b = 0; b < B; ++b) wf_load_once<V>(x + b * V, column(row + U(64 * b)));
  WF_UNROLL
  for (int i = 0; i < B * V; ++i) a[i] = Op::apply(a[i], Op::template lift<A>(X::load(x[i])));
}

// C x V neighbouring outputs, V of a thread at once, and 64 groups of lanes: blocks of C x 64. T >
// 0: of up to T chunks the block that comes last makes the outputs. Words: 5 output, 6 counters,
// one for C V outputs, 7 ... the spaces.
template <class Op, class X, class Y, class A, int K, int R, class O, int C, int V, int J, int T,
          class U>
WEFT_FN void wf_reduce_wide_columns(const wf_u64* w) {
  U chunks = U(w[4]), tile = U(blockIdx.x) / chunks, c = U(blockIdx.x) - tile * chunks;
  U o = (tile * C + threadIdx.x) * V, length = U(w[3]), outputs = U(w[2]);
  int g = int(threadIdx.y);
  A a[J * V];
  WF_UNROLL
  for (int j = 0; j < J * V; ++j) a[j] = Op::identity(A());
  if (o < outputs) {
    const typename X::stored* from =
        wf_pointer<const typename X::stored>(w[0]) + wf_signed(wf_offset<K>(w + 7, o));
    const wf_u64* space = w + 7 + 3 * K;
    U start = c * 4096, n = length - start < 4096 ? length - start : 4096;
    const wf_column<X, R, U> x = {from, space, start + U(g)};
    U r = 0;
    for (; r + 512 <= n; r += 512) {
      // Half of the rows on their way at once: more would take registers from the second block.
      WF_UNROLL
      for (int j = 0; j < J; j += J / 2) wf_add_rows<Op, V, J / 2>(a + j * V, x, r + U(64 * j));
    }
    WF_UNROLL
    for (int j = 0; j < J; ++j)
      if (r + U(g + 64 * j) < n) wf_add_rows<Op, V, 1>(a + j * V, x, r + U(64 * j));
  }
  wf_reduce_halves<Op, J / 2 * V, V>(a);
  __shared__ A room[64 * C * V];
  A* own = room + (g * C + int(threadIdx.x)) * V;
  for (int e = 0; e < V; ++e) own[e] = a[e];
  __syncthreads();
  WF_UNROLL
  for (int h = 32; h > 0; h /= 2) {
    if (g < h)
      for (int e = 0; e < V; ++e) own[e] = Op::apply(own[e], own[h * C * V + e]);
    __syncthreads();
  }
  typename Y::stored* target = wf_pointer<typename Y::stored>(w[1]);
  if (o < outputs && g == 0)
    for (int e = 0; e < V; ++e) target[(o + e) * chunks + c] = Y::store(own[e]);
  if constexpr (T > 0) {
    if (!wf_is_last(wf_pointer<wf_u32>(w[6]) + tile, wf_u32(chunks))) return;
    U t = U(g) * C + threadIdx.x, at = tile * (C * V) + t;
    if (t >= C * V || at >= outputs) return;
    const wf_written<A, U> x = {wf_pointer<const A>(w[1]) + at * chunks};
    wf_pointer<typename O::stored>(w[5])[at] =
        O::store(wf_reduce_lanes<Op, A, 1, T>(x, U(0), chunks, U(0)));
  }
}

#endif
