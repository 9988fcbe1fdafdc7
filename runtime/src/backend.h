// What a device must offer. About ten functions; cpu, cuda and sim implement them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "frozen_plan.h"

namespace weft::detail {

class Run;

/// An operand of a step, resolved for one run: element (i0, i1, ...) is at
/// data + size_of(dtype) × Σ strides[d]·i_d. Strides count elements, and may be 0 or negative.
struct ResolvedOperand {
  std::uintptr_t data = 0;
  DType dtype = DType::f32;
  int rank = 0;
  std::int64_t shape[max_rank] = {};
  std::int64_t strides[max_rank] = {};
  std::int64_t numel() const noexcept {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= shape[d];
    return n;
  }
};

/// A run's error word: the first fault found on a device wins.
struct ErrorWord {
  std::atomic<std::uint32_t> step{0};  // number of the faulty step, plus one
  std::atomic<std::int64_t> index{0};  // the offending index
  std::atomic<std::int64_t> limit{0};  // what it had to be below
  bool is_set() const noexcept { return step.load(std::memory_order_acquire) != 0; }
  void set(std::uint32_t step_number, std::int64_t bad, std::int64_t bound) noexcept;
};

/// One step ready to be carried out on its device.
struct StepCall {
  const FrozenStep* step;
  std::uint32_t number;
  std::span<const ResolvedOperand> inputs;
  std::span<const ResolvedOperand> outputs;  // dense
  const std::uint64_t* arguments;            // the run's argument block
  ErrorWord* error;
  Numerics numerics = Numerics::standard;
  std::uint32_t parts_of_large = 0;  // bit o: output o is a part of one that the caches do not hold
  // Of a call of the program's own: what it carries, where it was recorded, and in which scope.
  const NodePayload* payload = nullptr;
  Where at = no_place;
  const char* scope = "";
};

/// Whether the calling thread is in a function of the program that a step calls: nothing may be
/// waited for there.
bool& inside_host_function() noexcept;

/// A stretch of a run's steps on one stream.
struct Segment {
  std::shared_ptr<Run> run;
  std::uint32_t first, last;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int device_count() const = 0;
  /// Memory for one value, at least 64-byte aligned; 0 where there is none left.
  virtual std::uintptr_t allocate(Device device, std::size_t bytes) = 0;
  virtual void deallocate(Device device, std::uintptr_t address, std::size_t bytes) noexcept = 0;
  /// Base of the device's scratch arena, grown to at least these bytes; 0 where it can not be.
  /// The base never changes.
  virtual std::uintptr_t arena(Device device, std::size_t bytes) = 0;
  /// Appends steps to a stream; returns before they run. Throws only what allocation throws, and
  /// then has appended nothing.
  virtual void submit(Device device, StreamKind stream, Segment segment) = 0;
  /// Carries out steps that take microseconds on the calling thread, which is sooner than to wake
  /// another; false where others are before them on the stream, or the device has no such way.
  virtual bool run_now(Device, Segment&) noexcept { return false; }
  /// The host's address of device memory, for devices that the host simulates; null elsewhere.
  virtual void* host_address(Device device, std::uintptr_t address) const = 0;
  /// Copies between the host and the device, now; waits for nothing.
  virtual void copy_to_host(Device device, void* destination, std::uintptr_t source,
                            std::size_t bytes) = 0;
  virtual void copy_from_host(Device device, std::uintptr_t destination, const void* source,
                              std::size_t bytes) = 0;
  /// Waits until all submitted work of the device has been done.
  virtual void synchronize(Device device) = 0;
  /// Frees cached memory.
  virtual void trim(Device device) noexcept = 0;
  /// Gives the arena's memory back; it grows again where the base was. No run of the device is
  /// bound or in flight.
  virtual void release_scratch(Device) noexcept {}
};

/// Told of each block of the cpu's memory before the system gets it back; null: nobody has to know.
extern std::atomic<void (*)(std::uintptr_t block) noexcept> before_cpu_block_goes;

Backend& backend(DeviceKind kind);
/// Carries out one step on the calling thread, on memory that the host can follow. The cpu's
/// kernels; sim uses them on its own memory after translating addresses.
void run_on_host(const StepCall& call);

}  // namespace weft::detail
