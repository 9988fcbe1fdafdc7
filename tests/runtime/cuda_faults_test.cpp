// Failures of the CUDA driver, one by one, through a small program: a typed error or the right
// result, and an engine that has lost nothing and works on.
#include <string>

#include <weft/runtime/memory.h>
#include <weft/weft.h>

#include "backend.h"
#include "support/catch.h"
#include "support/fake_cuda.h"
#include "support/sanitized.h"

namespace {

using namespace weft;
using testing::FakeCuda;
using testing::FakeCudaHeld;
using Floats = std::vector<float>;

const Device gpu0 = Device::cuda(0);

/// A little of everything: uploads, a Variable that changes in place, kernels that can fail,
/// scratch and workspace, copies back.
float program() {
  Variable w(tensor({1.0f, 2.0f}, {.device = gpu0}));
  const Tensor x = tensor({3.0f, 4.0f}).cuda();
  w += x * 2.0f;
  w += 0.0f;
  const Tensor picked = gather(w, 0, tensor({1}, {.device = gpu0}));
  return sum(picked.cpu() + w.value().cpu()).item<float>();
}
constexpr float expected = 2 * 10 + 7 + 10;  // w is {7, 10}; 10 is picked and added to both

/// What earlier failures left to be said is said.
void hear_all() {
  for (int i = 0; i < 20; ++i) try {
      (tensor({1.0f}) + 1.0f).item<float>();
      return;
    } catch (const Error&) {
    }
  FAIL("failures without end");
}

FakeCudaHeld held() {
  detail::backend(DeviceKind::cuda).synchronize(gpu0);
  empty_cache(gpu0);
  return FakeCuda::held();
}

enum class Outcome { right, wrong, no_memory, internal, lost };

Outcome outcome_of_program() {
  try {
    return program() == expected ? Outcome::right : Outcome::wrong;
  } catch (const OutOfMemoryError&) {
    return Outcome::no_memory;
  } catch (const InternalError&) {
    return Outcome::internal;
  } catch (const DeviceLostError&) {
    return Outcome::lost;
  }
}

}  // namespace

TEST_CASE("cuda: any call of the driver may fail", "[cuda]") {
  // Out of memory, a wrong argument, a kernel's crash; once or for good.
  const int status = GENERATE(2, 1, 719);
  const bool forever = GENERATE(false, true);
  FakeCudaHeld before;
  {
    const FakeCuda gpu;
    REQUIRE(program() == expected);
    before = held();
  }
  int failures = 0;
  for (std::int64_t k = 1;; k += test::scaled(1, 5)) {
    const FakeCuda gpu({.seed = static_cast<std::uint64_t>(k)});
    FakeCuda::fail(k, status, forever);
    INFO("call " << k << ", status " << status);
    const Outcome outcome = outcome_of_program();
    const bool failed = FakeCuda::has_failed();
    FakeCuda::fail(0, 0);
    failures += outcome != Outcome::right;
    CHECK(outcome != Outcome::wrong);
    if (status == 719) CHECK((outcome == Outcome::lost || outcome == Outcome::right));
    if (!failed) CHECK(outcome == Outcome::right);
    hear_all();
    const Outcome later = outcome_of_program();
    hear_all();
    // Only what has begun and can not be ended loses a device that has not crashed.
    if (outcome == Outcome::lost || later != Outcome::right) {
      CHECK((status == 719 || forever));
      CHECK(later == Outcome::lost);
    } else {
      const FakeCudaHeld after = held();
      INFO(memory_stats(gpu0).tensors << " tensors");
      CHECK(after.bytes == before.bytes);
      CHECK(after.blocks == before.blocks);
      CHECK(after.mapped == 0);
      CHECK(after.modules <= before.modules);
      CHECK(after.events <= before.events + 32);
    }
    if (!failed) break;
    REQUIRE(k < 1000);
  }
  if (status == 719 || forever) CHECK(failures > 10);
  if (status == 2 && !forever) CHECK(failures == 0);  // emptied caches are enough
}

TEST_CASE("cuda: a Variable has its old value after any failure", "[cuda]") {
  const int status = GENERATE(2, 1);
  const bool forever = GENERATE(false, true);
  for (std::int64_t k = 1;; ++k) {
    const FakeCuda gpu({.seed = static_cast<std::uint64_t>(k)});
    Variable w(tensor({1.0f, 2.0f}, {.device = gpu0})), v(tensor({5.0f}, {.device = gpu0}));
    const Tensor kept = tensor({4.0f}) * 2.0f;
    eval(w, v, kept);
    detail::backend(DeviceKind::cuda).synchronize(gpu0);
    w += tensor({3.0f, 4.0f}).cuda() * 2.0f;
    v += 1.0f;
    const Tensor out = (w.value() * 2.0f).cpu();
    FakeCuda::fail(k, status, forever);
    INFO("call " << k << ", status " << status << (forever ? " for good" : ""));
    bool threw = false, lost = false;
    Floats got;
    try {
      eval(out, w, v);
      got = out.to_vector<float>();
    } catch (const DeviceLostError&) {
      threw = lost = true;
    } catch (const Error&) {
      threw = true;
    }
    const bool failed = FakeCuda::has_failed();
    FakeCuda::fail(0, 0);
    if (!threw) CHECK(got == Floats{14, 20});
    hear_all();
    CHECK(kept.item<float>() == 8);
    const bool was_pending = out.is_pending();
    Floats now, next;
    try {
      if (was_pending) got = out.to_vector<float>();
      now = w.to_vector<float>();
      next = v.to_vector<float>();
    } catch (const DeviceLostError&) {
      CHECK(forever);
      lost = true;
    }
    if (!lost) {
      CHECK((now == Floats{7, 10} || now == Floats{1, 2}));
      CHECK(next == Floats{now[0] == 7 ? 6.0f : 5.0f});
      if (!threw || was_pending) CHECK(now == Floats{7, 10});
      if (was_pending) CHECK(got == Floats{14, 20});
    }
    hear_all();
    if (!failed) break;
    REQUIRE(k < 1000);
  }
}
