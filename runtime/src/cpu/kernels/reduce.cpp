// Reductions of one chunk and of columns. Floating sums and products follow the one tree; the
// other reductions give the same bits in any order.
#include "isa.h"

namespace weft::detail {
namespace {

// ---- the operations: identity, lift of an element, combination

struct Sum {
  template <class T> struct Accumulator { using type = T; };
  static float identity(float) { return -0.0f; }
  static double identity(double) { return -0.0; }
  static wf_i64 identity(wf_i64) { return 0; }
  template <class A, class T> static A lift(T x) { return static_cast<A>(x); }
  template <class A> static A apply(A a, A b) { return wf_add(a, b); }
  template <class V> static V apply_vector(V a, V b) { return a + b; }
};
struct Prod {
  template <class T> struct Accumulator { using type = T; };
  template <class T> static T identity(T) { return T(1); }
  template <class A, class T> static A lift(T x) { return static_cast<A>(x); }
  template <class A> static A apply(A a, A b) { return wf_mul(a, b); }
  template <class V> static V apply_vector(V a, V b) { return a * b; }
};
template <> struct Sum::Accumulator<wf_i32> { using type = wf_i64; };
template <> struct Prod::Accumulator<wf_i32> { using type = wf_i64; };

// The greater and the lesser in any order: one NaN whatever the NaNs, and +0 greater than -0.
#define WEFT_EXTREMES(T, nan)                                          \
  inline T greater(T a, T b) {                                         \
    T m = a > b ? a : b;                                               \
    m = a == b ? wf_from_bits(wf_bits(a) & wf_bits(b)) : m;            \
    return (a != a) | (b != b) ? nan : m;                              \
  }                                                                    \
  inline T lesser(T a, T b) {                                          \
    T m = a < b ? a : b;                                               \
    m = a == b ? wf_from_bits(wf_bits(a) | wf_bits(b)) : m;            \
    return (a != a) | (b != b) ? nan : m;                              \
  }
WEFT_EXTREMES(float, WF_NAN_F)
WEFT_EXTREMES(double, WF_NAN_D)
#undef WEFT_EXTREMES
inline wf_i32 greater(wf_i32 a, wf_i32 b) { return a > b ? a : b; }
inline wf_i64 greater(wf_i64 a, wf_i64 b) { return a > b ? a : b; }
inline wf_i32 lesser(wf_i32 a, wf_i32 b) { return a < b ? a : b; }
inline wf_i64 lesser(wf_i64 a, wf_i64 b) { return a < b ? a : b; }

struct Max {
  template <class T> struct Accumulator { using type = T; };
  static float identity(float) { return -WF_INF_F; }
  static double identity(double) { return -WF_INF_D; }
  static wf_i32 identity(wf_i32) { return -2147483647 - 1; }
  static wf_i64 identity(wf_i64) { return -0x7fffffffffffffffll - 1; }
  template <class A> static A lift(A x) { return x; }
  template <class A> static A apply(A a, A b) { return greater(a, b); }
};
struct Min {
  template <class T> struct Accumulator { using type = T; };
  static float identity(float) { return WF_INF_F; }
  static double identity(double) { return WF_INF_D; }
  static wf_i32 identity(wf_i32) { return 2147483647; }
  static wf_i64 identity(wf_i64) { return 0x7fffffffffffffffll; }
  template <class A> static A lift(A x) { return x; }
  template <class A> static A apply(A a, A b) { return lesser(a, b); }
};
struct Any {
  template <class T> struct Accumulator { using type = wf_i32; };
  static wf_i32 identity(wf_i32) { return 0; }
  template <class A, class T> static A lift(T x) { return x != T(0) ? 1 : 0; }
  static wf_i32 apply(wf_i32 a, wf_i32 b) { return a | b; }
};
struct All {
  template <class T> struct Accumulator { using type = wf_i32; };
  static wf_i32 identity(wf_i32) { return 1; }
  template <class A, class T> static A lift(T x) { return x != T(0) ? 1 : 0; }
  static wf_i32 apply(wf_i32 a, wf_i32 b) { return a & b; }
};

template <class Op, class T>
using AccumulatorOf = typename Op::template Accumulator<T>::type;

// ---- floating sums and products

// a[0] ⊕ ... by halving, `count` a power of two.
template <class Op, class T>
__attribute__((noinline)) T halve(T* a, int count) {
  for (int h = count / 2; h > 0; h /= 2)
    WEFT_EACH
    for (int l = 0; l < h; ++l) a[l] = Op::apply(a[l], a[l + h]);
  return a[0];
}

// The tree of one chunk in registers: `width` lanes at a time, the groups of lanes in the order in
// which halving joins them, so that no array of lanes stands on the stack (its stores would alias
// the loads 4 KiB apart).
template <class Op, class T>
struct Tree {
  typedef T V __attribute__((vector_size(WEFT_VECTOR_BYTES)));
  typedef T Unaligned __attribute__((vector_size(WEFT_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
  static constexpr int lanes = WEFT_VECTOR_BYTES / sizeof(T);
  static constexpr int vectors = 8;
  static constexpr int width = vectors * lanes;
  static constexpr int groups = lane_count / width;
  struct Pack {
    V v[vectors];
  };

  static inline __attribute__((always_inline)) void load(Pack& a, const T* x) {
#pragma GCC unroll 8
    for (int i = 0; i < vectors; ++i) a.v[i] = *reinterpret_cast<const Unaligned*>(x + i * lanes);
  }
  static inline __attribute__((always_inline)) void join(Pack& a, const Pack& b) {
#pragma GCC unroll 8
    for (int i = 0; i < vectors; ++i) a.v[i] = Op::apply_vector(a.v[i], b.v[i]);
  }
  static inline __attribute__((always_inline)) void add(Pack& a, const T* x) {
    Pack b;
    load(b, x);
    join(a, b);
  }

  // The lanes of group g: its elements of all rows, in order.
  template <bool whole>
  static inline __attribute__((always_inline)) void group(Pack& a, const T* x, const T* tail,
                                                          int rows, int g) {
    load(a, x + g * width);
    if constexpr (whole) {
#pragma GCC unroll 8
      for (int r = 1; r < lane_adds; ++r) add(a, x + r * lane_count + g * width);
      constexpr int ahead = chunk_size / groups;
#pragma GCC unroll 64
      for (int i = 0; i < ahead; i += 64 / int(sizeof(T)))
        __builtin_prefetch(x + chunk_size + g * ahead + i);
    } else {
      for (int r = 1; r < rows; ++r) add(a, x + r * lane_count + g * width);
      add(a, tail + g * width);
    }
  }

  // Groups g, g + distance, g + 2 distance, ... joined as halving joins them.
  template <bool whole, int g, int distance>
  static inline __attribute__((always_inline)) void tree(Pack& a, const T* x, const T* tail,
                                                         int rows) {
    if constexpr (distance == groups) {
      group<whole>(a, x, tail, rows, g);
    } else {
      tree<whole, g, 2 * distance>(a, x, tail, rows);
      Pack b;
      tree<whole, g + distance, 2 * distance>(b, x, tail, rows);
      join(a, b);
    }
  }

  static inline __attribute__((always_inline)) T finish(Pack& a) {
#pragma GCC unroll 4
    for (int h = vectors / 2; h > 0; h /= 2)
#pragma GCC unroll 4
      for (int i = 0; i < h; ++i) a.v[i] = Op::apply_vector(a.v[i], a.v[i + h]);
    T last[lanes];
    for (int i = 0; i < lanes; ++i) last[i] = a.v[0][i];
    return halve<Op>(last, lanes);
  }

  static __attribute__((noinline)) T whole_chunk(const T* x) {
    Pack a;
    tree<true, 0, 1>(a, x, nullptr, lane_adds);
    return finish(a);
  }

  static __attribute__((noinline)) T part_of_chunk(const T* x, int n) {
    const int rows = n / lane_count, rest = n % lane_count;
    T tail[lane_count];
    WEFT_EACH
    for (int i = 0; i < rest; ++i) tail[i] = x[rows * lane_count + i];
    for (int i = rest; i < lane_count; ++i) tail[i] = Op::identity(T());
    Pack a;
    tree<false, 0, 1>(a, x, tail, rows);
    return finish(a);
  }

  static __attribute__((noinline)) T few(const T* x, int n) {
    T a[lane_count];
    int count = 1;
    while (count < n) count *= 2;
    WEFT_EACH
    for (int i = 0; i < n; ++i) a[i] = x[i];
    for (int i = n; i < count; ++i) a[i] = Op::identity(T());
    return halve<Op>(a, count);
  }

  static void chunk(void* result, const void* px, int64_t n) {
    const T* x = static_cast<const T*>(px);
    T& r = *static_cast<T*>(result);
    if (n == chunk_size)
      r = whole_chunk(x);
    else if (n >= lane_count)
      r = part_of_chunk(x, static_cast<int>(n));
    else
      r = few(x, static_cast<int>(n));
  }
};

// ---- reductions whose order does not matter

template <class Op, class T>
__attribute__((noinline)) AccumulatorOf<Op, T> any_order(const T* x, int64_t n) {
  using A = AccumulatorOf<Op, T>;
  A a[block_size];
  for (int j = 0; j < block_size; ++j) a[j] = Op::identity(A());
  int64_t i = 0;
  for (; i + block_size <= n; i += block_size)
    WEFT_EACH
    for (int j = 0; j < block_size; ++j)
      a[j] = Op::apply(a[j], Op::template lift<A>(x[i + j]));
  for (; i < n; ++i) a[0] = Op::apply(a[0], Op::template lift<A>(x[i]));
  return halve<Op>(a, block_size);
}

template <class Op, class T>
void chunk_any_order(void* result, const void* x, int64_t n) {
  *static_cast<AccumulatorOf<Op, T>*>(result) = any_order<Op>(static_cast<const T*>(x), n);
}

// ---- columns

template <class Op, class T, bool tree>
void lanes(void* result, const void* px, int64_t stride, int64_t rows, int64_t columns) {
  using A = AccumulatorOf<Op, T>;
  A* __restrict r = static_cast<A*>(result);
  const T* __restrict x = static_cast<const T*>(px);
  if (tree && rows == lane_adds) {
    WEFT_EACH
    for (int64_t j = 0; j < columns; ++j) {
      A a = Op::template lift<A>(x[j]);
#pragma GCC unroll 8
      for (int i = 1; i < lane_adds; ++i) a = Op::apply(a, Op::template lift<A>(x[i * stride + j]));
      r[j] = a;
    }
    return;
  }
  WEFT_EACH
  for (int64_t j = 0; j < columns; ++j) r[j] = Op::template lift<A>(x[j]);
  for (int64_t i = 1; i < rows; ++i)
    WEFT_EACH
    for (int64_t j = 0; j < columns; ++j)
      r[j] = Op::apply(r[j], Op::template lift<A>(x[i * stride + j]));
}

template <class Op, class A>
void combine(void* pa, const void* pb, int64_t n) {
  A* __restrict a = static_cast<A*>(pa);
  const A* __restrict b = static_cast<const A*>(pb);
  WEFT_EACH
  for (int64_t j = 0; j < n; ++j) a[j] = Op::apply(a[j], b[j]);
}

template <class Op, class T, bool tree>
void fill_class(ReduceKernels& row) {
  if constexpr (tree)
    row.chunk = Tree<Op, T>::chunk;
  else
    row.chunk = chunk_any_order<Op, T>;
  row.lanes = lanes<Op, T, tree>;
  row.combine = combine<Op, AccumulatorOf<Op, T>>;
}

template <class Op, bool tree>
void fill_reduction(ReduceKernels (&rows)[kernel_class_count]) {
  fill_class<Op, float, tree>(rows[class_f32]);
  fill_class<Op, double, tree>(rows[class_f64]);
  fill_class<Op, wf_i32, false>(rows[class_i32]);
  fill_class<Op, wf_i64, false>(rows[class_i64]);
}

// ---- arguments of extremes

template <class T>
inline bool is_nan(T x) {
  return x != x;
}

template <bool greatest, class T>
inline __attribute__((always_inline)) bool is_better(T x, T best) {
  if constexpr (greatest) return (x > best) | (is_nan(x) & !is_nan(best));
  return (x < best) | (is_nan(x) & !is_nan(best));
}

template <class T>
int64_t find(const T* x, int64_t n, T value) {
  const bool nan = is_nan(value);
  for (int64_t i = 0; i < n; i += block_size) {
    const int64_t m = n - i < block_size ? n - i : int64_t{block_size};
    bool hit = false;
    for (int64_t j = 0; j < m; ++j) hit |= nan ? is_nan(x[i + j]) : x[i + j] == value;
    if (!hit) continue;
    for (int64_t j = 0; j < m; ++j)
      if (nan ? is_nan(x[i + j]) : x[i + j] == value) return i + j;
  }
  return 0;
}

template <bool greatest, class T>
void arg_chunk(void* pbest, int64_t* index, const void* px, int64_t n, int64_t base) {
  const T* x = static_cast<const T*>(px);
  T& best = *static_cast<T*>(pbest);
  const T m = greatest ? any_order<Max>(x, n) : any_order<Min>(x, n);
  if (base != 0 && !is_better<greatest>(m, best)) return;
  best = m;
  *index = base + find(x, n, m);
}

template <bool greatest, class T>
void arg_columns(void* pbest, int64_t* pindex, const void* px, int64_t n, int64_t base) {
  T* __restrict best = static_cast<T*>(pbest);
  int64_t* __restrict index = pindex;
  const T* __restrict x = static_cast<const T*>(px);
  if (base == 0) {
    WEFT_EACH
    for (int64_t j = 0; j < n; ++j) best[j] = x[j];
    WEFT_EACH
    for (int64_t j = 0; j < n; ++j) index[j] = 0;
    return;
  }
  WEFT_EACH
  for (int64_t j = 0; j < n; ++j) {
    const bool better = is_better<greatest>(x[j], best[j]);
    best[j] = better ? x[j] : best[j];
    index[j] = better ? base : index[j];
  }
}

template <class T>
void fill_arg(KernelTable& table, int c) {
  table.arg[0][c] = {arg_chunk<true, T>, arg_columns<true, T>};
  table.arg[1][c] = {arg_chunk<false, T>, arg_columns<false, T>};
}

}  // namespace

void WEFT_ISA_NAME(fill_reduce_)(KernelTable& table) {
  fill_reduction<Sum, true>(table.reduce[reduce_sum]);
  fill_reduction<Prod, true>(table.reduce[reduce_prod]);
  fill_reduction<Max, false>(table.reduce[reduce_max]);
  fill_reduction<Min, false>(table.reduce[reduce_min]);
  fill_reduction<Any, false>(table.reduce[reduce_any]);
  fill_reduction<All, false>(table.reduce[reduce_all]);
  fill_arg<float>(table, class_f32);
  fill_arg<double>(table, class_f64);
  fill_arg<wf_i32>(table, class_i32);
  fill_arg<wf_i64>(table, class_i64);
}

}  // namespace weft::detail
