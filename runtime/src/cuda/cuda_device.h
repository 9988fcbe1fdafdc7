// One GPU: its context, its memory, and what runs on it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <weft/codegen/kernel.h>

#include "../fork.h"
#include "cuda_stream.h"
#include "driver.h"

namespace weft::detail {

/// A range of addresses on a GPU that gets memory as it grows; its base never changes.
class CudaArena {
 public:
  /// Makes at least these bytes usable. The context is current.
  CuStatus grow(const DriverCalls& calls, Device device, std::size_t budget, std::size_t bytes);
  CuAddress base() const noexcept { return base_; }
  /// Gives its memory back; the base stays.
  void shrink(const DriverCalls& calls) noexcept;
  std::size_t bytes() const noexcept { return mapped_; }

 private:
  CuStatus add_chunk(const DriverCalls& calls, const CuMemoryProperties& properties,
                     std::size_t bytes);

  CuAddress base_ = 0;
  std::size_t reserved_ = 0, mapped_ = 0, granularity_ = 0;
};

/// Device memory for one run's ErrorBlock, and pinned memory that it is copied to. Given back when
/// the run is over.
struct ErrorSlot {
  CuAddress device = 0;
  ErrorBlock* host = nullptr;
};

class CudaDevice {
 public:
  explicit CudaDevice(int index);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Device device() const noexcept { return Device::cuda(index_); }
  /// Makes the context, and what else the first use needs; later calls cost a load. Throws
  /// DeviceError where there is no driver or GPU, and what the driver's failures are thrown as.
  void start();
  bool has_started() const noexcept { return started_.load(std::memory_order_acquire); }
  const DriverCalls& calls() const noexcept { return *calls_; }
  CuContext context() const noexcept { return context_; }
  const GpuFacts& facts() const noexcept { return facts_; }
  int arch() const noexcept { return 10 * facts_.major + facts_.minor; }

  std::uintptr_t allocate(std::size_t bytes);
  void deallocate(std::uintptr_t address) noexcept;
  std::uintptr_t arena(std::size_t bytes);
  /// Gives back the arena's memory: no run is bound or in flight.
  void release_scratch() noexcept;
  /// Gives back what streams keep for later steps.
  void trim() noexcept;
  /// The block's memory is about to go: no copy reads or writes it directly any more.
  void unpin(std::uintptr_t block) noexcept;
  void copy_to_host(void* to, std::uintptr_t from, std::size_t bytes);
  void copy_from_host(std::uintptr_t to, const void* from, std::size_t bytes);

  /// Under the engine lock.
  CudaModules& modules() noexcept { return *modules_; }
  CudaStream& stream(StreamKind kind) noexcept { return streams_[static_cast<std::size_t>(kind)]; }
  void drain() noexcept;

  /// Throws for a status that is no success, and remembers that the device is lost.
  void check(CuStatus status, const char* call);
  /// Calls once more what has failed without losing the device, with caches emptied where memory
  /// was missing: a failure that comes once is not to cut short a run that has begun. Then as
  /// `check`.
  template <class F>
  void call(const char* name, F function) {
    CuStatus status = function();
    if (may_succeed_after(status)) status = function();
    check(status, name);
  }
  /// Waits for an event by looking: awake at first, as a thread that the driver wakes comes later.
  CuStatus await(CuEvent event) noexcept;
  /// Waits for a stream's work; false where nothing can be known of it: then the device is lost.
  bool await(CuStream stream) noexcept;
  /// Throws where it is lost: the first thing that was said of it.
  void require_not_lost();
  /// The first to say so is believed.
  void lose(const std::string& reason) noexcept;

  /// A slot whose block is zero once the stream has come to the fill that this appends.
  std::shared_ptr<ErrorSlot> take_error_slot(CuStream stream);
  /// An ErrorBlock that is never set, for runs that can not fail.
  CuAddress no_error() const noexcept { return no_error_; }

  /// Makes the context current for the calling thread of weft's own, once.
  void use_on_this_thread();
  CuStatus try_use_on_this_thread() noexcept;

  /// Whether copies to another GPU need no detour; nothing where it was not found out.
  std::optional<bool> copies_directly_to(int gpu);
  void set_copies_directly_to(int gpu, bool can);
  /// For tests that replace the driver: as if never started. Nothing is running.
  void forget();

 private:
  void start_locked();
  bool may_succeed_after(CuStatus status) noexcept;
  bool is_usable() const noexcept;
  void read_facts(CuDevice gpu);
  void make_error_slots();

  const int index_;
  const DriverCalls* calls_ = nullptr;
  CuContext context_ = nullptr;
  GpuFacts facts_;
  std::size_t total_bytes_ = 0;
  std::atomic<bool> started_{false};
  enum class Loss { none, found, said };
  std::atomic<Loss> loss_{Loss::none};
  ForkSafeMutex mutex_, memory_mutex_;
  std::string lost_reason_;
  CudaArena arena_;
  std::vector<std::uintptr_t> kept_back_;  // memory that could not be given back yet
  std::unique_ptr<CudaModules> modules_ = std::make_unique<CudaModules>();
  CuAddress no_error_ = 0;
  ForkSafeMutex slots_mutex_;
  std::vector<ErrorSlot> free_slots_;
  std::size_t slots_made_ = 0;
  ForkSafeMutex peers_mutex_;
  std::map<int, bool> direct_;
  std::array<CudaStream, stream_kinds> streams_;
};

/// cuInit. Throws DeviceError in the child of a fork before which a GPU was used.
CuStatus init_driver(const DriverCalls& calls, Device device);

/// Makes a device's context current while it lives, then the thread's own again.
class WithContext {
 public:
  explicit WithContext(CudaDevice& device);
  ~WithContext();
  WithContext(const WithContext&) = delete;
  WithContext& operator=(const WithContext&) = delete;

 private:
  CudaDevice& device_;
};

}  // namespace weft::detail
