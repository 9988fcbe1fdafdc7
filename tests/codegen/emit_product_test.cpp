// Kernels of matrix products: integers bit for bit, floats within a tolerance.
#include <cmath>

#include "structured.h"

using namespace weft;
using namespace weft::testing;

namespace {

// Integers as the cpu's; floats near sums in double, relative to the sum of the terms' sizes.
std::string difference(Trial& trial) {
  const Array& c = trial.got(0);
  if (!is_floating(c.dtype)) return trial.difference_from_cpu();
  trial.cpu().run();
  const double unit = c.dtype == f64 ? 1e-14 : c.dtype == f32 ? 1e-5 : c.dtype == f16 ? 2e-3 : 2e-2;
  for (std::int64_t i = 0; i < c.numel(); ++i) {
    const double want = trial.expected(0)[i];
    if (!(std::abs(c[i] - want) <= unit * (1 + std::abs(want))))
      return "element " + std::to_string(i) + ": " + std::to_string(c[i]) + ", want " +
             std::to_string(want);
  }
  return {};
}

std::shared_ptr<Array> small_numbers(DType dtype, const Shape& shape, unsigned seed) {
  std::mt19937 engine(seed);
  return array(dtype, shape, [&engine, dtype](std::int64_t) {
    const int value = static_cast<int>(engine() % 17);
    return is_floating(dtype) ? (value - 8) / 8.0 : dtype == u8 ? value : value - 8;
  });
}

constexpr DType number_dtypes[] = {f16, bf16, f32, f64, i8, i32, i64, u8};

void add(Trials& trials, DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
         bool transposes_a, bool transposes_b) {
  const auto a = small_numbers(dtype, {m, k}, 1), b = small_numbers(dtype, {k, n}, 2);
  Trial trial(emit_product, OpId::matmul, {});
  trial.input(a, transposes_a ? a->view({m, k}, {1, m}) : a->dense());
  trial.input(b, transposes_b ? b->view({k, n}, {1, k}) : b->dense());
  trial.output(dtype, {m, n});
  trials.add("product " + std::string(name_of(dtype)) + " " + std::to_string(m) + " " +
                 std::to_string(n) + " " + std::to_string(k),
             std::move(trial));
}

}  // namespace

TEST_CASE("emit product: every dtype, operands as they are and transposed") {
  Trials trials;
  for (const DType dtype : number_dtypes)
    for (const bool transposes_a : {false, true})
      for (const bool transposes_b : {false, true})
        add(trials, dtype, 37, 70, 19, transposes_a, transposes_b);
  trials.run(difference);
}

TEST_CASE("emit product: sizes") {
  Trials trials;
  for (const std::int64_t m : {1, 3, 33, 65})
    for (const std::int64_t n : {1, 31, 64})
      for (const std::int64_t k : {0, 1, 7, 8, 9, 300, 1500})
        add(trials, f32, m, n, k, false, true);
  add(trials, f16, 40, 50, 2000, false, false);
  add(trials, i64, 5, 6, 3000, false, false);
  trials.run(difference);
}

TEST_CASE("emit product: large tiles") {
  Trials trials;
  add(trials, f32, 1500, 1430, 21, true, false);
  trials.run(difference);
}

TEST_CASE("emit product: batches, repeated and reversed operands") {
  Trials trials;
  const auto a = small_numbers(f32, {3, 2, 20, 30}, 1), b = small_numbers(f32, {2, 30, 40}, 2);
  Trial batch(emit_product, OpId::matmul, {});
  batch.input(a).input(b, b->view({3, 2, 30, 40}, {0, 1200, 40, 1})).output(f32, {3, 2, 20, 40});
  trials.add("product of batches", std::move(batch));
  Trial odd(emit_product, OpId::matmul, {});
  odd.input(a, a->view({3, 10, 15}, {1200, 60, -2}, 29));
  odd.input(b, b->view({3, 15, 20}, {0, 80, -2}, 39)).output(f32, {3, 10, 20});
  trials.add("product of odd strides", std::move(odd));
  Trial nothing(emit_product, OpId::matmul, {});
  nothing.input(a, a->view({0, 5}, {5, 1})).input(b, b->view({5, 4}, {4, 1})).output(f32, {0, 4});
  trials.add("product of nothing", std::move(nothing));
  trials.run(difference);
}

TEST_CASE("emit product: values of the interpreter") {
  const Tensor a = rand({2, 33, 50}), b = rand({2, 50, 9});
  expect_interpreted(emit_product, {matmul(a, b)}, {a, b}, {0, 1e-5, 1e-5});
  const Tensor c = randint(-100, 100, {70, 600}, {.dtype = i8}),
               d = randint(-100, 100, {600, 3}, {.dtype = i8});
  expect_interpreted(emit_product, {matmul(c, d)}, {c, d});
}
