// Scans by the one pattern: chunks of 512, in each 32 lanes of 16 neighbours. A lane is scanned
// from its first element on, the lanes' results by doubling; an element takes what stands before
// its lane, then what stands before its chunk: the chunks' last elements, scanned the same way.
#ifndef WEFT_SCAN_CUH
#define WEFT_SCAN_CUH

#ifndef __CUDACC_RTC__
#include "elements.cuh"
#include "order.cuh"
#endif

// ---- the operations ---------------------------------------------------------
// lift: an element, and its index, as a state; apply: of two states the earlier and the later.

// The extreme so far, by its key, and where it is.
template <class K, class I>
struct wf_ranked {
  K key;
  I index;
};

struct wf_scan_sum {
  enum { is_choice = 0 };
  template <class A, class V, class I>
  WEFT_FN A lift(V x, I) {
    return A(x);
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return wf_add(a, b);
  }
};
struct wf_scan_prod {
  enum { is_choice = 0 };
  template <class A, class V, class I>
  WEFT_FN A lift(V x, I) {
    return A(x);
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return wf_mul(a, b);
  }
};
struct wf_scan_logsumexp {
  enum { is_choice = 0 };
  template <class A, class V, class I>
  WEFT_FN A lift(V x, I) {
    return x;
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    const A m = a > b ? a : b, d = a > b ? b - a : a - b;
    // Of infinities of one sign the difference is no number.
    const A sum = a == b && d != d ? a : m + wf_log1p(wf_exp(d));
    return ((a != a) | (b != b)) ? a + b : sum;
  }
};
// Of equal keys the later; NaN has the greatest key of both kinds.
struct wf_scan_max {
  enum { is_choice = 1 };
  template <class A, class V, class I>
  WEFT_FN A lift(V x, I i) {
    return A{wf_order_key(x), i};
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return b.key >= a.key ? b : a;
  }
};
struct wf_scan_min {
  enum { is_choice = 1 };
  template <class A, class V, class I>
  WEFT_FN A lift(V x, I i) {
    auto key = wf_order_key(x);
    return A{x != x ? key : decltype(key)(~key), i};
  }
  template <class A>
  WEFT_FN A apply(A a, A b) {
    return b.key >= a.key ? b : a;
  }
};

// A state in memory.
template <class A>
struct wf_as_state {
  typedef A stored;
  typedef A value;
  WEFT_FN A load(A x) { return x; }
  WEFT_FN A store(A x) { return x; }
};

template <class A>
WEFT_FN A wf_scan_up(A x, wf_u32 h) {
  return __shfl_up_sync(0xffffffffu, x, h);
}
template <class K, class I>
WEFT_FN wf_ranked<K, I> wf_scan_up(wf_ranked<K, I> x, wf_u32 h) {
  x.key = __shfl_up_sync(0xffffffffu, x.key, h);
  x.index = __shfl_up_sync(0xffffffffu, x.index, h);
  return x;
}

// ---- words of all -----------------------------------------------------------
// 0 input, 1 output, 2 indices, 3 states before the chunks or 0, 4 lines, 5 elements of a line, 6
// chunks of a line, 7 states of a line in 3 or, where only the chunks' last elements are wanted, in
// 1, 8 the input's stride along a line, 9 lines side by side in the output, 10 ... the space of the
// lines. The types: Op; X of the input; A the state; Y of the output; `elements`, whether the input
// has those and not states; `ends`, whether only the chunks' last elements are wanted.

template <class Op, class A, bool elements, class V, class U>
WEFT_FN A wf_scan_lift(V x, U i) {
  if constexpr (elements)
    return Op::template lift<A>(x, i);
  else
    return x;
}

// Element i of a line.
template <class Op, class X, class Y, bool elements, class A, class U>
WEFT_FN void wf_scan_put(const wf_u64* w, const typename X::stored* x, U line, U i, A state) {
  U inner = U(w[9]), outer = line / inner;
  U to = (outer * U(w[5]) + i) * inner + (line - outer * inner);
  if constexpr (elements && Op::is_choice) {
    wf_pointer<typename X::stored>(w[1])[to] = x[wf_signed(state.index * U(w[8]))];
    wf_pointer<wf_i64>(w[2])[to] = wf_i64(state.index);
  } else {
    wf_pointer<typename Y::stored>(w[1])[to] = Y::store(state);
  }
}

template <class X, int R, class U>
WEFT_FN const typename X::stored* wf_scan_line(const wf_u64* w, U line) {
  return wf_pointer<const typename X::stored>(w[0]) + wf_signed(wf_offset<R>(w + 10, line));
}

// A thread for a line of one lane at most.
template <class Op, class X, class A, class Y, int R, class U>
WEFT_FN void wf_scan_short(const wf_u64* w) {
  U line = wf_thread<U>();
  if (line >= U(w[4])) return;
  const typename X::stored* x = wf_scan_line<X, R>(w, line);
  A state = A();
  for (U i = 0; i < U(w[5]); ++i) {
    A next = Op::template lift<A>(X::load(x[wf_signed(i * U(w[8]))]), i);
    state = i > 0 ? Op::apply(state, next) : next;
    wf_scan_put<Op, X, Y, true>(w, x, line, i, state);
  }
}

// A warp for a chunk, four to a block. The elements pass through shared memory, so that both are
// read and written along the line.
template <class V, class A>
union wf_scan_slot {
  V value;
  A state;
};
template <class Op, class X, class A, class Y, bool elements, bool ends, int R, class U>
WEFT_FN void wf_scan_rows(const wf_u64* w) {
  typedef typename X::value V;
  __shared__ wf_scan_slot<V, A> slots[4][16 * 33 + 16];
  wf_u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  U unit = U(blockIdx.x) * 4 + warp, chunks = U(w[6]);
  U line = unit / chunks, chunk = unit - line * chunks, first = chunk * 512;
  bool is_there = line < U(w[4]);
  if (!is_there) line = 0;
  U rest = is_there ? U(w[5]) - first : U(0);
  wf_u32 count = rest < 512 ? wf_u32(rest) : 512u;
  const typename X::stored* x = wf_scan_line<X, R>(w, line);
  for (wf_u32 i = lane; i < count; i += 32)
    slots[warp][i + i / 16].value = X::load(x[wf_signed((first + i) * U(w[8]))]);
  __syncwarp();
  wf_scan_slot<V, A>* own = slots[warp] + lane * 17;
  wf_u32 start = lane * 16, mine = count > start ? count - start : 0u;
  if (mine > 16) mine = 16;
  A total = A();
  for (wf_u32 j = 0; j < mine; ++j) {
    A next = wf_scan_lift<Op, A, elements>(own[j].value, first + start + j);
    total = j > 0 ? Op::apply(total, next) : next;
  }
  A sum = total;
  for (wf_u32 h = 1; h < 32; h *= 2) {
    A other = wf_scan_up(sum, h);
    if (lane >= h) sum = Op::apply(other, sum);
  }
  A before = wf_scan_up(sum, 1u);
  if constexpr (ends) {
    if (lane == 31 && is_there)
      wf_pointer<A>(w[1])[line * U(w[7]) + chunk] = Op::apply(before, total);
    return;
  }
  A state = A(), all_before = A();
  bool has_before = chunk > 0 && is_there;
  if (has_before) all_before = wf_pointer<const A>(w[3])[line * U(w[7]) + chunk - 1];
  for (wf_u32 j = 0; j < mine; ++j) {
    A next = wf_scan_lift<Op, A, elements>(own[j].value, first + start + j);
    state = j > 0 ? Op::apply(state, next) : next;
    A result = lane > 0 ? Op::apply(before, state) : state;
    own[j].state = has_before ? Op::apply(all_before, result) : result;
  }
  __syncwarp();
  for (wf_u32 i = lane; i < count; i += 32)
    wf_scan_put<Op, X, Y, elements>(w, x, line, first + i, slots[warp][i + i / 16].state);
}

// A block for a chunk of 32 lines that lie side by side: 32 threads each.
template <class Op, class X, class A, class Y, bool ends, int R, class U>
WEFT_FN void wf_scan_columns(const wf_u64* w) {
  __shared__ wf_scan_slot<A, A> sums[32][32];
  wf_u32 lane = threadIdx.y, column = threadIdx.x;
  U chunks = U(w[6]), tile = U(blockIdx.x) / chunks, chunk = U(blockIdx.x) - tile * chunks;
  U line = tile * 32 + column;
  bool is_there = line < U(w[4]);
  if (!is_there) line = 0;
  const typename X::stored* x = wf_scan_line<X, R>(w, line);
  U start = chunk * 512 + lane * 16;
  U rest = is_there && start < U(w[5]) ? U(w[5]) - start : U(0);
  U mine = rest < 16 ? rest : U(16);
  A total = A();
  for (U j = 0; j < mine; ++j) {
    A next = Op::template lift<A>(X::load(x[wf_signed((start + j) * U(w[8]))]), start + j);
    total = j > 0 ? Op::apply(total, next) : next;
  }
  A sum = total;
  for (wf_u32 h = 1; h < 32; h *= 2) {
    sums[lane][column].state = sum;
    __syncthreads();
    if (lane >= h) sum = Op::apply(sums[lane - h][column].state, sum);
    __syncthreads();
  }
  sums[lane][column].state = sum;
  __syncthreads();
  A before = A();
  if (lane > 0) before = sums[lane - 1][column].state;
  if constexpr (ends) {
    if (lane == 31 && is_there)
      wf_pointer<A>(w[1])[line * U(w[7]) + chunk] = Op::apply(before, total);
    return;
  }
  A state = A(), all_before = A();
  bool has_before = chunk > 0 && is_there;
  if (has_before) all_before = wf_pointer<const A>(w[3])[line * U(w[7]) + chunk - 1];
  for (U j = 0; j < mine; ++j) {
    A next = Op::template lift<A>(X::load(x[wf_signed((start + j) * U(w[8]))]), start + j);
    state = j > 0 ? Op::apply(state, next) : next;
    A result = lane > 0 ? Op::apply(before, state) : state;
    if (has_before) result = Op::apply(all_before, result);
    wf_scan_put<Op, X, Y, true>(w, x, line, start + j, result);
  }
}

#endif
