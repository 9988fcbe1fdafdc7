// The cpu as a device: pages of the system, an arena, one queue with its thread.
#include "cpu_backend.h"

#include <atomic>
#include <cstring>

#include "../arena.h"
#include "../host_calls.h"
#include "../run.h"
#include "../stream_queue.h"

namespace weft::detail {

constinit std::atomic<void (*)(std::uintptr_t) noexcept> before_cpu_block_goes{nullptr};

namespace {

// ThreadSanitizer keeps shadow for what is reserved.
#if defined(__SANITIZE_THREAD__)
#define WEFT_SMALL_ARENA 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEFT_SMALL_ARENA 1
#endif
#endif
#if defined(WEFT_SMALL_ARENA)
constexpr std::size_t arena_budget = std::size_t{16} << 30;
#else
constexpr std::size_t arena_budget = std::size_t{1} << 40;
#endif

class CpuQueue final : public StreamQueue {
 public:
  CpuQueue() : StreamQueue("cpu") {}

 private:
  void carry_out(Segment& segment) noexcept override {
    segment.run->execute(segment.first, segment.last, nullptr);
  }
};

class CpuBackend final : public Backend {
 public:
  int device_count() const override { return 1; }

  std::uintptr_t allocate(Device, std::size_t bytes) override {
    const std::size_t limit = host_calls().memory_limit();
    const std::size_t used = used_.fetch_add(bytes) + arena_.bytes();
    void* const block =
        used > limit || bytes > limit - used ? nullptr : host_calls().allocate(bytes);
    if (!block) used_.fetch_sub(bytes);
    return reinterpret_cast<std::uintptr_t>(block);
  }

  void deallocate(Device, std::uintptr_t address, std::size_t bytes) noexcept override {
    if (auto* const tell = before_cpu_block_goes.load(std::memory_order_acquire)) tell(address);
    host_calls().free(reinterpret_cast<void*>(address), bytes);
    used_.fetch_sub(bytes);
  }

  std::uintptr_t arena(Device, std::size_t bytes) override {
    const std::size_t limit = host_calls().memory_limit(), used = used_.load();
    if (bytes > arena_.bytes() && (used > limit || bytes > limit - used)) return 0;
    return arena_.grow(bytes);
  }

  void submit(Device, StreamKind, Segment segment) override { queue_.submit(std::move(segment)); }

  bool run_now(Device, Segment& segment) noexcept override { return queue_.run_now(segment); }

  void* host_address(Device, std::uintptr_t address) const override {
    return reinterpret_cast<void*>(address);
  }

  void copy_to_host(Device, void* destination, std::uintptr_t source, std::size_t bytes) override {
    if (bytes > 0) std::memcpy(destination, reinterpret_cast<const void*>(source), bytes);
  }

  void copy_from_host(Device, std::uintptr_t destination, const void* source,
                      std::size_t bytes) override {
    if (bytes > 0) std::memcpy(reinterpret_cast<void*>(destination), source, bytes);
  }

  void synchronize(Device) override { queue_.drain(); }

  void trim(Device) noexcept override {
    queue_.if_idle([this] { arena_.discard(); });
  }

 private:
  CpuQueue queue_;
  Arena arena_{arena_budget};
  // Blocks, those that the pool keeps included. The system grants more than there is, and ends the
  // process when it is used.
  std::atomic<std::size_t> used_{0};
};

}  // namespace

// Never destroyed: tensors of static storage duration give their memory back to it.
Backend& cpu_backend() {
  static CpuBackend* const backend = new CpuBackend;
  return *backend;
}

}  // namespace weft::detail
