// Products of a matrix and a vector: the matrix passes once, at the speed of memory. Compiled with
// contraction on.
#include "vectors.h"

namespace weft::detail {
namespace {

constexpr int dot_vectors = 2;

template <class T>
T sum_of(Vector<T> x) {
  T parts[lanes<T>];
  store(parts, x);
  for (int half = lanes<T> / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) parts[i] += parts[i + half];
  return parts[0];
}

// Together, so that several streams come from memory; the order of a row's sum is its own.
template <class T, int rows>
void dots_of(T* __restrict y, const T* __restrict a, int64_t stride, const T* __restrict x,
             int64_t terms) {
  constexpr int width = lanes<T>;
  Vector<T> sums[rows][dot_vectors] = {};
  int64_t p = 0;
  for (; p + dot_vectors * width <= terms; p += dot_vectors * width) {
    Vector<T> of_x[dot_vectors];
    WEFT_UNROLL_ALL
    for (int v = 0; v < dot_vectors; ++v) of_x[v] = load(x + p + v * width);
    WEFT_UNROLL_ALL
    for (int i = 0; i < rows; ++i) {
      WEFT_UNROLL_ALL
      for (int v = 0; v < dot_vectors; ++v)
        sums[i][v] += of_x[v] * load(a + i * stride + p + v * width);
    }
  }
  T rest[rows] = {};
  for (; p < terms; ++p)
    for (int i = 0; i < rows; ++i) rest[i] += x[p] * a[i * stride + p];
  for (int i = 0; i < rows; ++i) y[i] = sum_of<T>(sums[i][0] + sums[i][1]) + rest[i];
}

template <class T>
void dots(T* y, const T* a, int64_t stride, const T* x, int64_t rows, int64_t terms) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) dots_of<T, 4>(y + i, a + i * stride, stride, x, terms);
  for (; i < rows; ++i) dots_of<T, 1>(y + i, a + i * stride, stride, x, terms);
}

// sums[j] += x[0] b[j] + x[1] b[stride + j] + ..., in this order.
template <class T, int terms>
void add_rows(T* __restrict sums, const T* __restrict b, int64_t stride, const T* x,
              int64_t columns) {
  constexpr int width = lanes<T>, vectors = 2;
  T factor[terms];
  for (int p = 0; p < terms; ++p) factor[p] = x[p];
  int64_t j = 0;
  for (; j + vectors * width <= columns; j += vectors * width) {
    Vector<T> sum[vectors];
    WEFT_UNROLL_ALL
    for (int v = 0; v < vectors; ++v) sum[v] = load(sums + j + v * width);
    WEFT_UNROLL_ALL
    for (int p = 0; p < terms; ++p) {
      WEFT_UNROLL_ALL
      for (int v = 0; v < vectors; ++v) sum[v] += factor[p] * load(b + p * stride + j + v * width);
    }
    WEFT_UNROLL_ALL
    for (int v = 0; v < vectors; ++v) store<T>(sums + j + v * width, sum[v]);
  }
  for (; j < columns; ++j) {
    T sum = sums[j];
    for (int p = 0; p < terms; ++p) sum += factor[p] * b[p * stride + j];
    sums[j] = sum;
  }
}

template <class T>
void row_sums(T* y, const T* b, int64_t stride, const T* x, int64_t columns, int64_t terms,
              bool adds) {
  constexpr int64_t most = 16384 / sizeof(T);  // sums stay in the nearest cache
  alignas(64) T sums[most];
  for (int64_t j = 0; j < columns; j += most) {
    const int64_t count = columns - j < most ? columns - j : most;
    for (int64_t i = 0; i < count; ++i) sums[i] = T(0);
    int64_t p = 0;
    for (; p + 8 <= terms; p += 8) add_rows<T, 8>(sums, b + p * stride + j, stride, x + p, count);
    for (; p < terms; ++p) add_rows<T, 1>(sums, b + p * stride + j, stride, x + p, count);
    for (int64_t i = 0; i < count; ++i) y[j + i] = adds ? y[j + i] + sums[i] : sums[i];
  }
}

}  // namespace

void WEFT_ISA_NAME(fill_gemv_)(ProductTable& table) {
  table.f32.dots = dots<float>;
  table.f64.dots = dots<double>;
  table.f32.row_sums = row_sums<float>;
  table.f64.row_sums = row_sums<double>;
}

}  // namespace weft::detail
