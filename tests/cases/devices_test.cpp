// Public cases about devices, modules that move, and transfers.
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <functional>

#include <weft/runtime/sim.h>

#include "cases/cases.h"

using namespace weft;
using namespace weft::cases;

CASE(1, "0-dim cpu values mix with an accelerator's tensors and not the other way round") {
  for (const Device gpu : accelerators()) {
    INFO(gpu.str());
    const Tensor number = tensor(2.5), row = tensor({1.0, -4.0}, {.device = gpu});
    CHECK(differs(number * row, f32, {2}, {2.5, -10}, gpu) == "");
    CHECK(differs(row * number, f32, {2}, {2.5, -10}, gpu) == "");
    const Tensor there = tensor(2.5, {.device = gpu}), here = tensor({1.0, -4.0});
    for (const auto& mixed : {std::function<Tensor()>([&] { return there * here; }),
                              std::function<Tensor()>([&] { return here * there; })}) {
      const std::string message = message_of<DeviceError>(mixed);
      INFO(message);
      CHECK(names(message, "mul", gpu.str(), "cpu", ".to(\""));
    }
    // The kind: other ops, dtypes, shapes, and more than one such number.
    CHECK(differs(pow(row, tensor(2)), f32, {2}, {1, 16}, gpu) == "");
    CHECK(differs(maximum(tensor(0), row), f32, {2}, {1, 0}, gpu) == "");
    CHECK(differs(row < tensor(0.0), bool_, {2}, {0, 1}, gpu) == "");
    CHECK(differs(where(row > tensor(0.0), tensor(7.0), tensor(8.0)), f32, {2}, {7, 8}, gpu) == "");
    CHECK(differs(row + tensor(1.0, {.dtype = f64}), f32, {2}, {2, -3}, gpu) == "");
    CHECK(differs(row.to(f64) * tensor(0.5, {.dtype = f16}), f64, {2}, {0.5, -2}, gpu) == "");
    CHECK(differs(tensor({1, 2}, {.dtype = i32, .device = gpu}) + tensor(3), i32, {2}, {4, 5},
                  gpu) == "");
    CHECK(differs(number * there, f32, {}, {6.25}, gpu) == "");
    CHECK(differs(zeros({0, 3}, {.device = gpu}) + number, f32, {0, 3}, {}, gpu) == "");
    CHECK(differs(sum(here) * row, f32, {2}, {-3, 12}, gpu) == "");  // computed on the cpu first
    CHECK(make_plan({number * row}).count(StepKind::upload) >= 1);
    // One element is not 0-dim, and another accelerator is not the cpu.
    CHECK(names(message_of<DeviceError>([&] { return tensor({2.5}) * row; }), "mul", "cpu",
                gpu.str()));
    const Tensor other = tensor(2.5, {.device = "sim:1"});
    CHECK(names(message_of<DeviceError>([&] { return other * row; }), "mul", "sim:1", gpu.str()));
    // The gradient comes back to where the number lives.
    Variable scale = variable(tensor(2.0));
    sum(scale * row).backward();
    CHECK(differs(scale.grad(), f32, {}, {-3}) == "");
    const On scope(gpu);
    CHECK(differs(there * here, f32, {2}, {2.5, -10}, gpu) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(1)

CASE(2, "where on several devices names the op and both devices") {
  for (const Device gpu : accelerators()) {
    const Tensor mask = tensor({true, false}), x = tensor({3, 9}), y = tensor({1, 1});
    const Tensor far_mask = mask.to(gpu), far_x = x.to(gpu), far_y = y.to(gpu);
    const auto message = [](const Tensor& a, const Tensor& b, const Tensor& c) {
      return message_of<DeviceError>([&] { where(a, b, c); });
    };
    for (const std::string& text :
         {message(mask, far_x, y), message(far_mask, x, y), message(mask, x, far_y),
          message(mask, far_x, far_y), message(far_mask, far_x, y), message(far_mask, x, far_y)}) {
      INFO(text);
      CHECK(names(text, "where: ", gpu.str(), "cpu"));
    }
    CHECK(differs(where(mask, x, y), i64, {2}, {3, 1}) == "");
    CHECK(differs(where(far_mask, far_x, far_y), i64, {2}, {3, 1}, gpu) == "");
    CHECK(differs(where(far_mask, tensor(3), 1), i64, {2}, {3, 1}, gpu) == "");
    CHECK(names(message_of<DeviceError>([&] { cat({x, far_y}); }), "cat: ", gpu.str(), "cpu"));
    CHECK(
        names(message_of<DeviceError>([&] { gather(far_x, 0, y); }), "gather: ", gpu.str(), "cpu"));
    CHECK(names(message_of<DeviceError>([&] { matmul(x, far_y); }), "matmul: ", gpu.str(), "cpu"));
  }
}
CASE_ON_GPUS_OF_THE_TESTS(2)

CASE(3, "cuda is cuda with the current number") {
  const Device plain("cuda"), first("cuda:0");
  CHECK(plain == first);
  CHECK(plain.str() == "cuda:0");
  CHECK(plain.index() == 0);
  CHECK(plain == Device::cuda(0));
  CHECK(std::hash<Device>()(plain) == std::hash<Device>()(first));
  CHECK_FALSE(plain == Device("cuda:1"));
  if (!cuda::is_available()) {
    const std::string message = message_of<DeviceError>([] { ones({1}, {.device = "cuda"}); });
    CHECK(names(message, "cuda:0", "cpu"));
  } else {
    const Tensor x = ones({2}, {.device = "cuda"});
    CHECK(x.device() == first);
    CHECK(x.to("cuda:0").ref() == x.ref());
    CHECK(x.cuda().ref() == x.ref());
    CHECK(differs(x + ones({2}, {.device = "cuda:0"}), f32, {2}, {2, 2}, first) == "");
  }
  for (const Device gpu : every_device()) {  // a device that is asked for is the one that is named
    const Tensor x = ones({2}, {.device = gpu.str()});
    CHECK(x.device() == gpu);
    CHECK(x.to(gpu).ref() == x.ref());
    const On scope(gpu);
    CHECK(ones({2}).device() == gpu);
  }
}
CASE_ON_GPUS_OF_THE_TESTS(3)

CASE(4, "the device number that is asked for is used") {
  const Tensor x = tensor({6, 7});
  if (cuda::device_count() > 1) {
    const cuda::DeviceGuard guard(1);
    CHECK(Device("cuda") == Device("cuda:1"));
    CHECK(differs(x.cuda(0), i64, {2}, {6, 7}, "cuda:0") == "");
    CHECK(differs(x.cuda(), i64, {2}, {6, 7}, "cuda:1") == "");
    CHECK(differs(x.cuda(1).cuda(0), i64, {2}, {6, 7}, "cuda:0") == "");
  } else {
    const int beyond = cuda::device_count();
    const std::string name = Device::cuda(beyond).str();
    CHECK(names(message_of<DeviceError>([&] { x.cuda(beyond); }), name));
    CHECK(names(message_of<DeviceError>([&] { cuda::set_device(beyond); }), name));
    CHECK(cuda::current_device() == 0);
  }
  for (const auto& [first, second] : device_pairs()) {
    const On scope(second);  // decides for ops, not for what names a device itself
    CHECK(differs(x.to(first), i64, {2}, {6, 7}, first) == "");
    CHECK(differs(tensor({6, 7}, {.device = first}), i64, {2}, {6, 7}, first) == "");
    CHECK(differs(x + 0, i64, {2}, {6, 7}, second) == "");
    CHECK(differs(x.to(first).to(second), i64, {2}, {6, 7}, second) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(4)

namespace {

struct Holder : nn::Module {
  Variable weight = register_parameter("weight", tensor(2.0));
  Variable scale = register_buffer("scale", tensor({0.5}));
  Tensor plain = tensor({3.0});
};

}  // namespace

CASE(5, "what a module has registered moves and a plain member does not") {
  for (const Device gpu : accelerators()) {
    Holder net;
    Holder copy = net;
    net.to(gpu);
    CHECK(differs(net.weight, f32, {}, {2}, gpu) == "");
    CHECK(differs(net.scale, f32, {1}, {0.5}, gpu) == "");
    CHECK(copy.weight.device() == gpu);
    CHECK(net.plain.device().is_cpu());
    const std::string message = message_of<DeviceError>([&] { net.scale* net.plain; });
    INFO(message);
    CHECK(names(message, "mul", gpu.str(), "cpu", ".to(\""));
    nn::Sequential deep{nn::Linear(3, 2), nn::Sequential{nn::Linear(2, 2), nn::ReLU()}};
    deep.to(gpu);
    for (const Variable& parameter : deep.parameters()) CHECK(parameter.device() == gpu);
    CHECK(deep(ones({1, 3}, {.device = gpu})).device() == gpu);
    CHECK(names(message_of<DeviceError>([&] { deep(ones({1, 3})); }), gpu.str(), "cpu"));
    deep.cpu();
    CHECK(deep(ones({1, 3})).device().is_cpu());
  }
}
CASE_ON_GPUS_OF_THE_TESTS(5)

CASE(6, "gradients come back across a move") {
  for (const Device gpu : accelerators()) {
    Variable x = variable(tensor({3.0}));
    sum(square(x.value().to(gpu))).backward();
    CHECK(differs(x.grad(), f32, {1}, {6}) == "");
    // Also in f64, twice, between accelerators, and where the leaf has moved since.
    Variable y = variable(tensor({1.0, -2.0}, {.dtype = f64}));
    sum(pow(y.value().to(gpu).cpu().to("sim:1").to(gpu), 3)).backward();
    CHECK(differs(y.grad(), f64, {2}, {3, 12}) == "");
    const Tensor loss = sum(square(y));
    y.to(gpu);
    loss.backward();
    CHECK(differs(y.grad(), f64, {2}, {5, 8}, gpu) == "");
    const Tensor dx = grad(sum(square(x.value().to(gpu))), x);
    CHECK(differs(dx, f32, {1}, {6}) == "");
    nn::Linear net(2, 1);
    net.to(gpu);
    sum(net(ones({1, 2}, {.device = gpu}))).backward();
    CHECK(differs(net.weight.grad(), f32, {1, 2}, {1, 1}, gpu) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(6)

CASE(7, "copies between two accelerators are exact") {
  for (const auto& [first, second] : device_pairs()) {
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const Tensor x = tensor({11.0, -0.125}, {.dtype = dtype, .device = first});
      CHECK(differs(x.to(second), dtype, {2}, {11, -0.125}, second) == "");
      CHECK(differs(x.to(second).cpu(), dtype, {2}, {11, -0.125}) == "");
      CHECK(differs((x.to(second) * 2).to(first) + x, dtype, {2}, {33, -0.375}, first) == "");
    }
    const Tensor big = arange(100003, {.device = first});
    CHECK(equal(big.to(second).cpu(), arange(100003)));
    CHECK(equal(big.to(second).flip(0).to(first).cpu(), arange(100003).flip(0)));
    CHECK(values(tensor({true, false}, {.device = first}).to(second)) == Values{1, 0});
    CHECK(differs(zeros({0, 2}, {.device = first}).to(second).cpu(), f32, {0, 2}, {}) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(7)

// Run by C8 in a process of its own, where nothing has been evaluated yet.
TEST_CASE("fork before first use", "[.fork-child]") {
  const int count = cuda::device_count();
  const Tensor recorded = tensor({1.0}) + 1.0;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool right = cuda::device_count() == count && values(recorded) == Values{2};
    for (const Device gpu : every_device()) {
      const Tensor one = tensor({1.0}, {.device = gpu});
      right = right && values(one + one) == Values{2};
    }
    _exit(right ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(values(recorded) == Values{2});
}

CASE(8, "counting devices does not break a later fork") {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/proc/self/exe", "test_cases", "[.fork-child]", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

CASE(9, "what is read is what was computed however late it is") {
  sim::configure({.seed = 5, .max_delay_us = 2000});
  for (const Device gpu : accelerators()) {
    const std::int64_t n = std::int64_t{1} << 22;
    const Tensor k = arange(n, {.device = gpu});
    const Tensor back = (2 * k).cpu();
    eval(back);
    CHECK(back[-1].item<long>() == 8388606);
    const Tensor reals = (arange(1000, {.dtype = f64, .device = gpu}) * 0.5).cpu();
    eval(reals);
    CHECK(reals.to_vector<double>().back() == 499.5);
    Tensor y = ones({64}, {.device = gpu});
    for (int i = 0; i < 20; ++i) {
      y = ((y.cpu() + 1).to(gpu)) * 1;
      eval(y);
    }
    CHECK(values(y) == Values(64, 21));
  }
  sim::configure({});
}
CASE_ON_GPUS_OF_THE_TESTS(9)

CASE(10, "a bad label is reported with its op and the device works on") {
  for (const Device gpu : every_device()) {
    INFO(gpu.str());
    const Tensor logits = zeros({2, 3}, {.device = gpu});
    const Tensor labels = tensor({0, 3}, {.device = gpu});
    const std::string message =
        message_of<IndexError>([&] { cross_entropy(logits, labels).item<float>(); });
    INFO(message);
    CHECK(names(message, "3"));
    CHECK((names(message, "cross_entropy") || names(message, "gather") ||
           names(message, "nll_loss")));
    const Tensor one = tensor({1}, {.device = gpu});
    CHECK(differs(one + one, i64, {1}, {2}, gpu) == "");
    const Tensor data = arange(4, {.device = gpu});
    eval(data);
    for (const int bad : {4, -1, 1 << 30}) {
      const Tensor at = tensor({0, bad}, {.device = gpu});
      eval(at);
      CHECK(names(message_of<IndexError>([&] { gather(data, 0, at).wait(); }), "gather",
                  std::to_string(bad)));
      CHECK(names(message_of<IndexError>([&] { index_select(data, 0, at).wait(); }),
                  std::to_string(bad)));
      CHECK(names(message_of<IndexError>([&] { scatter_add(data, 0, at, at).wait(); }),
                  "scatter_add", std::to_string(bad)));
      CHECK(differs(one + one, i64, {1}, {2}, gpu) == "");
    }
    CHECK(differs(gather(data, 0, one), i64, {1}, {1}, gpu) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(10)
