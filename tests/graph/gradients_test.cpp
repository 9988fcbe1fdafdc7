// Gradients of the structured ops, first and second order, against finite differences.
#include <limits>

#include <weft/graph/scope.h>
#include <weft/runtime/plan.h>

#include "gradcheck.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

using Inputs = std::vector<Tensor>;

Tensor x234() { return varied({2, 3, 4}, 1); }

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("gradients of views") {
  const Function views[] = {
      [](const Inputs& in) {
        return square(reshape(in[0], {4, 6}));
      },
      [](const Inputs& in) {
        return square(permute(in[0], {2, 0, 1}));
      },
      [](const Inputs& in) {
        return square(transpose(in[0], 0, -1)) * varied({4, 3, 2}, 2);
      },
      [](const Inputs& in) {
        return square(expand(unsqueeze(in[0], 1), {5, 2, 7, 3, 4}));
      },
      [](const Inputs& in) { return square(slice(in[0], 2, 0, 3, 2)); },
      [](const Inputs& in) { return square(slice(in[0], 1, 1)); },
      [](const Inputs& in) { return square(slice(in[0], 1, 2, 2)); },
      [](const Inputs& in) {
        return square(flip(in[0], {0, 2})) * x234();
      },
      [](const Inputs& in) { return square(slice(flip(in[0], 2), 2, 1, 4, 2)); },
      [](const Inputs& in) { return square(select(in[0], 1, -1)); },
  };
  for (const Function& f : views) CHECK(second_order_fault(f, {x234()}) == "");
  const Function grown = [](const Inputs& in) { return square(expand(in[0], {2, 3})); };
  CHECK(second_order_fault(grown, {varied({2, 1}, 1)}) == "");
  CHECK(second_order_fault(grown, {varied({}, 1)}) == "");
}

TEST_CASE("gradients of reductions") {
  using Reduce = Tensor (*)(const TensorArg&, const Dims&, bool);
  for (const Reduce reduce :
       {Reduce(sum), Reduce(prod), Reduce(mean), Reduce(amax), Reduce(amin), Reduce(logsumexp)}) {
    for (const Dims& axes : {Dims(), Dims(1), Dims({0, 2}), Dims(-1)})
      for (const bool keep : {false, true}) {
        const Function f = [&](const Inputs& in) { return square(reduce(in[0], axes, keep)); };
        CHECK(gradient_fault(f, {x234()}) == "");
      }
    const Function f = [&](const Inputs& in) { return square(reduce(in[0], 1, false)); };
    CHECK(second_order_fault(f, {x234()}) == "");
  }
}

TEST_CASE("gradient of a product with zeros") {
  const Function f = [](const Inputs& in) { return prod(in[0], 1); };
  const Tensor x = of({2, 0, 3, 0, 0, 5, 1, 2, 3}, {3, 3});
  CHECK(values(grad(f({x}), x, ones({3}, {.dtype = f64}))) == Values{0, 6, 0, 0, 0, 0, 6, 3, 2});
  CHECK(second_order_fault(f, {x}) == "");
  // Parts of the product that overflow, or are small, where it does not.
  const Tensor far = of({1e-250, 1e200, 1e200, 1e-150, 1e200, 1e-200}, {6});
  const Values slopes = values(grad(prod(far), far)), elements = values(far);
  for (std::size_t i = 0; i < slopes.size(); ++i)
    CHECK(std::abs(slopes[i] / (1 / elements[i]) - 1) < 1e-13);  // the product is 1
  const Function all = [](const Inputs& in) { return prod(in[0]); };
  CHECK(second_order_fault(all, {of({2, 0, 3, 4, -1}, {5})}) == "");
  CHECK(second_order_fault(all, {of({7}, {1})}) == "");
}

TEST_CASE("gradient of a product that has left the range, where it has not") {
  const auto slopes = [](std::vector<double> data, DType dtype) {
    const Tensor x = from_vector(data).to(dtype);
    return values(grad(prod(x), x));
  };
  CHECK(slopes({1e200, 1e200}, f64) == Values{1e200, 1e200});
  CHECK(slopes({1e-200, -1e-200}, f64) == Values{-1e-200, 1e-200});
  CHECK(slopes({1e-160, 1e-155}, f64) == Values{1e-155, 1e-160});  // a subnormal product
  CHECK(slopes({0x1p100, 0x1p100, -1}, f32) == Values{-0x1p100, -0x1p100, infinity});
  CHECK(slopes({300, 300}, f16) == Values{300, 300});
  CHECK(slopes({0x1p-14, 0x1p-8}, f16) == Values{0x1p-8, 0x1p-14});
  CHECK(slopes({infinity, 2}, f32) == Values{2, infinity});
  const Values with_nan = slopes({std::nan(""), 2, 3}, f64);
  CHECK(with_nan[0] == 6);
  CHECK(std::isnan(with_nan[1]));
  CHECK(std::isnan(with_nan[2]));
  // Rows by themselves, and second derivatives.
  const Function f = [](const Inputs& in) { return prod(in[0] * in[1], {0, 2}); };
  CHECK(second_order_fault(f, {x234(), varied({1, 3, 1}, 4)}) == "");
  const Tensor x = of({1e200, 1e200, 2, 4}, {2, 2});
  const auto first = [&] { return grad(sum(prod(x, 1)), x); };
  CHECK(values(first()) == Values{1e200, 1e200, 4, 2});
  CHECK(values(grad(sum(first()), x)) == Values{1, 1, 1, 1});
}

TEST_CASE("gradient of the median: even among equal ones of all, of an axis to the one chosen") {
  const auto slopes = [](const Values& data, bool along_axis) {
    const Tensor x = of(data);
    return values(grad(along_axis ? median(x, 0).first : median(x), x));
  };
  const double third = 1.0 / 3, no_number = std::nan("");
  CHECK(slopes({1, 2, 2, 2, 5}, false) == Values{0, third, third, third, 0});
  CHECK(slopes({5, 1, 1, 5}, false) == Values{0, 0.5, 0.5, 0});
  CHECK(slopes({no_number, 1, no_number}, false) == Values{0.5, 0, 0.5});
  CHECK(slopes({infinity, infinity, 1}, false) == Values{0.5, 0.5, 0});
  CHECK(slopes({1, 2, 2, 2, 5}, true) == Values{0, 0, 1, 0, 0});
  CHECK(slopes({1, 1, 5, 5}, true) == Values{0, 1, 0, 0});
  const Tensor halves = ones({2, 3}, {.dtype = f16});
  CHECK(grad(median(halves), halves).dtype() == f16);
  const Function f = [](const Inputs& in) { return square(median(in[0])) + median(in[0] * in[1]); };
  CHECK(second_order_fault(f, {x234(), varied({2, 3, 4}, 2)}) == "");
  const Variable w = variable(of({3, 1, 3, 3}, {2, 2}));
  median(w).backward();
  CHECK(values(w.grad()) == Values{third, 0, third, third});
}

TEST_CASE("a NaN maximum has a NaN gradient") {
  const Tensor x = of({1, std::nan(""), 3});
  const Values g = values(grad(amax(x), x));
  CHECK(std::isnan(g[0]));
  CHECK(std::isnan(g[1]));
}

TEST_CASE("gradients of matrix products") {
  const Function f = [](const Inputs& in) { return matmul(in[0], in[1]); };
  const auto fault = [&](const Shape& a, const Shape& b) {
    return second_order_fault(f, {varied(a, 1), varied(b, 2)});
  };
  CHECK(fault({2, 3}, {3, 4}) == "");
  CHECK(fault({3}, {3}) == "");
  CHECK(fault({2, 3}, {3}) == "");
  CHECK(fault({3}, {3, 2}) == "");
  CHECK(fault({2, 2, 3}, {2, 3, 2}) == "");
  CHECK(fault({2, 1, 2, 3}, {3, 3, 2}) == "");
  CHECK(fault({2, 2, 3}, {3, 2}) == "");
  const Tensor a = zeros({2, 0}, {.dtype = f64}), b = zeros({0, 3}, {.dtype = f64});
  CHECK(grad(sum(matmul(a, b)), a).shape() == Shape({2, 0}));
}

TEST_CASE("gradients of joins and indexing") {
  const Function join = [](const Inputs& in) { return square(cat({in[0], in[1], in[0]}, 1)); };
  CHECK(second_order_fault(join, {varied({2, 1, 2}, 1), varied({2, 3, 2}, 2)}) == "");
  const Function piled = [](const Inputs& in) { return square(stack({in[0], in[1]}, -1)); };
  CHECK(second_order_fault(piled, {varied({2, 3}, 1), varied({2, 3}, 2)}) == "");
  const Function update = [](const Inputs& in) {
    return square(slice_update(in[0], 1, 1, in[1], 2));
  };
  CHECK(second_order_fault(update, {varied({2, 5}, 1), varied({2, 2}, 2)}) == "");

  const Tensor index = tensor({{0, 2, 2}, {1, 1, 0}});
  const Function pick = [&](const Inputs& in) { return square(gather(in[0], 1, index)); };
  CHECK(second_order_fault(pick, {varied({2, 4}, 1)}) == "");
  CHECK(second_order_fault(pick, {varied({3, 3}, 1)}) == "");
  const Function add_at = [&](const Inputs& in) {
    return square(scatter_add(in[0], 0, index, in[1]));
  };
  CHECK(second_order_fault(add_at, {varied({3, 4}, 1), varied({2, 3}, 2)}) == "");
  const Function rows = [](const Inputs& in) {
    return square(index_select(in[0], 0, tensor({2, 0, 2})));
  };
  CHECK(second_order_fault(rows, {varied({3, 2}, 1)}) == "");
  for (const bool largest : {true, false}) {
    const Function best = [&](const Inputs& in) {
      return square(topk(in[0], 2, 1, largest).first);
    };
    CHECK(second_order_fault(best, {varied({3, 4}, 1)}) == "");
  }
}

TEST_CASE("gradients of rows of functions") {
  const Function f[] = {
      [](const Inputs& in) { return in[0].softmax(1); },
      [](const Inputs& in) { return in[0].log_softmax(-1); },
      [](const Inputs& in) { return tanh(matmul(in[0], transpose(in[0], 0, 1))); },
      [](const Inputs& in) { return in[0].to(f64) * sigmoid(in[0]) + exp(in[0]) / 3; },
  };
  for (const Function& each : f) CHECK(second_order_fault(each, {varied({2, 3}, 1)}) == "");
}

TEST_CASE("gradients: of a transposed factor, without a copy in other order") {
  const Tensor x = varied({5, 7}, 1), y = varied({7, 5}, 2), h = varied({3, 5, 7}, 3);
  const auto plain_steps = [](const Tensor& gradient) {
    std::size_t copies = 0;
    for (const Step& step : make_plan({gradient}).steps()) copies += step.what == "cast";
    return copies;
  };
  const Function linear = [](const std::vector<Tensor>& in) {
    return matmul(in[0], transpose(in[1], 0, 1));
  };
  const Tensor w = varied({4, 7}, 4);
  CHECK(second_order_fault(linear, {x, w}) == "");
  CHECK(plain_steps(grad(linear({x, w}), w, varied({5, 4}, 5))) == 0);
  const Function first = [](const std::vector<Tensor>& in) {
    return matmul(transpose(in[0], 0, 1), in[1]);
  };
  CHECK(second_order_fault(first, {x, varied({5, 3}, 6)}) == "");
  CHECK(plain_steps(grad(first({x, varied({5, 3}, 6)}), x, varied({7, 3}, 7))) == 0);
  const Function batched = [](const std::vector<Tensor>& in) {
    return matmul(in[0], transpose(in[1], -1, -2));
  };
  CHECK(second_order_fault(batched, {h, varied({3, 2, 7}, 8)}) == "");
  CHECK(second_order_fault(batched, {h, varied({2, 7}, 9)}) == "");
  // Other permutations are none.
  const Function turned = [](const std::vector<Tensor>& in) {
    return matmul(in[0], permute(in[1], {2, 1, 0}));
  };
  CHECK(second_order_fault(turned, {h, varied({2, 7, 3}, 10)}) == "");
}
