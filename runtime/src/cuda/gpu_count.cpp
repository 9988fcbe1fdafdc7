#include "gpu_count.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <dlfcn.h>

#include <weft/graph/detail/environment.h>

namespace weft::detail {

namespace {

struct Library {
  void* handle;
  explicit Library(const char* name) : handle(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle) dlclose(handle);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  template <class F>
  F function(const char* name) const {
    return handle ? reinterpret_cast<F>(dlsym(handle, name)) : nullptr;
  }
};

bool ask_nvml(std::vector<std::string>& uuids) {
  struct Gpu;
  const Library nvml("libnvidia-ml.so.1");
  const auto init = nvml.function<int (*)()>("nvmlInit_v2");
  const auto shut_down = nvml.function<int (*)()>("nvmlShutdown");
  const auto count = nvml.function<int (*)(unsigned*)>("nvmlDeviceGetCount_v2");
  const auto get = nvml.function<int (*)(unsigned, Gpu**)>("nvmlDeviceGetHandleByIndex_v2");
  const auto uuid = nvml.function<int (*)(Gpu*, char*, unsigned)>("nvmlDeviceGetUUID");
  if (!init || !shut_down || !count || !get || !uuid || init() != 0) return false;
  unsigned gpus = 0;
  bool known = count(&gpus) == 0;
  for (unsigned i = 0; known && i < gpus; ++i) {
    Gpu* gpu = nullptr;
    char text[96] = {};
    // One that the process may not use is not counted by CUDA either.
    if (get(i, &gpu) == 0 && uuid(gpu, text, sizeof text) == 0) uuids.emplace_back(text);
  }
  shut_down();
  return known;
}

bool ask_files(std::vector<std::string>& uuids) {
  std::error_code error;
  std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", error);
  if (error) return false;
  for (const auto& gpu : gpus) {
    static_cast<void>(gpu);
    uuids.emplace_back();
  }
  return true;
}

/// The GPU that an entry names; -1: none.
int gpu_named(std::string_view entry, const std::vector<std::string>& uuids) {
  while (!entry.empty() && entry.front() == ' ') entry.remove_prefix(1);
  while (!entry.empty() && entry.back() == ' ') entry.remove_suffix(1);
  if (entry.empty()) return -1;
  if (std::all_of(entry.begin(), entry.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    if (entry.size() > 6) return -1;
    const int number = std::atoi(std::string(entry).c_str());
    return number < static_cast<int>(uuids.size()) ? number : -1;
  }
  int found = -1;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (uuids[i].compare(0, entry.size(), entry) != 0) continue;
    if (found >= 0) return -1;  // two begin like this
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

int count_named(const char* visible, const std::vector<std::string>& uuids) {
  if (!visible) return static_cast<int>(uuids.size());
  std::vector<int> named;
  std::string_view rest(visible);
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    // Part of a GPU: which one is the driver's to say.
    const int gpu = entry.substr(0, 4) == "MIG-" ? 1'000'000 + static_cast<int>(named.size())
                                                 : gpu_named(entry, uuids);
    if (gpu < 0) break;
    if (std::find(named.begin(), named.end(), gpu) != named.end()) return 0;
    named.push_back(gpu);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return static_cast<int>(named.size());
}

int count_visible_gpus(std::string* why_none) {
  std::vector<std::string> uuids;
  const bool known = ask_nvml(uuids) || ask_files(uuids);
  const char* const visible = environment("CUDA_VISIBLE_DEVICES");
  const int count = count_named(visible, uuids);
  if (count == 0 && why_none) {
    if (!known)
      *why_none = "neither libnvidia-ml.so.1 nor /proc/driver/nvidia/gpus names a GPU";
    else if (uuids.empty())
      *why_none = "the NVIDIA driver sees no GPU";
    else
      *why_none = "CUDA_VISIBLE_DEVICES hides all of the " + std::to_string(uuids.size());
  }
  return count;
}

}  // namespace weft::detail
