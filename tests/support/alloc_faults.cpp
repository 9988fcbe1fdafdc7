#include "support/alloc_faults.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace weft::test {
namespace {

// Which allocation is the one. Atomic for the sake of the scope of all threads.
struct FaultPoint {
  std::atomic<bool> armed{false};
  std::atomic<bool> forever{false};
  std::atomic<bool> fired{false};
  std::atomic<std::int64_t> left{0};

  void arm(std::int64_t k, bool for_good) noexcept {
    left = k;
    forever = for_good;
    fired = false;
    armed = true;
  }
  bool takes_this_one() noexcept {
    if (!armed.load(std::memory_order_acquire)) return false;
    const std::int64_t before = left.fetch_sub(1);
    if (before != 1 && (before > 1 || !forever)) return false;
    fired = true;
    return true;
  }
};

constinit FaultPoint of_program;
constinit thread_local FaultPoint of_thread;
constinit std::atomic<std::int64_t> calls{0}, blocks{0}, bytes{0};

FaultPoint& point(FaultScope scope) noexcept {
  return scope == FaultScope::this_thread ? of_thread : of_program;
}

// From malloc, so that the sanitizers see it.
void* allocate(std::size_t size, std::size_t alignment) noexcept {
  calls.fetch_add(1, std::memory_order_relaxed);
  if (of_thread.takes_this_one() || of_program.takes_this_one()) return nullptr;
  if (size == 0) size = 1;
  if (size > PTRDIFF_MAX) return nullptr;
  void* const block =
      alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
          ? std::malloc(size)
          : std::aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
  if (block) {
    blocks.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(static_cast<std::int64_t>(malloc_usable_size(block)),
                    std::memory_order_relaxed);
  }
  return block;
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  if (void* const block = allocate(size, alignment)) return block;
  throw std::bad_alloc();
}

void deallocate(void* block) noexcept {
  if (!block) return;
  blocks.fetch_sub(1, std::memory_order_relaxed);
  bytes.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(block)), std::memory_order_relaxed);
  std::free(block);
}

}  // namespace

Outstanding outstanding_allocations() noexcept { return {blocks.load(), bytes.load()}; }
std::int64_t allocation_count() noexcept { return calls.load(); }

AllocationFault::AllocationFault(std::int64_t k, bool forever, FaultScope scope) noexcept
    : scope_(scope) {
  point(scope).arm(k, forever);
}

AllocationFault::~AllocationFault() { point(scope_).armed = false; }

bool AllocationFault::has_fired() const noexcept { return point(scope_).fired; }

}  // namespace weft::test

// clang-format off
namespace test = weft::test;
constexpr std::size_t plain = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

void* operator new(std::size_t n) { return test::allocate_or_throw(n, plain); }
void* operator new[](std::size_t n) { return test::allocate_or_throw(n, plain); }
void* operator new(std::size_t n, std::align_val_t a) { return test::allocate_or_throw(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return test::allocate_or_throw(n, std::size_t(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return test::allocate(n, plain); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return test::allocate(n, plain); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return test::allocate(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return test::allocate(n, std::size_t(a)); }

void operator delete(void* p) noexcept { test::deallocate(p); }
void operator delete[](void* p) noexcept { test::deallocate(p); }
void operator delete(void* p, std::size_t) noexcept { test::deallocate(p); }
void operator delete[](void* p, std::size_t) noexcept { test::deallocate(p); }
void operator delete(void* p, std::align_val_t) noexcept { test::deallocate(p); }
void operator delete[](void* p, std::align_val_t) noexcept { test::deallocate(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { test::deallocate(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { test::deallocate(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { test::deallocate(p); }
void operator delete[](void* p, const std::nothrow_t&) noexcept { test::deallocate(p); }
void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { test::deallocate(p); }
void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { test::deallocate(p); }
// clang-format on
