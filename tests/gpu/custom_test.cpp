// Ops of the program on a real GPU: the CPU's bits, and kernels of its own.
#include <cmath>
#include <vector>

#include <weft/custom.h>
#include <weft/weft.h>

#include "support/catch.h"
#include "support/gpu.h"

using namespace weft;

namespace {

WEFT_ELEMENTWISE(mixture, (x, y), x / (T(1) + abs(y)) + tanh(x * y) * exp(-abs(x)) + x * y - T(3),
                 ());

}  // namespace

TEST_CASE("gpu: an element-wise op of the program has the CPU's bits", "[gpu][custom]") {
  if (!testing::has_gpus(1)) return;
  manual_seed(4);
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const Tensor x = (randn({300, 1001}) * 3).to(dtype), y = (randn({1001}) * 5).to(dtype);
    const Tensor here = mixture(x, y) * 2, there = mixture(x.cuda(), y.cuda()) * 2;
    CHECK(there.to_vector<double>() == here.to_vector<double>());
  }
}

TEST_CASE("gpu: a kernel of the program, a callback and a search for NaN", "[gpu][custom]") {
  if (!testing::has_gpus(1)) return;
  const CudaKernelOp reversed = cuda_kernel_op(
      {.name = "reversed",
       .source = R"(extern "C" __global__ void reversed(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[n - 1 - i] = x[i];
})",
       .entry = "reversed",
       .outputs = [](CudaKernel::Specs in) { return std::vector<TensorSpec>{in[0]}; }});
  const Tensor x = arange(1000).to(f32).cuda();
  const Tensor y = reversed(x + 1)[0] * 2;
  CHECK(y.to_vector<float>() == ((1000 - arange(1000)) * 2).to_vector<float>());
  const Tensor sum_of = host_callback(
      [](std::span<const HostInput> in, std::span<const HostOutput> out) {
        double total = 0;
        for (const float value : in[0].span<float>()) total += static_cast<double>(value);
        out[0].span<double>()[0] = total;
      },
      {y}, {{{}, f64}}, {.device = "cuda:0"})[0];
  CHECK((sum_of + 1).item<double>() == 1001001);
  const DetectAnomaly guard;
  CHECK_THROWS_AS((sqrt(x - 5) + 1).wait(), ValueError);
}
