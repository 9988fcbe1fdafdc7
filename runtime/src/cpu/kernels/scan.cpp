// Scans of one chunk of neighbouring lines. A lane is scanned from its first element on; the lanes'
// results are scanned by doubling (Hillis and Steele, Data parallel algorithms, 1986); then each
// element takes what stands before its lane, and then what stands before the chunk.
#include "isa.h"

namespace weft::detail {
namespace {

struct Sum {
  template <class T> struct Accumulator { using type = T; };
  template <class A> static A apply(A a, A b) { return wf_add(a, b); }
};
struct Prod {
  template <class T> struct Accumulator { using type = T; };
  template <class A> static A apply(A a, A b) { return wf_mul(a, b); }
};
template <> struct Sum::Accumulator<wf_i32> { using type = wf_i64; };
template <> struct Prod::Accumulator<wf_i32> { using type = wf_i64; };
struct LogSumExp {
  template <class T> struct Accumulator { using type = T; };
  template <class A> static A apply(A a, A b) {
    const A m = a > b ? a : b, d = a > b ? b - a : a - b;
    // Of infinities of one sign the difference is no number.
    const A sum = a == b && d != d ? a : m + wf_log1p(wf_exp(d));
    return ((a != a) | (b != b)) ? a + b : sum;
  }
};

template <class Op, class T>
using AccumulatorOf = typename Op::template Accumulator<T>::type;

// r[j] = before[j] ⊕ x[j], in place too.
template <class Op, class A>
inline __attribute__((always_inline)) void put_before(A* r, const A* before, const A* x,
                                                      int64_t n) {
  WEFT_EACH
  for (int64_t j = 0; j < n; ++j) r[j] = Op::apply(before[j], x[j]);
}

// The lanes' results become those of all lanes up to each; `end` gets that of the last.
template <class Op, class A>
inline __attribute__((always_inline)) void scan_ends(A* ends, int64_t lanes, int64_t n, A* end) {
  A* const last = ends + (lanes - 1) * n;
  if (end)
    for (int64_t j = 0; j < n; ++j) end[j] = last[j];
  for (int64_t h = 1; h < lanes; h *= 2)
    for (int64_t l = lanes - 1; l >= h; --l)
      put_before<Op>(ends + l * n, ends + (l - h) * n, ends + l * n, n);
  // Not what doubling gave: what an element of the last lane is made of.
  if (end && lanes > 1) put_before<Op>(end, last - n, end, n);
}

// ---- one line

// `count` lanes side by side, so that their additions overlap.
template <class Op, class T, bool stores, int count>
inline __attribute__((always_inline)) void scan_lanes_of(AccumulatorOf<Op, T>* r, const T* x,
                                                         int64_t n, AccumulatorOf<Op, T>* ends) {
  using A = AccumulatorOf<Op, T>;
  A a[count];
  for (int k = 0; k < count; ++k) {
    a[k] = static_cast<A>(x[k * scan_lane]);
    if (stores) r[k * scan_lane] = a[k];
  }
  for (int64_t i = 1; i < n; ++i)
    for (int k = 0; k < count; ++k) {
      a[k] = Op::apply(a[k], static_cast<A>(x[k * scan_lane + i]));
      if (stores) r[k * scan_lane + i] = a[k];
    }
  for (int k = 0; k < count; ++k) ends[k] = a[k];
}

template <class Op, class T, bool stores>
void scan_line(AccumulatorOf<Op, T>* r, const T* x, int64_t rows,
               const AccumulatorOf<Op, T>* before, AccumulatorOf<Op, T>* end) {
  using A = AccumulatorOf<Op, T>;
  constexpr int together = 8;
  A ends[scan_lanes];
  int64_t lanes = 0;
  for (; (lanes + together) * scan_lane <= rows; lanes += together)
    scan_lanes_of<Op, T, stores, together>(stores ? r + lanes * scan_lane : r,
                                           x + lanes * scan_lane, scan_lane, ends + lanes);
  for (; lanes * scan_lane < rows; ++lanes) {
    const int64_t first = lanes * scan_lane, n = rows - first;
    scan_lanes_of<Op, T, stores, 1>(stores ? r + first : r, x + first,
                                    n < scan_lane ? n : scan_lane, ends + lanes);
  }
  scan_ends<Op>(ends, lanes, 1, end);
  if (!stores) return;
  for (int64_t l = 0; l < lanes; ++l) {
    A* lane = r + l * scan_lane;
    const int64_t rest = rows - l * scan_lane, n = rest < scan_lane ? rest : scan_lane;
    if (l > 0) {
      const A a = ends[l - 1];
      WEFT_EACH
      for (int64_t i = 0; i < n; ++i) lane[i] = Op::apply(a, lane[i]);
    }
    if (!before) continue;
    const A a = *before;
    WEFT_EACH
    for (int64_t i = 0; i < n; ++i) lane[i] = Op::apply(a, lane[i]);
  }
}

// ---- lines side by side

template <class Op, class T, bool stores>
void scan_columns_of(AccumulatorOf<Op, T>* r, const T* x, int64_t rows, int64_t n,
                     const AccumulatorOf<Op, T>* before, AccumulatorOf<Op, T>* end) {
  using A = AccumulatorOf<Op, T>;
  A ends[scan_lanes * scan_columns];
  int64_t lanes = 0;
  for (int64_t first = 0; first < rows; first += scan_lane, ++lanes) {
    const int64_t stop = first + scan_lane < rows ? first + scan_lane : rows;
    A* const a = ends + lanes * n;
    for (int64_t i = first; i < stop; ++i) {
      const T* row = x + i * n;
      if (i == first) {
        WEFT_EACH
        for (int64_t j = 0; j < n; ++j) a[j] = static_cast<A>(row[j]);
      } else {
        WEFT_EACH
        for (int64_t j = 0; j < n; ++j) a[j] = Op::apply(a[j], static_cast<A>(row[j]));
      }
      if (stores) {
        WEFT_EACH
        for (int64_t j = 0; j < n; ++j) r[i * n + j] = a[j];
      }
    }
  }
  scan_ends<Op>(ends, lanes, n, end);
  if (!stores) return;
  for (int64_t i = 0; i < rows; ++i) {
    if (i >= scan_lane)
      put_before<Op>(r + i * n, ends + (i / scan_lane - 1) * n, r + i * n, n);
    if (before) put_before<Op>(r + i * n, before, r + i * n, n);
  }
}

template <class Op, class T>
void scan(void* result, const void* px, int64_t rows, int64_t columns, const void* pbefore,
          void* pend) {
  using A = AccumulatorOf<Op, T>;
  A *r = static_cast<A*>(result), *end = static_cast<A*>(pend);
  const T* x = static_cast<const T*>(px);
  const A* before = static_cast<const A*>(pbefore);
  if (columns == 1)
    r ? scan_line<Op, T, true>(r, x, rows, before, end)
      : scan_line<Op, T, false>(r, x, rows, before, end);
  else
    r ? scan_columns_of<Op, T, true>(r, x, rows, columns, before, end)
      : scan_columns_of<Op, T, false>(r, x, rows, columns, before, end);
}

template <class Op>
void fill_floats(ScanFn (&row)[kernel_class_count]) {
  row[class_f32] = scan<Op, float>;
  row[class_f64] = scan<Op, double>;
}
template <class Op>
void fill_all(ScanFn (&row)[kernel_class_count]) {
  fill_floats<Op>(row);
  row[class_i32] = scan<Op, wf_i32>;
  row[class_i64] = scan<Op, wf_i64>;
}

}  // namespace

void WEFT_ISA_NAME(fill_scan_)(KernelTable& table) {
  fill_all<Sum>(table.scan[scan_sum]);
  fill_all<Prod>(table.scan[scan_prod]);
  fill_floats<LogSumExp>(table.scan[scan_logsumexp]);
}

}  // namespace weft::detail
