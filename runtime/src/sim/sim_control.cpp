#include "sim_control.h"

#include <array>
#include <atomic>
#include <string>

#include <weft/graph/device.h>

#include "../devices.h"
#include "../fork.h"

namespace weft::detail {
namespace {

struct FaultPoint {
  int left = -1;  // occasions that still go well; negative: no fault is set
  bool forever = false;
};

struct Control {
  ForkSafeMutex mutex;
  sim::Options options;
  std::array<std::array<FaultPoint, 3>, most_sim_devices> faults{};
  std::array<sim::Counters, most_sim_devices> counters{};
  std::atomic<std::uint32_t> configuration{1};
};

Control& control() {
  static Control* const state = new Control;
  return *state;
}

void set_fault(const char* function, int device, SimFault fault, int after, bool forever,
               Where at) {
  require_device(Device::sim(device), at);
  if (after < 0)
    fail<ValueError>(at, std::string(function) + ": after must not be negative, not " +
                             std::to_string(after));
  const ForkSafeLock lock(control().mutex);
  control().faults[static_cast<std::size_t>(device)][static_cast<std::size_t>(fault)] = {after,
                                                                                         forever};
}

}  // namespace

sim::Options sim_options() noexcept {
  const ForkSafeLock lock(control().mutex);
  return control().options;
}

std::uint32_t sim_configuration() noexcept {
  return control().configuration.load(std::memory_order_acquire);
}

bool take_fault(int device, SimFault fault) noexcept {
  const ForkSafeLock lock(control().mutex);
  FaultPoint& point =
      control().faults[static_cast<std::size_t>(device)][static_cast<std::size_t>(fault)];
  if (point.left < 0) return false;
  if (point.left > 0) {
    --point.left;
    return false;
  }
  if (!point.forever) point.left = -1;
  return true;
}

void count(int device, std::uint64_t sim::Counters::*counter, std::uint64_t amount) noexcept {
  const ForkSafeLock lock(control().mutex);
  control().counters[static_cast<std::size_t>(device)].*counter += amount;
}

}  // namespace weft::detail

namespace weft::sim {

using detail::control;
using detail::SimFault;

void enable(int count, Where at) {
  if (count < 0 || count > detail::most_sim_devices)
    detail::fail<ValueError>(at, "sim::enable: " + std::to_string(count) + " devices; give from 0 to " +
                                     std::to_string(detail::most_sim_devices));
  detail::add_sim_devices(count);
}

void configure(Options options) {
  {
    const detail::ForkSafeLock lock(control().mutex);
    control().options = options;
  }
  control().configuration.fetch_add(1, std::memory_order_release);
}

void fail_allocation(int device, int after, bool forever, Where at) {
  detail::set_fault("sim::fail_allocation", device, SimFault::allocation, after, forever, at);
}

void fail_copy(int device, int after, bool forever, Where at) {
  detail::set_fault("sim::fail_copy", device, SimFault::copy, after, forever, at);
}

void fail_kernel(int device, int after, bool forever, Where at) {
  detail::set_fault("sim::fail_kernel", device, SimFault::kernel, after, forever, at);
}

void clear_faults() noexcept {
  const detail::ForkSafeLock lock(control().mutex);
  control().faults = {};
}

Counters counters(int device, Where at) {
  detail::require_device(Device::sim(device), at);
  const detail::ForkSafeLock lock(control().mutex);
  return control().counters[static_cast<std::size_t>(device)];
}

void reset_counters() noexcept {
  const detail::ForkSafeLock lock(control().mutex);
  control().counters = {};
}

}  // namespace weft::sim
