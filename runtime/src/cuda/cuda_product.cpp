#include "cuda_product.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "cuda_device.h"

namespace weft::detail {

namespace {

constexpr std::size_t most_calls = 64;
constexpr std::uint64_t most_workspace = std::uint64_t{32} << 20;
constexpr std::uint32_t most_alignment = 16;  // more makes no difference to an algorithm

// ---- shapes

/// A row-major matrix as the library can be told of it: its transpose, column-major, as it stands
/// or transposed again.
std::optional<BlasProblem::Matrix> fit(std::int64_t rows, std::int64_t columns,
                                       std::int64_t row_stride, std::int64_t column_stride) {
  BlasProblem::Matrix matrix;
  // The stride of an axis of one element is never used.
  if (columns == 1) column_stride = row_stride == 1 && rows > 1 ? rows : 1;
  if (rows == 1) row_stride = column_stride == 1 ? columns : 1;
  if (column_stride == 1 && row_stride >= columns) {
    matrix.rows = columns;
    matrix.columns = rows;
    matrix.leading = row_stride;
    return matrix;
  }
  if (row_stride != 1 || column_stride < rows) return std::nullopt;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.leading = column_stride;
  matrix.transposed = true;
  return matrix;
}

/// Rows of a batch that shares b are rows of one matrix where a's are evenly apart.
void join_rows(ProductShape& shape) {
  while (shape.batch_rank > 0) {
    const int last = shape.batch_rank - 1;
    if (shape.b_batch[last] != 0) return;
    if (shape.m == 1)
      shape.a_row = shape.a_batch[last];
    else if (shape.a_batch[last] != shape.m * shape.a_row)
      return;
    shape.m *= shape.batch[last];
    --shape.batch_rank;
  }
}

/// The batch's axis that the library itself goes along: the longest; -1 where there is none.
int longest_axis(const ProductShape& shape) {
  int best = -1;
  for (int d = 0; d < shape.batch_rank; ++d)
    if (shape.a_batch[d] >= 0 && shape.b_batch[d] >= 0 &&
        (best < 0 || shape.batch[d] > shape.batch[best]))
      best = d;
  return best;
}

/// The largest power of two, up to the address's own, that these distances keep.
std::uint32_t kept_alignment(std::uint32_t alignment, std::int64_t size,
                             std::initializer_list<std::int64_t> distances) {
  alignment = std::min(alignment, most_alignment);
  for (const std::int64_t distance : distances)
    while (distance * size % static_cast<std::int64_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

}  // namespace

BlasCallPlan plan_blas_calls(const ProductShape& given, MatmulPrecision precision,
                             const ProductAlignments& alignments, std::string& why) {
  ProductShape shape = given;
  join_rows(shape);
  BlasCallPlan plan;
  const auto a = fit(shape.m, shape.k, shape.a_row, shape.a_column);
  const auto b = fit(shape.k, shape.n, shape.b_row, shape.b_column);
  if (!a || !b) {
    why = std::string("the strides of ") + (a ? "b" : "a") + " are not the library's";
    return plan;
  }
  const int axis = longest_axis(shape);
  const auto calls = static_cast<std::size_t>(axis < 0 ? shape.batch_count()
                                                       : shape.batch_count() / shape.batch[axis]);
  if (calls > most_calls) {
    why = "it would take " + std::to_string(calls) + " calls of the library";
    return plan;
  }
  BlasProblem& problem = plan.problem;
  problem.dtype = shape.dtype;
  problem.precision = shape.dtype == DType::f32 ? precision : MatmulPrecision::f32;
  problem.a = *b;
  problem.b = *a;
  problem.d.rows = problem.d.leading = shape.n;
  problem.d.columns = shape.m;
  plan.places.assign(1, {});
  std::int64_t c_stride = shape.m * shape.n;
  std::int64_t a_step = 0, b_step = 0, c_step = 0;
  // Every place that was made so far again, for each index of one more axis.
  for (int d = shape.batch_rank - 1; d >= 0; c_stride *= shape.batch[d], --d) {
    if (d == axis) {
      problem.batch_count = shape.batch[d];
      problem.a.batch_stride = shape.b_batch[d];
      problem.b.batch_stride = shape.a_batch[d];
      problem.d.batch_stride = c_stride;
      continue;
    }
    const std::size_t made = plan.places.size();
    for (std::int64_t i = 1; i < shape.batch[d]; ++i)
      for (std::size_t p = 0; p < made; ++p) {
        const BlasCallPlan::Place from = plan.places[p];
        plan.places.push_back(
            {from.a + i * shape.a_batch[d], from.b + i * shape.b_batch[d], from.c + i * c_stride});
      }
    // All that is added is a sum of multiples of these; two axes are as good as their common part.
    a_step |= shape.a_batch[d];
    b_step |= shape.b_batch[d];
    c_step |= c_stride;
  }
  const auto size = static_cast<std::int64_t>(size_of(shape.dtype));
  problem.a.alignment = kept_alignment(alignments.b, size, {problem.a.batch_stride, b_step});
  problem.b.alignment = kept_alignment(alignments.a, size, {problem.b.batch_stride, a_step});
  problem.d.alignment = kept_alignment(alignments.c, size, {problem.d.batch_stride, c_step});
  return plan;
}

// ---- the library's objects

namespace {

[[noreturn]] void fail_status(const BlasCalls& calls, LtStatus status, const char* call,
                              Device device) {
  const char* const name = calls.status_name(status);
  const std::string message =
      device.str() + ": " + call + ": " + (name ? name : "status " + std::to_string(status));
  if (status == lt_no_memory) fail<OutOfMemoryError>(no_place, message);
  fail<InternalError>(no_place, message);
}

void check_lt(const BlasCalls& calls, LtStatus status, const char* call, Device device) {
  if (status != 0) fail_status(calls, status, call, device);
}

int type_of(DType dtype) {
  switch (dtype) {
    case DType::f16: return lt_f16;
    case DType::bf16: return lt_bf16;
    case DType::f64: return lt_f64;
    default: return lt_f32;
  }
}

template <class T>
struct Destroy {
  const BlasCalls* calls;
  LtStatus (*BlasCalls::*function)(T);
  void operator()(T object) const noexcept { static_cast<void>((calls->*function)(object)); }
};
using OwnedOperation = std::unique_ptr<LtOperationTag, Destroy<LtOperation>>;
using OwnedLayout = std::unique_ptr<LtLayoutTag, Destroy<LtLayout>>;
using OwnedPreference = std::unique_ptr<LtPreferenceTag, Destroy<LtPreference>>;

/// What the library is called with; makes its objects, and says which call failed.
class Maker {
 public:
  Maker(const BlasCalls& calls, Device device) : calls_(calls), device_(device) {}

  OwnedOperation operation(const BlasProblem& problem) const {
    const bool is_double = problem.dtype == DType::f64;
    const int compute = is_double                                    ? lt_compute_f64
                        : problem.precision == MatmulPrecision::tf32 ? lt_compute_tf32
                                                                     : lt_compute_f32;
    LtOperation made = nullptr;
    check(calls_.create_operation(&made, compute, is_double ? lt_f64 : lt_f32),
          "cublasLtMatmulDescCreate");
    OwnedOperation owned(made, {&calls_, &BlasCalls::destroy_operation});
    const auto transpose = [&](int attribute, const BlasProblem::Matrix& matrix) {
      const std::int32_t value = lt_transpose;
      if (matrix.transposed)
        check(calls_.set_operation(made, attribute, &value, sizeof value),
              "cublasLtMatmulDescSetAttribute");
    };
    transpose(lt_operation_transpose_a, problem.a);
    transpose(lt_operation_transpose_b, problem.b);
    return owned;
  }

  OwnedLayout layout(const BlasProblem& problem, const BlasProblem::Matrix& matrix) const {
    LtLayout made = nullptr;
    check(calls_.create_layout(&made, type_of(problem.dtype),
                               static_cast<std::uint64_t>(matrix.rows),
                               static_cast<std::uint64_t>(matrix.columns), matrix.leading),
          "cublasLtMatrixLayoutCreate");
    OwnedLayout owned(made, {&calls_, &BlasCalls::destroy_layout});
    if (problem.batch_count == 1) return owned;
    const auto count = static_cast<std::int32_t>(problem.batch_count);
    check(calls_.set_layout(made, lt_layout_batch_count, &count, sizeof count),
          "cublasLtMatrixLayoutSetAttribute");
    check(calls_.set_layout(made, lt_layout_batch_stride, &matrix.batch_stride,
                            sizeof matrix.batch_stride),
          "cublasLtMatrixLayoutSetAttribute");
    return owned;
  }

  /// Parts of k are joined in the compute type, in order: what a result's dtype would round away
  /// stays.
  OwnedPreference preference(const BlasProblem& problem) const {
    LtPreference made = nullptr;
    check(calls_.create_preference(&made), "cublasLtMatmulPreferenceCreate");
    OwnedPreference owned(made, {&calls_, &BlasCalls::destroy_preference});
    const auto set = [&](int attribute, auto value) {
      check(calls_.set_preference(made, attribute, &value, sizeof value),
            "cublasLtMatmulPreferenceSetAttribute");
    };
    set(lt_preference_workspace, most_workspace);
    set(lt_preference_reductions, lt_reduce_in_compute_type);
    set(lt_preference_alignment_a, problem.a.alignment);
    set(lt_preference_alignment_a + 1, problem.b.alignment);
    set(lt_preference_alignment_a + 2, problem.d.alignment);
    set(lt_preference_alignment_a + 3, problem.d.alignment);
    return owned;
  }

  void check(LtStatus status, const char* call) const { check_lt(calls_, status, call, device_); }

 private:
  const BlasCalls& calls_;
  const Device device_;
};

}  // namespace

class BlasAlgorithm {
 public:
  /// Null where the library has none for the problem. The context is current.
  static std::shared_ptr<const BlasAlgorithm> choose(const BlasCalls& calls, LtHandle handle,
                                                     const BlasProblem& problem, Device device) {
    const Maker maker(calls, device);
    auto made = std::make_shared<BlasAlgorithm>(calls, handle, maker, problem);
    const OwnedPreference preference = maker.preference(problem);
    LtHeuristic found{};
    int count = 0;
    const LtStatus status =
        calls.find_algorithms(handle, made->operation_.get(), made->a_.get(), made->b_.get(),
                              made->d_.get(), made->d_.get(), preference.get(), 1, &found, &count);
    if (status == lt_not_supported || (status == 0 && (count < 1 || found.state != 0)))
      return nullptr;
    maker.check(status, "cublasLtMatmulAlgoGetHeuristic");
    made->algorithm_ = found.algorithm;
    made->workspace_bytes_ = found.workspace_bytes;
    return made;
  }

  BlasAlgorithm(const BlasCalls& calls, LtHandle handle, const Maker& maker,
                const BlasProblem& problem)
      : calls_(calls), handle_(handle), operation_(maker.operation(problem)),
        a_(maker.layout(problem, problem.a)), b_(maker.layout(problem, problem.b)),
        d_(maker.layout(problem, problem.d)), is_double_(problem.dtype == DType::f64) {}

  std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  const BlasCalls& calls() const noexcept { return calls_; }

  LtStatus multiply(CuAddress a, CuAddress b, CuAddress d, CuAddress workspace,
                    CuStream stream) const {
    static constexpr float one = 1, zero = 0;
    static constexpr double one_of_double = 1, zero_of_double = 0;
    const auto at = [](CuAddress address) { return reinterpret_cast<void*>(address); };
    const void* const alpha = is_double_ ? static_cast<const void*>(&one_of_double) : &one;
    const void* const beta = is_double_ ? static_cast<const void*>(&zero_of_double) : &zero;
    return calls_.multiply(handle_, operation_.get(), alpha, at(a), a_.get(), at(b), b_.get(), beta,
                           at(d), d_.get(), at(d), d_.get(), &algorithm_, at(workspace),
                           workspace_bytes_, stream);
  }

 private:
  const BlasCalls& calls_;
  const LtHandle handle_;
  const OwnedOperation operation_;
  const OwnedLayout a_, b_, d_;
  const bool is_double_;
  LtAlgorithm algorithm_{};
  std::size_t workspace_bytes_ = 0;
};

// ---- products

LibraryProduct::LibraryProduct(std::shared_ptr<const BlasAlgorithm> algorithm, BlasCallPlan plan)
    : algorithm_(std::move(algorithm)), plan_(std::move(plan)) {}

std::size_t LibraryProduct::workspace_bytes() const noexcept {
  return algorithm_->workspace_bytes();
}

void LibraryProduct::append(CudaDevice& device, CuAddress a, CuAddress b, CuAddress c,
                            CuAddress workspace, CuStream stream) const {
  const auto size = static_cast<std::int64_t>(size_of(plan_.problem.dtype));
  const auto moved = [size](CuAddress address, std::int64_t elements) {
    return address + static_cast<CuAddress>(elements * size);
  };
  for (const BlasCallPlan::Place& place : plan_.places) {
    const LtStatus status = algorithm_->multiply(moved(b, place.b), moved(a, place.a),
                                                 moved(c, place.c), workspace, stream);
    if (status == 0) continue;
    // What the driver says is more exact: it knows whether the device is lost.
    if (status == lt_execution_failed || status == lt_internal_error)
      device.check(device.calls().synchronize_stream(stream), "cublasLtMatmul");
    fail_status(algorithm_->calls(), status, "cublasLtMatmul", device.device());
  }
}

CudaProducts::CudaProducts() = default;
CudaProducts::~CudaProducts() = default;

/// A library that does not know the GPU, or that the driver is too old for, is as good as none.
bool CudaProducts::open(CudaDevice& device) {
  if (handle_) return true;
  if (!problem_.empty()) return false;
  // A driver of the tests has the library that they give it.
  calls_ = device.calls().takes_texts && !is_blas_replaced() ? nullptr : blas_calls();
  if (!calls_) {
    problem_ = "there is no cuBLASLt";
    return false;
  }
  const LtStatus status = calls_->create(&handle_);
  if (status == 0) return true;
  handle_ = nullptr;
  if (status != lt_not_initialised && status != lt_wrong_architecture && status != lt_not_supported)
    fail_status(*calls_, status, "cublasLtCreate", device.device());
  const char* const name = calls_->status_name(status);
  problem_ = std::string("cublasLtCreate: ") + (name ? name : "fails");
  return false;
}

std::shared_ptr<const LibraryProduct>
CudaProducts::find(CudaDevice& device, const ProductShape& shape, MatmulPrecision precision,
                   const ProductAlignments& alignments, std::string& why) {
  if (!prefers_library(shape.m, shape.n, shape.k, shape.batch_count())) {
    why = "it is small";
    return nullptr;
  }
  BlasCallPlan plan = plan_blas_calls(shape, precision, alignments, why);
  if (plan.places.empty()) return nullptr;
  const WithContext with(device);
  if (!open(device)) {
    why = problem_;
    return nullptr;
  }
  auto known = algorithms_.find(plan.problem);
  if (known == algorithms_.end())
    known = algorithms_
                .emplace(plan.problem,
                         BlasAlgorithm::choose(*calls_, handle_, plan.problem, device.device()))
                .first;
  if (!known->second) {
    why = "the library has no algorithm for it";
    return nullptr;
  }
  return std::make_shared<const LibraryProduct>(known->second, std::move(plan));
}

}  // namespace weft::detail
