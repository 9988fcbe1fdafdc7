// Matrix products: floats, halves in f32 and rounded once, and integers, which wrap.
#include <algorithm>
#include <cstring>

#include "cpu/matrices.h"
#include "cpu/pool.h"
#include "cpu/workspace.h"

namespace weft::detail {

void pack(Matrix& matrix, DType dtype, char* room) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  const auto wide = static_cast<std::int64_t>(class_size(compute_class(dtype)));
  if (matrix.row_stride == 1 && matrix.column_stride != 1) {
    // Along memory, and used transposed.
    for (std::int64_t j = 0; j < matrix.columns; ++j)
      read_row(dtype, room + j * matrix.rows * wide, matrix.data + j * matrix.column_stride * size,
               1, matrix.rows);
    matrix.column_stride = matrix.rows;
  } else {
    for (std::int64_t i = 0; i < matrix.rows; ++i)
      read_row(dtype, room + i * matrix.columns * wide, matrix.data + i * matrix.row_stride * size,
               matrix.column_stride, matrix.columns);
    matrix.row_stride = matrix.columns;
    matrix.column_stride = 1;
  }
  matrix.data = room;
}

std::size_t packed_bytes(const Matrix& matrix, DType dtype) {
  const auto bytes =
      static_cast<std::size_t>(matrix.rows * matrix.columns) * class_size(compute_class(dtype));
  return (bytes + 63) / 64 * 64;
}

namespace {

// Rows of a batch that all meet the same b, and lie as the rows of one matrix do, are one matrix.
void join_rows(Matrix& a, Batch& batch) {
  while (batch.rank > 0) {
    const int d = batch.rank - 1;
    if (batch.strides[1][d] != 0 || batch.strides[0][d] != a.rows * a.row_stride) return;
    a.rows *= batch.extents[d];
    batch.count /= batch.extents[d];
    --batch.rank;
  }
}

// Row by row: two passes over b are faster than packing it.
template <class T>
void multiply_rows(const MatrixProduct& product, const ProductKernels<T>& kernels) {
  const auto size = static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i = 0; i < product.a.rows; ++i) {
    MatrixProduct row{product.a,
                      product.b,
                      product.c + i * product.b.columns * size,
                      product.dtype,
                      product.first_row + i,
                      product.finished};
    row.a.data += i * row.a.row_stride * size;
    row.a.rows = 1;
    multiply_vector(row, kernels);
  }
}

template <class T>
void multiply_floats(const StepCall& call, const Finished& finished,
                     const ProductKernels<T>& kernels) {
  const ResolvedOperand& out = call.outputs[0];
  Batch batch(call);
  Matrix joined = batch.matrix(call.inputs[0], 0, 0);
  join_rows(joined, batch);
  const std::int64_t m = joined.rows, n = out.shape[out.rank - 1], k = joined.columns;
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  const auto multiply = [&](std::int64_t index) {
    Matrix a = batch.matrix(call.inputs[0], 0, index);
    a.rows = m;
    const MatrixProduct product{a,
                                batch.matrix(call.inputs[1], 1, index),
                                bytes_of(out) + index * m * n * size,
                                out.dtype,
                                index * m,
                                finished};
    const bool is_along_b = product.b.column_stride == 1 && is_class_storage(out.dtype);
    if (m == 1 || n == 1)
      multiply_vector(product, kernels);
    else if (m == 2 && is_along_b)
      multiply_rows(product, kernels);
    else
      multiply_matrices(product, kernels);
  };
  if (batch.count == 1 || m * n * k >= 16 * parallel_products) {
    for (std::int64_t b = 0; b < batch.count; ++b) multiply(b);
    return;
  }
  const std::int64_t together = std::max<std::int64_t>(1, parallel_products / (m * n * k));
  parallel_for((batch.count + together - 1) / together, [&](std::int64_t i) {
    const std::int64_t end = std::min(batch.count, (i + 1) * together);
    for (std::int64_t b = i * together; b < end; ++b) multiply(b);
  });
}

void multiply_integers(const StepCall& call) {
  const Batch batch(call);
  const ResolvedOperand& out = call.outputs[0];
  const DType dtype = out.dtype;
  const ComputeClass c = compute_class(dtype);
  const bool is_plain = is_class_storage(dtype);
  const auto wide = static_cast<std::int64_t>(class_size(c));
  const std::int64_t m = out.shape[out.rank - 2], n = out.shape[out.rank - 1];
  const std::int64_t rows = std::max<std::int64_t>(8, m / 16);
  const std::int64_t panels = (m + rows - 1) / rows;
  for (std::int64_t index = 0; index < batch.count; ++index) {
    Matrix a = batch.matrix(call.inputs[0], 0, index);
    Matrix b = batch.matrix(call.inputs[1], 1, index);
    const Scratch room_a(is_plain ? 0 : packed_bytes(a, dtype));
    const Scratch room_b(packed_bytes(b, dtype));
    if (!is_plain) pack(a, dtype, room_a.bytes());
    for (std::int64_t i = 0; i < b.rows; ++i)
      read_row(dtype, room_b.bytes() + i * n * wide,
               b.data + i * b.row_stride * static_cast<std::int64_t>(size_of(dtype)),
               b.column_stride, n);
    const auto panel = [&](std::int64_t p) {
      const std::int64_t i = p * rows, count = std::min(rows, m - i);
      const Scratch sums(static_cast<std::size_t>(count * n * wide));
      kernels().integer_product[index_of(c)](sums.as(), n, a.data + i * a.row_stride * wide,
                                             a.row_stride, a.column_stride, room_b.as(), n, count,
                                             n, a.columns);
      write_row(dtype,
                bytes_of(out) + (index * m + i) * n * static_cast<std::int64_t>(size_of(dtype)), c,
                sums.as(), count * n);
    };
    if (m * n * a.columns < parallel_products)
      for (std::int64_t p = 0; p < panels; ++p) panel(p);
    else
      parallel_for(panels, panel);
  }
}

// Products that tell of no parts.
bool multiply_whole(const StepCall& call) {
  const ResolvedOperand& out = call.outputs[0];
  if (call.inputs[0].shape[call.inputs[0].rank - 1] == 0)
    std::memset(bytes_of(out), 0, static_cast<std::size_t>(size_in_bytes(out)));
  else if (!is_floating(out.dtype))
    multiply_integers(call);
  else if (call.numerics == Numerics::strict)
    run_strict_product(call);
  else
    return false;
  return true;
}

}  // namespace

void run_product(const StepCall& call, const Finished& finished) {
  const ResolvedOperand& out = call.outputs[0];
  if (out.numel() == 0) return;
  const std::int64_t n = out.shape[out.rank - 1];
  if (multiply_whole(call))
    finished(0, out.numel() / n, 0, n);
  else if (compute_class(out.dtype) == ComputeClass::f64)
    multiply_floats<double>(call, finished, products().f64);
  else
    multiply_floats<float>(call, finished, products().f32);
}

void run_product(const StepCall& call) { run_product(call, Finished{}); }

}  // namespace weft::detail
