// A GPU that is lost; forks; and the end of a process that has work in flight there.
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "support/catch.h"
#include "support/fake_cuda.h"
#include "support/own_process.h"
#include "support/sanitized.h"

namespace {

using namespace weft;
using testing::FakeCuda;
using Floats = std::vector<float>;

const Device gpu0 = Device::cuda(0);

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class F>
std::string lost_message(F work) {
  try {
    work();
  } catch (const DeviceLostError& error) {
    return error.what();
  }
  return "no DeviceLostError";
}

/// What comes of work in a child.
int in_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    std::exit(work());
  }
  REQUIRE(child > 0);
  int status = 0;
  waitpid(child, &status, 0);
  return test::outcome_of(status);
}

/// Runs one hidden test in a process that has used no GPU.
int alone(const char* name, const char* sync = "0") {
  return test::run_alone(name, {std::string("WEFT_SYNC=") + sync});
}

template <class F>
int status_of(F work) {
  try {
    return work();
  } catch (const DeviceError&) {
    return 11;
  } catch (const DeviceLostError&) {
    return 12;
  } catch (const std::exception&) {
    return 13;
  }
}

float twice_three() { return (tensor({3.0f}, {.device = gpu0}) * 2.0f).item<float>(); }

}  // namespace

TEST_CASE("cuda: a lost device says where, and that it was lost before", "[cuda]") {
  const FakeCuda gpu;
  const Tensor on_host = tensor({4.0f, 5.0f}) * 2.0f;
  const Tensor on_gpu = tensor({1.0f, 2.0f}, {.device = gpu0}) + 1.0f;
  eval(on_host, on_gpu);
  CHECK(on_gpu.to_vector<float>() == Floats{2, 3});
  Variable state(tensor({1.0f}));
  FakeCuda::crash_kernel(2);
  const std::string message = lost_message([&] {
    const Tensor product = matmul(on_gpu.reshape({1, 2}), on_gpu.reshape({2, 1}));
    sum(exp(product)).item<float>();  // several kernels
  });
  INFO(message);
  CHECK(contains(message, "cuda:0: "));
  CHECK(contains(message, "between step "));
  CHECK(contains(message, "WEFT_SYNC=1 tells which"));
  CHECK(contains(message, "cuda_lost_test.cpp:"));
  const std::string again = lost_message([&] { (on_gpu + 1.0f).to_vector<float>(); });
  INFO(again);
  CHECK(contains(again, "cuda:0: the device was lost to this process before: "));
  CHECK(contains(lost_message([&] { twice_three(); }), "lost to this process before"));
  CHECK(contains(lost_message([&] { on_gpu.to_vector<float>(); }), "lost to this process before"));
  // The host works on.
  CHECK(on_host.to_vector<float>() == Floats{8, 10});
  state += 1.0f;
  CHECK(state.item<float>() == 2);
}

TEST_CASE("alone: cuda: with WEFT_SYNC=1 a lost device names the step", "[.][cuda-alone]") {
  const FakeCuda gpu;
  const Tensor on_gpu = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}, {.device = gpu0}) + 1.0f;
  eval(on_gpu);
  synchronize(gpu0);
  FakeCuda::crash_kernel(1);
  const std::string message = lost_message([&] { sum(matmul(on_gpu, on_gpu)).item<float>(); });
  INFO(message);
  CHECK(contains(message, "(library matmul): "));
  CHECK_FALSE(contains(message, "between"));
}

TEST_CASE("alone: cuda: a fork before the first use", "[.][cuda-alone]") {
  const FakeCuda gpu;
  CHECK(cuda::device_count() == 1);
  if (!test::thread_sanitized)
    CHECK(in_child([] { return status_of([] { return twice_three() == 6 ? 7 : 8; }); }) == 7);
  CHECK(twice_three() == 6);
}

TEST_CASE("alone: cuda: a fork after the first use", "[.][cuda-alone]") {
  const FakeCuda gpu({.gpus = 2, .lazy = true});
  const Tensor known = tensor({3.0f}, {.device = gpu0}) * 2.0f;
  CHECK(known.item<float>() == 6);
  const Tensor host = tensor({1.0f}), pending = known + 1.0f;
  CHECK(in_child([] { return status_of([] { return static_cast<int>(twice_three()); }); }) == 11);
  CHECK(in_child([&] {
          return status_of([&] { return static_cast<int>(known.item<float>()); });
        }) == 11);
  CHECK(in_child([&] {
          return status_of([&] { return static_cast<int>(pending.item<float>()); });
        }) == 11);
  const auto other = [] {
    return static_cast<int>((ones({1}, {.device = "cuda:1"}) + 1.0f).item<float>());
  };
  CHECK(in_child([&] { return status_of(other); }) == 11);
  CHECK(in_child([&] { return status_of([&] { return static_cast<int>(host.item<float>()); }); }) ==
        1);
  // Several, so that some are in flight.
  Tensor busy = known;
  for (int i = 0; i < 6; ++i) {
    busy = busy + 1.0f;
    eval(busy);
  }
  const Tensor more = busy + 1.0f;
  for (int i = 0; i < 3; ++i) {
    const int status =
        in_child([&] { return status_of([&] { return static_cast<int>(more.item<float>()); }); });
    CHECK(status == 11);
  }
  CHECK(in_child([] { return 5; }) == 5);  // its end does not hang
  CHECK(more.item<float>() == 13);
}

TEST_CASE("cuda: forks", "[cuda]") {
  CHECK(alone("alone: cuda: a fork before the first use") == 0);
  CHECK(alone("alone: cuda: a fork after the first use") == 0);
  CHECK(alone("alone: cuda: with WEFT_SYNC=1 a lost device names the step", "1") == 0);
}

namespace {

void begin_work() {
  Tensor x = tensor({1.0f, 2.0f}, {.device = gpu0});
  Variable w(tensor({1.0f, 2.0f}, {.device = gpu0}));
  for (int i = 0; i < 20; ++i) {
    x = x * 1.5f;
    w += x;
    eval(x.cpu(), w);
  }
}

}  // namespace

TEST_CASE("alone: cuda: the end of a process with work in flight", "[.][cuda-alone]") {
  static const FakeCuda gpu({.lazy = true});
  begin_work();
  std::exit(9);
}

TEST_CASE("alone: cuda: the end of a process whose device was lost", "[.][cuda-alone]") {
  static const FakeCuda gpu;
  static Tensor kept = tensor({1.0f}, {.device = gpu0}) + 1.0f;  // ends after weft's own
  eval(kept);
  FakeCuda::crash_kernel(4);
  try {
    begin_work();
  } catch (const DeviceLostError&) {
  }
  std::exit(9);
}

TEST_CASE("cuda: a process ends with work in flight, and with a lost device", "[cuda]") {
  CHECK(alone("alone: cuda: the end of a process with work in flight") == 9);
  CHECK(alone("alone: cuda: the end of a process whose device was lost") == 9);
}
