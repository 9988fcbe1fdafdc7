// Writing and picking at indices and by masks; the expected values are PyTorch's.
#include "graph/composites.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("scatter: along an axis, the last of several stays") {
  const Tensor x = zeros({3, 4}, {.dtype = i64});
  CHECK(unlike(scatter(x, 1, tensor({{1, 0}, {3, 3}}), tensor({{5, 6}, {7, 8}})), {3, 4}, i64,
               {6, 5, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0}) == "");
  CHECK(unlike(x.scatter(0, tensor({{2, 1, 0, 2}}).to(i32), 7), {3, 4}, i64,
               {0, 0, 7, 0, 0, 7, 0, 0, 7, 0, 0, 7}) == "");
  CHECK(unlike(scatter(ones({2}, {.dtype = bool_}), 0, tensor({1}), 0), {2}, bool_, {1, 0}) == "");
  CHECK(unlike(scatter(tensor({1, 2}), 0, tensor({0}), 2.9), {2}, i64, {2, 2}) == "");
  CHECK(unlike(scatter(tensor(1.5), 0, tensor(0), 2.5), {}, f32, {2.5}) == "");
  CHECK(unlike(scatter(tensor({1, 2}), 0, zeros({0}, {.dtype = i64}), 5), {2}, i64, {1, 2}) == "");
  // Longer than one task, one block and one digit of the sort: the last still stays.
  const std::int64_t n = 300000;
  const Tensor places = arange(n) % 7;
  CHECK(unlike(scatter(zeros({7}, {.dtype = i64}), 0, places, arange(n)), {7}, i64,
               {299999, 299993, 299994, 299995, 299996, 299997, 299998}) == "");
  CHECK_THROWS_AS(scatter(x, 1, tensor({{4}}), 1).wait(), IndexError);
  CHECK_THROWS_AS(scatter(x, 1, tensor({{-1}}), 1).wait(), IndexError);
}

TEST_CASE("scatter: gradients go to what stays") {
  const Tensor index = tensor({{1, 0, 1}, {0, 0, 0}});
  const Function write = [&](const std::vector<Tensor>& x) {
    return scatter(square(x[0]), 1, index, square(x[1]));
  };
  CHECK(second_order_fault(write, {varied({2, 2}, 1), varied({2, 3}, 2)}) == "");
  const Function along_0 = [&](const std::vector<Tensor>& x) {
    return scatter(square(x[0]), 0, index, square(x[1]));
  };
  CHECK(second_order_fault(along_0, {varied({3, 3}, 1), varied({2, 3}, 2)}) == "");
  const Function number = [&](const std::vector<Tensor>& x) {
    return scatter(square(x[0]), 1, index, 2.5);
  };
  CHECK(second_order_fault(number, {varied({2, 2}, 1)}) == "");
}

TEST_CASE("index_add, index_copy and index_fill") {
  const Tensor x = zeros({2, 3}), index = tensor({2, 0, 2}), source = counted({2, 3}, f32);
  CHECK(unlike(index_add(x, 1, index, source), {2, 3}, f32, {1, 0, 2, 4, 0, 8}) == "");
  CHECK(unlike(x.index_copy(-1, index, source), {2, 3}, f32, {1, 0, 2, 4, 0, 5}) == "");
  CHECK(unlike(x.index_fill(0, tensor(1).to(i32), 3), {2, 3}, f32, {0, 0, 0, 3, 3, 3}) == "");
  CHECK(unlike(index_fill(x, 1, tensor({1}), tensor(4.0)), {2, 3}, f32, {0, 4, 0, 0, 4, 0}) == "");
  CHECK_THROWS_AS(index_fill(x, 1, tensor({3}), 1).wait(), IndexError);
  const Function f = [&](const std::vector<Tensor>& a) {
    return index_add(square(a[0]), 0, tensor({1, 1}), square(a[1])) *
           index_copy(a[0], 0, tensor({2, 0}), a[1]) * index_fill(a[0], 1, tensor({0}), 2.0);
  };
  CHECK(second_order_fault(f, {varied({3, 2}, 1), varied({2, 2}, 2)}) == "");
}

TEST_CASE("take and put: by places in row-major order") {
  const Tensor x = counted({2, 3}, i64);
  CHECK(unlike(take(x, tensor({{5, -6}, {-1, 2}})), {2, 2}, i64, {5, 0, 5, 2}) == "");
  CHECK(unlike(put(counted({6}, i64), tensor({1, -1, 1}), tensor({10, 20, 30}), true), {6}, i64,
               {0, 41, 2, 3, 4, 25}) == "");
  CHECK(unlike(x.put(tensor({{-1}, {0}}), 9), {2, 3}, i64, {9, 1, 2, 3, 4, 9}) == "");
  CHECK_THROWS_AS(take(x, tensor({-7})).wait(), IndexError);
  CHECK_THROWS_AS(put(x, tensor({6}), 1).wait(), IndexError);
  const Function f = [&](const std::vector<Tensor>& a) {
    return take(square(a[0]), tensor({0, -1, 0})) *
           put(a[0], tensor({0, 2, 0}), square(a[1])).index({0});
  };
  CHECK(second_order_fault(f, {varied({2, 3}, 1), varied({3}, 2)}) == "");
}

TEST_CASE("index: tensors of positions in place of axes") {
  const Tensor x = counted({2, 3, 4}), i = tensor({{2, 0}, {1, 1}});
  CHECK(unlike(x.index({slice(), i}), {2, 2, 2, 4}, f64,
               {8,  9,  10, 11, 0,  1,  2,  3,  4,  5,  6,  7,  4,  5,  6,  7,
                20, 21, 22, 23, 12, 13, 14, 15, 16, 17, 18, 19, 16, 17, 18, 19}) == "");
  CHECK(unlike(x.index({tensor({1, 0}), slice(), tensor({3, -4})}), {2, 3}, f64,
               {15, 19, 23, 0, 4, 8}) == "");
  CHECK(unlike(x.index({0, slice(), tensor({3, 1})}), {3, 2}, f64, {3, 1, 7, 5, 11, 9}) == "");
  CHECK(unlike(x.index({slice(), tensor({{2}, {0}}), tensor({1, 3})}), {2, 2, 2}, f64,
               {9, 11, 1, 3, 21, 23, 13, 15}) == "");
  CHECK(unlike(x.index({tensor(1).to(i32), slice(1, 2)}), {1, 4}, f64, {16, 17, 18, 19}) == "");
  CHECK(unlike(x.index({zeros({0}, {.dtype = i64}), 0}), {0, 4}, f64, {}) == "");
  CHECK_THROWS_AS(x.index({slice(), tensor({3})}).wait(), IndexError);
  // Beyond its own axis, though within the two together.
  CHECK_THROWS_AS(x.index({tensor({0}), tensor({3})}).wait(), IndexError);
  CHECK_THROWS_AS(x.index({tensor({1}), tensor({-4})}).wait(), IndexError);
  const Function f = [&](const std::vector<Tensor>& a) {
    return square(a[0]).index({tensor({1, 0, 1}), slice(), tensor({3, 0, 3})});
  };
  CHECK(second_order_fault(f, {varied({2, 2, 4}, 1)}) == "");
  const Variable w = variable(x);
  CHECK(unlike(w.index({1, tensor({-1, 0})}).select(1, 0), {2}, f64, {20, 12}) == "");
}

TEST_CASE("index: masks") {
  const Tensor x = counted({2, 3, 4});
  CHECK(unlike(x.index({x > 20}), {3}, f64, {21, 22, 23}) == "");
  const Tensor mask = tensor({{true, false, true}, {false, false, true}});
  CHECK(unlike(x.index({mask}), {3, 4}, f64, {0, 1, 2, 3, 8, 9, 10, 11, 20, 21, 22, 23}) == "");
  const Tensor middle = tensor({true, false, true});
  CHECK(unlike(x.index({slice(), middle}), {2, 2, 4}, f64,
               {0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 23}) == "");
  CHECK(unlike(x.index({slice(), middle, tensor({0, 3})}), {2, 2}, f64, {0, 11, 12, 23}) == "");
  CHECK(unlike(x.index({x < 0}), {0}, f64, {}) == "");
  const Function f = [&](const std::vector<Tensor>& a) {
    return square(a[0]).index({tensor({{true, false}, {true, true}})});
  };
  CHECK(second_order_fault(f, {varied({2, 2}, 1)}) == "");
}

TEST_CASE("masked_select, masked_scatter and nonzero") {
  const Tensor mask = tensor({{true, false, true}, {false, false, true}});
  const Tensor x = counted({2, 3}, i64);
  CHECK(unlike(masked_select(x, mask), {3}, i64, {0, 2, 5}) == "");
  CHECK(unlike(x.masked_select(tensor({false, true, false})), {2}, i64, {1, 4}) == "");
  CHECK(unlike(masked_select(tensor(3), tensor({true, false, true})), {2}, i64, {3, 3}) == "");
  CHECK(unlike(masked_scatter(zeros_like(x), mask, tensor({5, 6, 7, 8})), {2, 3}, i64,
               {5, 0, 6, 0, 0, 7}) == "");
  CHECK(unlike(nonzero(mask), {3, 2}, i64, {0, 0, 0, 2, 1, 2}) == "");
  CHECK(unlike(tensor({0.0, std::nan(""), -0.0, 2.0}).nonzero(), {2, 1}, i64, {1, 3}) == "");
  CHECK(unlike(nonzero(tensor(5)), {1, 0}, i64, {}) == "");
  CHECK(unlike(nonzero(tensor(0)), {0, 0}, i64, {}) == "");
  CHECK(unlike(nonzero(zeros({2, 0})), {0, 2}, i64, {}) == "");
  const Function f = [&](const std::vector<Tensor>& a) {
    return masked_scatter(square(a[0]), mask, square(a[1])).sum() *
           masked_select(a[0], mask).index({slice(0, 2)});
  };
  CHECK(second_order_fault(f, {varied({2, 3}, 1), varied({4}, 2)}) == "");
}

TEST_CASE("indices and masks on a device") {
  sim::enable(1);
  const Tensor x = counted({2, 3}, f32).to("sim:0");
  const Tensor places = tensor({{1, 0, 1}}, {.device = "sim:0"});
  CHECK(scatter(x, 0, places, 9).device() == Device("sim:0"));
  CHECK(unlike(scatter(x, 0, places, 9), {2, 3}, f32, {0, 9, 2, 9, 4, 9}) == "");
  const Tensor picked = x.index({x > 2});
  CHECK(picked.device() == Device("sim:0"));
  CHECK(unlike(picked, {3}, f32, {3, 4, 5}) == "");
  CHECK(nonzero(x).device() == Device("sim:0"));
  CHECK(one_hot(places, 2).device() == Device("sim:0"));
  CHECK(tril(x).device() == Device("sim:0"));
  CHECK(pad(x, {1, 1}).device() == Device("sim:0"));
  CHECK(unlike(x.pad({1, 0}), {2, 4}, f32, {0, 0, 1, 2, 0, 3, 4, 5}) == "");
  {
    const On scope(automatic);
    const Tensor y = counted({2, 3}, f32);
    CHECK(unlike(tril(scatter(y, 0, tensor({{1, 0, 1}}), 9)), {2, 3}, f32, {0, 0, 0, 9, 4, 0}) ==
          "");
    CHECK(unlike(pad(y, {0, 0, 0, 1}).index({tensor({2, 0}), 1}), {2}, f32, {0, 1}) == "");
    CHECK(unlike(y.index({y > 3}), {2}, f32, {4, 5}) == "");
  }
  const On scope("sim:0");
  const Tensor there = scatter(counted({2, 3}, f32).to("sim:0"), 0, places, 9);
  CHECK(unlike(tril(there), {2, 3}, f32, {0, 0, 0, 9, 4, 0}) == "");
}
