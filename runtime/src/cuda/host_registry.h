// Which of the host's own memory GPUs may read and write directly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "../fork.h"

namespace weft::detail {

class CudaDevice;

/// Blocks of the cpu's pool are pinned when they are first copied from or to, and stay so until
/// they go back to the system. Never destroyed.
class HostRegistry {
 public:
  static HostRegistry& instance();
  /// Whether the block is pinned now; pins it if it may. The device's context is current. Throws
  /// DeviceLostError.
  bool pin(CudaDevice& device, std::uintptr_t block, std::size_t bytes);
  /// For tests that replace the driver: as if nothing had been pinned.
  void forget() noexcept;

 private:
  struct Block {
    CudaDevice* device;  // null: the system does not let this one be pinned
    std::size_t bytes;
  };
  static void before_block_goes(std::uintptr_t block) noexcept;
  void release(std::uintptr_t block) noexcept;

  ForkSafeMutex mutex_;
  std::map<std::uintptr_t, Block> blocks_;
  std::size_t pinned_bytes_ = 0;
  std::uint32_t process_ = 0;
};

}  // namespace weft::detail
