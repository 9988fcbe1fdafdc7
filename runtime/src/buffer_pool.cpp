// Size classes with free lists; a buffer's own memory becomes its entry there.
#include "buffer_pool.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <limits>
#include <memory>
#include <new>

#include "devices.h"
#include "engine.h"
#include "host_calls.h"

#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(WEFT_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace weft::detail {
namespace {

constexpr std::size_t largest_block = std::size_t{1} << 62;
constexpr int most_devices = 64;
constinit std::atomic<BufferPool*> pools[3][most_devices] = {};

// Under AddressSanitizer, cpu memory that no tensor holds must not be touched.
void allow_access([[maybe_unused]] Device device, [[maybe_unused]] std::uintptr_t address,
                  [[maybe_unused]] std::size_t bytes, [[maybe_unused]] std::size_t block) noexcept {
#if defined(WEFT_ADDRESS_SANITIZER)
  if (!device.is_cpu()) return;
  __asan_poison_memory_region(reinterpret_cast<void*>(address), block);
  __asan_unpoison_memory_region(reinterpret_cast<void*>(address), bytes);
#endif
}

std::size_t cache_bound(Device device) {
  // What a simulated device frees must be seen to be free.
  if (device.is_sim()) return 0;
  if (!device.is_cpu()) return std::numeric_limits<std::size_t>::max();
  return host_calls().memory_limit() / 4;
}

class BorrowedBuffer final : public Buffer {
 public:
  BorrowedBuffer(void* data, std::size_t bytes, void (*release)(void*), void* context) noexcept
      : Buffer(Device::cpu(), reinterpret_cast<std::uintptr_t>(data), bytes, false),
        release_(release), context_(context) {}

 private:
  void reclaim() noexcept override {
    if (release_) release_(context_);
    delete this;
  }
  void (*release_)(void*);
  void* context_;
};

[[noreturn]] void fail_out_of_memory(Device device, std::size_t bytes, const MemoryStats& stats,
                                     Where at) {
  fail<OutOfMemoryError>(at, device.str() + ": out of memory: " + text_of_bytes(bytes) + " (" +
                                 std::to_string(bytes) + " bytes) asked for, " +
                                 text_of_bytes(stats.in_use) + " in use by " +
                                 std::to_string(stats.tensors) + " buffers, at most " +
                                 text_of_bytes(stats.peak) + " so far");
}

}  // namespace

// A live buffer. When it dies its memory as an object becomes the FreeBlock of its block.
class PooledBuffer final : public Buffer {
 public:
  PooledBuffer(BufferPool& pool, Device device, std::uintptr_t address, std::size_t bytes) noexcept
      : Buffer(device, address, bytes), pool_(pool) {}

 private:
  friend class BufferPool;
  void reclaim() noexcept override { pool_.take_back(this); }
  BufferPool& pool_;
};

SizeClass size_class_of(std::size_t bytes) noexcept {
  if (bytes <= 256) {
    const std::size_t steps = bytes == 0 ? 1 : (bytes + 63) / 64;
    return {static_cast<std::uint32_t>(steps - 1), steps * 64};
  }
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log + 1)
  const std::size_t base = std::size_t{1} << log, step = base / 4;
  const std::size_t steps = (bytes - base + step - 1) / step;
  return {static_cast<std::uint32_t>(4 * (log - 7) + static_cast<int>(steps) - 1),
          base + steps * step};
}

BufferPool::BufferPool(Backend& backend, Device device, std::size_t cache_bound)
    : backend_(backend), device_(device), cache_bound_(cache_bound) {}

BufferPool::~BufferPool() { trim(); }

BufferRef BufferPool::allocate(std::size_t bytes) {
  if (bytes > largest_block) return {};
  const SizeClass size = size_class_of(bytes);
  {
    const ForkSafeLock lock(mutex_);
    if (FreeBlock* const block = free_[size.index]) {
      free_[size.index] = block->next;
      stats_.cached -= size.bytes;
      return make(block, block->address, bytes);
    }
  }
  static_assert(alignof(PooledBuffer) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  constexpr auto free_cell = [](void* cell) { ::operator delete(cell); };
  std::unique_ptr<void, decltype(free_cell)> cell(
      ::operator new(std::max(sizeof(PooledBuffer), sizeof(FreeBlock)), std::nothrow));
  if (!cell) return {};
  const std::uintptr_t address = backend_.allocate(device_, size.bytes);  // or throws
  if (address == 0) return {};
  const ForkSafeLock lock(mutex_);
  ++stats_.allocations;
  return make(cell.release(), address, bytes);
}

// Under the lock.
BufferRef BufferPool::make(void* cell, std::uintptr_t address, std::size_t bytes) noexcept {
  allow_access(device_, address, bytes, size_class_of(bytes).bytes);
  ++stats_.tensors;
  stats_.in_use += bytes;
  stats_.peak = std::max(stats_.peak, stats_.in_use);
  return BufferRef(new (cell) PooledBuffer(*this, device_, address, bytes));
}

void BufferPool::take_back(PooledBuffer* buffer) noexcept {
  const std::uintptr_t address = buffer->address();
  const std::size_t bytes = buffer->bytes();
  const SizeClass size = size_class_of(bytes);
  buffer->~PooledBuffer();
  auto* const block = new (static_cast<void*>(buffer)) FreeBlock{nullptr, address, size};
  allow_access(device_, address, 0, size.bytes);
  {
    const ForkSafeLock lock(mutex_);
    --stats_.tensors;
    stats_.in_use -= bytes;
    if (size.bytes <= cache_bound_ && stats_.cached <= cache_bound_ - size.bytes) {
      stats_.cached += size.bytes;
      block->next = free_[size.index];
      free_[size.index] = block;
      return;
    }
  }
  give_back(block);
}

void BufferPool::give_back(FreeBlock* block) noexcept {
  allow_access(device_, block->address, block->size.bytes, block->size.bytes);
  backend_.deallocate(device_, block->address, block->size.bytes);
  ::operator delete(block);
}

void BufferPool::trim() noexcept {
  FreeBlock* blocks = nullptr;
  {
    const ForkSafeLock lock(mutex_);
    for (FreeBlock*& head : free_)
      while (head) {
        FreeBlock* const block = head;
        head = block->next;
        block->next = blocks;
        blocks = block;
      }
    stats_.cached = 0;
  }
  while (blocks) {
    FreeBlock* const block = blocks;
    blocks = block->next;
    give_back(block);
  }
}

void BufferPool::empty() noexcept {
  trim();
  backend_.trim(device_);
}

MemoryStats BufferPool::stats() noexcept {
  const ForkSafeLock lock(mutex_);
  return stats_;
}

void BufferPool::reset_peak() noexcept {
  const ForkSafeLock lock(mutex_);
  stats_.peak = stats_.in_use;
}

// Pools are never destroyed: tensors of static storage duration give their memory back to them.
BufferPool& pool_of(Device device) {
  WEFT_ENSURE(device.kind() != DeviceKind::automatic && device.index() >= 0 &&
              device.index() < most_devices);
  std::atomic<BufferPool*>& slot = pools[static_cast<int>(device.kind())][device.index()];
  BufferPool* pool = slot.load(std::memory_order_acquire);
  if (pool) return *pool;
  auto* const made = new BufferPool(backend(device.kind()), device, cache_bound(device));
  if (slot.compare_exchange_strong(pool, made, std::memory_order_acq_rel)) return *made;
  delete made;  // another thread's came first
  return *pool;
}

BufferRef allocate_buffer(Device device, std::size_t bytes, Where at) {
  BufferPool& pool = pool_of(device);
  if (BufferRef buffer = pool.allocate(bytes)) return buffer;
  trim_all_caches();
  if (BufferRef buffer = pool.allocate(bytes)) return buffer;
  fail_out_of_memory(device, bytes, pool.stats(), at);
}

BufferRef borrow_buffer(void* data, std::size_t bytes, void (*release)(void*), void* context) {
  return BufferRef(new BorrowedBuffer(data, bytes, release, context));
}

namespace {

template <class F>
void for_each_pool(F f) noexcept {
  for (auto& kind : pools)
    for (auto& slot : kind)
      if (BufferPool* const pool = slot.load(std::memory_order_acquire)) f(*pool);
}

}  // namespace

void trim_all_caches() noexcept {
  for_each_pool([](BufferPool& pool) { pool.empty(); });
}

void release_all_scratch() noexcept {
  for_each_pool([](BufferPool& pool) { pool.release_scratch(); });
}

std::string text_of_bytes(std::size_t bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1023.95 && unit < 5) value /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, units[unit]);
  return text;
}

}  // namespace weft::detail

namespace weft {

MemoryStats memory_stats(Device device, Where at) {
  detail::require_device(device, at);
  return detail::pool_of(device).stats();
}

void empty_cache(Device device, Where at) {
  detail::require_device(device, at);
  detail::Engine::instance().release_scratch(device);
  detail::pool_of(device).empty();
}

void reset_peak_memory(Device device, Where at) {
  detail::require_device(device, at);
  detail::pool_of(device).reset_peak();
}

}  // namespace weft
