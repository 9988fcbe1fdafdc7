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
    return (a != a) | (b != b) ? a + b : sum;
  }
};

// r[j] = before[j] ⊕ x[j], in place too.
template <class Op, class A>
inline __attribute__((always_inline)) void put_before(A* r, const A* before, const A* x,
                                                      int64_t n) {
  WEFT_EACH
  for (int64_t j = 0; j < n; ++j) r[j] = Op::apply(before[j], x[j]);
}

template <class Op, class T>
inline __attribute__((always_inline)) void scan_rows(
    typename Op::template Accumulator<T>::type* r, const T* x, int64_t rows, int64_t n,
    const typename Op::template Accumulator<T>::type* before) {
  using A = typename Op::template Accumulator<T>::type;
  A lane_ends[scan_lanes * scan_columns];
  int64_t lanes = 0;
  for (int64_t first = 0; first < rows; first += scan_lane, ++lanes) {
    const int64_t end = first + scan_lane < rows ? first + scan_lane : rows;
    WEFT_EACH
    for (int64_t j = 0; j < n; ++j) r[first * n + j] = static_cast<A>(x[first * n + j]);
    for (int64_t i = first + 1; i < end; ++i) {
      WEFT_EACH
      for (int64_t j = 0; j < n; ++j)
        r[i * n + j] = Op::apply(r[(i - 1) * n + j], static_cast<A>(x[i * n + j]));
    }
    for (int64_t j = 0; j < n; ++j) lane_ends[lanes * n + j] = r[(end - 1) * n + j];
  }
  for (int64_t h = 1; h < lanes; h *= 2)
    for (int64_t l = lanes - 1; l >= h; --l)
      put_before<Op>(lane_ends + l * n, lane_ends + (l - h) * n, lane_ends + l * n, n);
  for (int64_t i = scan_lane; i < rows; ++i)
    put_before<Op>(r + i * n, lane_ends + (i / scan_lane - 1) * n, r + i * n, n);
  if (!before) return;
  for (int64_t i = 0; i < rows; ++i) put_before<Op>(r + i * n, before, r + i * n, n);
}

template <class Op, class T>
void scan(void* result, const void* px, int64_t rows, int64_t columns, const void* pbefore) {
  using A = typename Op::template Accumulator<T>::type;
  A* r = static_cast<A*>(result);
  const T* x = static_cast<const T*>(px);
  const A* before = static_cast<const A*>(pbefore);
  if (columns == 1)
    scan_rows<Op>(r, x, rows, 1, before);
  else
    scan_rows<Op>(r, x, rows, columns, before);
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
