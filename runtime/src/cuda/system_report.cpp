#include <weft/runtime/system.h>

#include <exception>
#include <new>
#include <string>

#include <dlfcn.h>
#include <stdlib.h>

#include <weft/codegen/build.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>
#include <weft/runtime/device.h>

#include "blas_library.h"
#include "compatibility.h"
#include "cuda_backend.h"
#include "driver.h"

namespace weft {
namespace {

// Attributes of a device, as the driver numbers them.
constexpr int attribute_processors = 16, attribute_major = 75, attribute_minor = 76;

std::string file_of(void* function) {
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || !info.dli_fname) return "";
  char* const real = ::realpath(info.dli_fname, nullptr);
  std::string path = real ? real : info.dli_fname;
  ::free(real);
  return path;
}

void report_driver(SystemReport& report) {
  const detail::DriverCalls* const calls = detail::driver_calls(&report.driver.problem);
  report.driver.version = detail::driver_release();
  if (!calls) return;
  report.driver.path = file_of(reinterpret_cast<void*>(calls->init));
  report.driver_cuda_version = cuda::driver_version();
}

LibraryReport report_nvrtc() {
  const detail::NvrtcInfo info = detail::nvrtc_info();
  return {info.version ? detail::cuda_version_text(info.version) : "", info.path, info.problem};
}

LibraryReport report_cublaslt() {
  const detail::BlasLibraryInfo& info = detail::blas_library_info();
  LibraryReport report{"", info.path, info.problem};
  if (info.version)
    report.version = std::to_string(info.version / 10000) + "." +
                     std::to_string(info.version / 100 % 100) + "." +
                     std::to_string(info.version % 100);
  return report;
}

KernelFolderReport report_folder() {
  const detail::KernelCacheInfo info = detail::kernel_cache_info();
  return {info.folder, info.bytes, info.size_limit, info.entries, info.problem};
}

/// A kernel of the GPU's own: made, compiled or found, run, and read back.
std::string try_gpu_out(int index) {
  try {
    const detail::LineOf nowhere(detail::no_place);
    const Device device = Device::cuda(index);
    const On scope(device, detail::no_place);
    const Tensor start = full({1}, {20.0f, detail::no_place}, {.device = device});
    const float got = (start + 1.0f).item<float>(detail::no_place);
    return got == 21.0f ? "" : "20 + 1 gave " + std::to_string(got);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

GpuReport report_gpu(const detail::DriverCalls& calls, int index) {
  GpuReport report;
  report.index = index;
  detail::CuDevice gpu = 0;
  char name[256] = {};
  int major = 0, minor = 0;
  const auto told = [&] {  // each of these fails only where the GPU is of no use
    return calls.init(0) == 0 && calls.device_get(&gpu, index) == 0 &&
           calls.device_name(name, sizeof name, gpu) == 0 &&
           calls.device_memory(&report.total_bytes, gpu) == 0 &&
           calls.device_attribute(&major, attribute_major, gpu) == 0 &&
           calls.device_attribute(&minor, attribute_minor, gpu) == 0 &&
           calls.device_attribute(&report.multiprocessors, attribute_processors, gpu) == 0;
  };
  static_cast<void>(told());
  report.name = name;
  report.compute_capability = 10 * major + minor;
  report.problem = first_line(try_gpu_out(index));
  return report;
}

std::string verdict_of(const SystemReport& report, const detail::NvrtcInfo& nvrtc) {
  std::vector<int> capabilities;
  std::string failed;
  for (const GpuReport& gpu : report.gpus) {
    capabilities.push_back(gpu.compute_capability);
    if (!gpu.problem.empty())
      failed += (failed.empty() ? "" : ", ") + Device::cuda(gpu.index).str();
  }
  const std::string parts = detail::compatibility(
      {report.driver_cuda_version, nvrtc.version, nvrtc.architectures, capabilities});
  if (failed.empty()) return parts;
  return "not usable: a trial failed on " + failed + " (see above). By their versions: " + parts;
}

}  // namespace

SystemReport system_report() {
  SystemReport report;
  report.weft_version = WEFT_VERSION;
  report_driver(report);
  report.nvrtc = report_nvrtc();
  report.cublaslt = report_cublaslt();
  const int count = detail::cuda_device_count(&report.no_gpu_reason);
  if (count > 0) report.no_gpu_reason.clear();
  const detail::DriverCalls* const calls = detail::driver_calls();
  for (int i = 0; calls && i < count; ++i) report.gpus.push_back(report_gpu(*calls, i));
  report.kernel_folder = report_folder();
  report.verdict = verdict_of(report, detail::nvrtc_info());
  report.settings = environment_settings();
  return report;
}

}  // namespace weft
