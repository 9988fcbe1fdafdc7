// Products of integer matrices, wrapping at the width of their class.
#include "isa.h"

namespace weft::detail {
namespace {

// Rows of c in turn, a block of columns at a time, so that the block of c stays in registers or in
// the nearest cache while k runs.
template <class U>
void product(void* pc, int64_t c_stride, const void* pa, int64_t a_row, int64_t a_column,
             const void* pb, int64_t b_stride, int64_t m, int64_t n, int64_t k) {
  const U* a = static_cast<const U*>(pa);
  const U* b = static_cast<const U*>(pb);
  for (int64_t j0 = 0; j0 < n; j0 += block_size) {
    const int64_t columns = n - j0 < block_size ? n - j0 : int64_t{block_size};
    for (int64_t i = 0; i < m; ++i) {
      U sums[block_size] = {};
      for (int64_t p = 0; p < k; ++p) {
        const U factor = a[i * a_row + p * a_column];
        const U* __restrict row = b + p * b_stride + j0;
        if (columns == block_size)
          WEFT_EACH
          for (int j = 0; j < block_size; ++j) sums[j] += factor * row[j];
        else
          WEFT_EACH
          for (int64_t j = 0; j < columns; ++j) sums[j] += factor * row[j];
      }
      U* __restrict c = static_cast<U*>(pc) + i * c_stride + j0;
      WEFT_EACH
      for (int64_t j = 0; j < columns; ++j) c[j] = sums[j];
    }
  }
}

}  // namespace

void WEFT_ISA_NAME(fill_integers_)(KernelTable& table) {
  table.integer_product[class_i32] = product<wf_u32>;
  table.integer_product[class_i64] = product<wf_u64>;
}

}  // namespace weft::detail
