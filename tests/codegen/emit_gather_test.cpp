// Kernels that read and add at indices.
#include "structured.h"

using namespace weft;
using namespace weft::testing;

namespace {

std::shared_ptr<Array> indices(DType dtype, const Shape& shape, int limit, unsigned seed) {
  std::mt19937 engine(seed);
  return array(dtype, shape, [&engine, limit](std::int64_t) {
    return double(engine() % static_cast<unsigned>(limit));
  });
}

Trial gather(const std::shared_ptr<Array>& x, const ResolvedOperand& view,
             const std::shared_ptr<Array>& at, const ResolvedOperand& at_view, int axis) {
  Shape shape;
  for (int d = 0; d < at_view.rank; ++d) shape.push_back(at_view.shape[d]);
  Trial trial(emit_gather, OpId::gather, {axis});
  trial.input(x, view).input(at, at_view).output(x->dtype, shape);
  return trial;
}

Trial scatter(const std::shared_ptr<Array>& x, const ResolvedOperand& view,
              const std::shared_ptr<Array>& at, const ResolvedOperand& at_view,
              const std::shared_ptr<Array>& source, const ResolvedOperand& source_view, int axis,
              OpId op = OpId::scatter_add) {
  Shape shape;
  for (int d = 0; d < view.rank; ++d) shape.push_back(view.shape[d]);
  Trial trial(op == OpId::scatter ? emit_scatter : emit_scatter_add, op, {axis});
  trial.input(x, view).input(at, at_view).input(source, source_view).output(x->dtype, shape);
  return trial;
}

}  // namespace

TEST_CASE("emit gather: every dtype, axis and index dtype") {
  Trials trials;
  for (const DType dtype : all_dtypes)
    for (const DType index_dtype : {i32, i64})
      for (int axis = 0; axis < 3; ++axis) {
        const auto x = random_array(dtype, {5, 6, 7}, 1, true);
        const auto at = indices(index_dtype, {4, 6, 5}, 5 + axis, 2);
        // Along the other axes the indices may be fewer.
        trials.add("gather", gather(x, x->dense(), at, at->dense(), axis));
        trials.add("gather of a permuted table", gather(x, x->view({7, 6, 5}, {1, 7, 42}), at,
                                                        at->view({4, 6, 3}, {1, 5, 30}), axis));
        trials.add("gather of rows", gather(x, x->view({5, 6, 7}, {-42, 7, -1}, 4 * 42 + 6), at,
                                            at->view({3, 4, 6}, {0, 1, 0}), axis));
      }
  const auto x = random_array(f32, {3, 1}, 1), at = indices(i32, {1}, 1, 2);
  trials.add("gather without axes", gather(x, x->view({}, {}), at, at->view({}, {}), 0));
  const auto none = indices(i64, {0, 1}, 1, 2);
  trials.add("gather of nothing", gather(x, x->dense(), none, none->dense(), 0));
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit gather: rows move by as many elements at once as stand aligned") {
  Trials trials;
  for (const DType dtype : {f32, f16, i64, u8})
    for (const std::int64_t width : {64, 48, 18, 7}) {
      const auto x = random_array(dtype, {2, 50, width}, 1), at = indices(i64, {2, 30}, 50, 2);
      trials.add("gather of rows",
                 gather(x, x->dense(), at, at->view({2, 30, width}, {30, 1, 0}), 1));
      trials.add("gather of parts of rows",
                 gather(x, x->dense(), at, at->view({2, 30, width - 3}, {30, 1, 0}), 1));
    }
  trials.expect_bits_of_cpu();
  const auto x = random_array(f32, {50, 64}, 1), at = indices(i64, {32}, 50, 2);
  Trial trial = gather(x, x->dense(), at, at->view({32, 64}, {1, 0}), 0);
  REQUIRE(trial.emit({}).launches[0].source->text.find("wf_gather<wf_vector<") !=
          std::string::npos);
}

TEST_CASE("emit gather: a bad index is reported and skipped") {
  for (const double bad : {-1.0, 5.0, 1e9}) {
    const auto x = random_array(f32, {5, 2}, 1);
    const auto at = array(i64, {3, 2}, [bad](std::int64_t i) { return i == 3 ? bad : 1; });
    Trial trial = gather(x, x->dense(), at, at->dense(), 0);
    trial.emit({});
    trial.run_kernels();
    REQUIRE(trial.error.step == Trial::step_number + 1);
    REQUIRE(trial.error.index == static_cast<std::int64_t>(bad));
    REQUIRE(trial.error.limit == 5);
    REQUIRE(trial.difference_from_cpu() == "");
    Trial guarded = gather(x, x->dense(), at, at->dense(), 0);
    guarded.guard().emit({});
    guarded.error.step = 1;
    guarded.run_kernels();
    REQUIRE(guarded.got(0)[0] == 0);
    REQUIRE(guarded.error.step == 1);
  }
}

TEST_CASE("emit scatter_add, scatter: every dtype and axis, in index order") {
  Trials trials;
  for (const OpId op : {OpId::scatter_add, OpId::scatter})
    for (const DType dtype : all_dtypes)
      for (int axis = 0; axis < 3; ++axis) {
        const auto x = random_array(dtype, {5, 6, 7}, 1);
        const auto at = indices(axis == 1 ? i32 : i64, {4, 6, 5}, 3, 2);
        const auto source = random_array(dtype, {5, 6, 7}, 3);
        trials.add("scatter", scatter(x, x->dense(), at, at->dense(), source,
                                      source->view({4, 6, 5}, {42, 7, 1}), axis, op));
        trials.add("scatter of rows",
                   scatter(x, x->view({7, 6, 5}, {1, 7, 42}), at, at->view({3, 6, 4}, {0, 1, 0}),
                           source, source->view({3, 6, 4}, {-1, 7, 0}, 6), axis, op));
      }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit scatter_add, scatter: sorts of a block and by radix") {
  Trials trials;
  for (const OpId op : {OpId::scatter_add, OpId::scatter}) {
    for (const std::int64_t n : {1, 63, 64, 65, 2048, 2049, 5000}) {
      const auto x = random_array(f32, {700, 3}, 1), source = random_array(f32, {n, 3}, 3);
      for (const int limit : {1, 13, 700}) {
        const auto at = indices(i64, {n}, limit, 2);
        trials.add("scatter of rows", scatter(x, x->dense(), at, at->view({n, 3}, {1, 0}), source,
                                              source->dense(), 0, op));
      }
      const auto at = indices(i32, {n, 3}, 300, 2);
      trials.add("scatter",
                 scatter(x, x->dense(), at, at->dense(), source, source->dense(), 0, op));
    }
    const auto x = random_array(f32, {4}, 1), none = indices(i64, {0}, 1, 1);
    trials.add("scatter of nothing",
               scatter(x, x->dense(), none, none->dense(), x, x->view({0}, {1}), 0, op));
  }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit scatter_add, scatter: a bad index is reported and skipped") {
  for (const OpId op : {OpId::scatter_add, OpId::scatter}) {
    const auto x = random_array(f32, {5}, 1), source = random_array(f32, {4}, 2);
    const auto at = array(i32, {4}, [](std::int64_t i) { return i == 2 ? -7 : 4; });
    Trial trial = scatter(x, x->dense(), at, at->dense(), source, source->dense(), 0, op);
    trial.emit({});
    trial.run_kernels();
    REQUIRE(trial.error.step == Trial::step_number + 1);
    REQUIRE(trial.error.index == -7);
    REQUIRE(trial.error.limit == 5);
    REQUIRE(trial.difference_from_cpu() == "");
  }
}

TEST_CASE("emit gather, scatter_add, scatter: values of the interpreter") {
  const Tensor x = rand({40, 6}), at = randint(0, 40, {300, 6}), source = rand({300, 6});
  expect_interpreted(emit_gather, {gather(x, 0, at)}, {x, at});
  expect_interpreted(emit_scatter_add, {scatter_add(x, 0, at, source)}, {x, at, source},
                     {0, 1e-5, 1e-6});
  expect_interpreted(emit_scatter, {weft::scatter(x, 0, at, source)}, {x, at, source});
}
