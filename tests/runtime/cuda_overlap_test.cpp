// What a GPU may do at the same time: the upload of a step's batch beside the kernels of the step
// before; and that values are right in whatever order the streams work.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include <weft/weft.h>

#include "backend.h"
#include "support/catch.h"
#include "support/fake_cuda.h"
#include "support/sanitized.h"

namespace {

using namespace weft;
using testing::FakeCuda;
using testing::FakeCudaOptions;
using Floats = std::vector<float>;

const Device gpu0 = Device::cuda(0);

std::size_t count(const char* what, std::size_t bytes) {
  std::size_t found = 0;
  for (const FakeCuda::Done& done : FakeCuda::log())
    found += done.what == what && done.bytes == bytes;
  return found;
}

bool comes_true(const std::function<bool()>& what) {
  for (int i = 0; i < 2000; ++i) {
    if (what()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// Steps whose batch comes with them: upload, kernels over scratch, a Variable in place, a loss
/// that goes back to the host.
struct Training {
  explicit Training(Device where)
      : device(where), w(tensor({1.0f, 2.0f, 3.0f}, {.device = where})) {}
  const Device device;
  Variable w;
  std::vector<Tensor> losses;

  void step(int i) {
    const auto f = static_cast<float>(i);
    const Tensor x = tensor({f, f + 1, f + 2}).to(device);
    const Tensor error = sum(x * w.value()) * 0.25f;
    w += x * error * 0.0625f;
    losses.push_back(error.cpu() * 2.0f);
    eval(losses.back(), w);
  }
};

Floats results(Training& training) {
  Floats all = training.w.to_vector<float>();
  for (const Tensor& loss : training.losses) all.push_back(loss.item<float>());
  return all;
}

/// What earlier failures left to be said is said.
void hear_all() {
  for (int i = 0; i < 20; ++i) try {
      (tensor({1.0f}) + 1.0f).item<float>();
      return;
    } catch (const Error&) {
    }
  FAIL("failures without end");
}

}  // namespace

TEST_CASE("cuda: a batch of a step goes up while the step before runs", "[cuda]") {
  const bool lazy = GENERATE(false, true);
  const FakeCuda gpu({.lazy = lazy});
  Floats expected;
  {
    Training training(Device::cpu());
    for (int i = 0; i < 3; ++i) training.step(i);
    expected = results(training);
  }
  Training training(gpu0);
  training.step(0);
  results(training);
  FakeCuda::clear_log();
  FakeCuda::hold_kernels(true);
  training.step(1);
  CHECK(comes_true([] { return count("upload", 12) == 1; }));
  training.step(2);
  CHECK(comes_true([] { return count("upload", 12) == 2; }));
  CHECK(count("kernel", 0) == 0);
  FakeCuda::hold_kernels(false);
  CHECK(results(training) == expected);
}

TEST_CASE("cuda: a step's kernels are queued behind those of the step before", "[cuda]") {
  const FakeCuda gpu;
  Variable w(tensor({1.0f, 2.0f}, {.device = gpu0}));
  const auto step = [&](float f) {
    w += tensor({f, f + 1}).cuda() * 2.0f;
    eval(w);
  };
  step(1);
  synchronize(gpu0);
  FakeCuda::clear_log();
  FakeCuda::hold_kernels(true);
  step(2);
  step(3);
  step(4);
  // The host waits for none of them.
  CHECK(comes_true([] { return FakeCuda::queued_kernels() >= 3; }));
  CHECK(count("kernel", 0) == 0);
  FakeCuda::hold_kernels(false);
  CHECK(w.to_vector<float>() == Floats{1 + 2 * (1 + 2 + 3 + 4), 2 + 2 * (2 + 3 + 4 + 5)});
}

TEST_CASE("cuda: steps in flight at once come out right in any order", "[cuda]") {
  Floats expected;
  {
    Training training(Device::cpu());
    for (int i = 0; i < 6; ++i) training.step(i);
    expected = results(training);
  }
  for (std::uint64_t seed = 1; seed <= test::scaled(200, 15); ++seed) {
    const FakeCuda gpu({.seed = seed, .lazy = seed % 2 == 0});
    INFO("seed " << seed);
    Training training(gpu0);
    for (int i = 0; i < 6; ++i) training.step(i);
    CHECK(results(training) == expected);
  }
}

TEST_CASE("cuda: a value on its way to the host is not written over", "[cuda]") {
  for (std::uint64_t seed = 1; seed <= test::scaled(40, 10); ++seed) {
    const FakeCuda gpu({.seed = seed, .lazy = seed % 2 == 0});
    Variable w(tensor({1.0f, 2.0f}, {.device = gpu0}));
    std::vector<Tensor> copies;
    for (int i = 0; i < 5; ++i) {
      copies.push_back(w.value().cpu());
      eval(copies.back());
      w += 1.0f;
      eval(w);
    }
    for (int i = 0; i < 5; ++i) {
      const auto f = static_cast<float>(i);
      CHECK(copies[std::size_t(i)].to_vector<float>() == Floats{1 + f, 2 + f});
    }
  }
}

TEST_CASE("cuda: a failure among steps in flight leaves the values of the steps before", "[cuda]") {
  constexpr int steps = 4;
  std::vector<Floats> after;  // w after so many steps
  {
    Training training(Device::cpu());
    after.push_back(training.w.to_vector<float>());
    for (int i = 0; i < steps; ++i) {
      training.step(i);
      after.push_back(training.w.to_vector<float>());
    }
  }
  const int status = GENERATE(1, 2);
  int failures = 0, losses = 0;
  for (std::int64_t k = 1;; k += test::scaled(1, 7)) {
    const FakeCuda gpu({.seed = static_cast<std::uint64_t>(k), .lazy = k % 2 == 0});
    Training training(gpu0);
    eval(training.w);
    synchronize(gpu0);
    INFO("call " << k << ", status " << status);
    FakeCuda::fail(k, status, true);
    try {
      for (int i = 0; i < steps; ++i) training.step(i);
      for (const Tensor& loss : training.losses) loss.item<float>();
    } catch (const Error&) {
      ++failures;
    }
    detail::backend(DeviceKind::cuda).synchronize(gpu0);
    const bool failed = FakeCuda::has_failed();
    FakeCuda::fail(0, 0);
    hear_all();
    try {
      const Floats now = training.w.to_vector<float>();
      CHECK(std::find(after.begin(), after.end(), now) != after.end());
      if (!failed) CHECK(now == after.back());
    } catch (const DeviceLostError&) {
      ++losses;  // what had been written over can not be had back
    } catch (const Error&) {
      // A step that had not been started fails when it is.
    }
    hear_all();
    if (!failed) break;
    REQUIRE(k < 2000);
  }
  CHECK(failures > 10);
  CHECK(losses < failures);
}
