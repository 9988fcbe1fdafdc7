// Public cases about empty tensors, reductions, products, softmax and losses.
#include <cmath>

#include "cases/cases.h"

using namespace weft;
using namespace weft::cases;

CASE(31, "empty work does not poison the next call") {
  for (const Device device : every_device()) {
    INFO(device.str());
    for (const DType dtype : {f16, f32, f64, i32, i64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const auto next_is_right = [&] {
        const Tensor one = tensor({1}, options);
        return differs(one + one, dtype, {1}, {2}, device);
      };
      const DType total = is_floating(dtype) ? dtype : i64;
      for (const Shape& shape : {Shape({0, 5}), Shape({5, 0}), Shape({0}), Shape({2, 0, 3})}) {
        const Tensor x = zeros(shape, options);
        CHECK(differs(2 * x + 1, dtype, shape, {}, device) == "");
        CHECK(next_is_right() == "");
        CHECK(differs(x.to(f32), f32, shape, {}, device) == "");
        CHECK(differs(x.flip(0) + x, dtype, shape, {}, device) == "");
        CHECK(differs(x.cpu().to(device), dtype, shape, {}, device) == "");
        CHECK(differs(sum(x), total, {}, {0}, device) == "");
        CHECK(next_is_right() == "");
      }
      const Tensor x = zeros({0, 5}, options);
      CHECK(differs(sum(x, 0), total, {5}, Values(5, 0), device) == "");
      CHECK(differs(sum(x, 1), total, {0}, {}, device) == "");
      CHECK(differs(cat({x, ones({1, 5}, options), x}), dtype, {1, 5}, Values(5, 1), device) == "");
      CHECK(differs(matmul(x, ones({5, 2}, options)), dtype, {0, 2}, {}, device) == "");
      CHECK(differs(gather(x, 0, zeros({0, 5}, {.dtype = i64, .device = device})), dtype, {0, 5},
                    {}, device) == "");
      CHECK(differs(index_select(ones({2, 3}, options), 1,
                                 zeros({0}, {.dtype = i64, .device = device})),
                    dtype, {2, 0}, {}, device) == "");
      CHECK(differs(topk(x, 0, 0).first, dtype, {0, 5}, {}, device) == "");
      CHECK(next_is_right() == "");
    }
    CHECK(differs(rand({0, 4}, {.device = device}), f32, {0, 4}, {}, device) == "");
    const Variable v = variable(zeros({0, 5}, {.device = device}));
    CHECK(differs(grad(sum(v * 2), v), f32, {0, 5}, {}, device) == "");
    CHECK(differs(tensor({1}, {.device = device}) + 1, i64, {1}, {2}, device) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(31)

CASE(32, "argmax gives the first of equal ones") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, bf16, f32, f64, i8, i32, i64, u8}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor x = tensor({{4, 9, 9}, {2, 2, 1}}, options);
      CHECK(differs(argmax(x, 1), i64, {2}, {1, 0}, device) == "");
      CHECK(differs(argmax(x, 0), i64, {3}, {0, 0, 0}, device) == "");
      CHECK(differs(argmax(x), i64, {}, {1}, device) == "");
      CHECK(differs(argmin(x, 1, keepdim), i64, {2, 1}, {0, 2}, device) == "");
      // Long enough for several lanes, blocks and threads.
      const Tensor flat = zeros({3, 20001}, options);
      CHECK(differs(argmax(flat, 1), i64, {3}, {0, 0, 0}, device) == "");
      CHECK(differs(argmin(flat), i64, {}, {0}, device) == "");
      const Tensor two = (arange(20001, {.device = device}) % 9000 == 8999).to(dtype);
      CHECK(differs(argmax(two), i64, {}, {8999}, device) == "");
      CHECK(differs(topk(x, 2, 1).second, i64, {2, 2}, {1, 2, 0, 1}, device) == "");
    }
    const Tensor holes = tensor({{1, NaN, NaN}, {NaN, 3, 4}}, {.device = device});
    CHECK(differs(argmax(holes, 1), i64, {2}, {1, 0}, device) == "");
    CHECK(differs(argmin(holes, 1), i64, {2}, {1, 0}, device) == "");
    CHECK(differs(argmax(tensor({-infinity, -infinity}, {.device = device})), i64, {}, {0},
                  device) == "");
  }
}

CASE(33, "max of an axis keeps NaN") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, bf16, f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor x = tensor({{1, NaN}, {5, 3}}, options);
      CHECK(differs(max(x, 0), dtype, {2}, {5, NaN}, device) == "");
      CHECK(differs(min(x, 0), dtype, {2}, {1, NaN}, device) == "");
      CHECK(differs(amax(x, 1), dtype, {2}, {NaN, 5}, device) == "");
      CHECK(differs(amin(x), dtype, {}, {NaN}, device) == "");
      // Wherever it stands in a long row, and in a long column.
      const Tensor at = arange(5003, {.device = device});
      for (const int place : {0, 1, 511, 512, 4095, 4096, 5002}) {
        const Tensor row = where(at == place, NaN, zeros({5003}, options));
        CHECK(std::isnan(max(row).item<double>()));
        CHECK(std::isnan(min(row).item<double>()));
        CHECK(std::isnan(max(row.unsqueeze(1).expand({5003, 3}), 0)[2].item<double>()));
      }
      CHECK(differs(max(tensor({-infinity, -5}, options)), dtype, {}, {-5}, device) == "");
    }
  }
}

CASE(34, "reductions of nothing") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor none = zeros({0}, options), wide = zeros({0, 4}, options);
      CHECK(differs(sum(none), dtype, {}, {0}, device) == "");
      CHECK(differs(prod(none), dtype, {}, {1}, device) == "");
      CHECK(differs(all(none), bool_, {}, {1}, device) == "");
      CHECK(differs(any(none), bool_, {}, {0}, device) == "");
      CHECK(differs(mean(none), dtype, {}, {NaN}, device) == "");
      CHECK(differs(logsumexp(none), dtype, {}, {-infinity}, device) == "");
      CHECK(differs(logsumexp(wide, 0), dtype, {4}, Values(4, -infinity), device) == "");
      CHECK(differs(mean(wide, 0, keepdim), dtype, {1, 4}, Values(4, NaN), device) == "");
      CHECK(differs(prod(wide, {0, 1}), dtype, {}, {1}, device) == "");
      using Choice = Tensor (*)(const TensorArg&, const Dims&, bool);
      for (const Choice choose : {Choice(max), Choice(min), Choice(amax), Choice(amin)}) {
        CHECK(differs(choose(wide, 1, false), dtype, {0}, {}, device) == "");
        CHECK(
            names(message_of<ValueError>([&] { choose(wide, 0, false); }), "no element", "[0,4]"));
        CHECK(names(message_of<ValueError>([&] { choose(none, {}, false); }), "no element"));
        CHECK(names(message_of<ValueError>([&] { choose(wide, {0, 1}, true); }), "no element"));
      }
      for (const Choice choose : {Choice(argmax), Choice(argmin)}) {
        CHECK(differs(choose(wide, 1, true), i64, {0, 1}, {}, device) == "");
        CHECK(names(message_of<ValueError>([&] { choose(wide, 0, false); }), "no element"));
        CHECK(names(message_of<ValueError>([&] { choose(none, {}, false); }), "no element"));
      }
      CHECK(differs(tensor({1}, options) + 1, dtype, {1}, {2}, device) == "");
    }
    const Tensor counts = zeros({0}, {.dtype = i32, .device = device});
    CHECK(differs(sum(counts), i64, {}, {0}, device) == "");
    CHECK(differs(prod(counts), i64, {}, {1}, device) == "");
    CHECK(names(message_of<DTypeError>([&] { mean(counts); }), "mean"));
    CHECK(differs(max(zeros({3, 0, 2}, {.device = device}), 2), f32, {3, 0}, {}, device) == "");
  }
}

CASE(35, "a mean of halves does not overflow") {
  for (const Device device : every_device()) {
    const Tensor x = full({4096}, 24, {.dtype = f16, .device = device});
    CHECK(differs(mean(x), f16, {}, {24}, device) == "");
    CHECK(differs(mean(x.reshape({2, 2048}), 1), f16, {2}, {24, 24}, device) == "");
    CHECK(differs(mean(x.reshape({2048, 2}), 0), f16, {2}, {24, 24}, device) == "");
    CHECK(differs(sum(x), f16, {}, {infinity}, device) == "");  // 98304 is beyond the type
    CHECK(differs(sum(full({4096}, 1, {.dtype = f16, .device = device})), f16, {}, {4096},
                  device) == "");
    CHECK(differs(sum(full({4096}, 1, {.dtype = bf16, .device = device})), bf16, {}, {4096},
                  device) == "");
    CHECK(differs(mean(full({100000}, 3, {.dtype = bf16, .device = device})), bf16, {}, {3},
                  device) == "");
    const std::int64_t n = 1 << 25;
    CHECK(sum(ones({n}, {.device = device})).item<double>() == n);
  }
}

CASE(36, "a sum of bools counts") {
  for (const Device device : every_device()) {
    const Tensor x = tensor({true, true, false, true}, {.device = device});
    CHECK(differs(sum(x), i64, {}, {3}, device) == "");
    CHECK(differs(sum(x.reshape({2, 2}), 0), i64, {2}, {1, 2}, device) == "");
    CHECK(differs(x.sum(0, keepdim), i64, {1}, {3}, device) == "");
    CHECK(differs(prod(x), i64, {}, {0}, device) == "");
    CHECK(differs(sum(arange(1000, {.device = device}) > 9), i64, {}, {990}, device) == "");
    CHECK(differs(sum(full({300}, 1, {.dtype = u8, .device = device})), i64, {}, {300}, device) ==
          "");
    CHECK(names(message_of<DTypeError>([&] { mean(x); }), "mean", "bool[4]"));
  }
}

CASE(37, "a product over nothing is zero") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f16, f32, f64, i64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Tensor a = zeros({2, 0}, options), b = zeros({0, 3}, options);
      const DType out = dtype == i64 ? f32 : dtype;
      // Memory that has been used before is what garbage would come from.
      for (int i = 0; i < 3; ++i) eval(full({2, 3}, 77, options) + i);
      CHECK(differs(matmul(a, b) + 0.5, out, {2, 3}, Values(6, 0.5), device) == "");
      CHECK(differs(matmul(a, b), dtype, {2, 3}, Values(6, 0), device) == "");
      CHECK(differs(matmul(zeros({0}, options), zeros({0}, options)), dtype, {}, {0}, device) ==
            "");
      CHECK(differs(matmul(zeros({3, 2, 0}, options), b), dtype, {3, 2, 3}, Values(18, 0),
                    device) == "");
    }
    const Variable w = variable(zeros({2, 0}, {.device = device}));
    CHECK(differs(grad(sum(matmul(w, zeros({0, 3}, {.device = device}))), w), f32, {2, 0}, {},
                  device) == "");
  }
}

CASE(38, "products of f32 are in f32") {
  for (const Device device : every_device()) {
    const TensorOptions options = {.device = device};
    CHECK(differs(matmul(tensor({{1027.25}}, options), tensor({{1.0}}, options)), f32, {1, 1},
                  {1027.25}, device) == "");
    for (const int n : {1, 2, 16, 64, 100}) {  // large enough for every algorithm
      const Tensor x = full({n, n}, 1027.25, options);
      CHECK(equal(matmul(x, eye(n, std::nullopt, options)), x));
      CHECK(equal(matmul(eye(n, std::nullopt, options), x), x));
      const Tensor small = full({n, n}, 1 + 1.0 / 8388608, options);  // one ulp over 1
      CHECK(equal(matmul(small, eye(n, std::nullopt, options)), small));
    }
    CHECK(differs(matmul(tensor({1 + 1e-15}, {.dtype = f64, .device = device}),
                         ones({1}, {.dtype = f64, .device = device})),
                  f64, {}, {1 + 1e-15}, device) == "");
  }
}
CASE_ON_GPUS_OF_THE_TESTS(38)

CASE(39, "softmax of large and infinite logits") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Values wanted = {0.2689414213699951, 0.7310585786300049};
      CHECK(far(softmax(tensor({1000, 1001}, options), 0), wanted, 1e-7) == "");
      CHECK(far(softmax(tensor({-1001, -1000}, options), -1), wanted, 1e-7) == "");
      const Tensor masked = tensor({-infinity, 2, 2}, options);
      CHECK(differs(softmax(masked, 0), dtype, {3}, {0, 0.5, 0.5}, device) == "");
      CHECK(far(log_softmax(masked, 0), {-infinity, -std::log(2.0), -std::log(2.0)}, 1e-7) == "");
      const Tensor nothing = full({3}, -infinity, options);
      CHECK(differs(logsumexp(nothing), dtype, {}, {-infinity}, device) == "");
      CHECK(differs(logsumexp(tensor({infinity, 1}, options)), dtype, {}, {infinity}, device) ==
            "");
      CHECK(far(logsumexp(tensor({1000, 1001}, options)), {1001.3132616875182}, 1e-4) == "");
      CHECK(far(softmax(tensor({{1000, 1001}, {0, 0}}, options), 1),
                {wanted[0], wanted[1], 0.5, 0.5}, 1e-7) == "");
      CHECK(far(softmax(tensor({3e38, -3e38}, options), 0), {1, 0}, 0) == "");
      const Variable x = variable(masked);
      CHECK(far(grad(softmax(x, 0)[1], x), {0, 0.25, -0.25}, 1e-7) == "");
    }
    CHECK(far(softmax(tensor({1000, 1001}, {.dtype = f16, .device = device}), 0),
              {0.26904296875, 0.73095703125}, 3e-4) == "");
  }
}

CASE(40, "cross entropy where all targets are ignored") {
  for (const Device device : every_device()) {
    for (const DType dtype : {f32, f64}) {
      const TensorOptions options = {.dtype = dtype, .device = device};
      const Variable x = variable(tensor({{0.0, std::log(3.0)}}, options));
      const Tensor target = tensor({1}, {.device = device});
      const Tensor loss = cross_entropy(x, target);
      CHECK(far(loss, {0.2876820724517809}, 1e-6) == "");
      CHECK(far(grad(loss, x), {0.25, -0.25}, 1e-6) == "");
      CHECK(far(cross_entropy(x[0], tensor(1, {.device = device})), {0.2876820724517809}, 1e-6) ==
            "");
      const Tensor ignored = tensor({-100}, {.device = device});
      CHECK(differs(cross_entropy(x, ignored, {.reduction = Reduction::sum}), dtype, {}, {0},
                    device) == "");
      CHECK(differs(cross_entropy(x, ignored), dtype, {}, {NaN}, device) == "");
      CHECK(differs(cross_entropy(x, ignored, {.reduction = Reduction::none}), dtype, {1}, {0},
                    device) == "");
      CHECK(differs(cross_entropy(x, target, {.ignore_index = 1, .reduction = Reduction::sum}),
                    dtype, {}, {0}, device) == "");
      CHECK(differs(grad(cross_entropy(x, ignored, {.reduction = Reduction::sum}), x), dtype,
                    {1, 2}, {0, 0}, device) == "");
      // Those that count are averaged among themselves.
      const Variable two = variable(tensor({{0.0, std::log(3.0)}, {5.0, 5.0}}, options));
      const Tensor mixed = tensor({1, -100}, {.device = device});
      CHECK(far(cross_entropy(two, mixed), {0.2876820724517809}, 1e-6) == "");
      CHECK(far(grad(cross_entropy(two, mixed), two), {0.25, -0.25, 0, 0}, 1e-6) == "");
      CHECK(differs(nll_loss(log_softmax(x, 1), ignored), dtype, {}, {NaN}, device) == "");
    }
  }
}
