// Public cases about laziness, plan caching, fusion and layout.
#include <cmath>
#include <limits>
#include <vector>

#include "cases/cases.h"
#include "support/small_stack.h"

using namespace weft;
using namespace weft::cases;

namespace {

/// Nothing is flushed by itself while it lives: a program is captured in one piece.
struct Unlimited {
  PendingLimits before = pending_limits();
  Unlimited() { set_pending_limits({std::size_t{1} << 40, std::size_t{1} << 50}); }
  ~Unlimited() { set_pending_limits(before); }
};

}  // namespace

CASE(11, "host buffer reuse does not leak in") {
  for (const Device device : every_device()) {
    INFO(device.str());
    {
      std::vector<double> buffer = {5, 6};
      const Tensor t = from_vector(buffer, {2}, {.device = device});
      const Tensor y = t + t;
      buffer = {0, 0};
      eval(y);
      CHECK(differs(y, f64, {2}, {10, 12}, device) == "");
    }
    {
      float buffer[] = {5, 6, 7, 8};
      const Tensor t = from_span(std::span<const float>(buffer), {2, 2}, {.device = device});
      const Tensor slice = t[1], y = matmul(t, t);
      buffer[0] = buffer[3] = -1;
      CHECK(differs(slice, f32, {2}, {7, 8}, device) == "");
      buffer[1] = buffer[2] = -1;  // also after a part of it was evaluated
      CHECK(differs(t, f32, {2, 2}, {5, 6, 7, 8}, device) == "");
      CHECK(differs(y, f32, {2, 2}, {67, 78, 91, 106}, device) == "");
    }
    {
      Tensor y;
      {
        std::vector<std::int32_t> gone = {1, 2, 3};
        y = from_vector(gone, {.device = device}) * 2;
      }
      CHECK(differs(y, i32, {3}, {2, 4, 6}, device) == "");
    }
    {
      std::vector<unsigned char> bytes(3000, 7);  // large: not kept in the node
      Variable v = variable(from_vector(bytes, {.dtype = f32, .device = device}));
      const Tensor half = v * 0.5;
      std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0));
      CHECK(differs(half, f32, {3000}, Values(3000, 3.5), device) == "");
      // Nor do tensors see what is read from them.
      std::vector<double> read = half.to_vector<double>();
      std::fill(read.begin(), read.end(), 0.0);
      CHECK(values(half) == Values(3000, 3.5));
      // Nor do expressions see a later assignment.
      const Tensor before = v * 2;
      v = 0;
      CHECK(values(before) == Values(3000, 14));
    }
  }
}
CASE_ON_GPUS_OF_THE_TESTS(11)

CASE(12, "the plan's key has the wiring") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64, i32, i64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor p = tensor(4, options), q = tensor(7, options), r = tensor(3, options);
      eval(p, q, r);
      const auto run = [&](bool subtract_first) {
        const Tensor d = p + q, e = p + r;
        return values(d * e - (subtract_first ? d : e))[0];
      };
      CHECK(run(false) == 70);
      CHECK(run(true) == 66);
      CHECK(run(false) == 70);
      // The same ops over other wirings: operands exchanged, shared or not, another root.
      CHECK(values(p - q)[0] == -3);
      CHECK(values(q - p)[0] == 3);
      CHECK(values(p * p + q)[0] == 23);
      CHECK(values(p * q + q)[0] == 35);
      CHECK(values(p * q + p)[0] == 32);
      CHECK(values((p + q) * (p + q))[0] == 121);
      CHECK(values((p + q) * (p + r))[0] == 77);
      const Tensor matrix = tensor({{1, 2}, {3, 4}}, options);
      eval(matrix);
      CHECK(values(matrix - matrix.transpose(0, 1)) == Values{0, -1, 1, 0});
      CHECK(values(matrix.transpose(0, 1) - matrix) == Values{0, 1, -1, 0});
      CHECK(values(matrix + matrix[0]) == Values{2, 4, 4, 6});
      CHECK(values(matrix + matrix[1]) == Values{4, 6, 6, 8});
      CHECK(values(sum(matrix, 0)) == Values{4, 6});
      CHECK(values(sum(matrix, 1)) == Values{3, 7});
      // C++ numbers are arguments of the run, not part of what is cached.
      for (int i = 0; i < 4; ++i) CHECK(values(p * i + 1)[0] == 4 * i + 1);
      CHECK(values(p * 2 + 3)[0] == 11);
      CHECK(values(p * 3 + 2)[0] == 14);
      for (int i = 0; i < 2; ++i)
        CHECK(values(matrix.slice(0, i, i + 1)) == Values{1. + 2 * i, 2. + 2 * i});
    }
  }
}
CASE_ON_GPUS_OF_THE_TESTS(12)

CASE(13, "numbers keep their value whatever their size") {
  for (const Device device : every_device()) {
    const Tensor one = ones({1}, {.device = device});
    CHECK(values(one * -3.0e38) == Values{static_cast<float>(-3.0e38)});
    CHECK(values(one * 2.0) == Values{2});
    CHECK(values(one * 1e-40) == Values{static_cast<float>(1e-40)});
    CHECK(values(one * 0.1) == Values{static_cast<float>(0.1)});
    CHECK(values(one * 16777217) == Values{16777216});
    const Tensor exact = ones({1}, {.dtype = f64, .device = device});
    for (const double number : {3.14159265358979, 0.1, 1.7976931348623157e308, 5e-324, 1e16, -0.3})
      CHECK(values(exact * number) == Values{number});
    const Tensor million = full({1}, 1e6, {.dtype = f64, .device = device});
    CHECK(std::abs(values(million * 3.14159265358979)[0] - 3141592.65358979) <= 1e-8);
    const Tensor count = ones({1}, {.dtype = i64, .device = device});
    for (const std::int64_t number : {INT64_MAX, INT64_MIN, (std::int64_t{1} << 53) + 1})
      CHECK((count * number).item<std::int64_t>() == number);
    const float third = 1.0f / 3;
    CHECK((one * third).item<float>() == third);
  }
}
CASE_ON_GPUS_OF_THE_TESTS(13)

CASE(14, "NaN and infinities are numbers like others") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const Tensor x = tensor({4, -4}, {.dtype = dtype, .device = device});
      CHECK(differs(where(x > 0, x, NaN), dtype, {2}, {4, NaN}, device) == "");
      CHECK(differs(where(x > 0, x, -infinity), dtype, {2}, {4, -infinity}, device) == "");
      CHECK(differs(full({2}, -infinity, {.dtype = dtype, .device = device}), dtype, {2},
                    {-infinity, -infinity}, device) == "");
      CHECK(differs(masked_fill(x, x < 0, infinity), dtype, {2}, {4, infinity}, device) == "");
      CHECK(differs(x + infinity, dtype, {2}, {infinity, infinity}, device) == "");
      CHECK(differs(x * NaN, dtype, {2}, {NaN, NaN}, device) == "");
      CHECK(differs(clamp(x, -infinity, 0.0), dtype, {2}, {0, -4}, device) == "");
      CHECK(differs(tensor({NaN, infinity}, {.dtype = dtype, .device = device}), dtype, {2},
                    {NaN, infinity}, device) == "");
      CHECK(differs((x * 0) / 0, dtype, {2}, {NaN, NaN}, device) == "");
    }
  }
}
CASE_ON_GPUS_OF_THE_TESTS(14)

CASE(15, "deep graphs neither overflow a stack nor when dropped") {
  const Unlimited guard;
  for (const Device device : every_device()) {
    test::on_small_stack([&] {
      Tensor x = zeros({}, {.device = device});
      for (int i = 0; i < 150000; ++i) x = x + 1;
      CHECK(x.item<float>() == 150000);
    });
  }
  test::on_small_stack([] {
    {
      Tensor dropped = zeros({3}, {.dtype = f64});
      for (int i = 0; i < 150000; ++i) dropped = dropped + 1;
      CHECK(dropped.is_pending());
    }
    {  // a chain that a Variable leads to, whose history stays
      const Variable v = variable(tensor(1.0, {.dtype = f64}));
      Tensor y = v;
      for (int i = 0; i < 30000; ++i) y = y * 1.0 + 1.0;
      CHECK(y.item<double>() == 30001);
      CHECK(grad(y, v).item<double>() == 1);
    }
    {  // views, joins, and a node with two uses at each level
      Tensor y = ones({2, 2});
      for (int i = 0; i < 20000; ++i) y = y.transpose(0, 1) + y * 0;
      CHECK(values(y) == Values{1, 1, 1, 1});
      Tensor dropped = ones({2});
      for (int i = 0; i < 50000; ++i) dropped = (dropped + dropped) * 0.5;
    }
    Tensor moved = arange(2);
    for (int i = 0; i < 20000; ++i) moved = moved.flip(0);
    CHECK(values(moved) == Values{0, 1});
  });
}

CASE(16, "a comparison with a reduction of itself is right when fused") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, f32, f64, i32, i64}) {
      const Tensor x = tensor({{1, 5}, {7, 2}}, {.dtype = dtype, .device = device});
      CHECK(differs(x == max(x, 1, keepdim), bool_, {2, 2}, {0, 1, 1, 0}, device) == "");
      CHECK(differs(x == min(x, 0, keepdim), bool_, {2, 2}, {1, 0, 0, 1}, device) == "");
      CHECK(differs(x != max(x), bool_, {2, 2}, {1, 1, 0, 1}, device) == "");
      CHECK(differs((x == max(x, 1, keepdim)).to(i64) + x.to(i64), i64, {2, 2}, {1, 6, 8, 2},
                    device) == "");
      CHECK(differs(x * 2 - sum(x, 1, keepdim), is_floating(dtype) ? dtype : i64, {2, 2},
                    {-4, 4, 5, -5}, device) == "");
    }
  }
}

CASE(17, "a reversed view is right when fused") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64, i32}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor x = tensor({1, 2, 3, 4}, options);
      CHECK(differs(10 * flip(x, 0) + x, dtype, {4}, {41, 32, 23, 14}, device) == "");
      CHECK(differs(flip(10 * flip(x, 0), 0) + x, dtype, {4}, {11, 22, 33, 44}, device) == "");
      CHECK(differs(flip(x, 0).slice(0, 1, 4, 2) + x.slice(0, 0, 2), dtype, {2}, {4, 3}, device) ==
            "");
      const Tensor m = tensor({{1, 2, 3}, {4, 5, 6}}, options);
      CHECK(differs(m + 10 * flip(m, {0, 1}), dtype, {2, 3}, {61, 52, 43, 34, 25, 16}, device) ==
            "");
      CHECK(differs(flip(m.transpose(0, 1), 0) * 1, dtype, {3, 2}, {3, 6, 2, 5, 1, 4}, device) ==
            "");
      CHECK(differs(flip(m, 1).reshape({3, 2}) + 0, dtype, {3, 2}, {3, 2, 1, 6, 5, 4}, device) ==
            "");
      CHECK(differs(sum(flip(m, 0) * tensor({{1}, {0}}, options), 0), dtype == i32 ? i64 : dtype,
                    {3}, {4, 5, 6}, device) == "");
    }
  }
}

CASE(20, "a product and a sum are not contracted") {
  for (const Device device : every_device()) {
    const auto check = [&](DType dtype, double small) {
      const Tensor a = full({5}, 1 + small, {.dtype = dtype, .device = device});
      const Tensor product = a * a;
      eval(product);
      CHECK(differs(a * a - product, dtype, {5}, Values(5, 0), device) == "");
      CHECK(differs(product - a * a, dtype, {5}, Values(5, 0), device) == "");
      CHECK(differs(a * a - a * a, dtype, {5}, Values(5, 0), device) == "");
      CHECK(differs(square(a) - product, dtype, {5}, Values(5, 0), device) == "");
      CHECK(differs(a * a + (-product), dtype, {5}, Values(5, 0), device) == "");
    };
    check(f32, std::ldexp(1, -12));
    check(f64, std::ldexp(1, -27));
    check(f16, std::ldexp(1, -6));
    check(bf16, std::ldexp(1, -5));
  }
}
CASE_ON_GPUS_OF_THE_TESTS(20)
