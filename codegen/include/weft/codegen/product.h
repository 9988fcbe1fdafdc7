// A matrix product apart from the kernels that carry it out: for libraries, and for the order of
// its sums.
#pragma once

#include <cstdint>

#include <weft/graph/detail/ops.h>
#include <weft/graph/shape.h>

namespace weft::detail {

/// c[i] = a[i] b[i] for each index i of a batch: a is m×k, b k×n, c m×n. Strides count elements,
/// and may be 0 or negative; c is dense, row-major, its matrices in the batch's row-major order.
/// The batch's axes are joined wherever that can be.
struct ProductShape {
  DType dtype = DType::f32;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t a_row = 0, a_column = 0, b_row = 0, b_column = 0;
  int batch_rank = 0;
  std::int64_t batch[max_rank] = {};
  std::int64_t a_batch[max_rank] = {}, b_batch[max_rank] = {};
  std::int64_t batch_count() const noexcept {
    std::int64_t count = 1;
    for (int d = 0; d < batch_rank; ++d) count *= batch[d];
    return count;
  }
};

/// How generated kernels, and the CPU in strict mode, sum a float product: k is cut into `parts` of
/// `part` each (the last may be shorter). The sum of a part starts with +0 and takes k in ascending
/// order, one fma a term; a part that is no multiple of `depth` ends with terms 0·0. The parts'
/// sums are added in ascending order, and rounded once to the dtype.
struct ProductOrder {
  std::int64_t each;   // elements of a thread each way: tiles are of 16·each
  std::int64_t depth;  // of a tile along k
  std::int64_t parts, part;
};
/// By the shape and the class alone.
ProductOrder product_order(ComputeClass compute, std::int64_t m, std::int64_t n, std::int64_t k,
                           std::int64_t batch_count) noexcept;

/// Whether a GPU's product of floats is worth a library's call: from 32³ multiplications on.
/// Smaller ones do not reach its speed, and a program that has no others need not load it.
bool prefers_library(std::int64_t m, std::int64_t n, std::int64_t k,
                     std::int64_t batch_count) noexcept;

}  // namespace weft::detail
