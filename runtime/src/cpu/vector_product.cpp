// Products of a matrix and a vector: the matrix is read once, where it lies.
#include <algorithm>

#include "cpu/matrices.h"
#include "cpu/pool.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

// Elements of the matrix that are worth another thread, and that are widened at a time.
constexpr std::int64_t parallel_part = 64 * 1024, wide_part = 16 * 1024;
constexpr std::int64_t few_terms = 16;

/// y[i] = Σ matrix[i, p] x[p], over rows that lie along memory, or along which memory lies.
template <class T>
class VectorProduct {
 public:
  VectorProduct(const MatrixProduct& of, const ProductKernels<T>& kernels)
      : of_(of), kernels_(kernels), is_row_(of.a.rows == 1), matrix_(is_row_ ? of.b : of.a),
        vector_(is_row_ ? of.a : of.b), size_(static_cast<std::int64_t>(size_of(of.dtype))) {
    if (is_row_) {
      std::swap(matrix_.rows, matrix_.columns);
      std::swap(matrix_.row_stride, matrix_.column_stride);
    } else {
      std::swap(vector_.rows, vector_.columns);
      std::swap(vector_.row_stride, vector_.column_stride);
    }
    count_ = matrix_.rows;
    terms_ = matrix_.columns;
    if (count_ == 1 && matrix_.column_stride != 1) matrix_.row_stride = 0;
    sums_rows_ = matrix_.column_stride != 1 && matrix_.row_stride == 1;
    is_read_ = is_class_storage(of.dtype) && (sums_rows_ || matrix_.column_stride == 1);
  }

  void run() const {
    const Scratch room(static_cast<std::size_t>(terms_) * sizeof(T));
    const T* x = reinterpret_cast<const T*>(vector_.data);
    if (!is_class_storage(of_.dtype) || (vector_.column_stride != 1 && terms_ > 1)) {
      read_row(of_.dtype, room.bytes(), vector_.data, vector_.column_stride, terms_);
      x = room.template as<T>();
    }
    // Short rows of parts are read slowly: no more of them than threads.
    const std::int64_t most = (sums_rows_ ? 1 : 2) * std::int64_t{num_threads()};
    const std::int64_t parts = std::min(count_ * terms_ / parallel_part, most);
    const std::int64_t each =
        num_threads() == 1 || parts < 2 ? count_ : ((count_ + parts - 1) / parts + 15) / 16 * 16;
    parallel_for((count_ + each - 1) / each, [&](std::int64_t part) {
      const std::int64_t first = part * each, count = std::min(each, count_ - first);
      multiply(x, first, count);
      const std::int64_t row = of_.first_row + (is_row_ ? 0 : first);
      of_.finished(row, is_row_ ? 1 : count, is_row_ ? first : 0, is_row_ ? count : 1);
    });
  }

 private:
  void multiply(const T* x, std::int64_t first, std::int64_t count) const {
    if (is_class_storage(of_.dtype))
      return multiply_into(reinterpret_cast<T*>(of_.c) + first, x, first, count);
    const Scratch room(static_cast<std::size_t>(count) * sizeof(T));
    multiply_into(room.template as<T>(), x, first, count);
    write_row(of_.dtype, of_.c + first * size_, compute_class(of_.dtype), room.as(), count);
  }

  void multiply_into(T* y, const T* x, std::int64_t first, std::int64_t count) const {
    const Matrix& a = matrix_;
    const char* const from = a.data + first * a.row_stride * size_;
    if (!is_read_) return multiply_widened(y, x, from, count);
    if (!sums_rows_)
      return kernels_.dots(y, reinterpret_cast<const T*>(from), a.row_stride, x, count, terms_);
    const std::int64_t block = block_terms(terms_, kernels_.terms);
    for (std::int64_t p = 0; p < terms_; p += block)
      kernels_.row_sums(y, reinterpret_cast<const T*>(from) + p * a.column_stride, a.column_stride,
                        x + p, count, std::min(block, terms_ - p), p > 0);
  }

  // Parts of the matrix, put side by side in the class.
  void multiply_widened(T* y, const T* x, const char* from, std::int64_t count) const {
    const Scratch room(static_cast<std::size_t>(wide_part) * sizeof(T));
    T* const wide = room.template as<T>();
    const Matrix& a = matrix_;
    // Cut by the matrix's shape alone, as the sums are.
    const std::int64_t most =
        sums_rows_ ? wide_part / few_terms : std::max<std::int64_t>(1, wide_part / terms_);
    const std::int64_t terms = sums_rows_ ? few_terms : std::min(terms_, wide_part);
    for (std::int64_t i = 0; i < count; i += most)
      for (std::int64_t p = 0; p < terms_; p += terms) {
        const char* const part = from + (i * a.row_stride + p * a.column_stride) * size_;
        multiply_part(y + i, x + p, part, std::min(most, count - i), std::min(terms, terms_ - p),
                      p > 0, wide);
      }
  }

  void multiply_part(T* y, const T* x, const char* from, std::int64_t rows, std::int64_t terms,
                     bool adds, T* wide) const {
    const Matrix& a = matrix_;
    if (sums_rows_) {
      for (std::int64_t p = 0; p < terms; ++p)
        read_row(of_.dtype, wide + p * rows, from + p * a.column_stride * size_, 1, rows);
      return kernels_.row_sums(y, wide, rows, x, rows, terms, adds);
    }
    T sums[wide_part / few_terms];
    for (std::int64_t i = 0; i < rows; ++i)
      read_row(of_.dtype, wide + i * terms, from + i * a.row_stride * size_, a.column_stride,
               terms);
    for (std::int64_t i = 0; i < rows; i += wide_part / few_terms) {
      const std::int64_t count = std::min(rows - i, wide_part / few_terms);
      kernels_.dots(sums, wide + i * terms, terms, x, count, terms);
      for (std::int64_t r = 0; r < count; ++r) y[i + r] = adds ? y[i + r] + sums[r] : sums[r];
    }
  }

  const MatrixProduct& of_;
  const ProductKernels<T>& kernels_;
  const bool is_row_;
  Matrix matrix_, vector_;
  const std::int64_t size_;
  std::int64_t count_ = 0, terms_ = 0;
  bool sums_rows_ = false;  // memory runs along the result, not along k
  bool is_read_ = false;    // in place
};

}  // namespace

template <class T>
void multiply_vector(const MatrixProduct& product, const ProductKernels<T>& kernels) {
  VectorProduct<T>(product, kernels).run();
}
template void multiply_vector(const MatrixProduct&, const ProductKernels<float>&);
template void multiply_vector(const MatrixProduct&, const ProductKernels<double>&);

}  // namespace weft::detail
