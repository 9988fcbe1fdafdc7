// Activations and gamma functions: gradients of first and second order, and those with options.
#include <cmath>
#include <limits>

#include <weft/weft.h>

#include "gradcheck.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

using Inputs = std::vector<Tensor>;

Tensor points() { return of({-7.5, -2.25, -0.7, -0.01, 0.02, 0.8, 1.9, 6.5}); }

template <class E, class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    const std::string text = error.what();
    return text.substr(0, text.rfind(" ("));  // without the place
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("gradients of activations") {
  using Unary = Tensor (*)(const TensorArg&);
  for (const Unary f : {Unary(gelu), Unary(gelu_tanh), Unary(silu), Unary(mish), Unary(softplus),
                        Unary(log_sigmoid), Unary(ndtr)}) {
    const Function one = [f](const Inputs& in) { return f(in[0]); };
    CHECK(second_order_fault(one, {points()}) == "");
  }
  const Function root = [](const Inputs& in) { return cbrt(in[0]); };
  CHECK(second_order_fault(root, {of({-7.5, -0.7, 0.8, 6.5})}) == "");
  const Function two = [](const Inputs& in) { return logaddexp(in[0], in[1]); };
  CHECK(second_order_fault(two, {points(), of({1.5, 0.3, -0.2, 2, -3, 0.9, 1.8, -1})}) == "");
  const Function steep = [](const Inputs& in) { return softplus(in[0], 1.5, 4.0); };
  CHECK(second_order_fault(steep, {points()}) == "");
}

TEST_CASE("gradients of the gamma functions") {
  const Tensor x = of({-2.3, -0.6, 0.4, 1.2, 3.7, 12.5});
  const Function log_gamma = [](const Inputs& in) { return lgamma(in[0]); };
  CHECK(second_order_fault(log_gamma, {x}) == "");
  const Function psi = [](const Inputs& in) { return digamma(in[0]); };
  CHECK(gradient_fault(psi, {x}) == "");
}

TEST_CASE("slopes of activations far from zero") {
  // Slopes are 0 or 1 there, in halves too, whose squares and cubes overflow.
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const Tensor x = tensor({-3e4, -300, 300, 3e4}, {.dtype = dtype});
    using Unary = Tensor (*)(const TensorArg&);
    for (const Unary f : {Unary(gelu), Unary(gelu_tanh), Unary(silu), Unary(mish), Unary(softplus)})
      CHECK(is_near(values(grad(sum(f(x).to(f64)), x)), {0, 0, 1, 1}, 1e-12));
  }
  const Tensor great = tensor({-1e30, 1e30}, {.dtype = f32});
  CHECK(values(grad(sum(gelu_tanh(great)), great)) == Values{0, 1});
  CHECK(values(grad(sum(gelu(great)), great)) == Values{0, 1});
  // PyTorch's identity above 20.
  const Tensor past = tensor({20.0, 20.5}, {.dtype = f64});
  CHECK(values(softplus(past)) == Values{20.000000002061153, 20.5});
  CHECK(is_near(values(grad(sum(softplus(past)), past)), {1 / (1 + std::exp(-20.0)), 1}, 1e-15));
}

TEST_CASE("activations with options") {
  const Tensor x = points();
  CHECK(values(gelu(x, "none")) == values(gelu(x)));
  CHECK(values(gelu(x, "tanh")) == values(gelu_tanh(x)));
  CHECK(values(x.gelu()) == values(gelu(x)));
  CHECK(is_near(values(softplus(x, 1.0)), values(softplus(x)), 1e-15));
  // log(1 + exp(2x)) / 2, and x from 2x = 3 on
  CHECK(is_near(values(softplus(of({-1, 1, 1.5, 1.6}), 2.0, 3.0)),
                {0.0634640055214862, 1.0634640055214862, 1.5242936757869, 1.6}, 1e-13));
  CHECK(softplus(tensor({1, 2}), 2.0).dtype() == f32);
  CHECK(softplus(tensor({1.5}, {.dtype = f16}), 2.0).dtype() == f16);
  // In halves one rounding: f16(log(1 + exp(3)) / 2)
  CHECK(values(softplus(tensor({1.5}, {.dtype = f16}), 2.0)) == Values{1.5244140625});
  CHECK(error_of<ValueError>([&] { (void)gelu(x, "erf"); }) ==
        "gelu: no approximation is called 'erf'; give \"none\" or \"tanh\"");
  for (const double beta : {0.0, std::numeric_limits<double>::infinity()})
    CHECK_THAT(error_of<ValueError>([&] { (void)softplus(x, beta); }),
               Catch::Matchers::StartsWith("softplus: beta is "));
}
