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

namespace {

/// One product whose kernels' bits the cpu's strict product has to have.
void add_strict(Trials& trials, const std::string& what, std::shared_ptr<Array> a,
                const ResolvedOperand& a_view, std::shared_ptr<Array> b,
                const ResolvedOperand& b_view) {
  Shape c;
  for (int d = 0; d < a_view.rank - 1; ++d) c.push_back(a_view.shape[d]);
  c.push_back(b_view.shape[b_view.rank - 1]);
  const DType dtype = a->dtype;
  Trial trial(emit_product, OpId::matmul, {});
  trial.input(std::move(a), a_view).input(std::move(b), b_view).output(dtype, c);
  trial.cpu().numerics = Numerics::strict;
  trials.add(what, std::move(trial));
}

void add_strict(Trials& trials, DType dtype, std::int64_t m, std::int64_t n, std::int64_t k,
                unsigned kind, std::shared_ptr<Array> a, std::shared_ptr<Array> b) {
  const auto a_view = kind & 1 ? a->view({m, k}, {1, m}) : a->dense();
  const auto b_view = kind & 2 ? b->view({k, n}, {1, k}) : b->dense();
  add_strict(trials,
             "strict " + std::string(name_of(dtype)) + " " + std::to_string(m) + " " +
                 std::to_string(n) + " " + std::to_string(k) + " kind " + std::to_string(kind),
             a, a_view, b, b_view);
}

}  // namespace

TEST_CASE("strict product: the cpu has the bits of the kernels") {
  Trials trials;
  std::mt19937 engine(7);
  const auto size = [&engine](unsigned limit) { return std::int64_t(1 + engine() % limit); };
  for (const DType dtype : {f16, bf16, f32, f64})
    for (unsigned round = 0; round < 12; ++round) {
      const std::int64_t m = round % 4 == 0 ? 1 : size(90), n = round % 3 == 0 ? 1 : size(90);
      const std::int64_t k = round % 2 ? size(40) : 500 + size(1200);
      add_strict(trials, dtype, m, n, k, round % 4, random_array(dtype, {m, k}, engine(), true),
                 random_array(dtype, {k, n}, engine(), round % 5 == 0));
    }
  add_strict(trials, f32, 1500, 1430, 21, 1, random_array(f32, {1500, 21}, 3),
             random_array(f32, {21, 1430}, 4));
  trials.expect_bits_of_cpu();
}

TEST_CASE("strict product: terms too small to be told from zero keep or lose their sign alike") {
  Trials trials;
  for (const std::int64_t k : {1, 7, 8, 16, 31, 32, 64, 600})
    for (const std::int64_t n : {1, 5, 40}) {
      const auto a = array(f32, {6, k}, [](std::int64_t i) { return i % 3 ? -1e-30 : -0.0; });
      const auto b = array(f32, {k, n}, [](std::int64_t) { return 1e-30; });
      add_strict(trials, f32, 6, n, k, 0, a, b);
    }
  trials.expect_bits_of_cpu();
  // One that ends on a whole tile, by hand: -1e-60 is rounded to -0 and stays.
  const auto a = array(f32, {1, 32}, [](std::int64_t) { return -1e-30; });
  const auto b = array(f32, {32, 1}, [](std::int64_t) { return 1e-30; });
  Trial trial(emit_product, OpId::matmul, {});
  trial.input(a).input(b).output(f32, {1, 1});
  trial.cpu().numerics = Numerics::strict;
  trial.cpu().run();
  CHECK(std::signbit(trial.expected(0)[0]));
}

TEST_CASE("strict product: batches, repeated and reversed operands") {
  Trials trials;
  const auto a = random_array(f32, {3, 2, 20, 30}, 1), b = random_array(f32, {2, 30, 40}, 2);
  add_strict(trials, "batches", a, a->dense(), b, b->view({3, 2, 30, 40}, {0, 1200, 40, 1}));
  add_strict(trials, "odd strides", a, a->view({3, 10, 15}, {1200, 60, -2}, 29), b,
             b->view({3, 15, 20}, {0, 80, -2}, 39));
  add_strict(trials, "one column, reversed", a, a->view({3, 10, 15}, {1200, 60, -2}, 29), b,
             b->view({3, 15, 1}, {40, -40, 7}, 1000));
  add_strict(trials, "no terms", a, a->view({3, 4, 0}, {1200, 60, 1}), b,
             b->view({3, 0, 5}, {40, 40, 1}));
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit product: what a library is told") {
  const auto a = random_array(f32, {3, 2, 20, 30}, 1), b = random_array(f32, {2, 30, 40}, 2);
  Trial trial(emit_product, OpId::matmul, {});
  trial.input(a).input(b, b->view({3, 2, 30, 40}, {0, 1200, 1, 30})).output(f32, {3, 2, 20, 40});
  const KernelSequence& sequence = trial.emit({});
  REQUIRE(sequence.product);
  const ProductShape& shape = *sequence.product;
  CHECK(shape.dtype == f32);
  CHECK(std::tuple(shape.m, shape.n, shape.k) == std::tuple(20, 40, 30));
  CHECK(std::tuple(shape.a_row, shape.a_column) == std::tuple(30, 1));
  CHECK(std::tuple(shape.b_row, shape.b_column) == std::tuple(1, 30));
  REQUIRE(shape.batch_rank == 2);
  CHECK(shape.batch_count() == 6);
  CHECK(std::tuple(shape.a_batch[0], shape.a_batch[1]) == std::tuple(1200, 600));
  CHECK(std::tuple(shape.b_batch[0], shape.b_batch[1]) == std::tuple(0, 1200));
  // Integers and products of no terms are no library's.
  Trial integers(emit_product, OpId::matmul, {});
  const auto c = random_array(i32, {4, 4}, 3);
  integers.input(c).input(c).output(i32, {4, 4});
  CHECK_FALSE(integers.emit({}).product);
  Trial nothing(emit_product, OpId::matmul, {});
  nothing.input(a, a->view({4, 0}, {1, 1})).input(b, b->view({0, 4}, {4, 1})).output(f32, {4, 4});
  CHECK_FALSE(nothing.emit({}).product);
}
