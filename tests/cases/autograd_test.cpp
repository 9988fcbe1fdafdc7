// Public cases about gradients.
#include <cmath>

#include "cases/cases.h"

using namespace weft;
using namespace weft::cases;

namespace {

/// d f(x) / dx at x, as a tensor.
template <class F>
Tensor slope(const F& f, const Tensor& x) {
  const Variable v = variable(x);
  return grad(sum(f(v)), v);
}

}  // namespace

CASE(41, "repeated use counts each time") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Variable a = variable(tensor(-3, options));
      CHECK(differs(grad(a * a + a, a), dtype, {}, {-5}, device) == "");
      const auto row = [&](auto f) { return slope(f, tensor({-3, 2}, options)); };
      using T = const Variable&;
      CHECK(differs(row([](T x) { return x * x * x; }), dtype, {2}, {27, 12}, device) == "");
      CHECK(differs(row([](T x) { return x + x + x; }), dtype, {2}, {3, 3}, device) == "");
      CHECK(differs(row([](T x) { return x - x; }), dtype, {2}, {0, 0}, device) == "");
      CHECK(differs(row([](T x) { return x / x; }), dtype, {2}, {0, 0}, device) == "");
      CHECK(differs(row([](T x) { return maximum(x, x); }), dtype, {2}, {1, 1}, device) == "");
      CHECK(differs(row([](T x) { return where(x > 0, x, x); }), dtype, {2}, {1, 1}, device) == "");
      CHECK(differs(row([](T x) { return cat({x, x, x}); }), dtype, {2}, {3, 3}, device) == "");
      CHECK(differs(row([](T x) { return stack({x, x * x}); }), dtype, {2}, {-5, 5}, device) == "");
      CHECK(differs(row([](T x) { return matmul(x, x); }), dtype, {2}, {-6, 4}, device) == "");
      CHECK(differs(row([](T x) { return x * x.flip(0); }), dtype, {2}, {4, -6}, device) == "");
      CHECK(differs(row([](T x) { return x[0] * x[1] * x; }), dtype, {2}, {-8, -3}, device) == "");
      // Through a shared value, evaluated early or not, and through backward.
      Variable b = variable(tensor({-3, 2}, options));
      const Tensor shared = b * 2;
      eval(shared);
      (sum(shared * shared) + sum(shared)).backward();
      CHECK(differs(b.grad(), dtype, {2}, {-22, 18}, device) == "");
      const Tensor t = tensor({1, 2}, options) + 0;  // not a Variable
      CHECK(differs(grad(sum(t * t + t), t), dtype, {2}, {3, 5}, device) == "");
      const auto [da, db] = grad(a * a + sum(b) * a, {a, b});
      CHECK(differs(da, dtype, {}, {-7}, device) == "");
      CHECK(differs(db, dtype, {2}, {-3, -3}, device) == "");
    }
  }
}

CASE(42, "a gradient has the shape of what it is of") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor row = tensor({1, 2, 3}, options);
      const Variable v = variable(tensor(4, options)), one = variable(tensor({4}, options));
      CHECK(differs(grad(sum(row * v), v), dtype, {}, {6}, device) == "");
      CHECK(differs(grad(sum(row * one), one), dtype, {1}, {6}, device) == "");
      CHECK(differs(grad(sum(v * row), v), dtype, {}, {6}, device) == "");
      CHECK(differs(grad(sum(row - v), v), dtype, {}, {-3}, device) == "");
      CHECK(differs(grad(sum(row / v), v), dtype, {}, {-0.375}, device) == "");
      CHECK(differs(grad(sum(maximum(row, one)), one), dtype, {1}, {3}, device) == "");
      const Tensor table = ones({2, 3}, options);
      const Variable column = variable(ones({2, 1}, options)), line = variable(ones({3}, options)),
                     cube = variable(ones({2, 1, 3}, options));
      CHECK(differs(grad(sum(table * row * column), column), dtype, {2, 1}, {6, 6}, device) == "");
      CHECK(differs(grad(sum(table + line), line), dtype, {3}, {2, 2, 2}, device) == "");
      CHECK(differs(grad(sum(table * cube), cube), dtype, {2, 1, 3}, Values(6, 2), device) == "");
      CHECK(differs(grad(sum(column * line), line), dtype, {3}, {2, 2, 2}, device) == "");
      CHECK(differs(grad(sum(where(table > 0, v, line)), v), dtype, {}, {6}, device) == "");
      CHECK(differs(grad(sum(line.expand({5, 3})), line), dtype, {3}, {5, 5, 5}, device) == "");
      CHECK(differs(grad(sum(v.expand({2, 2})), v), dtype, {}, {4}, device) == "");
      CHECK(differs(grad(sum(zeros({0, 3}, options) * line), line), dtype, {3}, {0, 0, 0},
                    device) == "");
      const Variable batch = variable(ones({1, 2, 2}, options)),
                     plain = variable(ones({2, 2}, options));
      CHECK(differs(grad(sum(matmul(batch, ones({3, 2, 2}, options))), batch), dtype, {1, 2, 2},
                    Values(4, 6), device) == "");
      CHECK(differs(grad(sum(matmul(ones({3, 2, 2}, options), plain)), plain), dtype, {2, 2},
                    Values(4, 6), device) == "");
      CHECK(differs(grad(matmul(row, line), line), dtype, {3}, {1, 2, 3}, device) == "");
      Variable kept = variable(tensor({4}, options));
      sum(row * kept).backward();
      CHECK(kept.grad().shape() == Shape({1}));
    }
    // The dtype too is its own.
    const Variable narrow = variable(tensor({2.0}, {.dtype = f16, .device = device}));
    CHECK(differs(grad(sum(narrow * tensor({1, 2, 3}, {.dtype = f64, .device = device})), narrow),
                  f16, {1}, {6}, device) == "");
  }
}

CASE(43, "an untaken branch that is guarded gives no NaN") {
  for (const Device device : every_device()) {
    const auto guarded = [](const Variable& x) {
      return where(x < 4, x * 2, sqrt(where(x < 4, 1, x)));
    };
    const auto unguarded = [](const Variable& x) { return where(x < 4, x * 2, sqrt(x)); };
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      CHECK(differs(slope(guarded, tensor(0, options)), dtype, {}, {2}, device) == "");
      CHECK(differs(slope(guarded, tensor({0, 16}, options)), dtype, {2}, {2, 0.125}, device) ==
            "");
      CHECK(differs(slope(unguarded, tensor(0, options)), dtype, {}, {NaN}, device) == "");
      const auto log_guarded = [](const Variable& x) {
        return where(x > 0, log(where(x > 0, x, 1)), 0);
      };
      CHECK(differs(slope(log_guarded, tensor({0, 2}, options)), dtype, {2}, {0, 0.5}, device) ==
            "");
    }
  }
}

CASE(44, "gradients of ties are split evenly") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Variable a = variable(tensor(3, options)), b = variable(tensor(3, options));
      const auto [da, db] = grad(maximum(a, b), {a, b});
      CHECK(differs(da, dtype, {}, {0.5}, device) == "");
      CHECK(differs(db, dtype, {}, {0.5}, device) == "");
      const auto [ma, mb] = grad(minimum(a, b), {a, b});
      CHECK(differs(ma, dtype, {}, {0.5}, device) == "");
      CHECK(differs(mb, dtype, {}, {0.5}, device) == "");
      using T = const Variable&;
      const auto is = [&](auto f, const Nested& x, const Shape& shape, const Values& wanted) {
        return differs(slope(f, tensor(x, options)), dtype, shape, wanted, device);
      };
      CHECK(is([](T x) { return max(x); }, {5, 5, 1}, {3}, {0.5, 0.5, 0}) == "");
      CHECK(is([](T x) { return min(x); }, {5, 1, 1}, {3}, {0, 0.5, 0.5}) == "");
      CHECK(is([](T x) { return amax(x, 0, keepdim); }, {2, 2, 2, 2}, {4}, Values(4, 0.25)) == "");
      CHECK(is([](T x) { return max(x, 1); }, {{5, 5}, {1, 2}}, {2, 2}, {0.5, 0.5, 0, 1}) == "");
      CHECK(is([](T x) { return max(x, 0); }, {{5, 5}, {5, 2}}, {2, 2}, {0.5, 1, 0.5, 0}) == "");
      CHECK(is([](T x) { return max(x, {0, 1}); }, {{5, 5}, {5, 5}}, {2, 2}, Values(4, 0.25)) ==
            "");
      CHECK(is([](T x) { return relu(x); }, {-1, 0, 1}, {3}, {0, 0, 1}) == "");
      CHECK(is([](T x) { return maximum(x, 0); }, {-1, 0, 1}, {3}, {0, 0.5, 1}) == "");
      CHECK(is([](T x) { return abs(x); }, {-1, 0, 1}, {3}, {-1, 0, 1}) == "");
      CHECK(is([](T x) { return max(x) * 3; }, {-infinity, -infinity}, {2}, {1.5, 1.5}) == "");
      const Variable x = variable(tensor({5, 5, 1}, options));
      CHECK(differs(grad(max(x, 0, keepdim), x, tensor({8}, options)), dtype, {3}, {4, 4, 0},
                    device) == "");
    }
  }
}

CASE(45, "the power rule at zero") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor x = tensor({0, 2}, options);
      CHECK(differs(slope([](const Variable& v) { return pow(v, 0); }, x), dtype, {2}, {0, 0},
                    device) == "");
      CHECK(differs(slope([&](const Variable& v) { return pow(v, zeros({2}, options)); }, x),
                    dtype, {2}, {0, 0}, device) == "");
      CHECK(differs(slope([](const Variable& v) { return pow(v, 1); }, x), dtype, {2}, {1, 1},
                    device) == "");
      CHECK(differs(slope([](const Variable& v) { return pow(v, 2); }, x), dtype, {2}, {0, 4},
                    device) == "");
      CHECK(differs(slope([](const Variable& v) { return pow(v, 3); }, x), dtype, {2}, {0, 12},
                    device) == "");
      const auto of_zero = [](const Variable& v) { return pow(0, v); };
      CHECK(differs(slope(of_zero, tensor({1, 2}, options)), dtype, {2}, {0, 0}, device) == "");
      const auto of_zeros = [&](const Variable& v) { return pow(zeros({2}, options), v); };
      CHECK(differs(slope(of_zeros, tensor({1, 0}, options)), dtype, {2}, {0, 0}, device) == "");
    }
  }
}

CASE(46, "higher derivatives at zero") {
  for (const Device device : every_device()) {
    for (const bool as_power : {true, false}) {
      const Variable x = variable(tensor(0.0, {.dtype = f64, .device = device}));
      const Tensor f = exp((as_power ? pow(x, 2) : square(x)) * -2);
      const Values wanted = {0, -4, 0, 48};
      Tensor derivative = f;
      for (const double value : wanted) {
        derivative = grad(derivative, x);
        CHECK(differs(derivative, f64, {}, {value}, device) == "");
      }
    }
    const Variable y = variable(tensor(0.0, {.device = device}));
    Tensor derivative = exp(pow(y, 2.0) * -2.0);
    for (int i = 0; i < 2; ++i) derivative = grad(derivative, y);
    CHECK(differs(derivative, f32, {}, {-4}, device) == "");
    const Variable z = variable(tensor(0.0, {.dtype = f64, .device = device}));
    const Tensor cube = pow(z, 3);
    const Tensor third = grad(grad(grad(cube, z), z), z);
    CHECK(differs(third, f64, {}, {6}, device) == "");
  }
}

CASE(47, "a write before backward does not change the gradient") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      for (const bool early : {false, true}) {
        Variable s = variable(tensor(5, options)), x = variable(tensor(2, options));
        const Tensor y = s * x;
        if (early) eval(y);
        s = 10;
        if (early) eval(TensorList(s));
        CHECK(differs(y, dtype, {}, {10}, device) == "");
        CHECK(differs(grad(y, x), dtype, {}, {5}, device) == "");
        CHECK(differs(s, dtype, {}, {10}, device) == "");
        y.backward();
        CHECK(differs(x.grad(), dtype, {}, {5}, device) == "");
        CHECK(differs(s.grad(), dtype, {}, {2}, device) == "");
      }
      // Writes by an optimiser, in place, compound, several, and to what is differentiated.
      for (const bool early : {false, true}) {
        Variable w = variable(tensor({1, 2}, options)), c = variable(tensor({3, 4}, options));
        const Tensor h = w * c, y = sum(h * h);
        if (early) y.wait();
        w += 1;
        c *= 100;
        if (early) eval(w, c);
        w -= tensor({7, 7}, options);
        {
          const NoGrad off;
          c.assign(c * 0);
        }
        eval(w, c);
        y.backward();
        CHECK(differs(w.grad(), dtype, {2}, {18, 64}, device) == "");
        CHECK(differs(c.grad(), dtype, {2}, {6, 32}, device) == "");
        CHECK(differs(w, dtype, {2}, {-5, -4}, device) == "");
        CHECK(values(y) == Values{73});
      }
      Variable p = variable(tensor({1, 2, 3}, options));
      optim::SGD opt({p}, {.lr = 1});
      const Tensor old_loss = sum(exp(p) * 0 + p * p), part = p.slice(0, 1, 3);
      sum(p * 10).backward();
      opt.step();
      CHECK(differs(p, dtype, {3}, {-9, -8, -7}, device) == "");
      CHECK(differs(part, dtype, {2}, {2, 3}, device) == "");
      opt.zero_grad();
      old_loss.backward();
      CHECK(differs(p.grad(), dtype, {3}, {2, 4, 6}, device) == "");
      // slice_update and masked_fill give new values.
      const Variable v = variable(tensor({1, 2}, options));
      const Tensor before = v * v, after = slice_update(v, 0, 0, tensor({10}, options));
      CHECK(values(after) == Values{10, 2});
      CHECK(differs(grad(sum(before), v), dtype, {2}, {2, 4}, device) == "");
    }
  }
}
