// What work is predicted to cost: the table by which `On(automatic)` chooses devices.
#pragma once

#include <string>
#include <vector>

#include <weft/graph/device.h>
#include <weft/graph/dtype.h>
#include <weft/graph/error.h>

namespace weft {

/// One device. Times in microseconds; rates per microsecond: 1e3 bytes are 1 GB/s, 1e6 operations
/// are 1 TFLOP/s. Rates are more than 0, times at least 0.
struct DeviceCost {
  double kernel_us;     // fixed cost of a kernel, however small
  double bytes_per_us;  // streamed from and to the device's own memory
  double flops_per_us;  // point-wise work, reductions and the rest, counted in additions
  double product_half;  // flops a microsecond of products of f16 and bf16, 2 for each
  double product_f32;   //   multiply and add
  double product_f64;
  double product_int;
  /// Products of this dtype.
  double product_flops_per_us(DType dtype) const noexcept;
  friend bool operator==(const DeviceCost&, const DeviceCost&) noexcept = default;
};

/// One copy between two devices: latency_us + bytes / bytes_per_us.
struct LinkCost {
  double latency_us;
  double bytes_per_us;
  friend bool operator==(const LinkCost&, const LinkCost&) noexcept = default;
};

/// What the planner is told of devices. The built-in values are those of two cores of a server and
/// one H200, and the same on every machine: equal programs get equal plans.
struct CostTable {
  DeviceCost cpu{0.5, 40e3, 100e3, 100e3, 200e3, 100e3, 2e3};
  DeviceCost gpu{3.6, 4.2e6, 30e6, 600e6, 50e6, 30e6, 1e6};
  LinkCost host_to_device{10, 16e3};
  LinkCost device_to_host{10, 16e3};
  LinkCost device_to_device{10, 100e3};

  /// A device that differs from the others of its kind. A simulated device is a choice of the
  /// planner's only where it has a row here.
  struct DeviceRow {
    Device device;
    DeviceCost cost;
    friend bool operator==(const DeviceRow&, const DeviceRow&) noexcept = default;
  };
  struct LinkRow {
    Device from, to;
    LinkCost cost;
    friend bool operator==(const LinkRow&, const LinkRow&) noexcept = default;
  };
  std::vector<DeviceRow> devices;
  std::vector<LinkRow> links;

  /// The device's own row, else its kind's; simulated devices without one count as GPUs.
  const DeviceCost& of(Device device) const noexcept;
  const LinkCost& between(Device from, Device to) const noexcept;
  friend bool operator==(const CostTable&, const CostTable&) noexcept = default;
};

/// For all that is planned from now on. A program with ops inside On(automatic) is then planned
/// again; the others keep their plans. ValueError where a figure is not in its range, a device is
/// named twice or a link leads nowhere; the table in force then stays.
void set_cost_table(const CostTable& table, Where at = {});
/// The table in force: the built-in one until another is set.
CostTable cost_table();

namespace detail {
/// Another number after each change of the table.
std::uint64_t cost_table_version() noexcept;
}  // namespace detail

}  // namespace weft
