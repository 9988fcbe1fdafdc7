// Which devices there are, and waiting for them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <weft/graph/device.h>

namespace weft {

/// cuda:0 where there is one, else the cpu. Never throws for want of a GPU.
Device best_device() noexcept;
/// All GPUs; the cpu alone where there is none.
std::vector<Device> all_gpus();
/// GPU `index` where there is such a one, else the cpu.
Device try_gpu(int index = 0) noexcept;
/// Waits until all work that was started on the device has been done. DeviceError where there is no
/// such device.
void synchronize(Device device, Where at = {});

namespace cuda {

struct DeviceProperties {
  std::string name;
  int compute_capability = 0;  // 90 for 9.0
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;
  int multiprocessors = 0;
};

/// Whether there is a GPU that can be used.
bool is_available() noexcept;
/// 0 where there is none or no driver. Respects CUDA_VISIBLE_DEVICES; safe before a fork.
int device_count() noexcept;
/// DeviceError naming the index and the count, where out of range; properties likewise.
std::string device_name(int index = current_device(), Where at = {});
DeviceProperties properties(int index = current_device(), Where at = {});
/// 13000 for 13.0; 0 where absent.
int driver_version() noexcept;
int runtime_version() noexcept;
int nvrtc_version() noexcept;

/// Makes a GPU current for the calling thread while the guard lives. DeviceError where there is no
/// such GPU.
class DeviceGuard {
 public:
  [[nodiscard]] explicit DeviceGuard(int index, Where at = {});
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_;
};

}  // namespace cuda
}  // namespace weft
