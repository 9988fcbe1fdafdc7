#include "support/compile_all.h"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "device_compiler.h"
#include "kernel_cache.h"
#include "sha256.h"
#include "support/catch.h"
#include "support/sanitized.h"

namespace weft::test {
namespace {

// Nothing on disk: a text is compiled by the NVRTC that is there now.
detail::KernelBuilder& builder() {
  static auto* const cache = new detail::KernelCache(detail::nvrtc(), {});
  static auto* const instance = new detail::KernelBuilder(*cache, 2);
  return *instance;
}

}  // namespace

const std::vector<int>& compiled_architectures() {
  static const std::vector<int> result = [] {
    if (thread_sanitized) return std::vector<int>{};
    const detail::NvrtcInfo info = detail::nvrtc_info();
    if (info.architectures.empty()) return std::vector<int>{};
    std::set<int> chosen = {info.architectures.back()};
    for (const int arch : info.architectures)
      if (arch == 80 || arch == 90) chosen.insert(arch);
    return std::vector<int>(chosen.begin(), chosen.end());
  }();
  return result;
}

bool compile_all(std::span<const detail::KernelSource> sources) {
  if (compiled_architectures().empty()) {
    const char* const state = thread_sanitized ? nullptr : std::getenv("WEFT_TESTS_NVRTC");
    if (state && std::string(state) == "required") detail::nvrtc().load();
    WARN("no NVRTC: kernels are not compiled");
    return false;
  }
  static std::mutex mutex;
  static std::set<detail::Sha256::Digest> compiled;
  const std::lock_guard lock(mutex);
  std::vector<detail::KernelHandle> handles;
  std::set<detail::Sha256::Digest> asked;
  for (const detail::KernelSource& source : sources) {
    const detail::Sha256::Digest digest = detail::sha256(source.entry + "\n" + source.text);
    if (compiled.count(digest) || !asked.insert(digest).second) continue;
    const auto shared = std::make_shared<const detail::KernelSource>(source);
    for (const int arch : compiled_architectures())
      handles.push_back(builder().request(shared, arch));
  }
  for (const detail::KernelHandle& handle : handles) builder().wait(handle);
  compiled.merge(asked);
  return true;
}

}  // namespace weft::test
