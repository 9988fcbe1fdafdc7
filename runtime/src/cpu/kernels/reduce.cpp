// Reductions of one chunk and of columns. Floating sums and products follow the one tree; the
// other reductions give the same bits in any order.
#include "reductions.h"

namespace weft::detail {
namespace {

// ---- floating sums and products

// The first three halvings of lane_count lanes at once, in registers, and the others.
template <class Op, class T>
__attribute__((noinline)) T halve_lanes(const T* lane) {
  constexpr int n = lane_count / 8;
  T a[n];
  WEFT_EACH
  for (int l = 0; l < n; ++l)
    a[l] = Op::apply(
        Op::apply(Op::apply(lane[l], lane[l + 4 * n]), Op::apply(lane[l + 2 * n], lane[l + 6 * n])),
        Op::apply(Op::apply(lane[l + n], lane[l + 5 * n]),
                  Op::apply(lane[l + 3 * n], lane[l + 7 * n])));
  return halve<Op>(a, n);
}

// The same of lanes that are sums of one row or two, which are made on the way.
template <class Op, int rows, class T>
__attribute__((noinline)) T halve_rows(const T* x) {
  constexpr int n = lane_count / 8;
  T a[n];
  const auto lane = [x](int l) {
    if constexpr (rows == 1) return x[l];
    return Op::apply(x[l], x[lane_count + l]);
  };
  WEFT_EACH
  for (int l = 0; l < n; ++l)
    a[l] = Op::apply(
        Op::apply(Op::apply(lane(l), lane(l + 4 * n)), Op::apply(lane(l + 2 * n), lane(l + 6 * n))),
        Op::apply(Op::apply(lane(l + n), lane(l + 5 * n)),
                  Op::apply(lane(l + 3 * n), lane(l + 7 * n))));
  return halve<Op>(a, n);
}

// result[l] = x[l] ⊕ x[stride+l] ⊕ ... over eight rows. The sums of a few lanes at a time stay in
// registers: lanes in memory that every row is added to would alias the loads 4 KiB apart.
template <class Op, class T>
inline __attribute__((always_inline)) void add_eight(T* r, const T* x, int64_t stride, int64_t n) {
  WEFT_EACH
  for (int64_t l = 0; l < n; ++l) {
    T a = x[l];
#pragma GCC unroll 8
    for (int i = 1; i < lane_adds; ++i) a = Op::apply(a, x[i * stride + l]);
    r[l] = a;
  }
}

template <class Op, class T>
inline __attribute__((always_inline)) void add_rows(T* r, const T* x, int64_t stride, int64_t rows,
                                                    int64_t n) {
  WEFT_EACH
  for (int64_t l = 0; l < n; ++l) r[l] = x[l];
  for (int64_t i = 1; i < rows; ++i) {
    WEFT_EACH
    for (int64_t l = 0; l < n; ++l) r[l] = Op::apply(r[l], x[i * stride + l]);
  }
}

template <class Op, class T>
void chunk_tree(void* result, const void* px, int64_t n) {
  const T* x = static_cast<const T*>(px);
  T* const r = static_cast<T*>(result);
  if (n == lane_count) return static_cast<void>(*r = halve_rows<Op, 1>(x));
  if (n == 2 * lane_count) return static_cast<void>(*r = halve_rows<Op, 2>(x));
  T lane[lane_count];
  int count = lane_count;
  if (n == chunk_size) {
    add_eight<Op>(lane, x, lane_count, lane_count);
  } else if (n >= lane_count) {
    const int64_t rows = n / lane_count, rest = n % lane_count;
    add_rows<Op>(lane, x, lane_count, rows, lane_count);
    WEFT_EACH
    for (int64_t l = 0; l < rest; ++l) lane[l] = Op::apply(lane[l], x[rows * lane_count + l]);
  } else {
    count = 1;
    while (count < n) count *= 2;
    for (int64_t l = 0; l < n; ++l) lane[l] = x[l];
    for (int64_t l = n; l < count; ++l) lane[l] = Op::identity(T());
  }
  *r = count == lane_count ? halve_lanes<Op>(lane) : halve<Op>(lane, count);
}

// ---- columns

template <class Op, class T>
void lanes_tree(void* result, const void* px, int64_t stride, int64_t rows, int64_t columns) {
  T* r = static_cast<T*>(result);
  const T* x = static_cast<const T*>(px);
  if (rows == lane_adds)
    add_eight<Op>(r, x, stride, columns);
  else
    add_rows<Op>(r, x, stride, rows, columns);
}

template <class Op, class T>
void lanes_any_order(void* result, const void* px, int64_t stride, int64_t rows, int64_t columns) {
  using A = AccumulatorOf<Op, T>;
  A* __restrict r = static_cast<A*>(result);
  const T* __restrict x = static_cast<const T*>(px);
  WEFT_EACH
  for (int64_t j = 0; j < columns; ++j) r[j] = Op::template lift<A>(x[j]);
  int64_t i = 1;
  // Four rows at a time: rows are pages apart, and their misses should overlap.
  for (; i + 4 <= rows; i += 4) {
    const T* __restrict four = x + i * stride;
    WEFT_EACH
    for (int64_t j = 0; j < columns; ++j) {
      const A a = Op::apply(Op::template lift<A>(four[j]), Op::template lift<A>(four[stride + j]));
      const A b = Op::apply(Op::template lift<A>(four[2 * stride + j]),
                            Op::template lift<A>(four[3 * stride + j]));
      r[j] = Op::apply(r[j], Op::apply(a, b));
    }
  }
  for (; i < rows; ++i) {
    WEFT_EACH
    for (int64_t j = 0; j < columns; ++j)
      r[j] = Op::apply(r[j], Op::template lift<A>(x[i * stride + j]));
  }
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
  if constexpr (tree) {
    row.chunk = chunk_tree<Op, T>;
    row.lanes = lanes_tree<Op, T>;
  } else {
    row.chunk = chunk_any_order<Op, T>;
    row.lanes = lanes_any_order<Op, T>;
  }
  row.is_any_order = !tree;
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

// The first x[i] that is the value; a NaN is any NaN.
template <bool nan, class T>
int64_t find(const T* x, int64_t n, T value) {
  const auto is_it = [value](T a) { return nan ? a != a : a == value; };
  int64_t i = 0;
  for (; i + fold_width <= n; i += fold_width) {
    int hits = 0;
    for (int j = 0; j < fold_width; ++j) hits |= is_it(x[i + j]);
    if (hits) break;
  }
  while (i + 1 < n && !is_it(x[i])) ++i;
  return i;
}

template <bool greatest, class T>
void arg_chunk(void* pbest, int64_t* index, const void* px, int64_t n, int64_t base) {
  const T* x = static_cast<const T*>(px);
  T& best = *static_cast<T*>(pbest);
  const T m = greatest ? reduce_any_order<Max>(x, n) : reduce_any_order<Min>(x, n);
  if (base != 0 && !is_better<greatest>(m, best)) return;
  best = m;
  *index = base + (is_nan(m) ? find<true>(x, n, m) : find<false>(x, n, m));
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
