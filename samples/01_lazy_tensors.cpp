// Lazy tensors: operations are recorded when written, and run together when a value is read.
#include <iostream>
#include <vector>

#include <weft/weft.h>

#include "expect.h"

using namespace weft;

namespace {

void making() {
  std::cout << "-- making tensors\n";
  const Tensor integers = tensor({1, 2, 3});
  const Tensor matrix = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Tensor halves = full({2, 2}, 0.5, {.dtype = f16});
  std::cout << integers << '\n' << matrix << '\n' << halves << '\n';
  expect(integers.dtype() == i64 && matrix.dtype() == f32, "literals give i64 and f32");

  const std::vector<double> samples{0.25, 0.5, 0.75, 1.0};
  const Tensor exact = from_vector(samples, {2, 2});
  expect(exact.dtype() == f64, "typed sources keep their type");

  // Shapes and dtypes are known at once; nothing has been computed yet.
  const Tensor product = matmul(matrix, matrix.transpose(0, 1)) + integers.slice(0, 0, 2);
  std::cout << "product: " << product.dtype() << product.shape()
            << (product.is_pending() ? ", pending\n" : ", computed\n");
  expect(product.is_pending(), "an operation only records");
  expect(product.shape() == Shape({2, 2}) && product.dtype() == f32, "i64 and f32 give f32");
  std::cout << product << '\n';  // reading is what runs it
  expect(!product.is_pending(), "reading evaluates");
  expect(product.to_vector<float>() == std::vector<float>{6, 13, 12, 27}, "the product's values");
}

void evaluating() {
  std::cout << "-- evaluating\n";
  const Tensor x = linspace(0.0, 1.0, 1001);
  const Tensor y = square(sin(x)) + square(cos(x));  // one pass over memory when it runs
  const Tensor total = sum(y);
  const Tensor error = amax(abs(y - 1));
  const Counters before = counters();
  eval(total, error);  // two roots, one plan; starts the work and returns
  expect(counters().runs == before.runs + 1, "several roots are one run");
  expect(!y.is_pending(), "what the program holds and was computed on the way is kept");
  std::cout << "sum " << total.item<float>() << ", greatest error " << error.item<double>() << '\n';
  expect(error.item<double>() < 1e-6, "sin² + cos² is 1");
}

void sharing() {
  std::cout << "-- tensors are values\n";
  Tensor a = arange(6).reshape({2, 3});
  const Tensor row = a[1];
  a += 10;  // rebinds `a`; no other handle sees it
  std::cout << "row " << row << ", a " << a << '\n';
  expect(row.to_vector<int>() == std::vector<int>{3, 4, 5}, "a later += changes no earlier value");

  const Tensor corner = a.index({slice(0, 2), slice(1, std::nullopt)});
  const Tensor scaled = slice_update(a, 1, 1, corner * 2);  // writing gives a new tensor
  std::cout << scaled << '\n';
  expect(scaled.to_vector<int>() == std::vector<int>{10, 22, 24, 13, 28, 30}, "slice_update");
}

void mistakes() {
  std::cout << "-- mistakes are found where they are written\n";
  try {
    matmul(ones({2, 3}), ones({4, 5}));
    expect(false, "matmul of wrong shapes throws");
  } catch (const ShapeError& error) {
    std::cout << error.what() << '\n';
  }
  try {
    ones({2, 3}) + ones({4});
    expect(false, "shapes that do not broadcast throw");
  } catch (const ShapeError& error) {
    std::cout << error.what() << '\n';
  }
}

void looping() {
  std::cout << "-- a loop is planned once\n";
  Variable state = variable(rand({256}));
  for (int warm_up = 0; warm_up < 3; ++warm_up) {
    state = tanh(state * 1.5 - 0.25);
    state.wait();
  }
  const Counters before = counters();
  for (int i = 0; i < 100; ++i) {
    state = tanh(state * (1.5 + 0.001 * i) - 0.25);  // numbers are arguments, not structure
    state.wait();
  }
  const Counters after = counters();
  std::cout << after.runs - before.runs << " runs, " << after.plans_made - before.plans_made
            << " new plans\n";
  expect(after.runs - before.runs == 100, "one run for each wait");
  expect(after.plans_made == before.plans_made, "later rounds use the plan of the first");
}

}  // namespace

int main() {
  making();
  evaluating();
  sharing();
  mistakes();
  looping();
  return outcome();
}
