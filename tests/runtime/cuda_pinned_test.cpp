// Copies to and from GPUs: which memory is pinned, and for how long.
#include <numeric>

#include <weft/runtime/memory.h>
#include <weft/weft.h>

#include "support/catch.h"
#include "support/fake_cuda.h"

using namespace weft;
using testing::FakeCuda;

namespace {

using Floats = std::vector<float>;

Floats numbers(std::int64_t n, float first) {
  Floats values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), first);
  return values;
}

constexpr std::int64_t large = (std::int64_t{3} << 20) / 4 + 5;  // more than 2 MiB

}  // namespace

TEST_CASE("pinned: large blocks of the pool are pinned once, and let go before they go", "[cuda]") {
  empty_cache("cpu");
  const FakeCuda gpu;
  {
    const Tensor x = from_vector(numbers(large, 1), {large});
    for (int i = 0; i < 3; ++i)
      CHECK((x.cuda() * 1.0f).cpu().to_vector<float>() == numbers(large, 1));
    CHECK(FakeCuda::held().registered >= 2 * std::size_t{large} * 4);
    CHECK(FakeCuda::held().registered < 5 * std::size_t{large} * 4);
  }
  empty_cache("cpu");
  CHECK(FakeCuda::held().registered == 0);
}

TEST_CASE("pinned: small blocks and the program's own memory go through the ring", "[cuda]") {
  empty_cache("cpu");
  const FakeCuda gpu;
  const Tensor small = from_vector(numbers(1000, 3), {1000});
  CHECK(small.cuda().cpu().to_vector<float>() == numbers(1000, 3));
  constexpr std::int64_t n = (std::int64_t{40} << 20) / 4 + 3;  // more than the ring holds
  Floats own = numbers(n, 0);
  const Tensor borrowed = from_borrowed(own.data(), {n}, nullptr, nullptr);
  CHECK(sum(borrowed.cuda() - borrowed.cuda()).item<float>() == 0);
  CHECK(borrowed.cuda().slice(0, n - 2, n).to_vector<float>() ==
        Floats{static_cast<float>(n - 2), static_cast<float>(n - 1)});
  CHECK(FakeCuda::held().registered == 0);
}

TEST_CASE("pinned: what was made on the cpu for one run alone goes through the ring", "[cuda]") {
  const FakeCuda gpu;
  const Tensor x = from_vector(numbers(large, 1), {large});
  const Tensor y = (x + 1.0f).cuda();  // the sum lies in scratch
  CHECK(y.to_vector<float>() == numbers(large, 2));
}

TEST_CASE("pinned: a system that pins nothing copies all the same", "[cuda]") {
  empty_cache("cpu");
  const FakeCuda gpu;
  const Tensor warm = from_vector(numbers(10, 0), {10}).cuda();
  CHECK(warm.to_vector<float>() == numbers(10, 0));
  const Tensor x = from_vector(numbers(large, 7), {large});
  for (std::int64_t k = 1; k < 200; ++k) {
    FakeCuda::fail(k, 1);
    try {
      const Floats got = (x.cuda() * 1.0f).cpu().to_vector<float>();
      CHECK(got == numbers(large, 7));
    } catch (const InternalError&) {
    }
    const bool failed = FakeCuda::has_failed();
    FakeCuda::fail(0, 0);
    CHECK((x.cuda() * 1.0f).cpu().to_vector<float>() == numbers(large, 7));
    if (!failed) return;
  }
  FAIL("never ended");
}

TEST_CASE("pinned: memory is pinned until the copies that read it are done", "[cuda]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const FakeCuda gpu({.seed = seed, .lazy = seed % 2 == 0});
    std::vector<Tensor> there;
    for (int i = 0; i < 6; ++i) {
      there.push_back(from_vector(numbers(large, static_cast<float>(i)), {large}).cuda());
      eval(there.back());
      empty_cache("cpu");  // the block must not go while the copy is on its way
    }
    for (int i = 0; i < 6; ++i)
      CHECK(there[static_cast<std::size_t>(i)].to_vector<float>() ==
            numbers(large, static_cast<float>(i)));
  }
}
