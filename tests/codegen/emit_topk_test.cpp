// Kernels of the greatest and least elements in order.
#include "structured.h"

using namespace weft;
using namespace weft::testing;

namespace {

void add(Trials& trials, const std::shared_ptr<Array>& x, const ResolvedOperand& view, int axis,
         std::int64_t count, bool greatest) {
  Shape shape;
  for (int d = 0; d < view.rank; ++d) shape.push_back(d == axis ? count : view.shape[d]);
  Trial trial(emit_topk, OpId::topk, {count, axis, greatest ? 1 : 0});
  trial.input(x, view).output(x->dtype, shape).output(i64, shape);
  trials.add("topk " + std::string(name_of(x->dtype)) + " " + shape.str(), std::move(trial));
}

}  // namespace

TEST_CASE("emit topk: every dtype and axis, equal elements, NaN, zeros of both signs") {
  Trials trials;
  for (const DType dtype : all_dtypes)
    for (int axis = 0; axis < 3; ++axis) {
      std::mt19937 engine(3);
      const auto x = array(dtype, {7, 9, 8}, [&](std::int64_t) {
        const unsigned bits = static_cast<unsigned>(engine());
        if (is_floating(dtype) && bits % 11 < 2) return bits % 11 == 0 ? double(NAN) : -0.0;
        return double(bits >> 4 & 3) - (dtype == u8 || dtype == bool_ ? 0 : 1);
      });
      add(trials, x, x->dense(), axis, 5, true);
      add(trials, x, x->view({8, 9, 7}, {-1, 8, 72}, 7), axis, 7, false);
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit topk: lines of a block, and lines that are sorted together") {
  Trials trials;
  for (const std::int64_t n : {1, 2, 64, 65, 1000, 2048, 2049, 4097}) {
    for (const DType dtype : {f32, i64}) {
      const auto x = random_array(dtype, {3, n}, static_cast<unsigned>(n), true);
      add(trials, x, x->dense(), 1, std::min<std::int64_t>(n, 10), true);
      add(trials, x, x->dense(), 1, n, false);
    }
    const auto y = random_array(f16, {n, 5}, 1, true);
    add(trials, y, y->dense(), 0, (n + 1) / 2, true);
    add(trials, y, y->view({n}, {5}), 0, n, true);
  }
  const auto lone = random_array(f64, {1}, 1);
  Trial trial(emit_topk, OpId::topk, {1, 0, 1});
  trial.input(lone, lone->view({}, {})).output(f64, {}).output(i64, {});
  trials.add("topk without axes", std::move(trial));
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit topk: values of the interpreter") {
  for (const std::int64_t n : {30, 3000}) {
    const Tensor x = (rand({4, n}) * 20).to(i32);
    const auto [values, order] = topk(x, 12, 1, n == 30);
    expect_interpreted(emit_topk, {values, order}, {x});
  }
}

TEST_CASE("emit topk: sorts of every dtype") {
  Trials trials;
  for (const DType dtype : all_dtypes)
    for (const std::int64_t descending : {0, 1})
      for (int axis = 0; axis < 2; ++axis) {
        const auto x = random_array(dtype, {70, 9}, 4, true);
        Trial trial(emit_topk, OpId::sort, {axis == 0 ? 70 : 9, axis, descending});
        trial.input(x).output(dtype, {70, 9}).output(i64, {70, 9});
        trials.add("sort of " + std::string(name_of(dtype)), std::move(trial));
      }
  const auto line = random_array(f32, {5000}, 4, true);
  Trial trial(emit_topk, OpId::sort, {5000, 0, 0});
  trial.input(line).output(f32, {5000}).output(i64, {5000});
  trials.add("sort of a long line", std::move(trial));
  trials.expect_bits_of_cpu();
}
