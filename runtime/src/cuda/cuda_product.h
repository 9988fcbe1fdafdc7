// Products of a GPU that cuBLASLt carries out.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <weft/codegen/product.h>
#include <weft/graph/numerics.h>

#include "blas_library.h"

namespace weft::detail {

class CudaDevice;

/// One call of the library, in its terms: column-major d = op(a) op(b), so that row-major products
/// have their factors exchanged.
struct BlasProblem {
  struct Matrix {
    std::int64_t rows = 0, columns = 0, leading = 0;  // as stored
    std::int64_t batch_stride = 0;
    bool transposed = false;
    std::uint32_t alignment = 0;  // bytes, of the address and of what is added to it
    friend auto operator<=>(const Matrix&, const Matrix&) noexcept = default;
  };
  DType dtype = DType::f32;
  MatmulPrecision precision = MatmulPrecision::f32;
  Matrix a, b, d;
  std::int64_t batch_count = 1;
  friend auto operator<=>(const BlasProblem&, const BlasProblem&) noexcept = default;
};

/// A product as equal calls at several places: elements to add to the addresses of the product's
/// own a, b and c.
struct BlasCallPlan {
  BlasProblem problem;
  struct Place {
    std::int64_t a = 0, b = 0, c = 0;
  };
  std::vector<Place> places;
};

/// Addresses' alignments, in bytes.
struct ProductAlignments {
  std::uint32_t a = 0, b = 0, c = 0;
};

/// The calls for a product. None, and `why` says it, where strides are not the library's (one of a
/// matrix's must be 1, the other at least the extent), or it would take more than 64.
BlasCallPlan plan_blas_calls(const ProductShape& shape, MatmulPrecision precision,
                             const ProductAlignments& alignments, std::string& why);

/// The library's objects for one problem, and the algorithm that was chosen. Never changes, so that
/// a run creates nothing.
class BlasAlgorithm;

/// A product with all that its calls need.
class LibraryProduct {
 public:
  LibraryProduct(std::shared_ptr<const BlasAlgorithm> algorithm, BlasCallPlan plan);
  std::size_t workspace_bytes() const noexcept;
  /// Appends it to a stream; the context is current. Throws OutOfMemoryError, DeviceLostError, else
  /// InternalError.
  void append(CudaDevice& device, CuAddress a, CuAddress b, CuAddress c, CuAddress workspace,
              CuStream stream) const;

 private:
  std::shared_ptr<const BlasAlgorithm> algorithm_;
  BlasCallPlan plan_;
};

/// The library's handle of a device, and the algorithms in use there: one is chosen before a
/// problem is first met, and kept for the process. Under the engine lock.
class CudaProducts {
 public:
  CudaProducts();
  ~CudaProducts();
  /// Null where generated kernels have to do it: `why` says so. Throws OutOfMemoryError, and
  /// InternalError for a failure that has no such way out.
  std::shared_ptr<const LibraryProduct> find(CudaDevice& device, const ProductShape& shape,
                                             MatmulPrecision precision,
                                             const ProductAlignments& alignments, std::string& why);

 private:
  bool open(CudaDevice& device);
  std::string problem_;  // why the device has no handle, once that was found out
  const BlasCalls* calls_ = nullptr;
  LtHandle handle_ = nullptr;
  std::map<BlasProblem, std::shared_ptr<const BlasAlgorithm>> algorithms_;  // null: there is none
};

}  // namespace weft::detail
