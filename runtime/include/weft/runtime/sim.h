// Simulated devices: placement, transfers, plans and recovery tested with no GPU. Their memory is
// the host's, at addresses that the host can not follow; each has three streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/graph/error.h>

namespace weft::sim {

/// From now on there are at least this many devices, "sim:0", "sim:1", ... . At most 63.
void enable(int count = 2, Where at = {});
/// 0 before the first enable.
int device_count() noexcept;

struct Options {
  std::uint64_t seed = 0;
  int max_delay_us = 0;       // steps start up to this much later, at random
  bool poison = true;         // memory that nobody has written holds NaN
  bool check_hazards = true;  // a plan that misses a wait or overwrites what is alive fails its run
  std::size_t memory_bytes = std::size_t{1} << 30;  // of each device
};
/// For all devices, from now on.
void configure(Options options);

/// After `after` more allocations the next one finds no memory; or, `forever`, it and all later
/// ones.
void fail_allocation(int device, int after = 0, bool forever = false, Where at = {});
/// Likewise copies, and kernels and library calls: the device is lost (DeviceLostError).
void fail_copy(int device, int after = 0, bool forever = false, Where at = {});
void fail_kernel(int device, int after = 0, bool forever = false, Where at = {});
/// Every device works again.
void clear_faults() noexcept;

/// What a device has done since the last reset. Copies count on the device whose stream they run
/// on; reads and writes by the host on the device whose memory it is.
struct Counters {
  std::uint64_t allocations = 0;
  std::uint64_t bytes_to_device = 0;  // from the host
  std::uint64_t bytes_to_host = 0;
  std::uint64_t bytes_between_devices = 0;
  std::uint64_t kernels = 0;  // and library calls
  std::uint64_t copies = 0;
  std::uint64_t waits = 0;
};
Counters counters(int device, Where at = {});
void reset_counters() noexcept;

}  // namespace weft::sim
