// How much memory tensors hold on a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include <weft/graph/device.h>

namespace weft {

/// Sizes in bytes. Scratch memory of running plans is not counted: Plan::peak_bytes has it.
struct MemoryStats {
  std::size_t in_use = 0;         // of live tensors, as large as they asked for
  std::size_t peak = 0;           // the most in use at one time
  std::size_t cached = 0;         // held for later tensors
  std::size_t tensors = 0;        // buffers in use
  std::uint64_t allocations = 0;  // blocks taken from the device so far
};

/// DeviceError where there is no such device.
MemoryStats memory_stats(Device device = {}, Where at = {});
/// Gives cached memory back to the system.
void empty_cache(Device device = {}, Where at = {});
/// From now on the peak counts from what is in use.
void reset_peak_memory(Device device = {}, Where at = {});

}  // namespace weft
