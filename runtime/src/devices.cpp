// Which devices there are.
#include "devices.h"

#include <weft/runtime/device.h>
#include <weft/runtime/sim.h>

#include "backend.h"
#include "cpu/cpu_backend.h"
#include "cuda/cuda_backend.h"
#include "sim/sim_backend.h"

namespace weft::detail {
namespace {

[[noreturn]] void fail_no_gpu(int index, Where at) {
  const std::string name = Device::cuda(index).str();
  std::string why;
  const int count = cuda_device_count(&why);
  if (count == 0)
    fail<DeviceError>(at, name + ": no usable GPU: " + why +
                              "; use \"cpu\", or best_device() to take a GPU where there is one");
  fail<DeviceError>(at, name + ": no such GPU: there " +
                            (count == 1 ? "is 1, \"cuda:0\"" : "are " + std::to_string(count)) +
                            "; ask cuda::device_count() first");
}

[[noreturn]] void fail_no_sim(int index, Where at) {
  const std::string count = std::to_string(sim::device_count());
  fail<DeviceError>(at, Device::sim(index).str() + ": no such device: " + count +
                            " are enabled; call sim::enable(n) with n > " +
                            std::to_string(index < 0 ? 0 : index) +
                            " and use an index from 0 to n - 1");
}

}  // namespace

Backend& backend(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu: return cpu_backend();
    case DeviceKind::sim: return sim_backend();
    case DeviceKind::cuda: return cuda_backend();
    case DeviceKind::automatic: break;
  }
  broken("a backend is asked for a device that has been decided", __FILE__, __LINE__);
}

void require_device(Device device, Where at) {
  const int index = device.index();
  switch (device.kind()) {
    case DeviceKind::cpu:
      if (index != 0)
        fail<DeviceError>(at, "cpu: no number " + std::to_string(index) +
                                  ": the cpu is one device; call Device::cpu()");
      return;
    case DeviceKind::cuda:
      if (index < 0 || index >= cuda::device_count()) fail_no_gpu(index, at);
      return;
    case DeviceKind::sim:
      if (index < 0 || index >= sim::device_count()) fail_no_sim(index, at);
      return;
    case DeviceKind::automatic:
      fail<DeviceError>(at, "automatic: not a device: nothing can be placed there; "
                            "record inside On(automatic)");
  }
}

}  // namespace weft::detail

namespace weft {

Device best_device() noexcept { return try_gpu(0); }

std::vector<Device> all_gpus() {
  std::vector<Device> devices;
  for (int i = 0; i < cuda::device_count(); ++i) devices.push_back(Device::cuda(i));
  if (devices.empty()) devices.push_back(Device::cpu());
  return devices;
}

Device try_gpu(int index) noexcept {
  return index >= 0 && index < cuda::device_count() ? Device::cuda(index) : Device::cpu();
}

void synchronize(Device device, Where at) {
  detail::require_device(device, at);
  detail::backend(device.kind()).synchronize(device);
}

namespace cuda {

DeviceGuard::DeviceGuard(int index, Where at) : before_(current_device()) { set_device(index, at); }

DeviceGuard::~DeviceGuard() {
  try {
    set_device(before_);
  } catch (const Error&) {  // the one before has gone: nothing to return to
  }
}

}  // namespace cuda
}  // namespace weft
