// Operands of products as matrices, one for each index of a batch.
#pragma once

#include <algorithm>

#include "cpu/rows.h"
#include "cpu/walk.h"

namespace weft::detail {

/// Multiplications that are worth a hand-over to another thread.
inline constexpr std::int64_t parallel_products = 1 << 18;

/// One operand as a matrix of its batch.
struct Matrix {
  const char* data;
  std::int64_t rows, columns;
  std::int64_t row_stride, column_stride;
};

struct Batch {
  explicit Batch(const StepCall& call) : rank(call.outputs[0].rank - 2) {
    for (int d = 0; d < rank; ++d) {
      extents[d] = call.outputs[0].shape[d];
      count *= extents[d];
      for (int i = 0; i < 2; ++i) strides[i][d] = call.inputs[i].strides[d];
    }
  }
  Matrix matrix(const ResolvedOperand& operand, int i, std::int64_t b) const {
    const int r = operand.rank;
    const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
    return {bytes_of(operand) + offset_of(b, rank, extents, strides[i]) * size,
            operand.shape[r - 2], operand.shape[r - 1], operand.strides[r - 2],
            operand.strides[r - 1]};
  }
  int rank;
  std::int64_t count = 1;
  std::int64_t extents[max_rank];
  Strides strides[2];
};

/// Told of the result's regions as they are finished, by the threads that finished them and while
/// they are in cache: rows and columns of the matrix that the batch's results make one below
/// another. Each element once. `call` is null where nobody wants to know.
struct Finished {
  void (*call)(void* context, std::int64_t row, std::int64_t rows, std::int64_t column,
               std::int64_t columns) = nullptr;
  void* context = nullptr;
  void operator()(std::int64_t row, std::int64_t rows, std::int64_t column,
                  std::int64_t columns) const {
    if (call) call(context, row, rows, column, columns);
  }
};

/// Puts values, in the class, side by side into `room`: row-major, or transposed.
void pack(Matrix& matrix, DType dtype, char* room);
/// What `pack` needs, a multiple of 64.
std::size_t packed_bytes(const Matrix& matrix, DType dtype);

/// A product of two operands with their batch axes; the result is dense. `finished` may come from
/// any of the threads.
void run_product(const StepCall& call, const Finished& finished);

/// How long the blocks are that the sum of k terms is cut into: even, and as near to `good` as that
/// allows, so less than one and a half times as long.
inline std::int64_t block_terms(std::int64_t k, std::int64_t good) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (k + good / 2) / good);
  return ((k + blocks - 1) / blocks + 3) / 4 * 4;
}

/// c = a b in floats; c is dense, of the operands' dtype, and its first row is row `first_row` of
/// the batch. m, n, k > 0.
struct MatrixProduct {
  Matrix a, b;
  char* c;
  DType dtype;
  std::int64_t first_row;
  const Finished& finished;
};
template <class T>
void multiply_matrices(const MatrixProduct& product, const ProductKernels<T>& kernels);
/// The same where a has one row or b one column.
template <class T>
void multiply_vector(const MatrixProduct& product, const ProductKernels<T>& kernels);

/// A product of floats in the order of product_order: the same bits on every device.
void run_strict_product(const StepCall& call);

}  // namespace weft::detail
