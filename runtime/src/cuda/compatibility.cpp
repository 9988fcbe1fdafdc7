#include "compatibility.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <dlfcn.h>

namespace weft::detail {
namespace {

constexpr int oldest_cuda = 12000;

std::string release_of_nvml() {
  void* const nvml = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!nvml) return "";
  const auto function = [nvml](const char* name) { return ::dlsym(nvml, name); };
  const auto init = reinterpret_cast<int (*)()>(function("nvmlInit_v2"));
  const auto shut_down = reinterpret_cast<int (*)()>(function("nvmlShutdown"));
  const auto version =
      reinterpret_cast<int (*)(char*, unsigned)>(function("nvmlSystemGetDriverVersion"));
  char text[96] = {};
  if (init && shut_down && version && init() == 0) {
    if (version(text, sizeof text) != 0) text[0] = 0;
    shut_down();
  }
  ::dlclose(nvml);
  return text;
}

std::string list_of(const std::vector<int>& capabilities) {
  std::string text;
  for (const int each : capabilities)
    text +=
        (text.empty() ? "" : ", ") + std::to_string(each / 10) + "." + std::to_string(each % 10);
  return text;
}

}  // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

bool covers(const std::vector<int>& architectures, int capability) noexcept {
  return std::any_of(architectures.begin(), architectures.end(), [capability](int architecture) {
    return architecture / 10 == capability / 10 && architecture <= capability;
  });
}

std::string compatibility(const CudaParts& parts) {
  if (parts.driver == 0) return "no usable NVIDIA driver: programs run on the cpu";
  const std::string driver = cuda_version_text(parts.driver),
                    nvrtc = cuda_version_text(parts.nvrtc);
  if (parts.driver < oldest_cuda)
    return "the driver supports CUDA " + driver + ", and weft needs " +
           cuda_version_text(oldest_cuda) + " or newer: update the driver";
  if (parts.capabilities.empty()) return "a driver but no GPU: programs run on the cpu";
  if (parts.nvrtc == 0)
    return "no NVRTC: on a GPU only programs run whose kernels are all in the kernel folder";
  std::vector<int> uncovered;
  for (const int each : parts.capabilities)
    if (!covers(parts.architectures, each)) uncovered.push_back(each);
  if (!uncovered.empty())
    return "NVRTC " + nvrtc + " does not compile for compute capability " + list_of(uncovered) +
           ": install one that does";
  if (parts.nvrtc <= parts.driver)
    return "NVRTC " + nvrtc + " is not newer than the driver's CUDA " + driver +
           ": made for each other, so this works";
  const std::string newer = "NVRTC " + nvrtc + " is newer than the driver's CUDA " + driver +
                            ": kernels are compiled to machine code for the GPU, ";
  if (parts.nvrtc / 1000 == parts.driver / 1000) return newer + "so this works";
  return newer + "which may work; NVIDIA promises it within CUDA " +
         std::to_string(parts.driver / 1000) + " alone, and each GPU was tried";
}

std::string release_in(std::string_view text) {
  const auto is_part = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (word.find('.') != std::string_view::npos && word.front() != '.' &&
        std::all_of(word.begin(), word.end(), is_part))
      return std::string(word);
    at = end + 1;
  }
  return "";
}

std::string driver_release() {
  std::string release = release_of_nvml();
  if (!release.empty()) return release;
  std::ifstream file("/proc/driver/nvidia/version");
  return release_in(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace weft::detail
