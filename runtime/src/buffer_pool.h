// Memory of tensors: blocks of a device, kept for reuse when the last holder leaves.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <weft/graph/detail/buffer.h>
#include <weft/runtime/memory.h>

#include "backend.h"
#include "fork.h"

namespace weft::detail {

/// Blocks come in classes: powers of two, and three steps between each and the next.
struct SizeClass {
  std::uint32_t index;
  std::size_t bytes;
};
/// The smallest class that holds them; from 64 bytes on. For up to 2^62 bytes.
SizeClass size_class_of(std::size_t bytes) noexcept;

/// Outlives the buffers that it makes.
class BufferPool {
 public:
  /// Caches at most `cache_bound` bytes.
  BufferPool(Backend& backend, Device device, std::size_t cache_bound);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// A buffer of so many bytes, not initialised; null where there is no memory. Bytes of a cached
  /// block allocate nothing.
  BufferRef allocate(std::size_t bytes);
  /// Gives cached blocks back to the device.
  void trim() noexcept;
  /// And the device what it keeps itself.
  void empty() noexcept;
  void release_scratch() noexcept { backend_.release_scratch(device_); }
  MemoryStats stats() noexcept;
  void reset_peak() noexcept;

 private:
  friend class PooledBuffer;
  struct FreeBlock {
    FreeBlock* next;
    std::uintptr_t address;
    SizeClass size;
  };
  BufferRef make(void* cell, std::uintptr_t address, std::size_t bytes) noexcept;
  void take_back(class PooledBuffer* buffer) noexcept;
  void give_back(FreeBlock* block) noexcept;

  Backend& backend_;
  const Device device_;
  const std::size_t cache_bound_;
  ForkSafeMutex mutex_;
  std::array<FreeBlock*, 256> free_{};
  MemoryStats stats_;
};

/// The device's pool. The device must exist.
BufferPool& pool_of(Device device);
/// Memory of a device, not initialised. OutOfMemoryError where there is none, even after all caches
/// have been emptied.
BufferRef allocate_buffer(Device device, std::size_t bytes, Where at = {});
/// The caller's memory on the cpu, which no plan may write to; `release(context)` when the last
/// holder is gone. On an exception it is not called.
BufferRef borrow_buffer(void* data, std::size_t bytes, void (*release)(void*), void* context);
/// Empties the caches of all devices.
void trim_all_caches() noexcept;
/// Gives their scratch memory back too; no run is bound or in flight.
void release_all_scratch() noexcept;
/// "1.5 GiB".
std::string text_of_bytes(std::size_t bytes);

}  // namespace weft::detail
