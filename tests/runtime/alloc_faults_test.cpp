// The test support that makes allocations fail.
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "support/alloc_faults.h"
#include "support/catch.h"

namespace {

using namespace weft::test;

struct alignas(256) Wide {
  char bytes[256];
};

// Ends at the first k at which nothing fails; gives that k.
template <class F>
int first_good(bool forever, F action) {
  for (int k = 1;; ++k) {
    bool failed = false;
    const Outstanding before = outstanding_allocations();
    const AllocationFault fault(k, forever);
    try {
      action();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const bool fired = fault.has_fired(), leaked = outstanding_allocations() != before;
    if (leaked || fired != failed) return -k;
    if (!failed) return k;
  }
}

void three_allocations() {
  const auto a = std::make_unique<int>(1);
  const auto b = std::make_unique<Wide>();
  const std::vector<char> c(1000);
}

}  // namespace

TEST_CASE("alloc faults: every allocation fails once, and for good", "[support]") {
  CHECK(first_good(false, three_allocations) == 4);
  CHECK(first_good(true, three_allocations) == 4);
}

TEST_CASE("alloc faults: outstanding memory is counted", "[support]") {
  const Outstanding before = outstanding_allocations();
  const std::int64_t calls = allocation_count();
  // Volatile: a compiler may leave out a pair of new and delete.
  char* volatile const block = new char[5000];
  Wide* volatile const wide = new Wide;
  const Outstanding during = outstanding_allocations();
  const std::int64_t calls_during = allocation_count();
  CHECK(during.blocks == before.blocks + 2);
  CHECK(during.bytes >= before.bytes + 5256);
  CHECK(calls_during == calls + 2);
  delete[] block;
  delete wide;
}

TEST_CASE("alloc faults: nothrow forms give null", "[support]") {
  int* small;
  Wide* wide;
  {
    const AllocationFault fault(1, true);
    small = new (std::nothrow) int;
    wide = new (std::nothrow) Wide;
  }
  CHECK(small == nullptr);
  CHECK(wide == nullptr);
}

TEST_CASE("alloc faults: on this thread, or on all", "[support]") {
  const auto fails_elsewhere = [] {
    bool failed = false;
    // The thread itself needs memory: give it time to start before the fault is set.
    std::thread([&failed] {
      try {
        const std::string text(1000, 'x');
        failed = text.empty();
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }).join();
    return failed;
  };
  {
    bool failed;
    {
      const AllocationFault fault(1000000, true);
      failed = fails_elsewhere();
    }
    CHECK_FALSE(failed);
  }
  bool failed;
  {
    const AllocationFault fault(2, false, FaultScope::all_threads);  // after std::thread's own
    failed = fails_elsewhere();
  }
  CHECK(failed);
}
