// Counts of what the engine has done: for tests, and to see whether a loop runs from cached plans.
#pragma once

#include <cstdint>

namespace weft {

struct Counters {
  std::uint64_t plans_made = 0;  // captured programs that had no plan yet
  std::uint64_t plan_hits = 0;   // runs of a plan that was there
  std::uint64_t runs = 0;
  std::uint64_t in_place = 0;    // Variables that took their new value in place
  std::uint64_t flushes = 0;     // by `flush`, and by the bound on pending work
};
/// Since the program started.
Counters counters() noexcept;

}  // namespace weft
