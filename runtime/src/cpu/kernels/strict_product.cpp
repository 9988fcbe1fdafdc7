// Products of float matrices with one order of sums, that of the generated kernels.
#include "isa.h"

// Before a loop over rows: sums stay in registers only where it is gone before the one within is
// vectorised (g++ 12: 15 times faster).
#if defined(__clang__)
#define WEFT_UNROLL _Pragma("clang loop unroll(full)")
#else
#define WEFT_UNROLL _Pragma("GCC unroll 4")
#endif

namespace weft::detail {
namespace {

// A tile of c stays in registers while k runs: enough sums that no fma waits for the one before.
constexpr int tile_rows = 4;
template <class T>
constexpr int tile_columns = 2 * WEFT_VECTOR_BYTES / int(sizeof(T));

template <class T>
struct Operands {
  const T* a;
  const T* b;
  int64_t a_row, a_column, b_stride, k;
  bool ends_with_zero;
};

template <class T, int rows>
void multiply(const Operands<T>& of, T* __restrict c, int64_t c_stride) {
  constexpr int columns = tile_columns<T>;
  T sums[rows][columns] = {};
  for (int64_t p = 0; p < of.k; ++p) {
    const T* __restrict row = of.b + p * of.b_stride;
    const T* __restrict column = of.a + p * of.a_column;
    WEFT_UNROLL
    for (int i = 0; i < rows; ++i) {
      const T factor = column[i * of.a_row];
      WEFT_EACH
      for (int j = 0; j < columns; ++j) sums[i][j] = wf_fma(factor, row[j], sums[i][j]);
    }
  }
  const T end = of.ends_with_zero ? T(0) : -T(0);  // what x + -0 is, is x
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) c[i * c_stride + j] = sums[i][j] + end;
}

template <class T>
void product(void* pc, int64_t c_stride, const void* pa, int64_t a_row, int64_t a_column,
             const void* pb, int64_t b_stride, int64_t m, int64_t n, int64_t k,
             bool ends_with_zero) {
  static_assert(strict_columns % tile_columns<T> == 0);
  T* const c = static_cast<T*>(pc);
  Operands<T> of{nullptr, nullptr, a_row, a_column, b_stride, k, ends_with_zero};
  for (int64_t j = 0; j < n; j += tile_columns<T>) {
    of.b = static_cast<const T*>(pb) + j;
    int64_t i = 0;
    for (; m - i >= tile_rows; i += tile_rows) {
      of.a = static_cast<const T*>(pa) + i * a_row;
      multiply<T, tile_rows>(of, c + i * c_stride + j, c_stride);
    }
    for (; i < m; ++i) {
      of.a = static_cast<const T*>(pa) + i * a_row;
      multiply<T, 1>(of, c + i * c_stride + j, c_stride);
    }
  }
}

}  // namespace

void WEFT_ISA_NAME(fill_strict_)(KernelTable& table) {
  table.strict_product[class_f32] = product<float>;
  table.strict_product[class_f64] = product<double>;
}

}  // namespace weft::detail
