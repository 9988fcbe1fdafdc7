// Memory of tensors: size classes, reuse, statistics, and what happens when there is none left.
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <weft/runtime/memory.h>
#include <weft/runtime/sim.h>

#include "backend.h"
#include "buffer_pool.h"
#include "host_calls.h"
#include "support/alloc_faults.h"
#include "support/catch.h"

namespace {

using namespace weft;
using detail::allocate_buffer;
using detail::BufferPool;
using detail::BufferRef;
using detail::host_calls;
using detail::size_class_of;

std::atomic<int> failures_left{0};
detail::HostCalls real_calls;

// While it lives, the next `count` allocations of blocks fail.
struct FailingAllocations {
  explicit FailingAllocations(int count) {
    real_calls = host_calls();
    failures_left = count;
    host_calls().allocate = [](std::size_t bytes) noexcept -> void* {
      return failures_left.fetch_sub(1) > 0 ? nullptr : real_calls.allocate(bytes);
    };
  }
  ~FailingAllocations() { host_calls() = real_calls; }
};

BufferPool cpu_pool(std::size_t bound) {
  return BufferPool(detail::backend(DeviceKind::cpu), Device::cpu(), bound);
}

std::string message_of_failure(std::size_t bytes) {
  try {
    allocate_buffer(Device::cpu(), bytes);
  } catch (const OutOfMemoryError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("pool: size classes", "[pool]") {
  std::size_t before = 0;
  std::uint32_t index_before = 0;
  for (std::size_t bytes = 0; bytes < 70000; ++bytes) {
    const auto [index, size] = size_class_of(bytes);
    const bool fits =
        size >= bytes && size % 64 == 0 && (bytes <= 320 || size <= bytes + bytes / 4);
    const bool ordered = bytes == 0 || (size == before && index == index_before) ||
                         (size > before && index == index_before + 1);
    if (!fits || !ordered) FAIL("size_class_of(" << bytes << ") gives " << size);
    before = size;
    index_before = index;
  }
  CHECK(size_class_of(0).bytes == 64);
  CHECK(size_class_of(257).bytes == 320);
  CHECK(size_class_of(std::size_t{1} << 30).bytes == std::size_t{1} << 30);
  CHECK(size_class_of((std::size_t{1} << 30) + 1).bytes == (std::size_t{5} << 28));
  CHECK(size_class_of(std::size_t{1} << 62).index < 256);
}

TEST_CASE("pool: an allocation that fails halfway loses nothing", "[pool]") {
  sim::enable(1);
  for (const Device device : {Device::cpu(), Device::sim(0)}) {
    BufferPool pool(detail::backend(device.kind()), device, 0);
    pool.allocate(64);  // the device's own lists
    for (int k = 1;; ++k) {
      const auto before = test::outstanding_allocations().blocks;
      bool fired = false;
      {
        const test::AllocationFault fault(k);
        try {
          pool.allocate(64);
        } catch (const std::bad_alloc&) {
        }
        fired = fault.has_fired();
      }
      CHECK(test::outstanding_allocations().blocks == before);
      CHECK(pool.stats().tensors == 0);
      if (!fired) break;
    }
  }
}

TEST_CASE("pool: blocks are reused and counted", "[pool]") {
  BufferPool pool = cpu_pool(1 << 20);
  BufferRef a = pool.allocate(1000), b = pool.allocate(1000);
  REQUIRE((a && b));
  CHECK(a->bytes() == 1000);
  CHECK(a->address() % 64 == 0);
  CHECK(a->address() != b->address());
  CHECK(a->device() == Device::cpu());
  CHECK(pool.stats().in_use == 2000);
  CHECK(pool.stats().tensors == 2);
  CHECK(pool.stats().allocations == 2);
  const std::uintptr_t address = a->address();
  a = {};
  CHECK(pool.stats().in_use == 1000);
  CHECK(pool.stats().cached == 1024);
  a = pool.allocate(900);
  CHECK(a->address() == address);
  CHECK(a->bytes() == 900);
  CHECK(pool.stats().allocations == 2);
  CHECK(pool.stats().cached == 0);
  CHECK(pool.stats().peak == 2000);
  pool.reset_peak();
  CHECK(pool.stats().peak == 1900);
  a = b = {};
  CHECK(pool.stats().cached == 2048);
  pool.trim();
  CHECK(pool.stats().cached == 0);
  CHECK(pool.stats().tensors == 0);
}

TEST_CASE("pool: what exceeds the bound goes back to the system", "[pool]") {
  BufferPool pool = cpu_pool(4096);
  BufferRef a = pool.allocate(4096), b = pool.allocate(64), large = pool.allocate(8192);
  a = b = large = {};
  CHECK(pool.stats().cached == 4096);
  a = pool.allocate(4096);
  CHECK(pool.stats().allocations == 3);
}

TEST_CASE("pool: large and empty buffers", "[pool]") {
  const BufferRef empty = allocate_buffer(Device::cpu(), 0);
  CHECK(empty->bytes() == 0);
  CHECK(empty->address() != 0);
  const std::size_t bytes = (std::size_t{5} << 20) + 3;
  const BufferRef large = allocate_buffer(Device::cpu(), bytes);
  CHECK(large->address() % detail::huge_page == 0);
  std::memset(reinterpret_cast<void*>(large->address()), 1, bytes);
}

TEST_CASE("pool: without memory the caches are emptied, then it is an error", "[pool][faults]") {
  BufferRef cached = allocate_buffer(Device::cpu(), 12345);
  cached = {};
  CHECK(memory_stats().cached >= 12345);
  {
    const FailingAllocations once(1);
    const BufferRef buffer = allocate_buffer(Device::cpu(), 777777);
    CHECK(buffer->bytes() == 777777);
    CHECK(memory_stats().cached == 0);
  }
  {
    const MemoryStats before = memory_stats();
    const FailingAllocations twice(2);
    const std::string message = message_of_failure(std::size_t{3} << 20);
    CHECK(message.find("cpu: out of memory: 3.0 MiB (3145728 bytes) asked for") == 0);
    CHECK(message.find("pool_test.cpp") != std::string::npos);
    CHECK(memory_stats().in_use == before.in_use);
    CHECK(memory_stats().tensors == before.tensors);
    CHECK(allocate_buffer(Device::cpu(), std::size_t{3} << 20));
  }
  CHECK(message_of_failure(~std::size_t{0}) != "");
  CHECK(message_of_failure(std::size_t{1} << 61) != "");
}

TEST_CASE("pool: no more than the machine has", "[pool][faults]") {
  CHECK(host_calls().memory_limit() > std::size_t{1} << 28);
  CHECK(message_of_failure(std::size_t{1} << 45) != "");
  empty_cache();
  const detail::HostCalls before = host_calls();
  host_calls().memory_limit = []() noexcept { return std::size_t{0}; };
  const std::string message = message_of_failure(64);
  const std::uintptr_t arena = detail::backend(DeviceKind::cpu).arena({}, std::size_t{1} << 33);
  host_calls() = before;
  CHECK(message != "");
  CHECK(arena == 0);
  CHECK(message_of_failure(64) == "");
}

TEST_CASE("pool: borrowed memory is given back once", "[pool]") {
  float data[4] = {};
  int released = 0;
  const auto release = [](void* context) { ++*static_cast<int*>(context); };
  {
    BufferRef a = detail::borrow_buffer(data, sizeof data, release, &released);
    CHECK(a->address() == reinterpret_cast<std::uintptr_t>(data));
    CHECK(a->bytes() == sizeof data);
    const BufferRef b = a;
    a = {};
    CHECK(released == 0);
    CHECK(b->holders() == 1);
  }
  CHECK(released == 1);
  detail::borrow_buffer(nullptr, 0, nullptr, nullptr);
}

TEST_CASE("pool: many threads", "[pool][threads]") {
  BufferPool pool = cpu_pool(1 << 16);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, &wrong, t] {
      std::vector<BufferRef> held(8);
      for (int i = 0; i < 2000; ++i) {
        BufferRef& buffer = held[static_cast<std::size_t>(i % 8)];
        const std::size_t bytes = static_cast<std::size_t>(i * 37 % 5000);
        buffer = pool.allocate(bytes);
        auto* const data = reinterpret_cast<unsigned char*>(buffer->address());
        std::memset(data, t, bytes);
        if (bytes > 0 && data[bytes / 2] != t) ++wrong;
        if (i % 500 == 0) pool.trim();
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(pool.stats().in_use == 0);
  CHECK(pool.stats().tensors == 0);
}

TEST_CASE("pool: public statistics", "[pool]") {
  const MemoryStats before = memory_stats();
  BufferRef buffer = allocate_buffer(Device::cpu(), 1 << 20);
  CHECK(memory_stats().in_use == before.in_use + (1 << 20));
  reset_peak_memory();
  CHECK(memory_stats().peak == memory_stats().in_use);
  buffer = {};
  CHECK(memory_stats().in_use == before.in_use);
  empty_cache();
  CHECK(memory_stats().cached == 0);
  CHECK_THROWS_AS(memory_stats("cuda:63"), DeviceError);
  CHECK(detail::text_of_bytes(1023) == "1023 B");
  CHECK(detail::text_of_bytes(1536) == "1.5 KiB");
  CHECK(detail::text_of_bytes(std::size_t{1} << 62) == "4.0 EiB");
}
