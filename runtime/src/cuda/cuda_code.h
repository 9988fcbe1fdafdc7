// The kernels of a plan's steps on one GPU: texts, built and loaded; and what a library does
// instead.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <weft/codegen/build.h>
#include <weft/codegen/kernel.h>

#include "../frozen_plan.h"
#include "cuda_product.h"
#include "driver.h"

namespace weft::detail {

class CudaDevice;
class Run;

/// What a step launches, with functions of the device's context.
struct CudaCode {
  KernelSequence sequence;
  std::vector<CuFunction> functions;              // one a launch
  std::shared_ptr<const LibraryProduct> product;  // instead of launches
};

/// The kernels of one plan on one device; made as its runs need them: for operands that are less
/// aligned than usual a step has other ones.
class CudaPlanCode {
 public:
  explicit CudaPlanCode(std::size_t steps) : steps_(steps) {}
  /// Those of a stretch of steps for a run's operands, built and loaded. Under the engine lock.
  /// Throws what building and loading throw; nothing of the run has begun.
  std::vector<const CudaCode*> prepare(CudaDevice& device, const Run& run, std::uint32_t first,
                                       std::uint32_t last);

 private:
  struct Variant {
    std::vector<std::uint8_t> alignments;  // of its operands, as powers of two
    CudaCode code;
    std::vector<KernelHandle> builds;
  };
  Variant& variant_of(CudaDevice& device, const Run& run, std::uint32_t step);
  std::vector<std::vector<std::unique_ptr<Variant>>> steps_;
};

/// Functions that a device has loaded, by their kernel's text; and its library's products.
class CudaModules {
 public:
  /// The context is current.
  CuFunction load(CudaDevice& device, const KernelLaunch& launch, const KernelHandle& build);
  CudaProducts& products() noexcept { return products_; }

 private:
  std::map<std::pair<std::string, bool>, CuFunction> functions_;  // text, and whether it is fast
  CudaProducts products_;
};

}  // namespace weft::detail
