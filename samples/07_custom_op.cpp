// Ops of your own: an element-wise expression, a gradient of your own, a function on host memory,
// and a CUDA kernel. weft itself is not touched.
#include <algorithm>
#include <cmath>
#include <iostream>

#include <weft/custom.h>
#include <weft/weft.h>

#include "expect.h"

using namespace weft;
using Tensors = std::vector<Tensor>;

WEFT_ELEMENTWISE(softsign, (x), x / (T(1) + abs(x)), (g / square(1 + abs(x))));
WEFT_ELEMENTWISE(soft_clip, (x, limit), limit * tanh(x / limit),
                 (g * (1 - square(out / limit)),
                  g * (out / limit - x / limit * (1 - square(out / limit)))));
WEFT_ELEMENTWISE(is_even, (x), remainder(x, T(2)) == T(0), (), .rule = DTypeRule::predicate);

namespace {

/// It has all that weft's own ops have.
void elementwise() {
  std::cout << "-- an element-wise op fuses with its neighbours\n";
  const Variable x = variable(tensor({-3.0, 0.0, 1.0}));
  const Tensor y = softsign(x * 2) + 1;
  const Plan plan = make_plan({y});
  std::cout << plan << y << '\n' << grad(sum(y), x) << '\n';
  expect(plan.count(StepKind::kernel) == 1, "three ops are one kernel");
  expect(allclose(grad(sum(y), x), tensor({2.0 / 49, 2.0, 2.0 / 9})), "the gradient");
  expect(softsign(tensor({1, 3})).dtype() == f32, "integers become floats, as the rule says");
  expect(allclose(soft_clip(x, 1.0), tanh(x)), "numbers are operands as well");
  expect(equal(is_even(tensor({2, 3})), tensor({true, false})), "a predicate");
}

/// sqrt(x² + y²) whose gradient at 0 is 0, not NaN.
void own_gradient() {
  std::cout << "-- a composite with a gradient of its own\n";
  const CustomVjp safe_length = custom_vjp(
      [](const Tensors& in) {
        const Tensor length = sqrt(square(in[0]) + square(in[1]));
        return VjpResult({length}, {in[0], in[1], length});
      },
      [](const Tensors& residuals, const Tensors& cotangents) {
        const Tensor length = residuals[2];
        const Tensor scale = where(length == 0, 0, cotangents[0] / maximum(length, 1e-30));
        return Tensors{scale * residuals[0], scale * residuals[1]};
      },
      {.name = "safe_length"});
  const Variable x = variable(tensor({3.0, 0.0})), y = variable(tensor({4.0, 0.0}));
  const auto [dx, dy] = grad(sum(safe_length({x, y})[0]), {x, y});
  std::cout << dx << ' ' << dy << '\n';
  expect(allclose(dx, tensor({0.6, 0.0})) && allclose(dy, tensor({0.8, 0.0})), "safe at 0");
}

/// What weft has no op for, as a step of the plan.
void on_the_host() {
  std::cout << "-- a function on host memory\n";
  const Tensor x = tensor({3.0, 1.0, 2.0});
  const Tensor median = host_callback(
      [](std::span<const HostInput> in, std::span<const HostOutput> out) {
        const std::span<const float> values = in[0].span<float>();
        std::vector<float> sorted(values.begin(), values.end());
        std::sort(sorted.begin(), sorted.end());
        out[0].span<float>()[0] = sorted[sorted.size() / 2];
      },
      {x * 10}, {{{}, f32}}, {.name = "median"})[0];
  expect(median.is_pending(), "it is lazy, as all else");
  expect((median + 1).item<float>() == 21, "the median of 30, 10, 20, and 1");
}

/// On a GPU the kernel, elsewhere the function.
void own_kernel() {
  std::cout << "-- a CUDA kernel, with a function for machines without a GPU\n";
  const CudaKernelOp scaled = cuda_kernel_op(
      {.name = "scaled",
       .source = R"(
         extern "C" __global__ void scaled(const float* x, const float* factor, float* y, long long n) {
           const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
           if (i < n) y[i] = x[i] * *factor;
         })",
       .entry = "scaled",
       .outputs = [](CudaKernel::Specs in) { return std::vector<TensorSpec>{in[0]}; },
       .cpu = [](std::span<const HostInput> in, std::span<const HostOutput> out) {
         const auto x = in[0].span<float>();
         for (std::size_t i = 0; i < x.size(); ++i)
           out[0].span<float>()[i] = x[i] * in[1].span<float>()[0];
       },
       .gradient = [](const Tensors& in, const Tensors&, const Tensors& g) {
         return Tensors{g[0] * in[1], sum(g[0] * in[0])};
       }});
  const Device device = best_device();
  const Variable x = variable(tensor({1.0, 2.0}, {.device = device}));
  const Tensor y = scaled({x, tensor(3.0, {.device = device})})[0];
  std::cout << y << '\n';
  expect(y.to_vector<float>() == std::vector<float>{3, 6}, "scaled");
  expect(grad(sum(y), x).to_vector<float>() == std::vector<float>{3, 3}, "its gradient");
}

/// Where NaN comes from.
void looked_for() {
  std::cout << "-- the op that makes NaN\n";
  const DetectAnomaly guard;
  const Tensor x = tensor({4.0, -1.0});
  try {
    std::cout << exp(sqrt(x)) * 2 << '\n';
    expect(false, "NaN is found");
  } catch (const ValueError& error) {
    std::cout << error.what() << '\n';
  }
}

}  // namespace

int main() {
  elementwise();
  own_gradient();
  on_the_host();
  own_kernel();
  looked_for();
  return outcome();
}
