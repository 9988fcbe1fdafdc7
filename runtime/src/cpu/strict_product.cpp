// Products of floats in one order of sums, which the shape alone gives: that of the generated
// kernels.
#include <algorithm>
#include <cstring>

#include <weft/codegen/product.h>

#include "cpu/matrices.h"
#include "cpu/pool.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t panel_rows = 64, panel_strips = 8;

template <class T>
class StrictProduct {
 public:
  explicit StrictProduct(const StepCall& call)
      : call_(call), batch_(call), dtype_(call.outputs[0].dtype), class_(compute_class(dtype_)) {
    const ResolvedOperand& c = call.outputs[0];
    const ResolvedOperand& a = call.inputs[0];
    m_ = c.shape[c.rank - 2];
    n_ = c.shape[c.rank - 1];
    k_ = a.shape[a.rank - 1];
    order_ = product_order(class_, m_, n_, k_, batch_.count);
  }

  void run() const {
    if (batch_.count > 1 && m_ * n_ * k_ < parallel_products)
      return parallel_for(batch_.count, [this](std::int64_t b) { multiply(b); });
    for (std::int64_t b = 0; b < batch_.count; ++b) multiply(b);
  }

 private:
  /// What is computed is c, or cᵀ where that is a row: factors change places without changing bits.
  void multiply(std::int64_t index) const {
    Matrix a = batch_.matrix(call_.inputs[0], 0, index);
    Matrix b = batch_.matrix(call_.inputs[1], 1, index);
    if (n_ == 1) {
      std::swap(a, b);
      for (Matrix* x : {&a, &b}) {
        std::swap(x->rows, x->columns);
        std::swap(x->row_stride, x->column_stride);
      }
    }
    const Scratch room_a(is_class_storage(dtype_) ? 0 : packed_bytes(a, dtype_));
    if (!is_class_storage(dtype_)) pack(a, dtype_, room_a.bytes());
    // b in strips of columns, each side by side: what stays in the nearest cache while rows pass.
    const std::int64_t strips = (b.columns + strict_columns - 1) / strict_columns;
    const Scratch room_b(static_cast<std::size_t>(k_ * strips * strict_columns) * sizeof(T));
    T* const packed = room_b.template as<T>();
    const bool is_small = m_ * n_ * k_ < parallel_products;
    each(strips, is_small, [&](std::int64_t s) { pack_strip(b, s, packed); });
    const std::int64_t down = (a.rows + panel_rows - 1) / panel_rows;
    const std::int64_t across = (strips + panel_strips - 1) / panel_strips;
    each(down * across, is_small, [&](std::int64_t p) {
      const std::int64_t first = p % across * panel_strips;
      multiply_panel(a, packed, b.columns, p / across * panel_rows, first,
                     std::min(panel_strips, strips - first), index);
    });
  }

  template <class F>
  static void each(std::int64_t count, bool here, const F& body) {
    if (!here) return parallel_for(count, body);
    for (std::int64_t i = 0; i < count; ++i) body(i);
  }

  void pack_strip(const Matrix& b, std::int64_t strip, T* packed) const {
    const auto size = static_cast<std::int64_t>(size_of(dtype_));
    const std::int64_t j = strip * strict_columns;
    const std::int64_t columns = std::min<std::int64_t>(strict_columns, b.columns - j);
    for (std::int64_t p = 0; p < k_; ++p) {
      T* const row = packed + (strip * k_ + p) * strict_columns;
      read_row(dtype_, row, b.data + (p * b.row_stride + j * b.column_stride) * size,
               b.column_stride, columns);
      std::fill(row + columns, row + strict_columns, T(0));
    }
  }

  void multiply_panel(const Matrix& a, const T* b, std::int64_t columns, std::int64_t i,
                      std::int64_t first_strip, std::int64_t strips, std::int64_t index) const {
    const std::int64_t rows = std::min(panel_rows, a.rows - i), width = strips * strict_columns;
    const auto bytes = static_cast<std::size_t>(rows * width) * sizeof(T);
    const Scratch sums(bytes), more(order_.parts > 1 ? bytes : 0);
    T* const total = sums.template as<T>();
    for (std::int64_t part = 0; part < order_.parts; ++part) {
      const std::int64_t first = part * order_.part, terms = std::min(order_.part, k_ - first);
      T* const target = part == 0 ? total : more.template as<T>();
      for (std::int64_t s = 0; s < strips; ++s)
        kernels().strict_product[index_of(class_)](
            target + s * strict_columns, width,
            reinterpret_cast<const T*>(a.data) + i * a.row_stride + first * a.column_stride,
            a.row_stride, a.column_stride, b + ((first_strip + s) * k_ + first) * strict_columns,
            strict_columns, rows, strict_columns, terms, terms % order_.depth != 0);
      if (part > 0)
        for (std::int64_t e = 0; e < rows * width; ++e) total[e] += target[e];
    }
    const std::int64_t j = first_strip * strict_columns;
    char* const c = bytes_of(call_.outputs[0]);
    const auto size = static_cast<std::int64_t>(size_of(dtype_));
    for (std::int64_t r = 0; r < rows; ++r)
      write_row(dtype_, c + (index * m_ * n_ + (i + r) * columns + j) * size, class_,
                total + r * width, std::min(width, columns - j));
  }

  const StepCall& call_;
  const Batch batch_;
  const DType dtype_;
  const ComputeClass class_;
  std::int64_t m_ = 0, n_ = 0, k_ = 0;
  ProductOrder order_{};
};

}  // namespace

void run_strict_product(const StepCall& call) {
  if (compute_class(call.outputs[0].dtype) == ComputeClass::f64)
    return StrictProduct<double>(call).run();
  StrictProduct<float>(call).run();
}

}  // namespace weft::detail
