// The CUDA backend over a driver of the tests: what it queues, where it waits, and what becomes of
// failures. Kernels run on the host from their texts.
#include <weft/runtime/counters.h>
#include <weft/weft.h>

#include "support/catch.h"
#include "support/fake_cuda.h"

using namespace weft;
using testing::FakeCuda;

namespace {

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("cuda: a program runs on a GPU, and its values come back", "[cuda]") {
  const FakeCuda gpu;
  CHECK(cuda::is_available());
  CHECK(cuda::device_count() == 1);
  CHECK(cuda::device_name() == "Fake GPU 0");
  CHECK(best_device() == Device::cuda(0));
  const Tensor x = tensor({1.0f, -2.0f, 3.0f}).cuda();
  CHECK(x.device() == Device::cuda(0));
  const Tensor y = relu(x * 2.0f + 1.0f);
  CHECK(y.to_vector<float>() == Floats{3, 0, 7});
  CHECK(y.cpu().to_vector<float>() == Floats{3, 0, 7});
  CHECK(sum(y).item<float>() == 10);
}

TEST_CASE("cuda: a step of training", "[cuda]") {
  const FakeCuda gpu;
  const Device device = Device::cuda(0);
  Variable w(tensor({{0.5f}, {0.25f}}, {.device = device}));
  const Tensor x = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}, {.device = device});
  const Tensor target = tensor({{1.0f}, {2.0f}}, {.device = device});
  for (int i = 0; i < 3; ++i) {
    const Tensor loss = mean(square(matmul(x, w) - target));
    const Tensor g = grad(loss, w);
    w -= g * 0.125f;
  }
  // By hand, in exact binary fractions where the CPU gives the same.
  Variable v(tensor({{0.5f}, {0.25f}}));
  const Tensor xc = x.cpu(), tc = target.cpu();
  for (int i = 0; i < 3; ++i) v -= grad(mean(square(matmul(xc, v) - tc)), v) * 0.125f;
  CHECK(w.to_vector<float>() == v.to_vector<float>());
}

TEST_CASE("cuda: an annotation moves values there and back, in any order of work", "[cuda]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const FakeCuda gpu({.seed = seed});
    const Tensor a = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}});
    Tensor y;
    {
      const On scope("cuda:0");
      y = a * 2.0f + 1.0f;
    }
    const Tensor back = y.cpu() * 10.0f;
    Tensor again;
    {
      const On scope("cuda:0");
      again = back - y;
    }
    CHECK(again.device() == Device::cuda(0));
    CHECK(again.to_vector<float>() == Floats{27, 45, 63, 81});
  }
}

TEST_CASE("cuda: copies larger than the ring of pinned memory", "[cuda]") {
  const FakeCuda gpu;
  constexpr std::int64_t n = (std::int64_t{40} << 20) / 4 + 3;
  std::vector<float> values(n);
  for (std::int64_t i = 0; i < n; ++i) values[std::size_t(i)] = float(i % 1000003);
  const Tensor x = from_span(std::span<const float>(values), {n});
  const Tensor back = x.cuda().cpu();
  CHECK(back.to_vector<float>() == values);
}

TEST_CASE("cuda: values move between GPUs, directly or through the host", "[cuda][peers]") {
  const bool peers = GENERATE(true, false), wrong = GENERATE(true, false);
  // What a pair can do is asked once a process, so each setting has a pair of its own.
  const int first = (peers ? 0 : 2) + (wrong ? 4 : 0);
  const FakeCuda gpus({.gpus = first + 2, .peers = peers, .wrong_peers = wrong});
  const Tensor x = tensor({1.0f, 2.0f, 3.0f}, {.device = Device::cuda(first)});
  const Tensor y = (x + 1.0f).to(Device::cuda(first + 1)) * 2.0f;
  CHECK(y.device() == Device::cuda(first + 1));
  CHECK(y.to_vector<float>() == Floats{4, 6, 8});
  CHECK_THROWS_AS(x + y, DeviceError);
}

TEST_CASE("cuda: a bad index fails its run, and no Variable changes", "[cuda]") {
  const FakeCuda gpu;
  const Device device = Device::cuda(0);
  const Tensor data = tensor({1.0f, 2.0f, 3.0f}, {.device = device});
  Variable state(tensor({10.0f, 20.0f}, {.device = device}));
  const Tensor good = gather(data, 0, tensor({2, 0}, {.device = device}));
  CHECK(good.to_vector<float>() == Floats{3, 1});
  const Tensor bad = gather(data, 0, tensor({0, 7}, {.device = device}));
  state += bad;
  CHECK_THROWS_AS(state.to_vector<float>(), IndexError);
  CHECK(state.to_vector<float>() == Floats{10, 20});
  CHECK((data * 2.0f).to_vector<float>() == Floats{2, 4, 6});
}

TEST_CASE("cuda: without memory everything stays pending", "[cuda]") {
  const FakeCuda gpu({.memory_bytes = std::size_t{160} << 20});
  const Tensor large = full({30 << 20}, 1.0f, {.device = "cuda:0"}) + 1.0f;
  const Tensor sums = large * 2.0f;
  CHECK_THROWS_AS(eval(large, sums), OutOfMemoryError);
  CHECK(large.is_pending());
  CHECK(sums.is_pending());
  const Tensor small = tensor({1.0f}, {.device = "cuda:0"}) + 1.0f;
  CHECK(small.item<float>() == 2);
}

TEST_CASE("cuda: a driver that gives no GPU is told as the machine's fault", "[cuda]") {
  for (const int status : {34, 100, 802, 803, 804}) {
    const FakeCuda gpu;
    FakeCuda::fail(1, status);
    const Tensor x = tensor({1.0f, 2.0f});
    try {
      x.cuda().to_vector<float>();
      FAIL("status " << status << " was passed over");
    } catch (const DeviceError& error) {
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("cuInit") &&
                                   Catch::Matchers::ContainsSubstring("weft info"));
    }
    FakeCuda::fail(0, 0);
    CHECK(x.cuda().to_vector<float>() == Floats{1, 2});
  }
}
