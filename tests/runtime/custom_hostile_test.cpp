// Ops of a program's own that do what they should not, or are given what they do not expect.
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <weft/custom.h>
#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;
using Catch::Matchers::ContainsSubstring;

namespace {

using Floats = std::vector<float>;
using Tensors = std::vector<Tensor>;
using Inputs = std::span<const HostInput>;
using Outputs = std::span<const HostOutput>;

WEFT_ELEMENTWISE(softsign, (x), x / (T(1) + abs(x)), (g / square(1 + abs(x))));
WEFT_ELEMENTWISE(blend, (x, y, z), x* y + z, (g * y, g* x, g), .rule = DTypeRule::numeric);

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// The first input's floats, times 10.
void by_ten(Inputs in, Outputs out) {
  const auto x = in[0].span<float>();
  for (std::size_t i = 0; i < x.size(); ++i) out[0].span<float>()[i] = 10 * x[i];
}

Tensor called(const Tensor& x, HostFunction f = by_ten) {
  return host_callback(std::move(f), {x}, {{x.shape(), f32}})[0];
}

/// A kernel for GPUs whose function for other devices multiplies by ten.
CudaKernel ten() {
  CudaKernel kernel;
  kernel.name = "ten";
  kernel.source = "extern \"C\" __global__ void ten(const float* x, float* y, long long n) {}";
  kernel.entry = "ten";
  kernel.outputs = [](CudaKernel::Specs in) { return std::vector<TensorSpec>{in[0]}; };
  kernel.cpu = by_ten;
  return kernel;
}

}  // namespace

TEST_CASE("hostile: inputs of every layout arrive in order", "[custom]") {
  sim::enable(1);
  const Device device = GENERATE(Device::cpu(), Device::sim(0));
  const Tensor x = arange(6, {.dtype = f32, .device = device}).reshape({2, 3}) + 1;
  const CudaKernelOp op = cuda_kernel_op(ten());
  const Tensor layouts[] = {x,
                            transpose(x, 0, 1),
                            flip(x, {0, 1}),
                            x.slice(1, 0, 3, 2),
                            expand(x[0], {2, 3}),
                            expand(unsqueeze(x, -1), {2, 3, 2}),
                            x[1][2],
                            x.slice(0, 1, 1),
                            zeros({0, 3}, {.device = device}),
                            broadcast_to(tensor(4.0, {.device = device}), {3, 0}),
                            x + 0};
  for (const Tensor& layout : layouts) {
    const Floats wanted = (layout * 10).to_vector<float>();
    CHECK(called(layout).to_vector<float>() == wanted);
    CHECK(op(layout)[0].to_vector<float>() == wanted);
    CHECK((op(layout)[0] + called(layout + 1).to(device)).shape() == layout.shape());
    CHECK(allclose(softsign(layout), layout / (1 + abs(layout))));
    CHECK(equal(blend(layout, layout, layout), layout * layout + layout));
  }
  CHECK(equal(blend(x, 2, x[0]), x * 2 + x[0]));
  CHECK(blend(tensor({1, 2}), 3, true).dtype() == i64);
  CHECK(softsign(tensor({1, 2})).dtype() == f32);
  CHECK(softsign(tensor({true, false})).to_vector<float>() == Floats{0.5, 0});
  CHECK(softsign(x.to(f16)).dtype() == f16);
}

TEST_CASE("hostile: a result shares no memory with what the function reads", "[custom]") {
  const auto writes_first = [](Inputs in, Outputs out) {
    for (float& value : out[0].span<float>()) value = -1;
    for (float& value : out[1].span<float>()) value = -2;
    const auto x = in[0].span<float>(), y = in[1].span<float>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      out[0].span<float>()[i] = x[i] + y[i];
      out[1].span<float>()[i] = x[i] - y[i];
    }
  };
  Variable v = variable(tensor({1.0, 2.0}));
  const Tensors both = host_callback(writes_first, {v * 3, v * 3}, {{{2}, f32}, {{2}, f32}});
  v.assign(both[0] + both[1]);
  CHECK(v.to_vector<float>() == Floats{6, 12});
  const Tensor once = v * 2;
  const Tensors same = host_callback(writes_first, {once, once}, {{{2}, f32}, {{2}, f32}});
  CHECK(same[1].to_vector<float>() == Floats{0, 0});
  CHECK(same[0].to_vector<float>() == Floats{24, 48});
}

TEST_CASE("hostile: functions that throw, anywhere in a chain", "[custom]") {
  const Tensor x = tensor({1.0, 2.0});
  for (int bad = 0; bad < 3; ++bad) {
    Tensor y = x;
    for (int i = 0; i < 3; ++i)
      y = called(y + 1, [=](Inputs in, Outputs out) {
        if (i == bad) throw std::runtime_error("link " + std::to_string(i));
        by_ten(in, out);
      });
    const Tensor aside = x * 2;
    eval(y, aside);
    CHECK_THROWS_AS(y.wait(), CallbackError);
    CHECK_THAT(message_of([&] { y.wait(); }), ContainsSubstring("link " + std::to_string(bad)));
    CHECK_THAT(message_of([&] { (y + 1).wait(); }), ContainsSubstring("no Variable has changed"));
    CHECK((x * 2).to_vector<float>() == Floats{2, 4});
  }
  // An error of weft's own, from what the function records.
  const Tensor wrong = called(x, [&](Inputs, Outputs) { (void)reshape(x, {7}); });
  CHECK_THAT(message_of([&] { wrong.wait(); }), ContainsSubstring("reshape: 2 elements"));
  // Of a kernel's function on the cpu.
  CudaKernel kernel = ten();
  kernel.cpu = [](Inputs, Outputs) { throw std::bad_alloc(); };
  const Tensor failed = cuda_kernel_op(kernel)(x)[0];
  CHECK_THROWS_AS(failed.wait(), CallbackError);
  CHECK_THAT(message_of([&] { failed.wait(); }), ContainsSubstring("ten: its function threw"));
}

TEST_CASE("hostile: rules for outputs", "[custom]") {
  const Tensor x = tensor({1.0, 2.0});
  const auto with = [&](std::function<std::vector<TensorSpec>(CudaKernel::Specs)> rule) {
    CudaKernel kernel = ten();
    kernel.outputs = std::move(rule);
    return cuda_kernel_op(kernel)(x);
  };
  const auto give = [&](std::vector<TensorSpec> specs) {
    return with([=](CudaKernel::Specs) { return specs; });
  };
  CHECK_THROWS_AS(give({}), ValueError);
  CHECK_THROWS_AS(give(std::vector<TensorSpec>(9)), ValueError);
  CHECK_THROWS_AS(give({{{-1}, f32}}), ShapeError);
  CHECK_THROWS_AS(give({{{std::int64_t{1} << 62, 4}, f32}}), ShapeError);
  CHECK_THROWS_AS(with([](CudaKernel::Specs) -> std::vector<TensorSpec> {
                    throw std::logic_error("no such input");
                  }),
                  std::logic_error);
  CHECK((x + 1).to_vector<float>() == Floats{2, 3});
  CHECK(give({{{0}, f32}}).size() == 1);
  const Tensors eight = host_callback(
      [](Inputs, Outputs out) {
        for (std::size_t o = 0; o < out.size(); ++o)
          for (float& value : out[o].span<float>()) value = static_cast<float>(o);
      },
      {x}, std::vector<TensorSpec>(8, {{1}, f32}));
  CHECK(cat(eight).to_vector<float>() == Floats{0, 1, 2, 3, 4, 5, 6, 7});
  // No inputs at all.
  const auto seven = [](Inputs in, Outputs out) {
    out[0].span<float>()[0] = 7 + static_cast<float>(in.size());
  };
  CHECK(host_callback(seven, Tensors(), {{{}, f32}})[0].item<float>() == 7);
}

TEST_CASE("hostile: gradient functions", "[custom]") {
  Variable x = variable(tensor({1.0, 2.0}));
  sum(square(x)).backward();
  const auto with = [&](CallGradient gradient) {
    CudaKernel kernel = ten();
    kernel.gradient = std::move(gradient);
    return cuda_kernel_op(kernel)(x)[0];
  };
  using Three = const Tensors&;
  CHECK_THROWS_AS(sum(with([](Three, Three, Three) { return Tensors{}; })).backward(), ValueError);
  CHECK_THROWS_AS(sum(with([](Three, Three, Three g) {
                    return Tensors{g[0], g[0]};
                  })).backward(),
                  ValueError);
  CHECK_THROWS_AS(sum(with([](Three, Three, Three g) { return Tensors{g[0].to(f64)}; })).backward(),
                  DTypeError);
  CHECK_THROWS_AS(sum(with([](Three, Three, Three g) { return Tensors{sum(g[0])}; })).backward(),
                  ShapeError);
  bool is_bad = true;
  const Tensor loss = sum(with([&](Three, Three, Three g) {
    if (is_bad) throw std::domain_error("not here");
    return Tensors{g[0] * 10};
  }));
  CHECK_THROWS_AS(loss.backward(), std::domain_error);
  CHECK_THROWS_AS(grad(loss, x), std::domain_error);
  CHECK(x.grad().to_vector<float>() == Floats{2, 4});  // as it was
  is_bad = false;
  loss.backward();
  CHECK(x.grad().to_vector<float>() == Floats{12, 14});
  // None, and one that looks at values.
  CHECK(grad(sum(with([](Three, Three, Three) { return Tensors{Tensor()}; }) + x), x)
            .to_vector<float>() == Floats{1, 1});
  const Tensor looked =
      sum(with([](Three in, Three, Three g) { return Tensors{g[0] * in[0][1].item<float>()}; }));
  CHECK(grad(looked, x).to_vector<float>() == Floats{2, 2});
  // After an error nothing of the guards of differentiation is left.
  CHECK(grad(sum(x * x), x).to_vector<float>() == Floats{2, 4});
}
