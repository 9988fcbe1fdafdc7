// In place of the CUDA backend where weft is built without it: there are no GPUs, and this is why.
#include <string>

#include <weft/runtime/device.h>
#include <weft/runtime/system.h>

#include "../backend.h"
#include "../cuda/cuda_backend.h"

namespace weft {

namespace {

const char* const no_backend = "this build of weft has no CUDA backend";

[[noreturn]] void fail_no_backend(const char* op, int index, Where at) {
  detail::fail<DeviceError>(at, std::string(op) + ": no GPU number " + std::to_string(index) +
                                    ": " + no_backend +
                                    "; build it with WEFT_CUDA=AUTO to use GPUs");
}

/// Of no devices: nothing can be asked of it.
class NoCuda final : public detail::Backend {
 public:
  int device_count() const override { return 0; }
  std::uintptr_t allocate(Device, std::size_t) override { fail(); }
  void deallocate(Device, std::uintptr_t, std::size_t) noexcept override {}
  std::uintptr_t arena(Device, std::size_t) override { fail(); }
  void submit(Device, StreamKind, detail::Segment) override { fail(); }
  void* host_address(Device, std::uintptr_t) const override { return nullptr; }
  void copy_to_host(Device, void*, std::uintptr_t, std::size_t) override { fail(); }
  void copy_from_host(Device, std::uintptr_t, const void*, std::size_t) override { fail(); }
  void synchronize(Device) override {}
  void trim(Device) noexcept override {}

 private:
  [[noreturn]] static void fail() { detail::broken(no_backend, __FILE__, __LINE__); }
};

}  // namespace

detail::Backend& detail::cuda_backend() {
  static NoCuda* const backend = new NoCuda;
  return *backend;
}

int detail::cuda_device_count(std::string* why_none) {
  if (why_none) *why_none = no_backend;
  return 0;
}

namespace cuda {

bool is_available() noexcept { return false; }
int device_count() noexcept { return 0; }
int driver_version() noexcept { return 0; }
int runtime_version() noexcept { return 0; }
int nvrtc_version() noexcept { return 0; }
std::string device_name(int index, Where at) { fail_no_backend("device_name", index, at); }
DeviceProperties properties(int index, Where at) { fail_no_backend("properties", index, at); }

}  // namespace cuda

SystemReport system_report() {
  SystemReport report;
  report.weft_version = WEFT_VERSION;
  for (LibraryReport* const library : {&report.driver, &report.nvrtc, &report.cublaslt})
    library->problem = no_backend;
  report.kernel_folder.problem = report.no_gpu_reason = no_backend;
  report.verdict = std::string(no_backend) + ": programs run on the cpu";
  report.settings = environment_settings();
  return report;
}

}  // namespace weft
