// Kernels of the indices of extremes: the first of equals, NaN before all.
#include "structured.h"

using namespace weft;
using namespace weft::testing;

namespace {

void add(Trials& trials, OpId op, const std::shared_ptr<Array>& x, const ResolvedOperand& view,
         int mask) {
  Shape kept;
  for (int d = 0; d < view.rank; ++d)
    if ((mask >> d & 1) == 0) kept.push_back(view.shape[d]);
  Trial trial(emit_arg_reduce, op, {mask, 0});
  trial.input(x, view).output(i64, kept);
  trials.add(std::string(info(op).name) + " " + std::string(name_of(x->dtype)) + " " + kept.str() +
                 " mask " + std::to_string(mask),
             std::move(trial));
}

// Few values, so that most are equal to others.
std::shared_ptr<Array> coarse(DType dtype, const Shape& shape, unsigned seed, bool nans) {
  std::mt19937 engine(seed);
  return array(dtype, shape, [&engine, nans, dtype](std::int64_t) {
    const unsigned bits = static_cast<unsigned>(engine());
    if (nans && is_floating(dtype) && bits % 1000 == 0) return double(NAN);
    return double(bits >> 8 & 7) - (dtype == u8 || dtype == bool_ ? 0 : 4);
  });
}

}  // namespace

TEST_CASE("emit arg_reduce: every dtype, rows and columns") {
  Trials trials;
  for (const DType dtype : all_dtypes)
    for (const bool nans : {false, true}) {
      const auto x = coarse(dtype, {3, 45, 9}, 1, nans);
      for (const int mask : {1, 2, 4}) add(trials, OpId::argmax, x, x->dense(), mask);
      for (const int mask : {2, 7}) add(trials, OpId::argmin, x, x->dense(), mask);
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit arg_reduce: lengths, and parts of long sequences") {
  Trials trials;
  for (const std::int64_t n :
       {1, 2, 31, 32, 33, 255, 256, 257, 513, 4095, 4096, 4097, 12289, 70001}) {
    for (const bool nans : {false, true}) {
      const auto x = coarse(f32, {2, n}, static_cast<unsigned>(n), nans);
      add(trials, OpId::argmax, x, x->dense(), 2);
      add(trials, OpId::argmin, x, x->dense(), 3);
      const auto y = coarse(f32, {n, 5}, static_cast<unsigned>(n), nans);
      add(trials, OpId::argmin, y, y->dense(), 1);
      add(trials, OpId::argmax, y, y->view({5, n}, {1, 5}), 2);
    }
  }
  const auto rows = coarse(f64, {1100, 700}, 3, true);
  add(trials, OpId::argmax, rows, rows->dense(), 2);
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit arg_reduce: all masks, permuted, reversed and repeated axes") {
  Trials trials;
  const auto x = coarse(f32, {3, 4, 5, 6}, 6, true);
  const ResolvedOperand views[] = {x->dense(), x->view({6, 4, 5, 3}, {1, 30, 6, 120}),
                                   x->view({3, 4, 5, 6}, {-120, 30, -6, 1}, 2 * 120 + 4 * 6),
                                   x->view({2, 4, 40, 3}, {60, 0, 0, -2}, 20)};
  for (const auto& view : views)
    for (int mask = 0; mask < 16; ++mask) add(trials, OpId::argmax, x, view, mask);
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit arg_reduce: values of the interpreter") {
  const Tensor x = (rand({6, 5000, 3}) * 50).to(i32);
  expect_interpreted(emit_arg_reduce, {x.argmax(1)}, {x});
  expect_interpreted(emit_arg_reduce, {x.argmin()}, {x});
}
