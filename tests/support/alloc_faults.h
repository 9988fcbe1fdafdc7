// Makes C++ allocations fail on purpose, and counts what is outstanding. Linked only into the test
// programs that want it: alloc_faults.cpp replaces operator new and delete of the whole program.
#pragma once

#include <cstdint>

namespace weft::test {

/// Allocated with operator new and not deleted, as the allocator rounds sizes.
struct Outstanding {
  std::int64_t blocks, bytes;
  friend bool operator==(Outstanding, Outstanding) noexcept = default;
};
Outstanding outstanding_allocations() noexcept;
/// Calls of operator new so far, on all threads, failed ones included.
std::int64_t allocation_count() noexcept;

enum class FaultScope : std::uint8_t { this_thread, all_threads };

/// While it lives the k-th allocation from now on (the first is 1) throws std::bad_alloc; with
/// `forever` all later ones too. One at a time in each scope.
class AllocationFault {
 public:
  [[nodiscard]] explicit AllocationFault(std::int64_t k, bool forever = false,
                                         FaultScope scope = FaultScope::this_thread) noexcept;
  ~AllocationFault();
  AllocationFault(const AllocationFault&) = delete;
  AllocationFault& operator=(const AllocationFault&) = delete;
  /// Whether an allocation has failed: a loop over k ends when none does.
  bool has_fired() const noexcept;

 private:
  FaultScope scope_;
};

}  // namespace weft::test
