// Kernels of reductions: bits of the one tree, any axes, strides and lengths.
#include "structured.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr OpId reductions[] = {OpId::sum, OpId::prod, OpId::amax, OpId::amin, OpId::any, OpId::all};

DType result_dtype(OpId op, DType dtype) {
  if (op == OpId::any || op == OpId::all) return bool_;
  if (op == OpId::amax || op == OpId::amin || is_floating(dtype)) return dtype;
  return i64;
}

Trial reduction(OpId op, std::shared_ptr<Array> x, const ResolvedOperand& view, int mask) {
  Shape kept;
  for (int d = 0; d < view.rank; ++d)
    if ((mask >> d & 1) == 0) kept.push_back(view.shape[d]);
  Trial trial(emit_reduce, op, {mask, 0});
  trial.input(std::move(x), view).output(result_dtype(op, view.dtype), kept);
  return trial;
}

std::string label(OpId op, DType dtype, const ResolvedOperand& x, int mask) {
  std::string text = std::string(info(op).name) + " " + std::string(name_of(dtype)) + " [";
  for (int d = 0; d < x.rank; ++d)
    text += std::to_string(x.shape[d]) + ":" + std::to_string(x.strides[d]) + " ";
  return text + "] mask " + std::to_string(mask);
}

void add(Trials& trials, OpId op, const std::shared_ptr<Array>& x, const ResolvedOperand& view,
         int mask) {
  trials.add(label(op, x->dtype, view, mask), reduction(op, x, view, mask));
}

}  // namespace

TEST_CASE("emit reduce: every op and dtype, rows and columns") {
  Trials trials;
  for (const OpId op : reductions)
    for (const DType dtype : all_dtypes) {
      const auto x = random_array(dtype, {3, 77, 5}, 1, true);
      add(trials, op, x, x->view({15, 77}, {0, 1}), 2);
      for (const int mask : {1, 2, 7})
        if (op == OpId::sum || mask == 2) add(trials, op, x, x->dense(), mask);
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: lengths around lanes and chunks") {
  Trials trials;
  for (const std::int64_t n :
       {1,   2,   3,   5,   16,   17,   31,   32,   33,   64,   65,   100,  128,  255,
        257, 511, 512, 513, 1023, 1024, 4095, 4096, 4097, 8191, 8192, 8193, 20011})
    for (const DType dtype : {f32, bf16}) {
      const auto rows = random_array(dtype, {3, n}, 2), columns = random_array(dtype, {n, 7}, 3);
      add(trials, OpId::sum, rows, rows->dense(), 2);
      add(trials, OpId::sum, columns, columns->dense(), 1);
      add(trials, OpId::sum, rows, rows->dense(), 3);
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: more chunks than a chunk has elements") {
  Trials trials;
  constexpr std::int64_t n = 4096 * 4096 + 4096 * 3 + 5;
  const auto x = random_array(u8, {n}, 4);
  add(trials, OpId::sum, x, x->dense(), 1);
  const auto y = random_array(f32, {1}, 5);
  add(trials, OpId::sum, y, y->view({n}, {0}), 1);
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: all masks, permuted, reversed and repeated axes") {
  Trials trials;
  const auto x = random_array(f32, {3, 4, 5, 6}, 6, true);
  const ResolvedOperand views[] = {x->dense(), x->view({6, 4, 5, 3}, {1, 30, 6, 120}),
                                   x->view({3, 4, 5, 6}, {-120, 30, -6, 1}, 2 * 120 + 4 * 6),
                                   x->view({2, 4, 40, 3}, {60, 0, 0, -2}, 20),
                                   x->view({3, 1, 5, 1}, {120, 7, 6, 9})};
  for (const auto& view : views)
    for (int mask = 0; mask < 16; ++mask)
      for (const OpId op : {OpId::sum, OpId::amin}) add(trials, op, x, view, mask);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const ResolvedOperand part = x->view(rank == 0   ? Shape{}
                                         : rank == 1 ? Shape{20}
                                         : rank == 2 ? Shape{20, 6}
                                                     : Shape{3, 20, 6},
                                         {rank == 3 ? 120 : 6, rank == 3 ? 6 : 1, 1});
    for (int mask = 0; mask < 1 << rank; ++mask) add(trials, OpId::prod, x, part, mask);
  }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: many rows and columns, and widths of column tiles") {
  Trials trials;
  for (const std::int64_t n : {4, 8, 13, 16, 31, 33, 1000}) {
    const auto x = random_array(f64, {600, n}, 7);
    add(trials, OpId::sum, x, x->dense(), 1);
    add(trials, OpId::prod, x, x->view({n, 600}, {1, n}), 2);
  }
  const auto many = random_array(f32, {1500, 700}, 8);
  add(trials, OpId::sum, many, many->dense(), 2);
  add(trials, OpId::sum, many, many->view({1500, 5}, {700, 2}), 2);
  const auto middle = random_array(f16, {40, 6, 350}, 9);
  add(trials, OpId::sum, middle, middle->dense(), 5);
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: one output of many chunks, read by vectors or not") {
  Trials trials;
  for (const OpId op : reductions)
    for (const DType dtype : {f32, f64, bf16, i32, u8, bool_}) {
      if (op != OpId::sum && dtype != f32 && dtype != bf16) continue;
      const auto x = random_array(dtype, {70'003}, 21, true);
      add(trials, op, x, x->dense(), 1);
      add(trials, op, x, x->view({69'999}, {1}, 3), 1);
      if (op == OpId::sum) add(trials, op, x, x->view({35'001}, {2}), 1);
    }
  const auto rows = random_array(f16, {5, 8200}, 22);
  add(trials, OpId::sum, rows, rows->view({5, 8192}, {8200, 1}), 2);
  add(trials, OpId::sum, rows, rows->view({5, 8192}, {8200, 1}, 1), 2);
  const auto x = random_array(f32, {70'003}, 23);
  trials.add("guarded", reduction(OpId::sum, x, x->dense(), 1)).guard();
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: columns read by vectors, of one chunk and of several") {
  Trials trials;
  for (const DType dtype : {f32, f64, f16, i32, i64, u8})
    for (const std::int64_t n : {512, 700, 4096, 9001}) {
      if (n > 700 && dtype != f32 && dtype != f16) continue;
      const auto x = random_array(dtype, {n, 72}, 31, true);
      add(trials, OpId::sum, x, x->dense(), 1);
      add(trials, OpId::amax, x, x->view({n, 68}, {72, 1}, 4), 1);
      add(trials, OpId::sum, x, x->view({n, 66}, {72, 1}, 1), 1);
    }
  const auto x = random_array(f32, {2, 600, 3, 40}, 32);
  for (const int mask : {2, 6, 3, 7}) add(trials, OpId::sum, x, x->dense(), mask);
  const auto tall = random_array(f32, {4096 * 17, 32}, 33);
  add(trials, OpId::sum, tall, tall->dense(), 1);
  const auto guarded = random_array(f32, {9000, 32}, 34);
  trials.add("guarded", reduction(OpId::sum, guarded, guarded->dense(), 1)).guard();
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: of nothing") {
  Trials trials;
  for (const OpId op : {OpId::sum, OpId::prod, OpId::any, OpId::all})
    for (const DType dtype : {f32, f16, i32, bool_}) {
      const auto x = random_array(dtype, {3, 0, 2}, 1);
      for (int mask = 0; mask < 8; ++mask) add(trials, op, x, x->dense(), mask);
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit reduce: hand-made facts") {
  // Lane 0 is 2^24 + 1 = 2^24, and then takes sums of 1, 2, 4, ... 256 ones: all but the first
  // count.
  const auto x = array(f32, {513}, [](std::int64_t i) { return i == 0 ? 16777216.0 : 1.0; });
  Trial sum = reduction(OpId::sum, x, x->dense(), 1);
  sum.emit({});
  sum.run_kernels();
  REQUIRE(sum.got(0)[0] == 16777726.0);
  const auto zeros = array(f64, {2, 2}, [](std::int64_t i) { return i % 2 == 0 ? 0.0 : -0.0; });
  Trial least = reduction(OpId::amin, zeros, zeros->dense(), 2);
  least.emit({});
  least.run_kernels();
  REQUIRE(std::signbit(least.got(0)[0]));
}

TEST_CASE("emit reduce: missing lanes keep the sign of a zero") {
  Trials trials;
  for (const DType dtype : {f32, f64})
    for (const std::int64_t n : {3, 40, 300, 700, 4099}) {
      const auto x = array(dtype, {n, 5}, [](std::int64_t) { return -0.0; });
      add(trials, OpId::sum, x, x->dense(), 1);
      add(trials, OpId::sum, x, x->view({5, n}, {1, 5}), 2);
      add(trials, OpId::sum, x, x->view({n}, {1}), 1);
    }
  trials.run([](Trial& trial) {
    return std::signbit(trial.got(0)[0]) ? trial.difference_from_cpu() : "0, not -0";
  });
}

TEST_CASE("emit reduce: values of the interpreter") {
  const Tensor x = rand({6, 50, 3}), y = (x * 100).to(i32);
  expect_interpreted(emit_reduce, {x.sum(1)}, {x}, {8, 1e-6});
  expect_interpreted(emit_reduce, {y.sum({0, 2})}, {y});
  expect_interpreted(emit_reduce, {x.amax()}, {x});
  expect_interpreted(emit_reduce, {(y % 2).to(bool_).all(0)}, {(y % 2).to(bool_)});
}

TEST_CASE(
    "emit reduce: a guarded step does nothing after a fault; texts vary with structure alone") {
  const auto x = random_array(f32, {40, 50}, 1);
  Trial trial = reduction(OpId::sum, x, x->dense(), 2);
  trial.guard().emit({});
  trial.error.step = 3;
  const std::vector<char> before = trial.got(0).bytes();
  trial.run_kernels();
  REQUIRE(trial.got(0).bytes() == before);
  const auto longer = random_array(f32, {90, 51}, 1);
  Trial other = reduction(OpId::sum, longer, longer->dense(), 2);
  Trial first = reduction(OpId::sum, x, x->dense(), 2);
  REQUIRE(first.emit({}).launches[0].source->text == other.emit({}).launches[0].source->text);
}
