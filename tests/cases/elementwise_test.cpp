// Public cases about element-wise ops, casts, integers, indexing, random numbers.
#include <cmath>
#include <limits>

#include "cases/cases.h"
#include "support/sanitized.h"

using namespace weft;
using namespace weft::cases;

CASE(21, "NaN goes through relu, clamp and max") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const Tensor x = tensor({NaN, -2, 9}, {.dtype = dtype, .device = device});
      const auto is = [&](const Tensor& y, const Values& expected) {
        return differs(y, dtype, {3}, expected, device);
      };
      CHECK(is(relu(x), {NaN, 0, 9}) == "");
      CHECK(is(clamp(x, 0.0, 5.0), {NaN, 0, 5}) == "");
      CHECK(is(clamp(x, std::nullopt, 1.0), {NaN, -2, 1}) == "");
      CHECK(is(clamp(x, 1.0), {NaN, 1, 9}) == "");
      CHECK(is(maximum(x, 1), {NaN, 1, 9}) == "");
      CHECK(is(maximum(1, x), {NaN, 1, 9}) == "");
      CHECK(is(minimum(x, 1), {NaN, -2, 1}) == "");
      CHECK(is(minimum(1, x), {NaN, -2, 1}) == "");
      CHECK(is(maximum(x, NaN), {NaN, NaN, NaN}) == "");
      CHECK(is(abs(x), {NaN, 2, 9}) == "");
      CHECK(is(x * 0, {NaN, 0, 0}) == "");
      CHECK(is(x - x, {NaN, 0, 0}) == "");
      CHECK(values(x == x) == Values{0, 1, 1});
      CHECK(values(x != x) == Values{1, 0, 0});
      CHECK(values(isnan(x)) == Values{1, 0, 0});
    }
  }
}

CASE(22, "remainder and floor division take the divisor's sign") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, f32, f64, i8, i32, i64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor x = tensor({-9, 9, -9, 9}, options), y = tensor({4, -4, -4, 4}, options);
      CHECK(differs(x % y, dtype, {4}, {3, -3, -1, 1}, device) == "");
      CHECK(differs(remainder(x, y), dtype, {4}, {3, -3, -1, 1}, device) == "");
      CHECK(differs(floor_divide(x, y), dtype, {4}, {-3, -3, 2, 2}, device) == "");
      CHECK(differs(floor_divide(x, y) * y + x % y, dtype, {4}, {-9, 9, -9, 9}, device) == "");
      CHECK(differs(x % 4, dtype, {4}, {3, 1, 3, 1}, device) == "");
    }
    CHECK(values(tensor(-0.75, {.device = device}) % 0.5) == Values{0.25});
    CHECK(values(tensor(-0.75, {.dtype = f64, .device = device}) % 0.5) == Values{0.25});
    // Total: no trap for zero or the least integer.
    for (const DType dtype : {i32, i64}) {
      const std::int64_t least = dtype == i32 ? INT32_MIN : INT64_MIN;
      const Tensor x = tensor({least, std::int64_t{5}}, {.dtype = dtype, .device = device});
      CHECK(floor_divide(x, -1)[0].item<std::int64_t>() == least);
      CHECK(values(x % -1) == Values{0, 0});
      CHECK(values(floor_divide(x, 0)) == Values{0, 0});
      CHECK(values(x % 0) == Values{0, 0});
    }
  }
}

CASE(23, "negative powers of integers do not crash") {
  for (const Device device : every_device()) {
    for (const DType dtype : {i8, i32, i64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor base = tensor({1, -1, -1, 3, 0, 2}, options);
      const Tensor power = tensor({-5, -3, -4, -2, -1, 5}, options);
      CHECK(differs(pow(base, power), dtype, {6}, {1, -1, 1, 0, 0, 32}, device) == "");
      CHECK(differs(pow(base, -3), dtype, {6}, {1, -1, -1, 0, 0, 0}, device) == "");
      CHECK(differs(pow(base, 0), dtype, {6}, Values(6, 1), device) == "");
      CHECK(differs(pow(-1, power), dtype, {6}, {-1, -1, 1, 1, -1, -1}, device) == "");
    }
    CHECK(values(pow(tensor({2.0, -2.0}, {.device = device}), -2)) == Values{0.25, 0.25});
  }
}

CASE(24, "casts from floats to integers truncate and saturate") {
  for (const Device device : every_device()) {
    for (const DType from : {f16, bf16, f32, f64}) {
      const Tensor x = tensor({NaN, infinity, -infinity, -2.75}, {.dtype = from, .device = device});
      CHECK(differs(x.to(i32), i32, {4}, {0, 2147483647., -2147483648., -2}, device) == "");
      CHECK(differs(x.to(i8), i8, {4}, {0, 127, -128, -2}, device) == "");
      CHECK(differs(x.to(u8), u8, {4}, {0, 255, 0, 0}, device) == "");
      const std::vector<std::int64_t> wide = x.to(i64).to_vector<std::int64_t>();
      CHECK(wide == std::vector<std::int64_t>{0, INT64_MAX, INT64_MIN, -2});
      CHECK(values(x.to(bool_)) == Values{1, 1, 1, 1});
      // Inside a group, and in a read.
      CHECK(values((x + 0).to(i32) + 0) == Values{0, 2147483647., -2147483648., -2});
      CHECK(x.to_vector<std::int32_t>() == std::vector<std::int32_t>{0, INT32_MAX, INT32_MIN, -2});
    }
    const Tensor edge =
        tensor({2147483648., -2147483649., 300.5, 1e300}, {.dtype = f64, .device = device});
    CHECK(values(edge.to(i32)) == Values{2147483647., -2147483648., 300, 2147483647.});
    CHECK(values(edge.to(u8)) == Values{255, 0, 255, 255});
  }
}
CASE_ON_GPUS_OF_THE_TESTS(24)

CASE(25, "integers wrap after every op also when fused") {
  for (const Device device : every_device()) {
    const Tensor x = tensor({200, 100}, {.dtype = u8, .device = device});
    // There is no 16-bit dtype: the wrapped sum is widened to the next.
    CHECK(differs((x + x).to(i32), i32, {2}, {144, 200}, device) == "");
    CHECK(differs((x + x).to(i64), i64, {2}, {144, 200}, device) == "");
    CHECK(differs((x + x).to(f32), f32, {2}, {144, 200}, device) == "");
    CHECK(differs((x * x).to(i64), i64, {2}, {64, 16}, device) == "");
    CHECK(differs(((x + x) > 199), bool_, {2}, {0, 1}, device) == "");
    const Tensor small = tensor({127, -128}, {.dtype = i8, .device = device});
    CHECK(differs((small + 1).to(i64), i64, {2}, {-128, -127}, device) == "");
    CHECK(differs((-small).to(i64), i64, {2}, {-127, -128}, device) == "");
    CHECK(differs(abs(small).to(i64), i64, {2}, {127, -128}, device) == "");
    const Tensor top = tensor(2147483647, {.dtype = i32, .device = device});
    CHECK(differs((top + 1).to(i64), i64, {}, {-2147483648.}, device) == "");
    CHECK(differs((top * 2).to(i64), i64, {}, {-2}, device) == "");
    const Tensor wide = tensor({INT64_MAX}, {.device = device});
    CHECK((wide + 1).item<std::int64_t>() == INT64_MIN);
    CHECK(floor_divide((x + x).to(i32), 2).to_vector<int>() == std::vector<int>{72, 100});
  }
}

CASE(26, "products of 64-bit integers are 64 bits wide") {
  for (const Device device : every_device()) {
    const Tensor k = arange(4, {.device = device});
    const Tensor product = k * 1600000000;
    CHECK(product.dtype() == i64);
    CHECK(product[-1].item<std::int64_t>() == 4800000000);
    CHECK((k * tensor(1600000000, {.device = device}))[-1].item<std::int64_t>() == 4800000000);
    CHECK(sum(product).item<std::int64_t>() == 9600000000);
    CHECK(matmul(k, k * 1600000000).item<std::int64_t>() == 14 * 1600000000ll);
    const Tensor narrow = tensor({2000000000, 2000000000}, {.dtype = i32, .device = device});
    CHECK(sum(narrow).item<std::int64_t>() == 4000000000);  // sums of integers are i64
    CHECK(prod(narrow).item<std::int64_t>() == 4000000000000000000);
    CHECK(arange(std::int64_t{5000000000}, std::int64_t{5000000002}, {.device = device})
              .to_vector<std::int64_t>()
              .back() == 5000000001);
  }
}
CASE_ON_GPUS_OF_THE_TESTS(26)

CASE(27, "a round trip through halves rounds also when fused") {
  for (const Device device : every_device()) {
    const Tensor x = tensor({2049.0, 2051.0}, {.device = device});
    CHECK(differs(x.to(f16).to(f32), f32, {2}, {2048, 2052}, device) == "");
    CHECK(differs((x + 0).to(f16).to(f32) * 1, f32, {2}, {2048, 2052}, device) == "");
    CHECK(differs(x.to(f64).to(f16).to(f64), f64, {2}, {2048, 2052}, device) == "");
    const Tensor y = tensor({257.0, 259.0}, {.device = device});
    CHECK(differs(y.to(bf16).to(f32), f32, {2}, {256, 260}, device) == "");
    CHECK(differs(y.to(bf16).to(f32) - y, f32, {2}, {-1, 1}, device) == "");
    // Ops on halves round after each, as the program wrote them.
    const Tensor half = tensor({2048.0}, {.dtype = f16, .device = device});
    CHECK(differs((half + 1) + 1, f16, {1}, {2048}, device) == "");
    CHECK(differs(half.to(f32) + 1 + 1, f32, {1}, {2050}, device) == "");
    // Other casts that change a value are kept likewise.
    const Tensor z = tensor({2.75, -1.5}, {.device = device});
    CHECK(differs(z.to(i32).to(f32), f32, {2}, {2, -1}, device) == "");
    CHECK(differs(z.to(bool_).to(f32), f32, {2}, {1, 1}, device) == "");
    const Tensor d = tensor({0.1}, {.dtype = f64, .device = device});
    CHECK(differs(d.to(f32).to(f64), f64, {1}, {static_cast<double>(0.1f)}, device) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(27)

CASE(28, "sigmoid and softplus far from zero") {
  for (const Device device : every_device())
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Variable x = variable(tensor({-120, 120}, options));
      const Tensor low = sigmoid(x), soft = softplus(x);
      CHECK(far(low, {dtype == f32 ? 0 : std::exp(-120.0), 1}, 1e-66) == "");
      CHECK(far(soft, {dtype == f32 ? 0 : std::exp(-120.0), 120}, 1e-66) == "");
      CHECK(far(grad(sum(low), x), {0, 0}, 1e-50) == "");
      CHECK(far(grad(sum(soft), x), {0, 1}, 1e-50) == "");
      CHECK(far(grad(sum(softplus(x, 2.0, 5.0)), x), {0, 1}, 1e-50) == "");
    }
}

CASE(29, "logaddexp keeps NaN") {
  for (const Device device : every_device())
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor x = tensor({NaN, 1, -infinity, infinity, 1000}, options);
      const Tensor y = tensor({1, NaN, -infinity, -infinity, 1000}, options);
      const Tensor r = logaddexp(x, y);
      CHECK(differs(slice(r, 0, 0, 4), dtype, {4}, {NaN, NaN, -infinity, infinity}, device) == "");
      CHECK(far(slice(r, 0, 4, 5), {1000.6931471805599},
                dtype == bf16  ? 4
                : dtype == f16 ? 0.5
                : dtype == f32 ? 1e-4
                               : 1e-12) == "");
    }
}

CASE(30, "more than two to the 31 elements") {
  // ThreadSanitizer, which counts every access, takes minutes for them and knows nothing of widths
  // of numbers: all other builds have them all.
  constexpr std::int64_t n = (std::int64_t{1} << (test::thread_sanitized ? 26 : 31)) + 5;
  constexpr std::int64_t rows = n / 251 + 1, end = n % 251;  // as v goes on after its last element
  static_assert(test::thread_sanitized || (n == 2147483653 && end == 192));
  {
    const Tensor bytes = ones({n}, {.dtype = u8});
    CHECK(sum(bytes).item<std::int64_t>() == n);
  }
  const Tensor all = arange(251).to(u8).expand({rows, 251}).reshape(-1);
  const Tensor v = all.slice(0, 0, n);  // v[i] = i mod 251
  CHECK(v.numel() == n);
  CHECK(names(message_of<ShapeError>([&] { v.reshape({2, n}); }), "reshape", std::to_string(n)));
  CHECK(v[n - 1].item<int>() == end - 1);
  CHECK(differs(v.slice(0, n - 3, n).to(i64), i64, {3}, {end - 3, end - 2, end - 1}) == "");
  CHECK(differs(v.slice(0, 5, n, n / 2 - 2).to(i64), i64, {2}, {5, (n / 2 + 3) % 251}) == "");
}

CASE(48, "the gradient of a strided slice stays in its rows") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Variable x = variable(ones({2, 2}, options));
      const Tensor loss =
          3 * sum(x.slice(0, 0, std::nullopt, 2)) + 8 * sum(x.slice(0, 1, std::nullopt, 2));
      CHECK(differs(grad(loss, x), dtype, {2, 2}, {3, 3, 8, 8}, device) == "");
      const Variable y = variable(arange(7.0, options));
      CHECK(differs(grad(sum(y.slice(0, 1, 6, 2) * tensor({1, 2, 3}, options)), y), dtype, {7},
                    {0, 1, 0, 2, 0, 3, 0}, device) == "");
      CHECK(differs(grad(sum(y.flip(0).slice(0, 0, 3, 2) * 5), y), dtype, {7},
                    {0, 0, 0, 0, 5, 0, 5}, device) == "");
      const Variable z = variable(ones({3, 4}, options));
      CHECK(differs(grad(sum(z.index({slice(0, 3, 2), slice(1, 4, 2)})), z), dtype, {3, 4},
                    {0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1}, device) == "");
      CHECK(differs(grad(sum(z[1] * 2) + sum(z[-1]), z), dtype, {3, 4},
                    {0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1}, device) == "");
    }
  }
}

CASE(49, "a seed gives the same numbers on every device") {
  const auto draw = [](Device device) {
    manual_seed(7);
    return rand({1000000}, {.device = device}).to_vector<float>();
  };
  const std::vector<float> here = draw({});
  for (const Device gpu : accelerators()) {
    CHECK(draw(gpu) == here);
    CHECK(draw(gpu) == here);
    const auto others = [](Device device) {
      manual_seed(7);
      const TensorOptions options = {.device = device};
      const Tensor normal = randn({1001}, options), whole = randint(-5, 100, {77}, options);
      const Tensor order = randperm(1000, options), coins = bernoulli(0.3, {3, 5}, options);
      const Tensor exact = rand({33}, {.dtype = f64, .device = device});
      std::vector<Values> all;  // read in another order than drawn
      for (const Tensor& x : {exact, coins, order, whole, normal}) all.push_back(values(x));
      return all;
    };
    CHECK(others(gpu) == others({}));
    // A part of what is drawn, fused or not, is that part.
    manual_seed(7);
    const Tensor part = rand({1000000}, {.device = gpu}).slice(0, 4097, 4100) * 2;
    CHECK(values(part) == Values{2. * here[4097], 2. * here[4098], 2. * here[4099]});
    Generator own(7);
    CHECK(rand({1000000}, own, {.device = gpu}).to_vector<float>() == here);
  }
}
CASE_ON_GPUS_OF_THE_TESTS(49)
#ifndef WEFT_TESTS_WITHOUT_CUDA
TEST_CASE("C49 on GPUs of the tests with any number of processors", "[fake]") {
  const auto draw = [](Device device) {
    manual_seed(7);
    return rand({1000000}, {.device = device}).to_vector<float>();
  };
  const std::vector<float> here = draw({});
  for (const int processors : {1, 7, 132}) {  // how many a grid is fitted to
    const testing::FakeCuda gpu({.processors = processors});
    CHECK(draw(Device::cuda(0)) == here);
  }
}
#endif
