// Memory of one dense value on one device. Made by the runtime; held by evaluated nodes, by
// Variables and by runs in flight.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

#include <weft/graph/device.h>

namespace weft::detail {

/// The end of a run, for those who wait for what it makes.
class Completion {
 public:
  explicit Completion(std::uint32_t process = 0) noexcept : process_(process) {}
  /// Which of the processes that fork from each other carries the run out.
  std::uint32_t process() const noexcept { return process_; }
  bool has_ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// Blocks until it has ended.
  void wait();
  /// What went wrong, or null; before the end: as far as is known.
  std::exception_ptr failure() const;
  /// It has not ended, but will with this.
  void fail(std::exception_ptr failure) noexcept;
  /// Called once.
  void end(std::exception_ptr failure) noexcept;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  std::atomic<bool> ended_{false};
  const std::uint32_t process_;
};

class Buffer {
 public:
  /// What is not `writable` is the program's own memory, which no plan may write to.
  Buffer(Device device, std::uintptr_t address, std::size_t bytes, bool writable = true) noexcept
      : device_(device), writable_(writable), address_(address), bytes_(bytes) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Device device() const noexcept { return device_; }
  /// An address of the device's own address space: only on the cpu may the host follow it.
  std::uintptr_t address() const noexcept { return address_; }
  std::size_t bytes() const noexcept { return bytes_; }
  bool is_writable() const noexcept { return writable_; }
  /// All references.
  std::uint32_t holders() const noexcept { return holders_.load(std::memory_order_acquire); }
  /// Those of runs in flight among them; they never see a later value.
  std::uint32_t run_holders() const noexcept {
    return run_holders_.load(std::memory_order_acquire);
  }
  void add_run_holder() noexcept { run_holders_.fetch_add(1, std::memory_order_acq_rel); }
  void drop_run_holder() noexcept { run_holders_.fetch_sub(1, std::memory_order_acq_rel); }

 protected:
  virtual ~Buffer() = default;
  /// The last holder left: gives the memory back.
  virtual void reclaim() noexcept = 0;

 private:
  friend class BufferRef;
  std::atomic<std::uint32_t> holders_{0};
  std::atomic<std::uint32_t> run_holders_{0};
  Device device_;
  bool writable_;
  std::uintptr_t address_;
  std::size_t bytes_;
};

class BufferRef {
 public:
  BufferRef() noexcept = default;
  explicit BufferRef(Buffer* buffer) noexcept : buffer_(buffer) {
    if (buffer_) buffer_->holders_.fetch_add(1, std::memory_order_relaxed);
  }
  BufferRef(const BufferRef& other) noexcept : BufferRef(other.buffer_) {}
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ && buffer_->holders_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      buffer_->reclaim();
  }
  Buffer* operator->() const noexcept { return buffer_; }
  Buffer* pointer() const noexcept { return buffer_; }
  explicit operator bool() const noexcept { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

/// A value in memory: `offset` bytes into a buffer. A contiguous view shares its base's buffer.
struct Storage {
  BufferRef buffer;
  std::size_t offset = 0;
  std::uintptr_t address() const noexcept { return buffer->address() + offset; }
};

}  // namespace weft::detail
