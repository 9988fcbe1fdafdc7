// What programs may ask about GPUs.
#include <weft/codegen/build.h>
#include <weft/runtime/device.h>

#include "cuda_backend.h"
#include "cuda_device.h"

namespace weft::cuda {

namespace {

// Attributes of a device, as the driver numbers them.
constexpr int attribute_processors = 16, attribute_major = 75, attribute_minor = 76;

// The CUDA that weft's calls of the driver are written for.
constexpr int interface_version = 12000;

/// The driver, and the GPU's own handle there.
const detail::DriverCalls& driver_of(int index, detail::CuDevice& gpu, const char* op, Where at) {
  std::string why;
  const int count = detail::cuda_device_count(&why);
  if (index < 0 || index >= count)
    detail::fail<DeviceError>(at, std::string(op) + ": no GPU number " + std::to_string(index) +
                                      ": there are " + std::to_string(count) +
                                      (count == 0 ? ": " + why : std::string()) +
                                      "; ask device_count() first");
  const detail::DriverCalls& calls = *detail::driver_calls();
  const Device device = Device::cuda(index);
  detail::check_status(detail::init_driver(calls, device), "cuInit", device);
  detail::check_status(calls.device_get(&gpu, index), "cuDeviceGet", device);
  return calls;
}

}  // namespace

bool is_available() noexcept { return device_count() > 0; }

int device_count() noexcept {
  try {
    return detail::cuda_device_count();
  } catch (const std::exception&) {  // no memory for the answer: none that could be used
    return 0;
  }
}

int driver_version() noexcept {
  int version = 0;
  const detail::DriverCalls* const calls = detail::driver_calls();
  return calls && calls->driver_version(&version) == 0 ? version : 0;
}

int runtime_version() noexcept { return detail::driver_calls() ? interface_version : 0; }

int nvrtc_version() noexcept {
  try {
    return detail::nvrtc_info().version;
  } catch (const std::exception&) {
    return 0;
  }
}

std::string device_name(int index, Where at) {
  detail::CuDevice gpu = 0;
  const detail::DriverCalls& calls = driver_of(index, gpu, "device_name", at);
  char name[256] = {};
  detail::check_status(calls.device_name(name, sizeof name, gpu), "cuDeviceGetName",
                       Device::cuda(index));
  return name;
}

DeviceProperties properties(int index, Where at) {
  detail::CuDevice gpu = 0;
  const detail::DriverCalls& calls = driver_of(index, gpu, "properties", at);
  const Device device = Device::cuda(index);
  const auto attribute = [&](int which) {
    int value = 0;
    detail::check_status(calls.device_attribute(&value, which, gpu), "cuDeviceGetAttribute",
                         device);
    return value;
  };
  DeviceProperties found;
  found.name = device_name(index, at);
  found.compute_capability = 10 * attribute(attribute_major) + attribute(attribute_minor);
  found.multiprocessors = attribute(attribute_processors);
  detail::check_status(calls.device_memory(&found.total_bytes, gpu), "cuDeviceTotalMem", device);
  detail::CudaDevice& used = detail::cuda_device(device);
  used.start();  // what is free is known to a context alone
  const detail::WithContext with(used);
  std::size_t total = 0;
  used.check(calls.memory_info(&found.free_bytes, &total), "cuMemGetInfo");
  return found;
}

}  // namespace weft::cuda
