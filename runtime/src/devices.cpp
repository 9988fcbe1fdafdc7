// Which devices there are. No CUDA backend is built in yet.
#include "devices.h"

#include <weft/runtime/device.h>
#include <weft/runtime/sim.h>

#include "backend.h"
#include "cpu/cpu_backend.h"
#include "sim/sim_backend.h"

namespace weft::detail {
namespace {

constexpr const char* why_no_gpu = "this build of weft has no CUDA backend";

[[noreturn]] void fail_no_gpu(int index, Where at) {
  const std::string name = Device::cuda(index).str();
  if (cuda::device_count() == 0)
    fail<DeviceError>(at, name + ": no usable GPU: " + why_no_gpu +
                              "; use \"cpu\", or best_device() to take a GPU where there is one");
  fail<DeviceError>(at, name + ": no such GPU: there are " + std::to_string(cuda::device_count()));
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
    case DeviceKind::cuda: fail_no_gpu(0, {});
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

bool is_available() noexcept { return device_count() > 0; }
int device_count() noexcept { return 0; }
int driver_version() noexcept { return 0; }
int runtime_version() noexcept { return 0; }
int nvrtc_version() noexcept { return 0; }

std::string device_name(int index, Where at) { return properties(index, at).name; }

DeviceProperties properties(int index, Where at) {
  if (index < 0 || index >= device_count())
    detail::fail<DeviceError>(
        at, "cuda: no GPU number " + std::to_string(index) + ": there are " +
                std::to_string(device_count()) +
                (device_count() == 0 ? std::string(": ") + detail::why_no_gpu : std::string()) +
                "; ask device_count() first");
  return {};
}

DeviceGuard::DeviceGuard(int index, Where at) : before_(current_device()) { set_device(index, at); }

DeviceGuard::~DeviceGuard() {
  try {
    set_device(before_);
  } catch (const Error&) {  // the one before has gone: nothing to return to
  }
}

}  // namespace cuda
}  // namespace weft
