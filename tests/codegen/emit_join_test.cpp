// Kernels of joins.
#include "structured.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("emit cat: every dtype and axis, views, parts of nothing") {
  Trials trials;
  for (const DType dtype : all_dtypes)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      Shape out{3, 4, 5}, second{3, 4, 5}, third{3, 4, 5};
      second[axis] = 2;
      third[axis] = 0;
      out[axis] += 2 + out[axis];
      const auto x = random_array(dtype, {3, 4, 5}, 1, true), y = random_array(dtype, second, 2);
      const auto z = random_array(dtype, third, 3), all = random_array(dtype, {60}, 4);
      Trial trial(emit_cat, OpId::cat, {static_cast<std::int64_t>(axis)});
      trial.input(x).input(z).input(y).input(all, all->view({3, 4, 5}, {1, -3, 12}, 9));
      trial.output(dtype, out);
      trials.add("cat", std::move(trial));
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit cat: more inputs than one launch takes") {
  Trials trials;
  for (const int count : {1, 2, 7, 8, 9, 40}) {
    Trial trial(emit_cat, OpId::cat, {1});
    std::int64_t width = 0;
    for (int i = 0; i < count; ++i) {
      const auto x = random_array(f32, {301, i % 5}, static_cast<unsigned>(i));
      trial.input(x);
      width += i % 5;
    }
    trial.output(f32, {301, width});
    trials.add("cat of " + std::to_string(count), std::move(trial));
  }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit cat, slice_update: as many elements at once as stand aligned") {
  Trials trials;
  for (const DType dtype : {f32, f16, f64, u8})
    for (const std::int64_t width : {32, 16, 6}) {
      const auto x = random_array(dtype, {5, 32}, 1), y = random_array(dtype, {5, width}, 2);
      Trial columns(emit_cat, OpId::cat, {1});
      columns.input(x).input(y).input(x).output(dtype, {5, 64 + width});
      trials.add("cat", std::move(columns));
      Trial rows(emit_cat, OpId::cat, {0});
      rows.input(y).input(y, y->view({3, width}, {2 * width, 1})).output(dtype, {8, width});
      trials.add("cat", std::move(rows));
      Trial update(emit_slice_update, OpId::slice_update, {0, 3, 1});
      update.input(x).input(x, x->view({2, 32}, {96, 1})).output(dtype, {5, 32});
      trials.add("slice_update", std::move(update));
      Trial part(emit_slice_update, OpId::slice_update, {1, 1, width / 2});
      part.input(x).input(y).output(dtype, {5, 32});
      if (width <= 16) trials.add("slice_update", std::move(part));
    }
  trials.expect_bits_of_cpu();
  const auto x = random_array(f32, {8, 32}, 1);
  Trial trial(emit_cat, OpId::cat, {1});
  trial.input(x).input(x).output(f32, {8, 64});
  REQUIRE(trial.emit({}).launches[0].source->text.find("wf_cat<wf_vector<") != std::string::npos);
}

TEST_CASE("emit slice_update: starts are arguments") {
  Trials trials;
  std::string text;
  for (const DType dtype : all_dtypes)
    for (const std::int64_t start : {0, 1, 3}) {
      const auto x = random_array(dtype, {3, 8, 5}, 1), y = random_array(dtype, {3, 8, 5}, 2);
      Trial trial(emit_slice_update, OpId::slice_update, {1, 2, start});
      trial.input(x).input(y, y->view({3, 2, 5}, {5, -40, 1}, 80)).output(dtype, {3, 8, 5});
      if (dtype == f32) {
        const std::string here = trial.emit({}).launches[1].source->text;
        REQUIRE((text.empty() || text == here));
        text = here;
      }
      trials.add("slice_update", std::move(trial));
    }
  const auto x = random_array(f32, {3, 8}, 1), y = random_array(f32, {0, 8}, 2);
  Trial nothing(emit_slice_update, OpId::slice_update, {0, 1, 2});
  nothing.input(x, x->view({3, 8}, {-8, 1}, 16)).input(y).output(f32, {3, 8});
  trials.add("slice_update of nothing", std::move(nothing));
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit cat, slice_update: values of the interpreter") {
  const Tensor x = rand({4, 3}), y = rand({4, 5}), z = rand({2, 3});
  expect_interpreted(emit_cat, {cat({x, y, x}, 1)}, {x, y, x});
  expect_interpreted(emit_slice_update, {slice_update(x, 0, 1, z, 2)}, {x, z});
}
