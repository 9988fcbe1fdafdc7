// Kernels of scans, and of searches.
#include "structured.h"
#include "support/compile_all.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr OpId totals[] = {OpId::cumsum, OpId::cumprod, OpId::logcumsumexp};
constexpr OpId extremes[] = {OpId::cummax, OpId::cummin};

void add(Trials& trials, OpId op, const std::shared_ptr<Array>& x, const ResolvedOperand& view,
         int axis) {
  Shape shape;
  for (int d = 0; d < view.rank; ++d) shape.push_back(view.shape[d]);
  const bool is_choice = op == OpId::cummax || op == OpId::cummin;
  if (op == OpId::logcumsumexp && !is_floating(x->dtype)) return;
  Trial trial(emit_scan, op, {axis});
  trial.input(x, view);
  if (is_choice)
    trial.output(x->dtype, shape).output(i64, shape);
  else
    trial.output(is_floating(x->dtype) ? x->dtype : i64, shape);
  trials.add(std::string(info(op).name) + " of " + std::string(name_of(x->dtype)) + " " +
                 shape.str() + " along " + std::to_string(axis),
             std::move(trial));
}

void add_all(Trials& trials, const std::shared_ptr<Array>& x, const ResolvedOperand& view,
             int axis) {
  for (const OpId op : totals) add(trials, op, x, view, axis);
  for (const OpId op : extremes) add(trials, op, x, view, axis);
}

}  // namespace

TEST_CASE("emit scan: every dtype and axis") {
  Trials trials;
  for (const DType dtype : all_dtypes) {
    const auto x = random_array(dtype, {3, 20, 9}, 5, true);
    for (int axis = 0; axis < 3; ++axis) add_all(trials, x, x->dense(), axis);
    add_all(trials, x, x->view({9, 20, 3}, {-1, 9, 180}, 8), 1);
  }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit scan: lanes, chunks, chunks of chunks") {
  Trials trials;
  for (const std::int64_t n : {1, 16, 17, 511, 512, 513, 1025, 9000}) {
    const auto seed = static_cast<unsigned>(n);
    for (const DType dtype : {f32, i8}) {
      const auto x = random_array(dtype, {2, n}, seed);
      add_all(trials, x, x->dense(), 1);
    }
    const auto columns = random_array(f16, {n, 10}, seed);
    add(trials, OpId::cumsum, columns, columns->dense(), 0);
    add(trials, OpId::cummax, columns, columns->dense(), 0);
    const auto wide = random_array(f64, {n}, seed);
    add(trials, OpId::cumsum, wide, wide->dense(), 0);
    add(trials, OpId::cummin, wide, wide->view({n}, {-1}, n - 1), 0);
  }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit scan: three levels") {
  Trials trials;
  constexpr std::int64_t n = 512 * 514 + 3;
  const auto x = random_array(f32, {n}, 7);
  add(trials, OpId::cumsum, x, x->dense(), 0);
  add(trials, OpId::cummax, x, x->dense(), 0);
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit scan: values of the interpreter") {
  const Tensor x = (rand({3, 700}) * 50).to(i32), y = rand({700, 12}).to(f64);
  expect_interpreted(emit_scan, {cumsum(x, 1)}, {x});
  expect_interpreted(emit_scan, {cumprod(x, 0)}, {x});
  expect_interpreted(emit_scan, {cumsum(y, 0)}, {y}, {.relative = 1e-14});
  expect_interpreted(emit_scan, {logcumsumexp(y, 0)}, {y}, {.relative = 1e-13});
  for (const Tensor& t : {x, y}) {
    const auto [best, place] = cummax(t, 0);
    expect_interpreted(emit_scan, {best, place}, {t});
    const auto [least, least_place] = cummin(t, 1);
    expect_interpreted(emit_scan, {least, least_place}, {t});
  }
}

TEST_CASE("emit search: every dtype, equal elements, NaN, lines by any strides") {
  Trials trials;
  for (const DType dtype : all_dtypes)
    for (const std::int64_t right : {0, 1}) {
      const auto line = array(dtype, {2, 40}, [&](std::int64_t i) {
        const auto k = static_cast<double>(i % 40);
        if (dtype == DType::bool_) return k < 20 ? 0.0 : 1.0;
        if (is_floating(dtype) && k > 37) return double(NAN);
        return std::floor(k / 3) - (dtype == u8 ? 0 : 5);
      });
      const auto values = random_array(dtype, {2, 300}, 3, true);
      Trial rows(emit_search, OpId::searchsorted, {right});
      rows.input(line).input(values).output(i64, {2, 300});
      trials.add("rows of " + std::string(name_of(dtype)), std::move(rows));
      Trial one(emit_search, OpId::searchsorted, {right});
      one.input(line, line->view({20}, {2})).input(values, values->view({50}, {7}, 3));
      one.output(i64, {50});
      trials.add("every second of " + std::string(name_of(dtype)), std::move(one));
      Trial none(emit_search, OpId::searchsorted, {right});
      none.input(line, line->view({0}, {1})).input(values, values->view({5}, {1}));
      none.output(i64, {5});
      trials.add("in nothing of " + std::string(name_of(dtype)), std::move(none));
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit search: values of the interpreter") {
  const Tensor line = sort((rand({3, 50}) * 30).to(i32), 1).first, x = (rand({3, 20}) * 30).to(i32);
  for (const bool right : {false, true})
    expect_interpreted(emit_search, {searchsorted(line, x, right)}, {line, x});
}

TEST_CASE("emit scan: NVRTC takes the texts", "[nvrtc]") {
  std::vector<KernelSource> sources;
  const auto add_sources = [&](Trial& trial, std::int64_t span) {
    GpuFacts gpu;
    gpu.narrow_span = span;
    for (const KernelLaunch& launch : trial.emit(gpu).launches) sources.push_back(*launch.source);
  };
  constexpr std::int64_t narrow = std::int64_t{1} << 31, wide = 1;
  for (const DType dtype : all_dtypes)
    for (const Tensor& x :
         {zeros({3, 9, 4}, {.dtype = dtype}), zeros({2, 1100, 2}, {.dtype = dtype}),
          zeros({1100, 40}, {.dtype = dtype})})
      for (std::int64_t axis = 0; axis < 2; ++axis) {
        std::vector<Tensor> made{cumsum(x, axis), cummax(x, axis).first};
        if (is_floating(dtype)) {
          made.push_back(cumprod(x, axis));
          made.push_back(logcumsumexp(x, axis));
          made.push_back(cummin(x, axis).first);
        }
        for (const Tensor& result : made) {
          Trial trial = trial_of(emit_scan, result, {x});
          add_sources(trial, size_of(dtype) == 4 ? narrow : wide);
        }
      }
  for (const DType dtype : all_dtypes) {
    const Tensor line = zeros({9}, {.dtype = dtype}), x = zeros({4, 5}, {.dtype = dtype});
    const Tensor flat = reshape(x, {-1});
    Trial trial = trial_of(emit_search, searchsorted(line, flat), {line, flat});
    add_sources(trial, is_floating(dtype) ? narrow : wide);
  }
  test::compile_all(sources);
}
