// Matrix products: floats by Eigen, halves in f32 and rounded once, integers wrapping.
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
      read_row(dtype, room + j * matrix.rows * wide, matrix.data + j * matrix.column_stride * size, 1,
               matrix.rows);
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
  const auto bytes = static_cast<std::size_t>(matrix.rows * matrix.columns) *
                     class_size(compute_class(dtype));
  return (bytes + 63) / 64 * 64;
}

namespace {

constexpr std::int64_t panel_rows = 512, panel_columns = 256, panel_area = panel_rows * panel_columns;
// Multiplications: not worth cutting; worth a panel of their own.
constexpr std::int64_t few_products = 1 << 20, panel_products = 1 << 24;

// The stride along an axis of extent 1 is never used: it may as well make the matrix readable.
void normalise(Matrix& matrix) {
  if (matrix.columns == 1) matrix.column_stride = 1;
  else if (matrix.rows == 1 && matrix.column_stride != 1) matrix.row_stride = 1;
}

// The shape alone decides how a product is cut, so that its bits do not depend on threads. Large
// panels lose little to packing the same operand again (512 × 256: 2%, 128 × 256: 15%).
struct Panels {
  Panels(std::int64_t m, std::int64_t n, std::int64_t k) {
    rows = m;
    columns = n;
    if (m * n * k >= few_products) {
      rows = std::min(m, std::max(panel_rows, panel_area / std::min(n, panel_columns)));
      columns = std::min(n, std::max(panel_columns, panel_area / rows));
    }
    while (count(m, n) < 4 && rows * columns * k >= 2 * panel_products) {
      std::int64_t& longer = rows >= columns ? rows : columns;
      longer = (longer + 1) / 2;
    }
    down = even_out(rows, m);
    across = even_out(columns, n);
  }
  std::int64_t count(std::int64_t m, std::int64_t n) const {
    return (m + rows - 1) / rows * ((n + columns - 1) / columns);
  }
  static std::int64_t even_out(std::int64_t& panel, std::int64_t extent) {
    const std::int64_t parts = (extent + panel - 1) / panel;
    panel = ((extent + parts - 1) / parts + 15) / 16 * 16;
    return (extent + panel - 1) / panel;
  }
  std::int64_t rows, columns, down, across;
};

template <class T>
void multiply_panel(const ProductKernels<T>& kernel, const Matrix& a, const Matrix& b, T* c,
                    const Panels& panels, std::int64_t panel) {
  const std::int64_t i = panel / panels.across * panels.rows;
  const std::int64_t j = panel % panels.across * panels.columns;
  ProductCall<T> call{};
  call.m = std::min(panels.rows, a.rows - i);
  call.n = std::min(panels.columns, b.columns - j);
  call.k = a.columns;
  call.c = c + i * b.columns + j;
  call.c_stride = b.columns;
  call.a = reinterpret_cast<const T*>(a.data) + i * a.row_stride;
  call.b = reinterpret_cast<const T*>(b.data) + j * b.column_stride;
  call.a_row = a.row_stride;
  call.a_column = a.column_stride;
  call.b_row = b.row_stride;
  call.b_column = b.column_stride;
  const Scratch scratch(static_cast<std::size_t>(kernel.scratch_bytes(call.m, call.n, call.k)));
  call.scratch = scratch.template as<T>();
  kernel.run(call);
}

// What Eigen's kernels read in place; see ProductCall.
bool is_readable(const Matrix& matrix) {
  return matrix.column_stride == 1 || matrix.row_stride == 1;
}

template <class T>
class FloatProduct {
 public:
  FloatProduct(const StepCall& call, const ProductKernels<T>& kernel)
      : call_(call), batch_(call), kernel_(kernel), dtype_(call.outputs[0].dtype) {}

  void run() {
    const ResolvedOperand& c = call_.outputs[0];
    m_ = c.shape[c.rank - 2];
    n_ = c.shape[c.rank - 1];
    const std::int64_t k = call_.inputs[0].shape[call_.inputs[0].rank - 1];
    if (batch_.count > 1 && m_ * n_ * k < 16 * parallel_products) {
      const std::int64_t together = std::max<std::int64_t>(1, parallel_products / (m_ * n_ * k));
      parallel_for((batch_.count + together - 1) / together, [&](std::int64_t i) {
        const std::int64_t end = std::min(batch_.count, (i + 1) * together);
        for (std::int64_t b = i * together; b < end; ++b) multiply(b);
      });
    } else {
      for (std::int64_t b = 0; b < batch_.count; ++b) multiply(b);
    }
  }

 private:
  void multiply(std::int64_t index) const {
    Matrix a = batch_.matrix(call_.inputs[0], 0, index);
    Matrix b = batch_.matrix(call_.inputs[1], 1, index);
    normalise(a);
    normalise(b);
    const bool packs_a = !is_class_storage(dtype_) || !is_readable(a);
    const bool packs_b = !is_class_storage(dtype_) || !is_readable(b);
    const Scratch room_a(packs_a ? packed_bytes(a, dtype_) : 0);
    const Scratch room_b(packs_b ? packed_bytes(b, dtype_) : 0);
    if (packs_a) pack(a, dtype_, room_a.bytes());
    if (packs_b) pack(b, dtype_, room_b.bytes());
    char* const target =
        bytes_of(call_.outputs[0]) + index * m_ * n_ * static_cast<std::int64_t>(size_of(dtype_));
    const Scratch wide(is_class_storage(dtype_) ? 0 : static_cast<std::size_t>(m_ * n_) * sizeof(T));
    T* const c = is_class_storage(dtype_) ? reinterpret_cast<T*>(target) : wide.template as<T>();
    const Panels panels(m_, n_, a.columns);
    parallel_for(panels.down * panels.across, [&](std::int64_t panel) {
      multiply_panel(kernel_, a, b, c, panels, panel);
    });
    if (!is_class_storage(dtype_)) write_row(dtype_, target, compute_class(dtype_), c, m_ * n_);
  }

  const StepCall& call_;
  const Batch batch_;
  const ProductKernels<T>& kernel_;
  const DType dtype_;
  std::int64_t m_ = 0, n_ = 0;
};

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
               b.data + i * b.row_stride * static_cast<std::int64_t>(size_of(dtype)), b.column_stride, n);
    const auto panel = [&](std::int64_t p) {
      const std::int64_t i = p * rows, count = std::min(rows, m - i);
      const Scratch sums(static_cast<std::size_t>(count * n * wide));
      kernels().integer_product[index_of(c)](sums.as(), n, a.data + i * a.row_stride * wide,
                                             a.row_stride, a.column_stride, room_b.as(), n, count, n,
                                             a.columns);
      write_row(dtype, bytes_of(out) + (index * m + i) * n * static_cast<std::int64_t>(size_of(dtype)),
                c, sums.as(), count * n);
    };
    if (m * n * a.columns < parallel_products)
      for (std::int64_t p = 0; p < panels; ++p) panel(p);
    else
      parallel_for(panels, panel);
  }
}

}  // namespace

void run_product(const StepCall& call) {
  const ResolvedOperand& out = call.outputs[0];
  if (out.numel() == 0) return;
  if (call.inputs[0].shape[call.inputs[0].rank - 1] == 0) {
    std::memset(bytes_of(out), 0, static_cast<std::size_t>(size_in_bytes(out)));
    return;
  }
  if (call.numerics == Numerics::strict && is_floating(out.dtype)) return run_strict_product(call);
  switch (compute_class(out.dtype)) {
    case ComputeClass::f32: return FloatProduct<float>(call, products().f32).run();
    case ComputeClass::f64: return FloatProduct<double>(call, products().f64).run();
    default: return multiply_integers(call);
  }
}

}  // namespace weft::detail
