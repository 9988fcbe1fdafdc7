// On a GPU, a training loop's copies overlap its kernels: steps whose batches come from the host
// take less than the copies and the kernels take by themselves.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

#include <weft/weft.h>

#include "support/catch.h"
#include "support/gpu.h"

using namespace weft;

namespace {

constexpr std::int64_t batch = std::int64_t{16} << 20;  // elements: 64 MiB
constexpr int steps = 24;

/// Steps of a loop, each with a batch from the host or one that is there, and kernels over it that
/// can not be fused.
struct Loop {
  const Device gpu = Device::cuda(0);
  const Tensor host = arange(batch).to(f32) * 0x1p-24f;
  const Tensor resident = host.to(gpu);
  float total = 0;

  double milliseconds(bool copies, int kernels) {
    eval(host, resident);
    Variable sums(tensor({0.0f}, {.device = gpu}));
    run(sums, copies, kernels, 4);
    synchronize(gpu);
    const auto begin = std::chrono::steady_clock::now();
    run(sums, copies, kernels, steps);
    total = sums.value().item<float>();
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - begin;
    return taken.count() / steps;
  }

  void run(Variable& sums, bool copies, int kernels, int count) const {
    for (int i = 0; i < count; ++i) {
      Tensor y = copies ? host.to(gpu) : resident;
      for (int k = 0; k < kernels; ++k) y = y - sum(y) * 0x1p-40f;
      sums += sum(y) * 0x1p-24f;
      eval(sums);
    }
  }
};

}  // namespace

TEST_CASE("gpu: a loop's copies overlap its kernels", "[gpu][overlap]") {
  if (!testing::has_gpus(1)) return;
  Loop loop;
  const double copies = loop.milliseconds(true, 0);
  const double few = loop.milliseconds(false, 8), more = loop.milliseconds(false, 40);
  const double one = std::max((more - few) / 32, 1e-3);
  const int kernels = std::clamp(static_cast<int>(std::lround(copies / one)), 1, 400);
  const double alone = loop.milliseconds(false, kernels);
  const float expected = loop.total;
  const double both = loop.milliseconds(true, kernels);
  std::cout << "64 MiB a step: copies alone " << copies << " ms, " << kernels << " kernels alone "
            << alone << " ms, both " << both << " ms\n";
  CHECK(loop.total == expected);
  CHECK(both < 0.75 * (copies + alone));
}
