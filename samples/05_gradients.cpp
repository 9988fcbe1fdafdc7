// Gradients: recorded as ordinary operations, so they are planned, fused and drawn like the rest,
// and may be differentiated again.
#include <cmath>
#include <iostream>

#include <weft/weft.h>

#include "expect.h"

using namespace weft;

namespace {

bool near(double a, double b, double tolerance = 1e-9) { return std::abs(a - b) <= tolerance; }

void functional() {
  std::cout << "-- grad gives tensors, which may be differentiated again\n";
  const Variable x = variable(tensor(0.7, {.dtype = f64}));
  const Tensor y = sin(x) * exp(x);
  const Tensor dy = grad(y, x);
  const Tensor d2y = grad(dy, x);
  const double expected = std::exp(0.7) * (std::sin(0.7) + std::cos(0.7));
  const double expected2 = 2 * std::exp(0.7) * std::cos(0.7);
  std::cout << "y' " << dy.item<double>() << ", y'' " << d2y.item<double>() << '\n';
  expect(near(dy.item<double>(), expected), "the first derivative of sin(x)·exp(x)");
  expect(near(d2y.item<double>(), expected2), "the second derivative");
}

/// A gradient against a difference quotient.
void checked() {
  std::cout << "-- a gradient agrees with a difference quotient\n";
  const auto f = [](const Tensor& w) {
    return mean(square(tanh(matmul(w, w.transpose(0, 1))) - 0.5));
  };
  manual_seed(5);
  Variable w = variable(rand({3, 3}, {.dtype = f64}));
  const Tensor dw = grad(f(w), w);
  const double step = 1e-6;
  const Tensor start = w;
  double worst = 0;
  for (int i = 0; i < 9; ++i) {
    const Tensor bump = (arange(9) == i).to(f64).reshape({3, 3}) * step;
    const double above = f(start + bump).item<double>(), below = f(start - bump).item<double>();
    const double slope = (above - below) / (2 * step);
    worst = std::max(worst, std::abs(slope - dw.flatten()[i].item<double>()));
  }
  std::cout << "greatest difference " << worst << '\n';
  expect(worst < 1e-8, "all nine slopes agree");
}

/// backward() adds to .grad, as in PyTorch.
void accumulated() {
  std::cout << "-- backward accumulates in leaves\n";
  Variable a = variable(tensor({1.0, 2.0, 3.0})), b = variable(tensor(2.0));
  const auto loss = [&] { return sum(a * a * b); };
  loss().backward();
  loss().backward();
  std::cout << "a.grad " << a.grad() << ", b.grad " << b.grad() << '\n';
  expect(equal(a.grad(), tensor({8.0, 16.0, 24.0})), "twice 2ab");
  expect(b.grad().item<double>() == 28, "twice the sum of squares");
  a.zero_grad();
  expect(!a.grad().defined(), "zero_grad forgets");
  {
    const NoGrad off;
    expect(!(a * 2).requires_grad(), "nothing recorded under NoGrad has a gradient");
  }
  expect(!a.detach().requires_grad(), "nor has a detached value");
}

/// Least squares by gradient descent: the loop is written plainly, and planned once.
void fitted() {
  std::cout << "-- fitting a plane\n";
  manual_seed(11);
  const Tensor x = randn({512, 2});
  const Tensor truth = tensor({{3.0}, {-2.0}});
  const Tensor y = matmul(x, truth) + 0.5 + randn({512, 1}) * 0.01;
  eval(x, y);
  Variable w = variable(zeros({2, 1})), b = variable(zeros({1}));
  std::uint64_t plans_before = 0;
  Tensor loss;
  for (int i = 0; i < 200; ++i) {
    if (i == 5) plans_before = counters().plans_made;
    loss = mse_loss(matmul(x, w) + b, y);
    const auto [dw, db] = grad(loss, {w, b});
    w -= 0.1 * dw;
    b -= 0.1 * db;
    eval(loss, w, b);
  }
  const std::uint64_t plans_after = counters().plans_made;
  std::cout << "w " << w.flatten() << ", b " << b.item<double>() << ", loss " << loss.item<double>()
            << '\n';
  expect(plans_after == plans_before, "after the first rounds, no new plan");
  expect(allclose(w, truth, 0, 0.01) && near(b.item<double>(), 0.5, 0.01), "the plane is found");
}

/// Forward and backward are one graph: one plan, in which they are fused together.
void planned() {
  std::cout << "-- gradients are planned like all else\n";
  const Variable x = variable(linspace(-2.0, 2.0, 256));
  eval(x);
  const Tensor y = sum(sigmoid(x) * x);
  const Tensor dx = grad(y, x);
  const Plan plan = make_plan({y, dx});
  std::cout << plan;
  expect(plan.count(StepKind::kernel) == 2,
         "eight point-wise operations are one kernel, the sum one");
  const Tensor s = sigmoid(x.detach());
  expect(allclose(dx, s * (1 + x.detach() * (1 - s))), "the derivative of x·sigmoid(x)");
}

}  // namespace

int main() {
  functional();
  checked();
  accumulated();
  fitted();
  planned();
  return outcome();
}
