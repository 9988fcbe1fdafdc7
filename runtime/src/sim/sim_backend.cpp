// Simulated devices as a backend.
#include "sim_backend.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "../hazards.h"
#include "sim_control.h"
#include "sim_device.h"

namespace weft::detail {
namespace {

class SimBackend final : public Backend {
 public:
  int device_count() const override { return count_.load(std::memory_order_acquire); }

  void enable(int count) {
    for (int i = device_count(); i < count; ++i) {
      auto made = std::make_unique<SimDevice>(i);
      SimDevice* empty = nullptr;  // unless another thread's came first
      if (devices_[static_cast<std::size_t>(i)].compare_exchange_strong(empty, made.get()))
        made.release();
      int before = i;
      count_.compare_exchange_strong(before, i + 1);
    }
  }

  std::uintptr_t allocate(Device device, std::size_t bytes) override {
    SimDevice& sim = of(device);
    if (take_fault(sim.index(), SimFault::allocation)) return 0;
    const sim::Options options = sim_options();
    const std::uintptr_t address =
        sim.memory().allocate(bytes, options.memory_bytes, options.poison);
    if (address != 0) count(sim.index(), &sim::Counters::allocations);
    return address;
  }

  void deallocate(Device device, std::uintptr_t address, std::size_t bytes) noexcept override {
    of(device).memory().deallocate(address, bytes);
  }

  std::uintptr_t arena(Device device, std::size_t bytes) override {
    SimDevice& sim = of(device);
    if (take_fault(sim.index(), SimFault::allocation)) return 0;
    return sim.memory().arena(bytes, sim_options().memory_bytes);
  }

  void submit(Device device, StreamKind stream, Segment segment) override {
    if (sim_options().check_hazards) check(segment.run);
    of(device).stream(stream).submit(std::move(segment));
  }

  void* host_address(Device device, std::uintptr_t address) const override {
    return of(device).memory().host(address, 0);
  }

  void copy_to_host(Device device, void* destination, std::uintptr_t source,
                    std::size_t bytes) override {
    SimDevice& sim = of(device);
    begin_copy(sim.index(), &sim::Counters::bytes_to_host, bytes);
    if (bytes > 0) std::memcpy(destination, sim.memory().host(source, bytes), bytes);
  }

  void copy_from_host(Device device, std::uintptr_t destination, const void* source,
                      std::size_t bytes) override {
    SimDevice& sim = of(device);
    begin_copy(sim.index(), &sim::Counters::bytes_to_device, bytes);
    if (bytes > 0) std::memcpy(sim.memory().host(destination, bytes), source, bytes);
  }

  void synchronize(Device device) override { of(device).drain(); }

  void trim(Device) noexcept override {}

 private:
  SimDevice& of(Device device) const {
    const int index = device.index();
    WEFT_ENSURE(device.is_sim() && index >= 0 && index < device_count());
    return *devices_[static_cast<std::size_t>(index)].load(std::memory_order_acquire);
  }

  // A step's copies are its stream's matter.
  static void begin_copy(int index, std::uint64_t sim::Counters::*counter, std::size_t bytes) {
    if (StreamQueue::is_queue_thread()) return;
    if (take_fault(index, SimFault::copy))
      fail<DeviceLostError>(no_place, Device::sim(index).str() +
                                    ": the device was lost in a copy: injected fault");
    count(index, &sim::Counters::copies);
    count(index, counter, bytes);
  }

  // Once a run: its segments share the plan.
  void check(const std::shared_ptr<Run>& run) {
    {
      const ForkSafeLock lock(mutex_);
      if (!checked_.add(run)) return;
    }
    const std::string hazard = find_hazard(run->plan());
    if (!hazard.empty())
      run->fail_with(std::make_exception_ptr(InternalError("hazard in a plan: " + hazard, {})));
  }

  ForkSafeMutex mutex_;
  std::array<std::atomic<SimDevice*>, most_sim_devices> devices_{};
  std::atomic<int> count_{0};
  SeenRuns checked_;
};

// Never destroyed, as its streams.
SimBackend& instance() {
  static SimBackend* const backend = new SimBackend;
  return *backend;
}

}  // namespace

Backend& sim_backend() { return instance(); }

void add_sim_devices(int count) { instance().enable(count); }

}  // namespace weft::detail

namespace weft::sim {

int device_count() noexcept { return detail::sim_backend().device_count(); }

}  // namespace weft::sim
