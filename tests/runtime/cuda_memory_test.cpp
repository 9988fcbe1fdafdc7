// Out of memory, a thousand times: what a run needs can not be had, and nothing is lost by that.
#include <string>

#include <weft/runtime/memory.h>
#include <weft/weft.h>

#include "backend.h"
#include "support/alloc_faults.h"
#include "support/catch.h"
#include "support/fake_cuda.h"
#include "support/gpu.h"
#include "support/sanitized.h"

namespace {

using namespace weft;
using testing::FakeCuda;

const Device gpu0 = Device::cuda(0);

/// Rounds of work of which each asks for more than there is: as scratch, or as outputs; `large` and
/// `small` are elements of f32.
void run_out_of_memory(int rounds, std::int64_t large, std::int64_t small) {
  Variable state(tensor({1.0f}, {.device = gpu0}));
  const auto round = [&](int i) {
    const Tensor bits = full({large}, 1.0f, {.device = gpu0});
    const Tensor much = i % 2 == 0 ? bits + 1.0f : sum(cat({bits, bits + state}, 0));
    CHECK_THROWS_AS(eval(much), OutOfMemoryError);
    CHECK(much.is_pending());
    const Tensor fits = full({small}, 2.0f, {.device = gpu0}) * state;
    CHECK(sum(slice(fits, 0, 0, 8)).item<float>() == 16 * static_cast<float>(i + 1));
    state += 1.0f;
  };
  const auto held = [] {
    detail::backend(DeviceKind::cuda).synchronize(gpu0);
    return memory_stats(gpu0).in_use;
  };
  int i = 0;
  for (; i < 20; ++i) round(i);  // lists grow to their size
  const std::size_t device = held();
  const std::int64_t host = test::outstanding_allocations().blocks;
  for (; i < rounds; ++i) round(i);
  CHECK(held() == device);
  CHECK(test::outstanding_allocations().blocks - host <= 64);
  CHECK(state.item<float>() == static_cast<float>(rounds + 1));
}

}  // namespace

TEST_CASE("cuda: out of memory a thousand times", "[cuda]") {
  const FakeCuda gpu({.memory_bytes = std::size_t{128} << 20});
  run_out_of_memory(test::scaled(1000, 100), 80 << 20, 1024);
  const auto before = FakeCuda::held();
  run_out_of_memory(test::scaled(100, 40), 80 << 20, 1024);
  empty_cache(gpu0);
  const auto after = FakeCuda::held();
  CHECK(after.bytes <= before.bytes);
  CHECK(after.pinned <= before.pinned);
  CHECK(after.mapped == 0);
}

TEST_CASE("gpu: out of memory a thousand times", "[gpu]") {
  if (!testing::has_gpus(1)) return;
  run_out_of_memory(1000, std::int64_t{75} << 30, 1 << 20);
  empty_cache(gpu0);
  const auto free = cuda::properties(0).free_bytes;
  run_out_of_memory(50, std::int64_t{75} << 30, 1 << 20);
  empty_cache(gpu0);
  CHECK(cuda::properties(0).free_bytes + (std::size_t{64} << 20) >= free);
}

TEST_CASE("cuda: memory that runs in flight hold, and scratch, comes back", "[cuda]") {
  const FakeCuda gpu({.memory_bytes = std::size_t{160} << 20, .lazy = true});
  constexpr std::int64_t n = std::int64_t{24} << 20;  // 96 MiB
  {
    // A large arena first.
    const Tensor x = full({n / 4}, 1.0f, {.device = gpu0});
    CHECK(slice(cat({x, x + 1.0f}, 0) * 3.0f, 0, 0, 1).item<float>() == 3);
  }
  Tensor y = full({n}, 1.0f, {.device = gpu0});
  eval(y);
  y = full({n}, 2.0f, {.device = gpu0});  // the one before is held by its run alone
  eval(y);
  CHECK(slice(y, 0, 0, 1).item<float>() == 2);
}
