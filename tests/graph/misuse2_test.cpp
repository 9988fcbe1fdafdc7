// More callers' mistakes: each names the op, its operands, what to do and the caller's line, and
// leaves everything as it was.
#include <cstdint>
#include <span>
#include <string>
#include <typeinfo>
#include <vector>

#include <weft/graph/detail/record.h>
#include <weft/weft.h>

#include "misuse.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

template <class E, class Call>
std::string wrong(int line, const Parts& parts, const Call& call) {
  Told error = told<E>(line, __FILE__, call);
  return says(error, parts).wrong();
}

#define WRONG(Type, parts, ...)                                                                    \
  CHECK(wrong<Type>(__LINE__, Parts parts, [&] { (void)(__VA_ARGS__); }) == "")

struct Traced {
  Traced() { detail::ambient().tracing = true; }
  ~Traced() { detail::ambient().tracing = false; }
};

}  // namespace

TEST_CASE("misuse of operators") {
  const Tensor x = ones({2, 3}), y = ones({2, 4}), counts = ones({3}, {.dtype = i64});
  const Tensor mask = ones({3}, {.dtype = bool_}), bytes = ones({3}, {.dtype = u8});
  WRONG(ShapeError, ({"add", "[2,3]", "[2,4]"}), x + y);
  WRONG(ShapeError, ({"sub", "[2,3]", "[2,4]"}), x - y);
  WRONG(ShapeError, ({"eq", "[2,3]", "[2,4]"}), x == y);
  WRONG(ShapeError, ({"pow", "[2,3]", "[2,4]"}), pow(x, y));
  WRONG(ShapeError, ({"maximum", "[2,3]", "[2,4]"}), x.maximum(y));
  WRONG(ShapeError, ({"where", "[2,3]", "[2,4]"}), where(x > 0, x, y));
  WRONG(DTypeError, ({"bitwise_and", "f32[2,3]", ".to(dtype)"}), x & 1);
  WRONG(DTypeError, ({"bitwise_or", "i64[3]"}), counts | 1.5);
  WRONG(DTypeError, ({"bitwise_not", "f32[2,3]"}), ~x);
  WRONG(DTypeError, ({"sub", "bool[3]"}), mask - mask);
  WRONG(DTypeError, ({"neg", "bool[3]"}), -mask);
  WRONG(DTypeError, ({"remainder", "bool"}), mask % mask);
  WRONG(DTypeError, ({"add", "u8", "i8"}), bytes + ones({3}, {.dtype = i8}));
  WRONG(DTypeError, ({"where", "f32[2,3]", "bool"}), where(x, x, x));
  WRONG(ValueError, ({"add", "undefined"}), x + Tensor());
  WRONG(ValueError, ({"mul", "undefined"}), 2 * Tensor());
  WRONG(ValueError, ({"add", "undefined"}), x + Variable());
  WRONG(ValueError, ({"relu", "undefined"}), Tensor().relu());
  Tensor kept = x;
  WRONG(ShapeError, ({"add", "[2,3]", "[2,4]"}), kept += y);
  CHECK(kept.ref() == x.ref());
  Tensor moved_from = x, other = std::move(moved_from);
  WRONG(ValueError, ({"exp", "undefined"}), exp(moved_from));
}

TEST_CASE("misuse of device names") {
  for (const char* name : {"", "gpu", "CPU", "cpu:0", "cuda:", "cuda:-1", "cuda:x", "cuda:1x",
                           "sim", "cuda:01", "cuda: 0", "sim:99999", "cuda:4294967296", " cpu"}) {
    INFO(name);
    WRONG(DeviceError, ({"Device", std::string(name), "\"cuda:0\""}), Device(name));
  }
  WRONG(DeviceError, ({"gpu", "\"cpu\""}), ones({2}, {.device = "gpu"}));
  WRONG(DeviceError, ({"tpu:0", "\"cpu\""}), ones({2}).to("tpu:0"));
  WRONG(DeviceError, ({"\"Cuda\"", "\"cpu\""}), On("Cuda"));
  sim::enable(2);
  WRONG(DeviceError, ({"sim:40", "sim::enable"}), ones({2}, {.device = "sim:40"}));
  WRONG(DeviceError, ({"sim:40", "sim::enable"}), ones({2}).to("sim:40"));
  WRONG(DeviceError, ({"sim:40", "sim::enable"}), On("sim:40"));
  WRONG(DeviceError, ({"sim:40", "sim::enable"}), synchronize("sim:40"));
  WRONG(DeviceError, ({"sim:40", "sim::enable"}), memory_stats("sim:40"));
  WRONG(DeviceError, ({"sim:40", "sim::enable"}), variable(ones({2})).to("sim:40"));
  WRONG(DeviceError, ({"sim:40", "sim::enable"}), nn::Linear(2, 2).to("sim:40"));
  const int none = cuda::device_count();
  const std::string name = Device::cuda(none).str();
  WRONG(DeviceError, ({name}), ones({2}).cuda(none));
  WRONG(DeviceError, ({name}), zeros({2}, {.device = Device::cuda(none)}));
  WRONG(DeviceError, ({name}), from_vector(std::vector<int>{1}, {.device = Device::cuda(none)}));
  WRONG(DeviceError, ({name}), cuda::set_device(none));
  WRONG(DeviceError, ({name}), cuda::DeviceGuard(none));
  WRONG(DeviceError, ({std::to_string(none)}), cuda::device_name(none));
  WRONG(DeviceError, ({"-1"}), cuda::properties(-1));
  for (const int far : {32768, 65536, 1 << 24}) {  // numbers whose low 16 bits are another GPU's
    WRONG(DeviceError, ({"cuda:32767"}), zeros({2}, {.device = Device::cuda(far)}));
    WRONG(DeviceError, ({"cuda:32767"}), cuda::set_device(far));
    CHECK(Device::sim(far) != Device::sim(0));
  }
  WRONG(ValueError, ({"sim::enable", "-1"}), sim::enable(-1));
  WRONG(ValueError, ({"sim::enable", "1000"}), sim::enable(1000));
}

TEST_CASE("misuse of devices that mix") {
  sim::enable(2);
  const Tensor here = ones({2, 2}), there = ones({2, 2}, {.device = "sim:0"});
  const Tensor beyond = ones({2, 2}, {.device = "sim:1"});
  WRONG(DeviceError, ({"mul", "cpu", "sim:0", ".to(\"", "On(device)"}), here * there);
  WRONG(DeviceError, ({"add", "sim:0", "sim:1", ".to(\""}), there + beyond);
  WRONG(DeviceError, ({"matmul", "sim:0", "sim:1"}), there.matmul(beyond));
  WRONG(DeviceError, ({"stack", "cpu", "sim:1"}), stack({here, beyond}));
  WRONG(DeviceError, ({"slice_update", "cpu", "sim:0"}), slice_update(here, 0, 0, there));
  WRONG(DeviceError, ({"masked_fill", "cpu", "sim:0"}), masked_fill(here, there > 0, 1));
  WRONG(DeviceError, ({"linear", "cpu", "sim:0"}), linear(here, there));
  WRONG(DeviceError, ({"mse_loss", "cpu", "sim:0"}), mse_loss(here, there));
  WRONG(DeviceError, ({"cross_entropy", "cpu", "sim:0"}),
        cross_entropy(there, zeros({2}, {.dtype = i64})));
  WRONG(DeviceError, ({"add", "sim:0", "cpu"}), here + sum(there));  // 0-dim, but not of the cpu
  WRONG(DeviceError, ({"allclose", "cpu", "sim:0"}), allclose(here, there));
  Variable v = variable(here);
  WRONG(DeviceError, ({"assign", "cpu", "sim:0", ".to(\"cpu\")"}), v.assign(there));
  WRONG(DeviceError, ({"set_grad", "cpu", "sim:0"}), v.set_grad(there));
  WRONG(DeviceError, ({"mul", "cpu", "sim:0"}), v *= there);
  WRONG(DeviceError, ({"grad", "cpu", "sim:0"}), grad(v * 2, v, there));
  CHECK(v.to_vector<int>() == std::vector<int>{1, 1, 1, 1});
  CHECK_FALSE(v.grad().defined());
}

TEST_CASE("misuse of reading") {
  const Tensor x = ones({2, 3}), none = zeros({0});
  WRONG(ValueError, ({"item", "[2,3]", "to_vector"}), x.item<float>());
  WRONG(ValueError, ({"item", "[0]"}), none.item<int>());
  WRONG(ValueError, ({"item", "undefined"}), Tensor().item<int>());
  WRONG(ValueError, ({"undefined"}), Tensor().to_vector<int>());
  WRONG(ValueError, ({"undefined"}), Tensor().wait());
  WRONG(ValueError, ({"eval", "undefined"}), eval(Tensor()));
  WRONG(ValueError, ({"eval", "undefined"}), eval(x, Tensor()));
  WRONG(ValueError, ({"undefined"}), make_plan({Tensor()}));
  WRONG(ValueError, ({"undefined"}), capture({x, Tensor()}));
  WRONG(ValueError, ({"equal", "undefined"}), equal(x, Tensor()));
  WRONG(ValueError, ({"undefined"}), Variable().value());
  WRONG(ValueError, ({"undefined"}), Variable().numel());
  const Plan plan = make_plan({x * 2});
  WRONG(IndexError, ({"source", "1000"}), plan.source(1000));
  CHECK((x * 2).to_vector<int>() == std::vector<int>(6, 2));
}

namespace {

/// The type, the line and the text of what a read inside a trace throws.
template <class Call>
std::string in_trace(int line, const Call& call) {
  const Traced traced;
  try {
    call();
  } catch (const TraceError& error) {
    return (error.line() == line ? "" : "wrong line: ") + std::string(error.what());
  } catch (const std::exception& error) {
    return std::string("another type: ") + error.what();
  }
  return "nothing was thrown";
}

#define IN_TRACE(...) in_trace(__LINE__, [&] { (void)(__VA_ARGS__); })

}  // namespace

TEST_CASE("reads inside a trace") {
  const Tensor x = ones({2}), number = ones({});
  const auto traced = Catch::Matchers::ContainsSubstring("traced");
  CHECK_THAT(IN_TRACE(number.item<float>()),
             traced && !Catch::Matchers::ContainsSubstring("wrong"));
  CHECK_THAT(IN_TRACE(x.to_vector<int>()), traced && !Catch::Matchers::ContainsSubstring("wrong"));
  CHECK_THAT(IN_TRACE(x.wait()), traced && !Catch::Matchers::ContainsSubstring("wrong"));
  CHECK_THAT(IN_TRACE(eval(x)), traced && !Catch::Matchers::ContainsSubstring("wrong"));
  CHECK_THAT(IN_TRACE(flush()), traced && !Catch::Matchers::ContainsSubstring("wrong"));
  CHECK_THAT(IN_TRACE(equal(x, x)), traced && !Catch::Matchers::ContainsSubstring("wrong"));
  CHECK_THAT(IN_TRACE(allclose(x, x)), traced && !Catch::Matchers::ContainsSubstring("wrong"));
  CHECK(x.to_vector<int>() == std::vector<int>{1, 1});
}

TEST_CASE("misuse of Variables") {
  Variable v = variable(ones({2}));
  WRONG(ShapeError, ({"assign", "f32[2]", "f32[3]"}), v = ones({3}));
  WRONG(DTypeError, ({"assign", "f32[2]", "f64[2]", ".to(dtype)"}),
        v.assign(ones({2}, {.dtype = f64})));
  WRONG(ValueError, ({"assign", "undefined"}), v.assign(Tensor()));
  WRONG(ValueError, ({"assign", "undefined"}), Variable().assign(1));
  WRONG(ShapeError, ({"[2]", "[3]"}), v += ones({3}));
  WRONG(ShapeError, ({"assign", "[2]", "[2,2]"}), v *= ones({2, 2}));
  WRONG(ValueError, ({"variable", "undefined"}), variable(Tensor()));
  WRONG(ValueError, ({"undefined"}), Variable().backward());
  WRONG(ValueError, ({"zero_grad", "undefined"}), Variable().zero_grad());
  WRONG(ShapeError, ({"set_grad", "[2]", "[3]"}), v.set_grad(ones({3})));
  WRONG(DTypeError, ({"set_grad", "f32[2]", "f64[2]"}), v.set_grad(ones({2}, {.dtype = f64})));
  Variable counts = variable(ones({2}, {.dtype = i64}));
  WRONG(DTypeError, ({"set_requires_grad", "i64[2]", "f32"}), counts.set_requires_grad(true));
  WRONG(DTypeError, ({"+=", "i64[2]"}), counts += 0.5);
  WRONG(DTypeError, ({"/=", "i64[2]"}), counts /= 2);
  CHECK(v.to_vector<int>() == std::vector<int>{1, 1});
  CHECK(counts.to_vector<int>() == std::vector<int>{1, 1});
}

TEST_CASE("misuse of grad and backward") {
  const Variable w = variable(ones({2})), unused = variable(ones({2}));
  const Tensor loss = sum(w * w), plain = ones({2});
  WRONG(ValueError, ({"backward", "f32[2]", "sum(output)"}), (w * 2).backward());
  WRONG(ValueError, ({"grad", "f32[2]", "cotangent"}), grad(w * 2, w));
  WRONG(ValueError, ({"backward", "no history", "variable(tensor)"}), sum(plain).backward());
  WRONG(ValueError, ({"grad"}), grad(loss, plain));
  WRONG(ValueError, ({"grad", "target 2"}), grad(loss, {w, unused}));
  WRONG(ValueError, ({"undefined"}), grad(loss, Tensor()));
  WRONG(ValueError, ({"undefined"}), grad(Tensor(), w));
  WRONG(DTypeError, ({"backward", "bool"}), all(w > 0).backward());
  WRONG(DTypeError, ({"grad", "i64"}), grad(sum(w.value().to(i64)), w));
  WRONG(DTypeError, ({"grad", "i64[2]"}), grad(loss, variable(ones({2}, {.dtype = i64}))));
  WRONG(ShapeError, ({"grad", "[2]", "[3]"}), grad(w * 2, w, ones({3})));
  WRONG(ShapeError, ({"backward", "[2]", "[1]"}), (w * 2).backward(ones({1})));
  WRONG(DTypeError, ({"grad", "f32[2]", "f64[2]"}), grad(w * 2, w, ones({2}, {.dtype = f64})));
  WRONG(ValueError, ({"backward", "no history"}), sum(w.detach()).backward());
  {
    const NoGrad off;
    WRONG(ValueError, ({"no history", "NoGrad"}), sum(w * 2).backward());
  }
  CHECK_FALSE(w.grad().defined());
  loss.backward();
  CHECK(w.grad().to_vector<int>() == std::vector<int>{2, 2});
  WRONG(ValueError, ({"backward", "retain_graph"}), loss.backward());
  WRONG(ValueError, ({"grad", "retain_graph"}), grad(loss, w));
  CHECK(w.grad().to_vector<int>() == std::vector<int>{2, 2});
}

TEST_CASE("misuse of functions and losses of networks") {
  const Tensor x = ones({2, 3}), labels = zeros({2}, {.dtype = i64});
  WRONG(ShapeError, ({"linear", "[2,3]", "[4,5]"}), linear(x, ones({4, 5})));
  WRONG(ShapeError, ({"linear", "[5]"}), linear(x, ones({4, 3}), ones({5})));
  WRONG(ShapeError, ({"cross_entropy", "i64[3]"}), cross_entropy(x, zeros({3}, {.dtype = i64})));
  WRONG(DTypeError, ({"cross_entropy", "f32[2]"}), cross_entropy(x, ones({2})));
  WRONG(ShapeError, ({"cross_entropy", "f32[4]"}), cross_entropy(x, labels, {.weight = ones({4})}));
  WRONG(ValueError, ({"cross_entropy", "1.5"}), cross_entropy(x, labels, {.label_smoothing = 1.5}));
  WRONG(DTypeError, ({"cross_entropy", "i64"}), cross_entropy(x.to(i64), labels));
  WRONG(ShapeError, ({"nll_loss"}), nll_loss(ones({}), labels));
  WRONG(ShapeError, ({"mse_loss", "[2,3]", "[2,4]"}), mse_loss(x, ones({2, 4})));
  WRONG(ShapeError, ({"l1_loss", "[2,3]", "[4]"}), l1_loss(x, ones({4})));
  WRONG(DTypeError, ({"softmax", "bool"}), softmax(x > 0, 0));
  WRONG(IndexError, ({"softmax", "axis 2"}), softmax(x, 2));
}

TEST_CASE("misuse of modules, optimisers and data") {
  nn::Linear net(3, 2);
  nn::Sequential deep{net, nn::ReLU()};
  const Variable w = variable(ones({2}));
  WRONG(ValueError, ({"Linear", "-1"}), nn::Linear(-1, 2));
  WRONG(ShapeError, ({"linear", "[2,4]", "[2,3]"}), net(ones({2, 4})));
  WRONG(ShapeError, ({"linear", "[2,4]"}), deep(ones({2, 4})));
  WRONG(UnsupportedError, ({"forward"}), net(ones({1}), ones({1})));
  WRONG(ValueError, ({"register_parameter", "a.b"}), net.register_parameter("a.b", ones({1})));
  WRONG(ValueError, ({"register_parameter", "weight"}),
        net.register_parameter("weight", ones({1})));
  WRONG(ValueError, ({"register_buffer", "\"\""}), net.register_buffer("", ones({1})));
  WRONG(ValueError, ({"register_parameter"}), net.register_parameter("c", Variable()));
  WRONG(ValueError, ({"register_module", "inside itself"}), deep.register_module("self", deep));
  WRONG(IndexError, ({"Sequential", "5"}), deep[5]);
  WRONG(DTypeError, ({"to", "i64"}), net.to(i64));
  WRONG(ValueError, ({"load_state_dict", "bias", "extra"}),
        net.load_state_dict({{"weight", ones({2, 3})}, {"extra", ones({1})}}));
  WRONG(ValueError, ({"\"nothing\""}), net.state_dict().at("nothing"));
  WRONG(ValueError, ({"SGD", "no parameters"}), optim::SGD(std::vector<Variable>{}));
  WRONG(ValueError, ({"SGD", "lr", "-1"}), optim::SGD({w}, {.lr = -1}));
  WRONG(ValueError, ({"SGD", "momentum"}), optim::SGD({w}, {.momentum = -0.5}));
  WRONG(ValueError, ({"SGD", "nesterov"}), optim::SGD({w}, {.nesterov = true}));
  WRONG(ValueError, ({"undefined"}), optim::SGD({Variable()}));
  WRONG(ValueError, ({"Loader", "0"}), data::Loader(ones({2}), ones({2}), {.batch = 0}));
  WRONG(ShapeError, ({"Loader", "[2]", "[3]"}), data::Loader(ones({2}), ones({3})));
  WRONG(FileError, ({"mnist", "no/such/folder"}), data::mnist("no/such/folder"));
  WRONG(FileError, ({"read_idx", "no-such-file"}), data::read_idx("no-such-file"));
}

TEST_CASE("misuse of activations and bounds") {
  const Tensor whole = tensor({1, 2}), x = ones({2, 3});
  WRONG(DTypeError, ({"elu", "i64[2]", ".to(f32)"}), elu(whole));
  WRONG(DTypeError, ({"leaky_relu", "i64[2]"}), whole.leaky_relu());
  WRONG(DTypeError, ({"hardswish", "i64[2]"}), hardswish(whole));
  WRONG(DTypeError, ({"hardsigmoid", "i64[2]"}), whole.hardsigmoid());
  WRONG(ValueError, ({"clamp", "no bound"}), clamp(x, std::nullopt));
  WRONG(ShapeError, ({"[2,3]", "[2]"}), clamp(x, tensor({1.0, 2.0})));
  WRONG(ShapeError, ({"lerp", "[2,3]", "[2]"}), lerp(x, whole, 0.5));
  WRONG(DTypeError, ({"left_shift", "f32"}), left_shift(x, 1));
  WRONG(DTypeError, ({"right_shift", "f32"}), x.right_shift(1));
  WRONG(DTypeError, ({"fmod", "bool"}), fmod(x > 0, x > 0));
}

TEST_CASE("misuse of shapes and names of dtypes") {
  const Tensor x = ones({2, 3});
  WRONG(ShapeError, ({"9"}), ones({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  WRONG(ShapeError, ({"9"}), reshape(x, {1, 1, 1, 1, 1, 1, 1, 2, 3}));
  WRONG(ShapeError, ({"reshape", "[0]"}), x.reshape({0}));
  WRONG(ShapeError, ({"expand", "[3]"}), x.expand({3}));
  WRONG(IndexError, ({"flatten", "axis 5"}), flatten(x, 5));
  WRONG(IndexError, ({"unsqueeze", "axis 4"}), x.unsqueeze(4));
  WRONG(IndexError, ({"squeeze", "axis -3"}), x.squeeze(-3));
  WRONG(IndexError, ({"permute", "axis 2"}), x.permute({0, 2}));
  WRONG(IndexError, ({"slice", "axis 2"}), x.slice(2, 0));
  WRONG(IndexError, ({"chunk", "axis 3"}), chunk(x, 2, 3));
  WRONG(IndexError, ({"topk", "axis 2"}), x.topk(1, 2));
  WRONG(ValueError, ({"topk", "-1"}), x.topk(-1));
  WRONG(ValueError, ({"mean", "axis 0 is given twice"}), mean(x, {0, 0}));
  WRONG(DTypeError, ({"set_default_dtype", "i32"}), set_default_dtype(i32));
  WRONG(ValueError, ({"set_numerics", "77", "strict"}), set_numerics(static_cast<Numerics>(77)));
  WRONG(ValueError, ({"set_matmul_precision", "9", "tf32"}),
        set_matmul_precision(static_cast<MatmulPrecision>(9)));
  CHECK(numerics() == standard);
  CHECK(matmul_precision() == MatmulPrecision::f32);
  CHECK(default_dtype() == f32);
}
