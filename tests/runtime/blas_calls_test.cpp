// How a product becomes calls of cuBLASLt, against plain loops; finding the library; and, where the
// toolkit is there, that its header says what is written down here.
#include <cstring>
#include <random>
#include <vector>

#include "cuda/cuda_product.h"
#include "support/catch.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define WEFT_HAS_CUBLASLT_HEADER 1
#endif

using namespace weft;
using namespace weft::detail;

namespace {

/// Where a product's elements are, by its own description.
std::vector<double> by_shape(const ProductShape& shape, const std::vector<double>& a,
                             std::int64_t a_base, const std::vector<double>& b,
                             std::int64_t b_base) {
  std::vector<double> c;
  for (std::int64_t index = 0; index < shape.batch_count(); ++index) {
    std::int64_t a_at = a_base, b_at = b_base, left = index;
    for (int d = shape.batch_rank - 1; d >= 0; left /= shape.batch[d], --d) {
      a_at += left % shape.batch[d] * shape.a_batch[d];
      b_at += left % shape.batch[d] * shape.b_batch[d];
    }
    for (std::int64_t i = 0; i < shape.m; ++i)
      for (std::int64_t j = 0; j < shape.n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < shape.k; ++p)
          sum += a[std::size_t(a_at + i * shape.a_row + p * shape.a_column)] *
                 b[std::size_t(b_at + p * shape.b_row + j * shape.b_column)];
        c.push_back(sum);
      }
  }
  return c;
}

/// The same by the calls, as the library's manual defines them: column-major.
std::vector<double> by_calls(const BlasCallPlan& plan, std::size_t count,
                             const std::vector<double>& a, std::int64_t a_base,
                             const std::vector<double>& b, std::int64_t b_base) {
  const BlasProblem& problem = plan.problem;
  std::vector<double> c(count, -1);
  const auto at = [](const BlasProblem::Matrix& matrix, std::int64_t row, std::int64_t column) {
    if (matrix.transposed) std::swap(row, column);
    REQUIRE(row < matrix.rows);
    REQUIRE(column < matrix.columns);
    return row + column * matrix.leading;
  };
  for (const BlasProblem::Matrix* matrix : {&problem.a, &problem.b, &problem.d})
    REQUIRE(matrix->leading >= matrix->rows);
  const std::int64_t terms = problem.a.transposed ? problem.a.rows : problem.a.columns;
  for (const BlasCallPlan::Place& place : plan.places)
    for (std::int64_t i = 0; i < problem.batch_count; ++i)
      for (std::int64_t column = 0; column < problem.d.columns; ++column)
        for (std::int64_t row = 0; row < problem.d.rows; ++row) {
          double sum = 0;
          for (std::int64_t p = 0; p < terms; ++p)
            sum += b[std::size_t(b_base + place.b + i * problem.a.batch_stride +
                                 at(problem.a, row, p))] *
                   a[std::size_t(a_base + place.a + i * problem.b.batch_stride +
                                 at(problem.b, p, column))];
          double& element =
              c[std::size_t(place.c + i * problem.d.batch_stride + at(problem.d, row, column))];
          REQUIRE(element == -1);  // each is written once
          element = sum;
        }
  return c;
}

ProductShape plain(std::int64_t m, std::int64_t n, std::int64_t k) {
  ProductShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  shape.a_row = k;
  shape.a_column = 1;
  shape.b_row = n;
  shape.b_column = 1;
  return shape;
}

}  // namespace

TEST_CASE("blas calls: random products, strides and batches", "[cuda][product]") {
  std::mt19937 random(11);
  const auto up_to = [&random](unsigned n) { return std::int64_t(random() % n); };
  int taken = 0;
  for (int round = 0; round < 3000; ++round) {
    ProductShape shape = plain(1 + up_to(4), 1 + up_to(4), 1 + up_to(4));
    // A matrix in rows or columns, with room between; now and then as no library takes it.
    const auto place = [&](std::int64_t rows, std::int64_t columns, std::int64_t& row_stride,
                           std::int64_t& column_stride) {
      row_stride = columns + up_to(3);
      column_stride = 1;
      std::int64_t size = rows * row_stride;
      if (up_to(2)) {
        row_stride = 1;
        column_stride = rows + up_to(3);
        size = columns * column_stride;
      }
      if (up_to(12) == 0) row_stride *= 2, size *= 2;
      if (up_to(12) == 0) column_stride = 0;
      return 2 * size;
    };
    std::int64_t a_size = place(shape.m, shape.k, shape.a_row, shape.a_column);
    std::int64_t b_size = place(shape.k, shape.n, shape.b_row, shape.b_column);
    shape.batch_rank = int(up_to(4));
    std::int64_t a_base = 0, b_base = 0;
    for (int d = shape.batch_rank - 1; d >= 0; --d) {
      shape.batch[d] = 1 + up_to(5);
      const auto step = [&](std::int64_t& stride, std::int64_t& size, std::int64_t& base,
                            std::int64_t even) {
        const std::int64_t kind = up_to(6);
        stride = kind == 0 ? 0 : kind == 1 ? even : kind == 2 ? -size : size;
        if (stride < 0) base += size * (shape.batch[d] - 1);
        size += std::abs(stride) * (shape.batch[d] - 1);
      };
      step(shape.a_batch[d], a_size, a_base, shape.m * shape.a_row);
      step(shape.b_batch[d], b_size, b_base, shape.k * shape.b_row);
    }
    std::vector<double> a, b;
    for (std::int64_t i = 0; i < a_size + 64; ++i) a.push_back(double(up_to(9)));
    for (std::int64_t i = 0; i < b_size + 64; ++i) b.push_back(double(up_to(9)));
    std::string why;
    const BlasCallPlan plan = plan_blas_calls(shape, MatmulPrecision::f32, {16, 16, 16}, why);
    CHECK(plan.places.empty() != why.empty());
    if (plan.places.empty()) continue;
    ++taken;
    INFO("round " << round);
    const std::vector<double> wanted = by_shape(shape, a, a_base, b, b_base);
    REQUIRE(by_calls(plan, wanted.size(), a, a_base, b, b_base) == wanted);
    // What is promised of addresses holds for all of them.
    for (const BlasCallPlan::Place& at : plan.places) {
      CHECK(at.a * 4 % plan.problem.b.alignment == 0);
      CHECK(at.b * 4 % plan.problem.a.alignment == 0);
      CHECK(at.c * 4 % plan.problem.d.alignment == 0);
    }
  }
  CHECK(taken > 2000);
}

TEST_CASE("blas calls: a batch that shares b is one product", "[cuda][product]") {
  std::string why;
  ProductShape shape = plain(5, 7, 3);
  shape.batch_rank = 2;
  shape.batch[0] = 4;
  shape.batch[1] = 6;
  shape.a_batch[0] = 6 * 15;
  shape.a_batch[1] = 15;
  const BlasCallPlan plan = plan_blas_calls(shape, MatmulPrecision::tf32, {8, 32, 4}, why);
  REQUIRE(plan.places.size() == 1);
  CHECK(plan.problem.batch_count == 1);
  CHECK(plan.problem.d.columns == 5 * 24);
  CHECK(plan.problem.precision == MatmulPrecision::tf32);
  CHECK(plan.problem.b.alignment == 8);
  CHECK(plan.problem.a.alignment == 16);
  CHECK(plan.problem.d.alignment == 4);
  shape.dtype = DType::bf16;
  CHECK(plan_blas_calls(shape, MatmulPrecision::tf32, {8, 8, 8}, why).problem.precision ==
        MatmulPrecision::f32);
}

TEST_CASE("blas calls: what the library can not take", "[cuda][product]") {
  const auto reason = [](const ProductShape& shape) {
    std::string why;
    const BlasCallPlan plan = plan_blas_calls(shape, MatmulPrecision::f32, {16, 16, 16}, why);
    CHECK(plan.places.empty());
    return why;
  };
  ProductShape shape = plain(5, 7, 3);
  shape.a_column = 2;
  CHECK(reason(shape) == "the strides of a are not the library's");
  shape = plain(5, 7, 3);
  shape.b_row = 0;  // a row for all
  CHECK(reason(shape) == "the strides of b are not the library's");
  shape = plain(5, 7, 3);
  shape.b_row = -7;
  CHECK(reason(shape) == "the strides of b are not the library's");
  shape = plain(5, 7, 3);
  shape.batch_rank = 2;
  shape.batch[0] = shape.batch[1] = 70;
  shape.a_batch[0] = shape.b_batch[0] = 100000;
  shape.a_batch[1] = shape.b_batch[1] = 40;
  CHECK(reason(shape) == "it would take 70 calls of the library");
}

TEST_CASE("blas calls: the rule for small products", "[cuda][product]") {
  CHECK(prefers_library(32, 32, 32, 1));
  CHECK(prefers_library(1, 1, 32768, 1));
  CHECK(prefers_library(8, 8, 8, 64));
  CHECK(prefers_library(std::int64_t(1) << 40, 1 << 20, 1 << 20, 1 << 20));
  CHECK_FALSE(prefers_library(32, 32, 31, 1));
  CHECK_FALSE(prefers_library(31, 32, 32, 1));
  CHECK_FALSE(prefers_library(0, 1000, 1000, 1000));
}

TEST_CASE("blas library: where it is looked for, and what is said where there is none",
          "[cuda][product]") {
  CHECK(blas_places(nullptr).front() == "libcublasLt.so.13");
  CHECK(blas_places("").back() == "/usr/local/cuda/lib64/libcublasLt.so");
  CHECK(blas_places("lt.so") == std::vector<std::string>{"./lt.so"});
  CHECK(blas_places("/nowhere/lt.so") == std::vector<std::string>{"/nowhere/lt.so"});
  CHECK(blas_places("/tmp").front() == "/tmp/libcublasLt.so.13");
  const BlasLibrary none = load_blas_library({"/nowhere/libcublasLt.so.13", "libz.so.1"});
  CHECK_FALSE(none.complete);
  CHECK(none.info.version == 0);
  CHECK(none.info.path.empty());
  CHECK(none.info.problem.find("/nowhere/libcublasLt.so.13: ") != std::string::npos);
  CHECK(none.info.problem.find("libz.so.1: has no function cublasLtGetVersion") !=
        std::string::npos);
}

TEST_CASE("blas library: the real one has all functions, and takes what it is told",
          "[cuda][product]") {
  const BlasLibrary library = load_blas_library(blas_places(nullptr));
  if (!library.complete) {
    WARN("passed over, there is no libcublasLt:" << library.info.problem);
    return;
  }
  CHECK(library.info.version >= 120000);
  CHECK(library.info.path.find("libcublasLt") != std::string::npos);
  const BlasCalls& calls = library.calls;
  CHECK(std::string(calls.status_name(lt_no_memory)) == "CUBLAS_STATUS_ALLOC_FAILED");
  for (const auto& [compute, scale, type] : {std::tuple{lt_compute_f32, lt_f32, lt_f32},
                                             {lt_compute_tf32, lt_f32, lt_f32},
                                             {lt_compute_f64, lt_f64, lt_f64},
                                             {lt_compute_f32, lt_f32, lt_f16},
                                             {lt_compute_f32, lt_f32, lt_bf16}}) {
    LtOperation operation = nullptr;
    REQUIRE(calls.create_operation(&operation, compute, scale) == 0);
    const std::int32_t transpose = lt_transpose;
    CHECK(calls.set_operation(operation, lt_operation_transpose_a, &transpose, 4) == 0);
    CHECK(calls.set_operation(operation, lt_operation_transpose_b, &transpose, 4) == 0);
    CHECK(calls.destroy_operation(operation) == 0);
    LtLayout layout = nullptr;
    REQUIRE(calls.create_layout(&layout, type, 5, 6, 8) == 0);
    const std::int32_t count = 3;
    const std::int64_t stride = 48;
    CHECK(calls.set_layout(layout, lt_layout_batch_count, &count, 4) == 0);
    CHECK(calls.set_layout(layout, lt_layout_batch_stride, &stride, 8) == 0);
    CHECK(calls.destroy_layout(layout) == 0);
  }
  LtPreference preference = nullptr;
  REQUIRE(calls.create_preference(&preference) == 0);
  const std::uint64_t bytes = 32 << 20;
  CHECK(calls.set_preference(preference, lt_preference_workspace, &bytes, 8) == 0);
  CHECK(calls.set_preference(preference, lt_preference_reductions, &lt_reduce_in_compute_type, 4) ==
        0);
  const std::uint32_t alignment = 16;
  for (int i = 0; i < 4; ++i)
    CHECK(calls.set_preference(preference, lt_preference_alignment_a + i, &alignment, 4) == 0);
  CHECK(calls.destroy_preference(preference) == 0);
}

#ifdef WEFT_HAS_CUBLASLT_HEADER
TEST_CASE("blas library: the toolkit's header says what is written down", "[cuda][product]") {
  STATIC_REQUIRE(sizeof(LtAlgorithm) == sizeof(cublasLtMatmulAlgo_t));
  STATIC_REQUIRE(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
  STATIC_REQUIRE(offsetof(LtHeuristic, workspace_bytes) ==
                 offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  STATIC_REQUIRE(offsetof(LtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
  STATIC_REQUIRE(sizeof(cublasStatus_t) == sizeof(LtStatus));
  STATIC_REQUIRE(sizeof(cublasComputeType_t) == sizeof(int));
  STATIC_REQUIRE(lt_not_initialised == CUBLAS_STATUS_NOT_INITIALIZED);
  STATIC_REQUIRE(lt_no_memory == CUBLAS_STATUS_ALLOC_FAILED);
  STATIC_REQUIRE(lt_invalid_value == CUBLAS_STATUS_INVALID_VALUE);
  STATIC_REQUIRE(lt_wrong_architecture == CUBLAS_STATUS_ARCH_MISMATCH);
  STATIC_REQUIRE(lt_execution_failed == CUBLAS_STATUS_EXECUTION_FAILED);
  STATIC_REQUIRE(lt_internal_error == CUBLAS_STATUS_INTERNAL_ERROR);
  STATIC_REQUIRE(lt_not_supported == CUBLAS_STATUS_NOT_SUPPORTED);
  STATIC_REQUIRE(lt_f32 == CUDA_R_32F);
  STATIC_REQUIRE(lt_f64 == CUDA_R_64F);
  STATIC_REQUIRE(lt_f16 == CUDA_R_16F);
  STATIC_REQUIRE(lt_bf16 == CUDA_R_16BF);
  STATIC_REQUIRE(lt_compute_f32 == CUBLAS_COMPUTE_32F);
  STATIC_REQUIRE(lt_compute_f64 == CUBLAS_COMPUTE_64F);
  STATIC_REQUIRE(lt_compute_tf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
  STATIC_REQUIRE(lt_operation_transpose_a == CUBLASLT_MATMUL_DESC_TRANSA);
  STATIC_REQUIRE(lt_operation_transpose_b == CUBLASLT_MATMUL_DESC_TRANSB);
  STATIC_REQUIRE(lt_transpose == CUBLAS_OP_T);
  STATIC_REQUIRE(lt_layout_batch_count == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  STATIC_REQUIRE(lt_layout_batch_stride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  STATIC_REQUIRE(lt_preference_workspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  STATIC_REQUIRE(lt_preference_reductions == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  STATIC_REQUIRE(lt_preference_alignment_a == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  STATIC_REQUIRE(lt_preference_alignment_a + 1 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
  STATIC_REQUIRE(lt_preference_alignment_a + 2 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
  STATIC_REQUIRE(lt_preference_alignment_a + 3 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  STATIC_REQUIRE(lt_reduce_in_compute_type == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
}
#endif
