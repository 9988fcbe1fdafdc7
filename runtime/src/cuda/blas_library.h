// cuBLASLt's functions that weft calls, found when a GPU is first given a product that is worth it,
// in one table that tests can replace. The types are those of the library's stable binary
// interface, so nothing of the toolkit is needed to build this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "driver.h"

namespace weft::detail {

using LtStatus = int;  // 0: success
struct LtHandleTag;
struct LtOperationTag;
struct LtLayoutTag;
struct LtPreferenceTag;
using LtHandle = LtHandleTag*;
using LtOperation = LtOperationTag*;
using LtLayout = LtLayoutTag*;
using LtPreference = LtPreferenceTag*;

/// The library's cublasLtMatmulAlgo_t.
struct LtAlgorithm {
  std::uint64_t data[8];
};

/// The library's cublasLtMatmulHeuristicResult_t.
struct LtHeuristic {
  LtAlgorithm algorithm;
  std::size_t workspace_bytes;
  LtStatus state;
  float waves;
  int reserved[4];
};

// Statuses that are told apart.
inline constexpr LtStatus lt_not_initialised = 1, lt_no_memory = 3, lt_invalid_value = 7,
                          lt_wrong_architecture = 8, lt_execution_failed = 13,
                          lt_internal_error = 14, lt_not_supported = 15;

// Numbers of the library: types of elements and scalars, compute types, attributes.
inline constexpr int lt_f32 = 0, lt_f64 = 1, lt_f16 = 2, lt_bf16 = 14;
inline constexpr int lt_compute_f32 = 68, lt_compute_f64 = 70, lt_compute_tf32 = 77;
inline constexpr int lt_operation_transpose_a = 3, lt_operation_transpose_b = 4;  // int32
inline constexpr int lt_transpose = 1;
inline constexpr int lt_layout_batch_count = 5;      // int32
inline constexpr int lt_layout_batch_stride = 6;     // int64, elements
inline constexpr int lt_preference_workspace = 1;    // uint64, bytes
inline constexpr int lt_preference_reductions = 3;   // uint32, a mask
inline constexpr int lt_preference_alignment_a = 5;  // uint32, bytes; b, c and d follow
inline constexpr std::uint32_t lt_reduce_in_compute_type = 2;

// name in the table, symbol, what it returns, parameters
#define WEFT_BLAS_CALLS(CALL)                                                                      \
  CALL(version, "cublasLtGetVersion", std::size_t, ())                                             \
  CALL(status_name, "cublasLtGetStatusName", const char*, (LtStatus status))                       \
  CALL(create, "cublasLtCreate", LtStatus, (LtHandle * handle))                                    \
  CALL(create_operation, "cublasLtMatmulDescCreate", LtStatus,                                     \
       (LtOperation * operation, int compute_type, int scale_type))                                \
  CALL(destroy_operation, "cublasLtMatmulDescDestroy", LtStatus, (LtOperation operation))          \
  CALL(set_operation, "cublasLtMatmulDescSetAttribute", LtStatus,                                  \
       (LtOperation operation, int attribute, const void* value, std::size_t bytes))               \
  CALL(create_layout, "cublasLtMatrixLayoutCreate", LtStatus,                                      \
       (LtLayout * layout, int type, std::uint64_t rows, std::uint64_t columns,                    \
        std::int64_t leading))                                                                     \
  CALL(destroy_layout, "cublasLtMatrixLayoutDestroy", LtStatus, (LtLayout layout))                 \
  CALL(set_layout, "cublasLtMatrixLayoutSetAttribute", LtStatus,                                   \
       (LtLayout layout, int attribute, const void* value, std::size_t bytes))                     \
  CALL(create_preference, "cublasLtMatmulPreferenceCreate", LtStatus, (LtPreference * preference)) \
  CALL(destroy_preference, "cublasLtMatmulPreferenceDestroy", LtStatus, (LtPreference preference)) \
  CALL(set_preference, "cublasLtMatmulPreferenceSetAttribute", LtStatus,                           \
       (LtPreference preference, int attribute, const void* value, std::size_t bytes))             \
  CALL(find_algorithms, "cublasLtMatmulAlgoGetHeuristic", LtStatus,                                \
       (LtHandle handle, LtOperation operation, LtLayout a, LtLayout b, LtLayout c, LtLayout d,    \
        LtPreference preference, int wanted, LtHeuristic* found, int* count))                      \
  CALL(multiply, "cublasLtMatmul", LtStatus,                                                       \
       (LtHandle handle, LtOperation operation, const void* alpha, const void* a,                  \
        LtLayout a_layout, const void* b, LtLayout b_layout, const void* beta, const void* c,      \
        LtLayout c_layout, void* d, LtLayout d_layout, const LtAlgorithm* algorithm,               \
        void* workspace, std::size_t workspace_bytes, CuStream stream))

struct BlasCalls {
#define WEFT_CALL(name, symbol, result, parameters) result(*name) parameters = nullptr;
  WEFT_BLAS_CALLS(WEFT_CALL)
#undef WEFT_CALL
};

/// For people.
struct BlasLibraryInfo {
  std::string path;     // of its file; empty where there is none
  int version = 0;      // 10000 × major + 100 × minor + patch: 130002; 0 where there is none
  std::string problem;  // why there is none, every place tried, and what helps
};

struct BlasLibrary {
  BlasCalls calls;
  BlasLibraryInfo info;
  bool complete = false;
};

/// Files and sonames to try, in order: of `wanted`, what WEFT_CUBLASLT says (a file, or a folder),
/// alone where there is such a thing.
std::vector<std::string> blas_places(const char* wanted);
/// Tries them; the first that is whole and new enough is taken. Adds the places that failed, with
/// their reasons, to `info.problem`.
BlasLibrary load_blas_library(const std::vector<std::string>& places);

/// The table in use: the library's, loaded at the first call (0.05 to 0.3 s); or that of a test.
/// Null where there is none, or WEFT_CUBLASLT is "off".
const BlasCalls* blas_calls();
/// Loads the library where it can; throws nothing but std::bad_alloc.
const BlasLibraryInfo& blas_library_info();
/// For tests, while nothing uses the library; null: the real one again.
void replace_blas_calls(const BlasCalls* calls) noexcept;
bool is_blas_replaced() noexcept;

}  // namespace weft::detail
