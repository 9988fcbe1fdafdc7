// Products of float matrices by Eigen's kernels, whose namespace is renamed per level on the
// command line. Called below Eigen's expressions, so that scratch comes from the caller.
#include "kernels.h"

#if defined(__AVX512F__)
// Eigen's AVX2 products are faster than its AVX-512 ones also where both run (1024³ f32: by 28%).
namespace weft::detail {
void fill_product_v4(ProductTable& table) { fill_product_v3(table); }
}  // namespace weft::detail
#else

#define EIGEN_DONT_PARALLELIZE
#define EIGEN_NO_DEBUG
#include <Eigen/Core>

#include "isa.h"

namespace weft::detail {
namespace {

using Eigen::ColMajor;
using Eigen::Index;
using Eigen::RowMajor;

// c is row-major, so that all is computed transposed: column-major cᵀ[n,m] = bᵀ[n,k] aᵀ[k,m].

template <class T>
struct Blocking : Eigen::internal::level3_blocking<T, T> {
  Blocking(int64_t m, int64_t n, int64_t k) {
    this->m_mc = n;
    this->m_nc = m;
    this->m_kc = k;
    Eigen::internal::computeProductBlockingSizes<T, T>(this->m_kc, this->m_mc, this->m_nc, Index(1));
  }
  // Both blocks 64-byte aligned.
  static constexpr int64_t round(int64_t count) {
    constexpr int64_t line = 64 / sizeof(T);
    return (count + line - 1) / line * line;
  }
  int64_t a_count() const { return round(this->m_mc * this->m_kc); }
  int64_t count() const { return a_count() + round(this->m_kc * this->m_nc); }
  void use(T* scratch) {
    this->m_blockA = scratch;
    this->m_blockB = scratch + a_count();
  }
};

template <class T>
int64_t scratch_bytes(int64_t m, int64_t n, int64_t k) {
  return Blocking<T>(m, n, k).count() * int64_t(sizeof(T));
}

template <class T, int b_order, int a_order>
void matrix_matrix(const ProductCall<T>& call, int64_t b_stride, int64_t a_stride) {
  Blocking<T> blocking(call.m, call.n, call.k);
  blocking.use(call.scratch);
  Eigen::internal::general_matrix_matrix_product<Index, T, b_order, false, T, a_order, false, ColMajor,
                                                 1>::run(call.n, call.m, call.k, call.b, b_stride,
                                                         call.a, a_stride, call.c, 1, call.c_stride,
                                                         T(1), blocking, nullptr);
}

// c[rows] += matrix[rows,k] x[k], elements of x `x_stride` apart (1 for a row-major matrix).
template <class T, int order>
void matrix_vector(T* c, const T* matrix, int64_t stride, const T* x, int64_t x_stride, int64_t rows,
                   int64_t k) {
  using Matrix = Eigen::internal::const_blas_data_mapper<T, Index, order>;
  using Vector = Eigen::internal::const_blas_data_mapper<T, Index, order == RowMajor ? ColMajor : RowMajor>;
  Eigen::internal::general_matrix_vector_product<Index, T, Matrix, order, false, T, Vector, false>::run(
      rows, k, Matrix(matrix, stride), Vector(x, x_stride), c, 1, T(1));
}

template <class T>
void product(const ProductCall<T>& call) {
  for (int64_t i = 0; i < call.m; ++i)
    for (int64_t j = 0; j < call.n; ++j) call.c[i * call.c_stride + j] = T(0);
  // Vectors, unless they stand in a way that only the general product reads.
  if (call.n == 1 && call.c_stride == 1 && (call.b_row == 1 || call.a_column != 1)) {
    if (call.a_column == 1)
      matrix_vector<T, RowMajor>(call.c, call.a, call.a_row, call.b, 1, call.m, call.k);
    else
      matrix_vector<T, ColMajor>(call.c, call.a, call.a_column, call.b, call.b_row, call.m, call.k);
  } else if (call.m == 1 && (call.a_column == 1 || call.b_column == 1)) {
    if (call.b_column == 1)
      matrix_vector<T, ColMajor>(call.c, call.b, call.b_row, call.a, call.a_column, call.n, call.k);
    else
      matrix_vector<T, RowMajor>(call.c, call.b, call.b_column, call.a, 1, call.n, call.k);
  } else if (call.b_column == 1) {
    if (call.a_column == 1)
      matrix_matrix<T, ColMajor, ColMajor>(call, call.b_row, call.a_row);
    else
      matrix_matrix<T, ColMajor, RowMajor>(call, call.b_row, call.a_column);
  } else {
    if (call.a_column == 1)
      matrix_matrix<T, RowMajor, ColMajor>(call, call.b_column, call.a_row);
    else
      matrix_matrix<T, RowMajor, RowMajor>(call, call.b_column, call.a_column);
  }
}

}  // namespace

void WEFT_ISA_NAME(fill_product_)(ProductTable& table) {
  // Found out here, by one thread: later calls only read them.
  Index l1, l2, l3;
  Eigen::internal::manage_caching_sizes(Eigen::GetAction, &l1, &l2, &l3);
  table.f32 = {product<float>, scratch_bytes<float>};
  table.f64 = {product<double>, scratch_bytes<double>};
}

}  // namespace weft::detail
#endif
