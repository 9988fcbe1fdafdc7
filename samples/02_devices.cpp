// Computing with a GPU, after the chapter of that name in "Dive into Deep Learning" (section 6.7 of
// https://d2l.ai): is there one, how many, where does a tensor live, how does it move, what may not
// mix, how does a model move. The same program runs with and without a GPU; where there is none, a
// simulated device takes its part.
#include <iostream>
#include <vector>

#include <weft/weft.h>

#include "expect.h"

using namespace weft;

namespace {

void which_devices() {
  std::cout << "-- which devices are there?\n"
            << "a GPU that can be used: " << (cuda::is_available() ? "yes" : "no") << '\n'
            << "GPUs: " << cuda::device_count() << '\n'
            << "driver " << cuda::driver_version() << ", runtime " << cuda::runtime_version()
            << ", NVRTC " << cuda::nvrtc_version() << " (0: absent)\n";
  for (int i = 0; i < cuda::device_count(); ++i) {
    const cuda::DeviceProperties gpu = cuda::properties(i);
    std::cout << "cuda:" << i << ": " << gpu.name << ", compute capability "
              << gpu.compute_capability << ", " << gpu.total_bytes / (1 << 20) << " MiB\n";
  }
  std::cout << "best device: " << best_device() << "; GPU 9 or else the cpu: " << try_gpu(9)
            << '\n';
  expect(cuda::is_available() == (cuda::device_count() > 0), "available means at least one");
  expect(best_device().is_cpu() == !cuda::is_available(),
         "the best device is a GPU if there is one");
  expect(!all_gpus().empty(), "all_gpus gives at least the cpu");
  try {
    cuda::device_name(cuda::device_count());
    expect(false, "a GPU that is not there has no name");
  } catch (const DeviceError& error) {
    std::cout << error.what() << '\n';
  }
}

/// A GPU, or a simulated device that has to be copied to just the same.
Device accelerator() {
  if (cuda::is_available()) return "cuda:0";
  sim::enable(1);
  return "sim:0";
}

void tensors_and_moves(Device device) {
  std::cout << "-- where does a tensor live?\n";
  const Tensor x = tensor({1, 2, 3});
  std::cout << "x is on " << x.device() << ": " << x << '\n';
  const Tensor there = ones({2, 3}, {.device = device});  // made there
  std::cout << there << '\n';
  expect(x.device().is_cpu() && there.device() == device, "tensors say where they live");

  std::cout << "-- how does it move?\n";
  const Tensor moved = x.to(device);
  const Tensor squared = pow(moved, 2);  // operations run where their data is
  std::cout << "moved to " << moved.device() << ", squared there: " << squared << '\n';
  expect(squared.device() == device, "a result is where its operands are");
  expect(moved.to(device).ref() == moved.ref(), "a tensor that is already there is not copied");
  expect(squared.cpu().to_vector<int>() == std::vector<int>{1, 4, 9}, "and comes back unchanged");
}

void mixing(Device device) {
  std::cout << "-- what may not mix?\n";
  const Tensor here = ones({2, 3});
  const Tensor there = ones({2, 3}, {.device = device});
  try {
    const Tensor mix = here + there;
    expect(false, "operands on two devices throw");
  } catch (const DeviceError& error) {
    std::cout << error.what() << '\n';
  }
  const Tensor sum = here.to(device) + there;      // say which way to copy
  const Tensor shifted = there * 2 + tensor(0.5);  // numbers and 0-dim tensors go along
  expect(sum.device() == device && shifted.device() == device, "these are on the device");
  expect(equal(sum.cpu(), full({2, 3}, 2.0)), "their sum");
  expect(equal(shifted.cpu(), full({2, 3}, 2.5)), "numbers mix with every device");
}

void models(Device device) {
  std::cout << "-- how does a model move?\n";
  nn::Sequential net{nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 1)};
  const Tensor x = ones({2, 3});
  const Tensor on_cpu = net(x);
  on_cpu.wait();
  net.to(device);  // in place, for all who hold its parameters
  for (const auto& [name, parameter] : net.named_parameters()) {
    std::cout << name << ": " << parameter.dtype() << parameter.shape() << " on "
              << parameter.device() << '\n';
    expect(parameter.device() == device, "a model's parameters move together");
  }
  const Tensor on_device = net(x.to(device));
  std::cout << on_device << '\n';
  expect(on_device.device() == device, "the model computes where its parameters are");
  expect(allclose(on_cpu, on_device.cpu()), "and gives the same");
}

}  // namespace

int main() {
  which_devices();
  const Device device = accelerator();
  std::cout << "the device of this walk: " << device << '\n';
  tensors_and_moves(device);
  mixing(device);
  models(device);
  return outcome();
}
