// Options, faults and counters of simulated devices.
#pragma once

#include <cstdint>

#include <weft/runtime/sim.h>

namespace weft::detail {

inline constexpr int most_sim_devices = 63;

enum class SimFault : std::uint8_t { allocation, copy, kernel };

sim::Options sim_options() noexcept;
/// Grows with every configure: streams then draw from the new seed.
std::uint32_t sim_configuration() noexcept;
/// Whether this occasion is the one that fails.
bool take_fault(int device, SimFault fault) noexcept;
/// Adds to a device's counters.
void count(int device, std::uint64_t sim::Counters::*counter, std::uint64_t amount = 1) noexcept;
/// Adds devices up to `count`.
void add_sim_devices(int count);

}  // namespace weft::detail
