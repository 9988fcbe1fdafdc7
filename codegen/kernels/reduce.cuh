// Reductions by the one tree: chunks of 4096, in each 512 lanes (index mod 512) that add in order,
// then halving; the chunks' results the same way. A missing element is the identity.
#ifndef WEFT_REDUCE_CUH
#define WEFT_REDUCE_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#endif

// ---- the operations ---------------------------------------------------------

// +0 is greater than -0: of two equal operands p is the one and q the other, so that their bits
// joined are the right zero.
#define WF_EXTREMES(T, nan)                                                                        \
  WEFT_FN T wf_greater(T a, T b) {                                                                 \
    T p = a > b ? a : b, q = b > a ? b : a;                                                        \
    return (a != a) | (b != b) ? nan : wf_from_bits(wf_bits(p) & wf_bits(q));                      \
  }                                                                                                \
  WEFT_FN T wf_lesser(T a, T b) {                                                                  \
    T p = a < b ? a : b, q = b < a ? b : a;                                                        \
    return (a != a) | (b != b) ? nan : wf_from_bits(wf_bits(p) | wf_bits(q));                      \
  }
WF_EXTREMES(float, WF_NAN_F)
WF_EXTREMES(double, WF_NAN_D)
#undef WF_EXTREMES
WEFT_FN wf_i32 wf_greater(wf_i32 a, wf_i32 b) { return a > b ? a : b; }
WEFT_FN wf_i64 wf_greater(wf_i64 a, wf_i64 b) { return a > b ? a : b; }
WEFT_FN wf_i32 wf_lesser(wf_i32 a, wf_i32 b) { return a < b ? a : b; }
WEFT_FN wf_i64 wf_lesser(wf_i64 a, wf_i64 b) { return a < b ? a : b; }

// identity: of an accumulator; lift: an element as one; of_nothing: the result of an empty
// sequence.
struct wf_reduce_sum {
  WEFT_FN float identity(float) { return -0.0f; }
  WEFT_FN double identity(double) { return -0.0; }
  WEFT_FN wf_i64 identity(wf_i64) { return 0; }
  template <class A, class V>
  WEFT_FN A lift(V x) {
    return A(x);
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return wf_add(a, b);
  }
  WEFT_FN wf_i32 of_nothing() { return 0; }
};
struct wf_reduce_prod {
  template <class A>
  WEFT_FN A identity(A) {
    return A(1);
  }
  template <class A, class V>
  WEFT_FN A lift(V x) {
    return A(x);
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return wf_mul(a, b);
  }
  WEFT_FN wf_i32 of_nothing() { return 1; }
};
struct wf_reduce_max {
  WEFT_FN float identity(float) { return -WF_INF_F; }
  WEFT_FN double identity(double) { return -WF_INF_D; }
  WEFT_FN wf_i32 identity(wf_i32) { return -2147483647 - 1; }
  WEFT_FN wf_i64 identity(wf_i64) { return -0x7fffffffffffffffll - 1; }
  template <class A, class V>
  WEFT_FN A lift(V x) {
    return x;
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return wf_greater(a, b);
  }
  WEFT_FN wf_i32 of_nothing() { return 0; }
};
struct wf_reduce_min {
  WEFT_FN float identity(float) { return WF_INF_F; }
  WEFT_FN double identity(double) { return WF_INF_D; }
  WEFT_FN wf_i32 identity(wf_i32) { return 2147483647; }
  WEFT_FN wf_i64 identity(wf_i64) { return 0x7fffffffffffffffll; }
  template <class A, class V>
  WEFT_FN A lift(V x) {
    return x;
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return wf_lesser(a, b);
  }
  WEFT_FN wf_i32 of_nothing() { return 0; }
};
struct wf_reduce_any {
  WEFT_FN wf_i32 identity(wf_i32) { return 0; }
  template <class A, class V>
  WEFT_FN A lift(V x) {
    return x != V(0) ? 1 : 0;
  }
  WEFT_FN wf_i32 apply(wf_i32 a, wf_i32 b) { return a | b; }
  WEFT_FN wf_i32 of_nothing() { return 0; }
};
struct wf_reduce_all {
  WEFT_FN wf_i32 identity(wf_i32) { return 1; }
  template <class A, class V>
  WEFT_FN A lift(V x) {
    return x != V(0) ? 1 : 0;
  }
  WEFT_FN wf_i32 apply(wf_i32 a, wf_i32 b) { return a & b; }
  WEFT_FN wf_i32 of_nothing() { return 1; }
};

// ---- one chunk by a group of threads ----------------------------------------

// A sequence in memory, over axes of any strides.
template <class X, int R, class U>
struct wf_sequence {
  const typename X::stored* first;
  const wf_u64* space;
  __device__ typename X::value operator()(U i) const {
    return X::load(first[wf_signed(wf_offset<R>(space, i))]);
  }
};
template <class A, class U>
struct wf_partials {
  const A* first;
  __device__ A operator()(U i) const { return first[i]; }
};

// a[0 .. E-1] become all of a[0 .. 2H-1], by halving.
template <class Op, int H, int E = 1, class A>
WEFT_FN void wf_reduce_halves(A* a) {
  if constexpr (H >= E) {
    WF_UNROLL
    for (int j = 0; j < H; ++j) a[j] = Op::apply(a[j], a[j + H]);
    wf_reduce_halves<Op, H / 2, E>(a);
  }
}

// What thread g of a group of G makes of elements start .. start+n-1: lanes g, g+G, ... (J of them,
// G J >= min(n, 512)), halved while both halves are its own.
template <class Op, class A, int G, int J, class U, class Read>
WEFT_FN A wf_reduce_lanes(const Read& read, U start, U n, U g) {
  A a[J];
  WF_UNROLL
  for (int j = 0; j < J; ++j) {
    U l = g + U(G * j);
    a[j] = l < n ? Op::template lift<A>(read(start + l)) : Op::identity(A());
  }
  if constexpr (G * J == 512) {
    U r = 512;
    for (; r + 512 <= n; r += 512) {
      WF_UNROLL
      for (int j = 0; j < J; ++j)
        a[j] = Op::apply(a[j], Op::template lift<A>(read(start + r + g + U(G * j))));
    }
    if (r < n) {
      WF_UNROLL
      for (int j = 0; j < J; ++j) {
        U l = r + g + U(G * j);
        if (l < n) a[j] = Op::apply(a[j], Op::template lift<A>(read(start + l)));
      }
    }
  }
  wf_reduce_halves<Op, J / 2>(a);
  return a[0];
}

// A whole chunk by a warp, V neighbours a thread at once: lanes V g + e, then 32 V further, ...
template <class Op, class X, class A, int V>
WEFT_FN A wf_reduce_vectors(const typename X::stored* from, int g) {
  A a[16];
  typename X::stored x[16];
  from += g * V;
  WF_UNROLL
  for (int q = 0; q < 16 / V; ++q) wf_load_once<V>(x + q * V, from + q * 32 * V);
  WF_UNROLL
  for (int j = 0; j < 16; ++j) a[j] = Op::template lift<A>(X::load(x[j]));
  WF_UNROLL
  for (int r = 512; r < 4096; r += 512) {
    WF_UNROLL
    for (int q = 0; q < 16 / V; ++q) wf_load_once<V>(x + q * V, from + r + q * 32 * V);
    WF_UNROLL
    for (int j = 0; j < 16; ++j) a[j] = Op::apply(a[j], Op::template lift<A>(X::load(x[j])));
  }
  wf_reduce_halves<Op, 8, V>(a);
  WF_UNROLL
  for (int h = 16; h > 0; h /= 2) {
    WF_UNROLL
    for (int e = 0; e < V; ++e) a[e] = Op::apply(a[e], __shfl_down_sync(0xffffffffu, a[e], h));
  }
  wf_reduce_halves<Op, V / 2>(a);
  return a[0];
}

// Halves over the threads of a warp; the result is the first's.
template <class Op, class A>
WEFT_FN A wf_reduce_warp(A a) {
  WF_UNROLL
  for (int h = 16; h > 0; h /= 2) a = Op::apply(a, __shfl_down_sync(0xffffffffu, a, h));
  return a;
}

// The same over G threads whose numbers in a block are `pitch` apart; room: one for each thread.
template <class Op, int G, class A>
WEFT_FN A wf_reduce_shared(A a, int g, int pitch, A* room) {
  room[0] = a;
  __syncthreads();
  WF_UNROLL
  for (int h = G / 2; h > 0; h /= 2) {
    if (g < h) room[0] = Op::apply(room[0], room[h * pitch]);
    __syncthreads();
  }
  return room[0];
}

template <class Op, int G, class A>
WEFT_FN A wf_reduce_group(A a) {
  if constexpr (G == 32) {
    return wf_reduce_warp<Op>(a);
  } else {
    __shared__ A room[G];
    return wf_reduce_shared<Op, G>(a, int(threadIdx.x), 1, room + threadIdx.x);
  }
}

template <class Op, class A, int G, int J, int V, class X, int R, class U>
WEFT_FN A wf_reduce_chunk(const wf_sequence<X, R, U>& x, U start, U n, U g) {
  if constexpr (V > 1) {
    if (n == 4096) return wf_reduce_vectors<Op, X, A, V>(x.first + start, int(g));
  }
  return wf_reduce_group<Op, G>(wf_reduce_lanes<Op, A, G, J>(x, start, n, g));
}

// ---- kernels ----------------------------------------------------------------
// Words: 0 input, 1 target, 2 outputs, 3 length of a sequence, 4 chunks of a sequence, 5 ... the
// space of the kept axes, then that of the reduced ones. Chunk c of output o goes to o chunks + c.

// A thread for an output, all lanes its own: sequences of at most L elements; L = 0: of none.
template <class Op, class X, class Y, class A, int K, int R, int L, class U>
WEFT_FN void wf_reduce_short(const wf_u64* w) {
  U o = wf_thread<U>();
  if (o >= U(w[2])) return;
  typename Y::stored* target = wf_pointer<typename Y::stored>(w[1]) + o;
  if constexpr (L == 0) {
    *target = Y::store(Op::of_nothing());
  } else {
    const wf_sequence<X, R, U> x = {wf_pointer<const typename X::stored>(w[0]) +
                                        wf_signed(wf_offset<K>(w + 5, o)),
                                    w + 5 + 3 * K};
    *target = Y::store(wf_reduce_lanes<Op, A, 1, L>(x, U(0), U(w[3]), U(0)));
  }
}

// A group of G threads for a chunk, side by side in its elements; blocks of 256. V > 1: a warp that
// reads V neighbours at once.
template <class Op, class X, class Y, class A, int K, int R, int G, int J, int V, class U>
WEFT_FN void wf_reduce_rows(const wf_u64* w) {
  U unit = U(blockIdx.x) * (256 / G) + threadIdx.x / G, chunks = U(w[4]);
  if (unit >= U(w[2]) * chunks) return;
  U o = unit, c = 0, length = U(w[3]);
  if (chunks > 1) {
    o = unit / chunks;
    c = unit - o * chunks;
  }
  U start = c * 4096, n = length - start < 4096 ? length - start : 4096;
  const wf_sequence<X, R, U> x = {wf_pointer<const typename X::stored>(w[0]) +
                                      wf_signed(wf_offset<K>(w + 5, o)),
                                  w + 5 + 3 * K};
  U g = threadIdx.x % G;
  A a = wf_reduce_chunk<Op, A, G, J, V>(x, start, n, g);
  if (g == 0) wf_pointer<typename Y::stored>(w[1])[unit] = Y::store(a);
}

// C neighbouring outputs and 32 groups of lanes: blocks of C x 32.
template <class Op, class X, class Y, class A, int K, int R, int C, int J, class U>
WEFT_FN void wf_reduce_columns(const wf_u64* w) {
  U chunks = U(w[4]), tile = U(blockIdx.x) / chunks, c = U(blockIdx.x) - tile * chunks;
  U o = tile * C + threadIdx.x, length = U(w[3]);
  bool is_one = o < U(w[2]);
  A a = Op::identity(A());
  if (is_one) {
    U start = c * 4096, n = length - start < 4096 ? length - start : 4096;
    const wf_sequence<X, R, U> x = {wf_pointer<const typename X::stored>(w[0]) +
                                        wf_signed(wf_offset<K>(w + 5, o)),
                                    w + 5 + 3 * K};
    a = wf_reduce_lanes<Op, A, 32, J>(x, start, n, U(threadIdx.y));
  }
  __shared__ A room[32 * C];
  a = wf_reduce_shared<Op, 32>(a, int(threadIdx.y), C, room + threadIdx.y * C + threadIdx.x);
  if (is_one && threadIdx.y == 0)
    wf_pointer<typename Y::stored>(w[1])[o * chunks + c] = Y::store(a);
}

// The results of chunks, by the same tree: a group of G threads for an output. Words: 0 results,
// 1 output, 2 outputs, 3 results of each, 4 room for a 4096th of them.
template <class Op, class A, class Y, int G, class U>
WEFT_FN void wf_reduce_finish(const wf_u64* w) {
  U o = U(blockIdx.x) * (256 / G) + threadIdx.x / G, g = threadIdx.x % G;
  if (o >= U(w[2])) return;
  U count = U(w[3]), room = (count + 4095) / 4096;
  A* from = wf_pointer<A>(w[0]) + o * count;
  A* to = wf_pointer<A>(w[4]) + o * room;
  while (true) {
    U chunks = (count + 4095) / 4096;
    A a = A();
    for (U c = 0; c < chunks; ++c) {
      const wf_partials<A, U> x = {from};
      U start = c * 4096, n = count - start < 4096 ? count - start : 4096;
      a = wf_reduce_group<Op, G>(wf_reduce_lanes<Op, A, G, 512 / G>(x, start, n, g));
      if (g == 0) to[c] = a;
      if (G > 32) __syncthreads();
    }
    if (chunks == 1) {
      if (g == 0) wf_pointer<typename Y::stored>(w[1])[o] = Y::store(a);
      return;
    }
    if (G == 32) __syncwarp();
    A* other = from;
    from = to;
    to = other;
    count = chunks;
  }
}

#endif
