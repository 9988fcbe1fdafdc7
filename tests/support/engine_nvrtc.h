// A compiler and a kernel cache of a test's own, by which the engine has its kernels built.
#pragma once

#include <utility>

#include <weft/codegen/build.h>

#include "codegen/fake_nvrtc.h"
#include "kernel_cache.h"

namespace weft::testing {

/// While it lives, kernels of the engine are asked of this cache; GPUs are those of a FakeCuda with
/// `takes_code`, made before and gone after.
class EngineCompiler {
 public:
  explicit EngineCompiler(detail::Nvrtc& compiler, detail::CacheSettings settings = {})
      : cache_(compiler, std::move(settings)), builder_(cache_, 1) {
    detail::replace_nvrtc(&compiler);
    detail::replace_kernel_builder(&builder_);
  }
  ~EngineCompiler() {
    detail::replace_kernel_builder(nullptr);
    detail::replace_nvrtc(nullptr);
  }
  EngineCompiler(const EngineCompiler&) = delete;
  EngineCompiler& operator=(const EngineCompiler&) = delete;
  /// Everything that was built is on disk; nothing more is built.
  void end() noexcept { builder_.end(); }

 private:
  detail::KernelCache cache_;
  detail::KernelBuilder builder_;
};

}  // namespace weft::testing
