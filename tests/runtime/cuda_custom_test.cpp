// Ops of the program on a GPU: element-wise expressions, and kernels of its own.
#include <cmath>

#include <weft/codegen/build.h>
#include <weft/codegen/kernel.h>
#include <weft/custom.h>
#include <weft/graph/detail/custom.h>
#include <weft/weft.h>

#include "engine.h"
#include "support/catch.h"
#include "support/compile_all.h"
#include "support/fake_cuda.h"

using namespace weft;
using Catch::Matchers::ContainsSubstring;
using testing::FakeCuda;
using Floats = std::vector<float>;
using Tensors = std::vector<Tensor>;

namespace {

WEFT_ELEMENTWISE(softsign, (x), x / (T(1) + abs(x)), (g / square(1 + abs(x))));
WEFT_ELEMENTWISE(multiply_add, (a, x, b), a* x + b, (g * x, g* a, g),
                 .rule = DTypeRule::arithmetic);
WEFT_ELEMENTWISE(is_near, (x, y), abs(x - y) < T(1), (), .rule = DTypeRule::compare);
WEFT_ELEMENTWISE(all_functions, (x, y),
                 acos(x) + acosh(x) + asin(x) + asinh(x) + atan(x) + atan2(x, y) + atanh(x) +
                     ceil(x) + copysign(x, y) + cos(x) + cosh(x) + erf(x) + erfc(x) + exp(x) +
                     exp2(x) + expm1(x) + floor(x) + floor_divide(x, y) + fma(x, y, x) +
                     fmax(x, y) + fmin(x, y) + fmod(x, y) + hypot(x, y) + T(isfinite(x)) +
                     T(isinf(x)) + T(isnan(x)) + log(x) + log10(x) + log1p(x) + log2(x) +
                     maximum(x, y) + minimum(x, y) + pow(x, y) + relu(x) + remainder(x, y) +
                     round(x) + rsqrt(x) + sigmoid(x) + sign(x) + sin(x) + sinh(x) + sqrt(x) +
                     tan(x) + tanh(x) + trunc(x) + abs(x),
                 ());

std::vector<TensorSpec> like_first(std::span<const TensorSpec> in) { return {in[0]}; }

CudaKernel saxpy() {
  return {.name = "saxpy",
          .source = R"(extern "C" __global__ void __launch_bounds__(256)
saxpy(const float* a, const float* x, const float* y, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = *a * x[i] + y[i];
})",
          .entry = "saxpy",
          .outputs = [](CudaKernel::Specs in) { return std::vector<TensorSpec>{in[1]}; }};
}

/// The kernels that a GPU is given for these values.
std::vector<detail::KernelSource> sources_of(const TensorList& values) {
  const auto bound = detail::Engine::instance().plan_for(values);
  std::vector<detail::KernelSource> sources;
  for (const detail::FrozenStep& step : bound->plan->steps) {
    if (step.kind != StepKind::kernel) continue;
    detail::KernelStep kernel;
    kernel.op = step.op;
    kernel.attrs = step.attrs;
    kernel.program = step.program.get();
    kernel.guards_state = step.guards_state;
    const auto add = [](std::vector<detail::KernelOperand>& to, DType dtype, const Shape& shape,
                        const std::int64_t* strides) {
      detail::KernelOperand operand;
      operand.dtype = dtype;
      operand.rank = shape.ndim();
      operand.alignment = 16;
      std::int64_t dense = 1;
      for (int d = operand.rank; d-- > 0; dense *= shape[d]) {
        operand.shape[d] = shape[d];
        operand.strides[d] = strides ? strides[d] : dense;
      }
      to.push_back(operand);
    };
    for (const auto& input : step.inputs)
      add(kernel.inputs, input.dtype, input.map.shape, &input.map.strides[0]);
    for (const auto& output : step.outputs)
      add(kernel.outputs, output.spec.dtype, output.spec.shape, nullptr);
    for (const detail::KernelLaunch& launch : detail::emit(kernel, {}).launches)
      sources.push_back(*launch.source);
  }
  return sources;
}

std::vector<float> many() {
  std::vector<float> values;
  for (int i = 0; i < 1003; ++i) values.push_back(std::sin(float(i)) * float(i % 17));
  return values;
}

}  // namespace

TEST_CASE("cuda custom: element-wise ops have the CPU's bits, fused and differentiated",
          "[cuda][custom]") {
  const FakeCuda gpu;
  const std::vector<float> values = many();
  const auto program = [&](Device device, DType dtype) {
    const Variable x = variable(from_vector(values, {17, 59}).to(device, dtype));
    const Tensor y = multiply_add(x, softsign(x), 0.25) * x.sum(0);
    const Tensor near = is_near(y, x).to(f32);
    return Tensors{y, near, grad(sum(y), x)};
  };
  for (const DType dtype : {f32, f64, f16}) {
    const Tensors here = program(Device::cpu(), dtype), there = program("cuda:0", dtype);
    for (std::size_t i = 0; i < here.size(); ++i)
      CHECK(there[i].to_vector<double>() == here[i].to_vector<double>());
  }
  const Tensor whole = tensor({{1, 2}, {3, 4}}, {.device = "cuda:0"});
  CHECK(multiply_add(whole, 2, whole).to_vector<int>() == std::vector<int>{3, 6, 9, 12});
}

TEST_CASE("cuda custom: every function of expressions, by the real compiler", "[cuda][custom]") {
  const FakeCuda gpu;
  for (const DType dtype : {f32, f64}) {
    const Tensor x = tensor({0.5, 0.25}).to("cuda:0", dtype), y = x + 1.5;
    test::compile_all(sources_of({all_functions(x, y), multiply_add(x, y, x), is_near(x, y)}));
  }
}

TEST_CASE("cuda custom: names of ops never reach a kernel's text", "[cuda][custom]") {
  const FakeCuda gpu;
  const Tensor x = tensor({1.0}, {.device = "cuda:0"});
  const CudaKernelOp op =
      cuda_kernel_op({.name = "a \"name\" \\ to be shown",
                      .source = "__global__ void f(const float* x, float* y, int) { *y = *x; }",
                      .entry = "f",
                      .outputs = like_first});
  const Tensor y = softsign(op(x)[0]);
  for (const detail::KernelSource& source : sources_of(y)) {
    CHECK(source.text.find("softsign") == std::string::npos);
    CHECK(source.text.find("to be shown") == std::string::npos);
  }
  test::compile_all(sources_of(y));
}

TEST_CASE("cuda kernel: launched with addresses and sizes", "[cuda][custom]") {
  const FakeCuda gpu;
  const CudaKernelOp op = cuda_kernel_op(saxpy());
  const std::vector<float> values = many();
  const Tensor x = from_vector(values, {17, 59}).cuda(), a = tensor({0.5f}).cuda();
  const Tensor y = transpose(from_vector(values, {59, 17}).cuda(), 0, 1);  // not in order
  const Tensor out = op({a, x * 2, y})[0];
  CHECK(out.device() == Device::cuda(0));
  CHECK(out.shape() == Shape({17, 59}));
  CHECK((out + 1).to_vector<float>() == (x * 2 * 0.5f + y + 1).to_vector<float>());
  test::compile_all(sources_of(op({a, x, y})[0]));
  // One that a Variable's new value waits for does nothing once the run has failed.
  Variable v = variable(x.sum(1));
  v.assign(op({a, v, v})[0]);
  test::compile_all(sources_of({v}));
  CHECK(v.to_vector<float>() == (x.sum(1) * 0.5f + x.sum(1)).to_vector<float>());
  CHECK(op({a, zeros({0}).cuda(), zeros({0}).cuda()})[0].to_vector<float>().empty());
}

TEST_CASE("cuda kernel: rules for outputs, launch and sizes; a fallback; a gradient",
          "[cuda][custom]") {
  const FakeCuda gpu;
  const CudaKernelOp split =
      cuda_kernel_op({.name = "split",
                      .source = R"(
template <class T> __device__ T twice(T x) { return x + x; }
extern "C" __global__ void split(const double* x, double* y, long long* count, long long n, unsigned scale) {
  __shared__ int seen;
  if (threadIdx.x == 0) seen = 0;
  __syncthreads();
  for (long long i = threadIdx.x; i < n; i += blockDim.x) y[i] = twice(x[i]) * scale;
  atomicAdd(&seen, 1);
  __syncthreads();
  if (threadIdx.x == 0) *count = seen;
})",
                      .entry = "split",
                      .outputs =
                          [](CudaKernel::Specs in) {
                            return std::vector<TensorSpec>{in[0], {{}, i64}};
                          },
                      .shape =
                          [](CudaKernel::Specs, CudaKernel::Specs) {
                            return KernelShape{.block = {64, 1, 1}};
                          },
                      .sizes =
                          [](CudaKernel::Specs in, CudaKernel::Specs) {
                            return std::vector<std::int64_t>{in[0].shape.numel(), 3};
                          },
                      .cpu =
                          [](std::span<const HostInput> in, std::span<const HostOutput> out) {
                            const auto x = in[0].span<double>();
                            for (std::size_t i = 0; i < x.size(); ++i)
                              out[0].span<double>()[i] = 6 * x[i];
                            out[1].span<std::int64_t>()[0] = 64;
                          },
                      .gradient = [](const Tensors&, const Tensors&,
                                     const Tensors& g) { return Tensors{g[0] * 6}; }});
  for (const Device device : {Device::cpu(), Device::cuda(0)}) {
    const Variable x = variable(tensor({{1, 2}, {3, 4}}).to(device, f64));
    const Tensors out = split(x);
    CHECK(out[0].to_vector<int>() == std::vector<int>{6, 12, 18, 24});
    CHECK(out[1].item<int>() == 64);
    CHECK(grad(sum(split(x)[0] * x), x).to_vector<int>() == std::vector<int>{12, 24, 36, 48});
    // The input is a view, whose elements are not in order.
    CHECK(split(transpose(x, 0, 1))[0].to_vector<int>() == std::vector<int>{6, 18, 12, 24});
  }
}

TEST_CASE("cuda kernel: mistakes", "[cuda][custom]") {
  const auto without = [](void (*change)(CudaKernel&)) {
    CudaKernel kernel = saxpy();
    change(kernel);
    return kernel;
  };
  CHECK_THROWS_AS(cuda_kernel_op(without([](CudaKernel& k) { k.name = ""; })), ValueError);
  CHECK_THROWS_AS(cuda_kernel_op(without([](CudaKernel& k) { k.source = ""; })), ValueError);
  CHECK_THROWS_AS(cuda_kernel_op(without([](CudaKernel& k) { k.entry = "a b"; })), ValueError);
  CHECK_THROWS_AS(cuda_kernel_op(without([](CudaKernel& k) { k.outputs = {}; })), ValueError);
  const CudaKernelOp op = cuda_kernel_op(saxpy());
  const Tensor x = tensor({1.0f, 2.0f}), a = tensor({2.0f});
  CHECK_THROWS_AS(op({a, x, x}), UnsupportedError);
  CHECK_THROWS_AS(op({a, Tensor(), x}), ValueError);
  const FakeCuda gpu;
  const auto launched = [&](KernelShape shape) {
    CudaKernel kernel = saxpy();
    kernel.shape = [=](CudaKernel::Specs, CudaKernel::Specs) { return shape; };
    const CudaKernelOp wrong = cuda_kernel_op(kernel);
    eval(wrong({a.cuda(), x.cuda(), x.cuda()})[0]);
  };
  CHECK_THROWS_AS(launched({.grid = {0, 1, 1}}), ValueError);
  CHECK_THROWS_AS(launched({.block = {1024, 2, 1}}), ValueError);
  CHECK_THROWS_AS(launched({.block = {1, 1, 65}}), ValueError);
  CHECK_THROWS_AS(launched({.block = {1u << 31, 1u << 31, 4}}), ValueError);  // 2^64 threads
  CHECK_THROWS_AS(launched({.grid = {1u << 31, 1, 1}}), ValueError);
  CHECK_THROWS_AS(launched({.grid = {1, 65536, 1}}), ValueError);
  CHECK_THROWS_AS(launched({.grid = {1, 1, 65536}}), ValueError);
  CHECK_THROWS_AS(launched({.shared_bytes = 1u << 30}), ValueError);
  // What a rule throws comes out of the call that plans, and nothing has changed.
  CudaKernel throwing = saxpy();
  bool is_bad = true;
  throwing.shape = [&](CudaKernel::Specs, CudaKernel::Specs) {
    if (is_bad) throw std::logic_error("no shape");
    return KernelShape{.block = {32, 1, 1}};
  };
  const Tensor late = cuda_kernel_op(throwing)({a.cuda(), x.cuda(), x.cuda()})[0];
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(eval(late), std::logic_error);
  CHECK(late.is_pending());
  is_bad = false;
  CHECK(late.to_vector<float>() == Floats{3, 6});
  CHECK_THROWS_AS(op({a.cuda(), x, x.cuda()}), DeviceError);
}

TEST_CASE("cuda kernel: what does not compile is told with its own lines", "[cuda][custom]") {
  if (test::compiled_architectures().empty()) return;
  const FakeCuda gpu;
  CudaKernel kernel = saxpy();
  kernel.source = "\n\n__global__ void saxpy(const float* a) { undeclared = 1; }";
  const CudaKernelOp op = cuda_kernel_op(kernel);
  const Tensor x = tensor({1.0f}).cuda();
  const std::vector<detail::KernelSource> sources = sources_of(op({x, x, x})[0]);
  REQUIRE(sources.size() == 1);
  try {
    detail::compile(sources[0], test::compiled_architectures()[0]);
    FAIL("it compiled");
  } catch (const CompileError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("source(3)") && ContainsSubstring("undeclared") &&
                                 ContainsSubstring("the source of saxpy"));
  }
}

TEST_CASE("cuda callback: values come from a GPU and go there, and a failure stays in its run",
          "[cuda][callback]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const FakeCuda gpu({.seed = seed});
    const Tensor x = tensor({{1.0f, 2.0f}, {3.0f, 4.0f}}, {.device = "cuda:0"});
    bool fails = false;
    const auto negated = [&](std::span<const HostInput> in, std::span<const HostOutput> out) {
      if (fails) throw std::runtime_error("it was told to");
      const auto values = in[0].span<float>();
      for (std::size_t i = 0; i < values.size(); ++i) out[0].span<float>()[i] = -values[i];
    };
    const auto call = [&] {
      return host_callback(negated, {transpose(x * 2, 0, 1)}, {{{2, 2}, f32}},
                           {.device = "cuda:0"})[0];
    };
    CHECK((call() + 1).to_vector<float>() == Floats{-1, -5, -3, -7});
    Variable state = variable(zeros({2, 2}, {.device = "cuda:0"}));
    state += call();
    state.wait();
    fails = true;
    state += call();
    CHECK_THROWS_AS(state.to_vector<float>(), CallbackError);
    fails = false;
    CHECK(state.to_vector<float>() == Floats{-2, -6, -4, -8});
    CHECK((x + 1).to_vector<float>() == Floats{2, 3, 4, 5});
  }
}
