// The walk of the chapter on GPUs of "Dive into Deep Learning" (section 6.7 of https://d2l.ai),
// each printed line as it has to be: without a GPU, with one, with two; and on those that there
// are.
#include <sstream>

#include "cases/cases.h"
#include "support/fake_cuda.h"
#include "support/gpu.h"

using namespace weft;

namespace {

/// What is thrown, by its first line.
template <class F>
std::string thrown_by(const F& f) {
  const std::string message = cases::message_of<DeviceError>(f);
  return message.substr(0, message.find(" ("));  // the caller's line
}

std::string list(const std::vector<Device>& devices) {
  std::ostringstream text;
  for (const Device& device : devices) text << (&device == devices.data() ? "" : " ") << device;
  return text.str();
}

std::string elements(const Tensor& x) {
  std::ostringstream text;
  for (const double element : x.to_vector<double>()) text << ' ' << element;
  return text.str();
}

struct Net : nn::Module {
  nn::Linear only = register_module("only", nn::Linear(3, 1));
};

/// The chapter, section by section.
std::string walk() {
  std::ostringstream out;
  // Computing devices.
  out << Device::cpu() << ' ' << Device("cuda") << ' ' << Device::cuda(1) << '\n';
  out << "GPUs: " << cuda::device_count() << '\n';
  out << try_gpu() << ' ' << try_gpu(1) << ' ' << try_gpu(10) << ' ' << list(all_gpus()) << '\n';
  // Tensors and GPUs.
  const Tensor x = tensor({1.0, 2.0, 3.0});
  out << "x: " << x.device() << '\n';
  // Storage on the GPU.
  const Tensor X = ones({2, 3}, {.device = try_gpu()});
  out << "X: " << X.device() << elements(X) << '\n';
  const Tensor Y = full({2, 3}, 0.5, {.device = try_gpu(1)});
  out << "Y: " << Y.device() << elements(Y) << '\n';
  // Copying.
  const Tensor Z = X.to(Y.device());
  out << "Z: " << Z.device() << elements(Z) << '\n';
  out << "Y + Z: " << (Y + Z).device() << elements(Y + Z) << '\n';
  out << "already there: " << (Z.to(Z.device()).ref() == Z.ref() ? "the same" : "a copy") << '\n';
  // What may not mix.
  out << "x + X: " << thrown_by([&] { return ones({2, 3}) + X; }) << '\n';
  out << "X + Y: " << thrown_by([&] { return X + Y; }) << '\n';
  out << "not there: " << thrown_by([] { return ones({1}, {.device = Device::cuda(2)}); }) << '\n';
  // Neural networks and GPUs.
  Net net;
  net.to(try_gpu());
  const Tensor result = net.only(X);
  out << "net: " << net.only.weight.device() << ' ' << result.device() << ' ' << result.shape()
      << '\n';
  return out.str();
}

constexpr const char* without =
    R"(cpu cuda:0 cuda:1
GPUs: 0
cpu cpu cpu cpu
x: cpu
X: cpu 1 1 1 1 1 1
Y: cpu 0.5 0.5 0.5 0.5 0.5 0.5
Z: cpu 1 1 1 1 1 1
Y + Z: cpu 1.5 1.5 1.5 1.5 1.5 1.5
already there: the same
x + X: nothing was thrown
X + Y: nothing was thrown
not there: cuda:2: no usable GPU: the fake driver has none; use "cpu", or best_device() to take a GPU where there is one
net: cpu cpu [2,1]
)";
constexpr const char* with_one =
    R"(cpu cuda:0 cuda:1
GPUs: 1
cuda:0 cpu cpu cuda:0
x: cpu
X: cuda:0 1 1 1 1 1 1
Y: cpu 0.5 0.5 0.5 0.5 0.5 0.5
Z: cpu 1 1 1 1 1 1
Y + Z: cpu 1.5 1.5 1.5 1.5 1.5 1.5
already there: the same
x + X: add: argument 2 is on cuda:0, the others are on cpu; move it with .to("cpu"), or record the op inside On(device)
X + Y: add: argument 2 is on cpu, the others are on cuda:0; move it with .to("cuda:0"), or record the op inside On(device)
not there: cuda:2: no such GPU: there is 1, "cuda:0"; ask cuda::device_count() first
net: cuda:0 cuda:0 [2,1]
)";
constexpr const char* with_two =
    R"(cpu cuda:0 cuda:1
GPUs: 2
cuda:0 cuda:1 cpu cuda:0 cuda:1
x: cpu
X: cuda:0 1 1 1 1 1 1
Y: cuda:1 0.5 0.5 0.5 0.5 0.5 0.5
Z: cuda:1 1 1 1 1 1 1
Y + Z: cuda:1 1.5 1.5 1.5 1.5 1.5 1.5
already there: the same
x + X: add: argument 2 is on cuda:0, the others are on cpu; move it with .to("cpu"), or record the op inside On(device)
X + Y: add: argument 2 is on cuda:1, the others are on cuda:0; move it with .to("cuda:0"), or record the op inside On(device)
not there: cuda:2: no such GPU: there are 2; ask cuda::device_count() first
net: cuda:0 cuda:0 [2,1]
)";

}  // namespace

TEST_CASE("the book's walk without a GPU", "[book]") {
  const testing::FakeCuda none({.gpus = 0});
  CHECK(walk() == without);
}

TEST_CASE("the book's walk with one GPU and with two", "[book]") {
  {
    const testing::FakeCuda one;
    CHECK(walk() == with_one);
  }
  const testing::FakeCuda two({.gpus = 2});
  CHECK(walk() == with_two);
}

TEST_CASE("the book's walk with the GPUs that there are", "[book][gpu]") {
  if (!testing::has_gpus(1)) return;
  const int count = cuda::device_count();
  if (count > 2) {
    WARN("passed over: the walk is for one GPU or two, and there are " << count
                                                                       << "; choose with "
                                                                          "CUDA_VISIBLE_DEVICES");
    return;
  }
  CHECK(walk() == (count == 1 ? with_one : with_two));
}
