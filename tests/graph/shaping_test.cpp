// Rolls, repeats, padding, triangles and diagonals; the expected values are PyTorch's.
#include "graph/composites.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

std::vector<Tensor> at(const Tensor& x) { return {x}; }

/// First and second derivatives against differences, at numbers without pattern.
std::string fault(const Shape& shape, const std::function<Tensor(const Tensor&)>& f) {
  return second_order_fault([&](const std::vector<Tensor>& x) { return f(square(x[0])); },
                            at(varied(shape, 1)));
}

}  // namespace

TEST_CASE("roll: along axes, or in row-major order") {
  const Tensor x = counted({2, 3, 4});
  CHECK(unlike(roll(x, {1, -2}, {0, 2}), {2, 3, 4}, f64,
               {14, 15, 12, 13, 18, 19, 16, 17, 22, 23, 20, 21,
                2,  3,  0,  1,  6,  7,  4,  5,  10, 11, 8,  9}) == "");
  CHECK(unlike(roll(counted({2, 3}, i64), -2), {2, 3}, i64, {2, 3, 4, 5, 0, 1}) == "");
  CHECK(unlike(counted({4}, i32).roll(5, 0), {4}, i32, {3, 0, 1, 2}) == "");
  CHECK(unlike(counted({4}, u8).roll({1, 2}, {0, 0}), {4}, u8, {1, 2, 3, 0}) == "");
  CHECK(unlike(roll(tensor(3), 1), {}, i64, {3}) == "");
  CHECK(unlike(roll(zeros({0, 2}), 3, 0), {0, 2}, f32, {}) == "");
  CHECK(unlike(roll(counted({3}), std::numeric_limits<std::int64_t>::min(), 0), {3}, f64,
               {2, 0, 1}) == "");  // -2^63 mod 3 is 1
  CHECK(x.roll(0, 1).ref() == x.ref());
  CHECK(x.roll(8, 2).ref() == x.ref());
  CHECK(fault({2, 3}, [](const Tensor& y) { return roll(y, {1, 2}, {0, 1}); }) == "");
}

TEST_CASE("repeat and tile") {
  const Tensor x = counted({2, 2}, i64);
  CHECK(unlike(repeat(x, {2, 1, 3}), {2, 2, 6}, i64,
               {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3, 0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3}) == "");
  CHECK(unlike(x.tile(2), {2, 4}, i64, {0, 1, 0, 1, 2, 3, 2, 3}) == "");
  CHECK(unlike(x.repeat({2, 2}), {4, 4}, i64, {0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}) ==
        "");
  CHECK(unlike(repeat(x, {0, 1}), {0, 2}, i64, {}) == "");
  CHECK(unlike(repeat(tensor(5), {3}), {3}, i64, {5, 5, 5}) == "");
  CHECK(unlike(tile(tensor(5), {}), {}, i64, {5}) == "");
  CHECK(unlike(repeat(counted({1, 3}), {2, 1}), {2, 3}, f64, {0, 1, 2, 0, 1, 2}) == "");
  // More axes than can be split in one view.
  const Tensor deep = counted({2, 2, 1, 2, 2, 2}, i32);
  const Tensor many = repeat(deep, {2, 1, 2, 2, 2, 2});
  CHECK(many.shape() == Shape({4, 2, 2, 4, 4, 4}));
  for (const int axis : {0, 3, 4, 5})
    CHECK(equal(slice(many, axis, 0, 2), slice(many, axis, 2, 4)));
  CHECK(
      equal(many.index({slice(0, 2), slice(), slice(0, 1), slice(0, 2), slice(0, 2), slice(0, 2)}),
            deep));
  CHECK(fault({2, 3}, [](const Tensor& y) { return repeat(y, {2, 1, 2}); }) == "");
}

TEST_CASE("repeat_interleave: by a number, or by a count for each position") {
  const Tensor x = counted({2, 3}, i64);
  CHECK(unlike(repeat_interleave(x, 2, 1), {2, 6}, i64, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}) ==
        "");
  CHECK(unlike(repeat_interleave(counted({3}, i64), 2), {6}, i64, {0, 0, 1, 1, 2, 2}) == "");
  CHECK(unlike(x.repeat_interleave(tensor({0, 2, 1}), 1), {2, 3}, i64, {1, 1, 2, 4, 4, 5}) == "");
  CHECK(unlike(x.repeat_interleave(tensor(2), 0), {4, 3}, i64,
               {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}) == "");
  CHECK(unlike(x.repeat_interleave(tensor({1, 0, 0, 0, 0, 1}).to(i32)), {2}, i64, {0, 5}) == "");
  CHECK(unlike(x.repeat_interleave(0, 0), {0, 3}, i64, {}) == "");
  CHECK(fault({2, 3}, [](const Tensor& y) { return repeat_interleave(y, 3, 0); }) == "");
  CHECK(fault({3}, [](const Tensor& y) { return repeat_interleave(y, tensor({2, 0, 1})); }) == "");
}

TEST_CASE("pad: constant, mirrored, by the edge, around") {
  const Tensor x = counted({3, 4}, f32);
  CHECK(unlike(pad(x, {2, 1, 1, 2}, {.mode = PadMode::reflect}), {6, 7}, f32,
               {6,  5, 4, 5, 6,  7,  6,  2, 1, 0, 1, 2, 3, 2, 6, 5, 4, 5, 6, 7, 6,
                10, 9, 8, 9, 10, 11, 10, 6, 5, 4, 5, 6, 7, 6, 2, 1, 0, 1, 2, 3, 2}) == "");
  CHECK(unlike(pad(x, {2, 1, 1, 2}, {.mode = PadMode::replicate}), {6, 7}, f32,
               {0, 0, 0, 1, 2,  3,  3,  0, 0, 0, 1, 2,  3,  3,  4, 4, 4, 5, 6,  7,  7,
                8, 8, 8, 9, 10, 11, 11, 8, 8, 8, 9, 10, 11, 11, 8, 8, 8, 9, 10, 11, 11}) == "");
  CHECK(unlike(x.pad({2, 1, 1, 2}, {.mode = PadMode::circular}), {6, 7}, f32,
               {10, 11, 8, 9, 10, 11, 8, 2, 3, 0, 1, 2, 3, 0, 6, 7, 4, 5, 6, 7, 4,
                10, 11, 8, 9, 10, 11, 8, 2, 3, 0, 1, 2, 3, 0, 6, 7, 4, 5, 6, 7, 4}) == "");
  CHECK(unlike(pad(x, {-1, 2, 1, -1}, {.value = 9}), {3, 5}, f32,
               {9, 9, 9, 9, 9, 1, 2, 3, 9, 9, 5, 6, 7, 9, 9}) == "");
  CHECK(unlike(counted({2}, i64).pad({1, 1}), {4}, i64, {0, 0, 1, 0}) == "");
  CHECK(unlike(counted({2}, i64).pad({1, 1}, {.value = tensor(7.5)}), {4}, i64, {7, 0, 1, 7}) ==
        "");
  CHECK(unlike(pad(ones({1}, {.dtype = bool_}), {1, 1}), {3}, bool_, {0, 1, 0}) == "");
  CHECK(unlike(pad(counted({2}, i64), {0, 1}, {.value = 2.9}), {3}, i64, {0, 1, 2}) == "");
  CHECK(unlike(pad(zeros({0, 2}), {0, 0, 1, 1}, {.value = 1}), {2, 2}, f32, {1, 1, 1, 1}) == "");
  CHECK(unlike(pad(counted({2}), {-1, -1}), {0}, f64, {}) == "");
  CHECK(pad(x, {}).ref() == x.ref());
  CHECK(pad(x, {0, 0}).ref() == x.ref());
  CHECK(pad(tensor(1.0), {}).shape() == Shape());
  for (const PadMode mode :
       {PadMode::constant, PadMode::reflect, PadMode::replicate, PadMode::circular})
    CHECK(fault({3, 4}, [mode](const Tensor& y) {
            return pad(y, {2, 1, 1, 2}, {.mode = mode});
          }) == "");
  CHECK(fault({3}, [](const Tensor& y) { return pad(y, {-1, 2}); }) == "");
}

TEST_CASE("tril and triu") {
  const Tensor x = ones({3, 4}, {.dtype = i64});
  CHECK(unlike(tril(x, 1), {3, 4}, i64, {1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}) == "");
  CHECK(unlike(x.triu(-1), {3, 4}, i64, {1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1}) == "");
  CHECK(unlike(tril(counted({2, 2, 2}, f16)), {2, 2, 2}, f16, {0, 0, 2, 3, 4, 0, 6, 7}) == "");
  CHECK(unlike(triu(ones({2, 2}, {.dtype = bool_}), 1), {2, 2}, bool_, {0, 1, 0, 0}) == "");
  CHECK(unlike(tril(counted({2, 2}), -5), {2, 2}, f64, {0, 0, 0, 0}) == "");
  CHECK(unlike(tril(counted({2, 2}), std::numeric_limits<std::int64_t>::max()), {2, 2}, f64,
               {0, 1, 2, 3}) == "");
  CHECK(unlike(tril(zeros({0, 3})), {0, 3}, f32, {}) == "");
  // What is cut off does not count, whatever it is.
  const Tensor wild = full({2, 2}, std::numeric_limits<double>::quiet_NaN());
  CHECK(unlike(triu(tril(wild, -1)), {2, 2}, f32, {0, 0, 0, 0}) == "");
  CHECK(fault({3, 3}, [](const Tensor& y) { return tril(y, -1) + triu(y) * 2; }) == "");
}

TEST_CASE("diagonal, diag and diag_embed") {
  const Tensor x = counted({2, 3, 4});
  CHECK(unlike(diagonal(x, 1, 0, 2), {3, 2}, f64, {1, 14, 5, 18, 9, 22}) == "");
  CHECK(unlike(x.diagonal(-1, 1, 2), {2, 2}, f64, {4, 9, 16, 21}) == "");
  CHECK(unlike(diagonal(x, 7, 1, 2), {2, 0}, f64, {}) == "");
  CHECK(unlike(diagonal(transpose(counted({3, 2}), 0, 1), 1), {2}, f64, {2, 5}) == "");
  CHECK(unlike(diagonal(zeros({0, 3})), {0}, f32, {}) == "");
  CHECK(unlike(diag_embed(counted({2, 2}, i64) + 1, 1, 0, 2), {3, 2, 3}, i64,
               {0, 1, 0, 0, 3, 0, 0, 0, 2, 0, 0, 4, 0, 0, 0, 0, 0, 0}) == "");
  CHECK(unlike(diag(tensor({1, 2}), -1), {3, 3}, i64, {0, 0, 0, 1, 0, 0, 0, 2, 0}) == "");
  CHECK(unlike(tensor({1, 2}).diag(), {2, 2}, i64, {1, 0, 0, 2}) == "");
  CHECK(unlike(diag(counted({2, 3}), 1), {2}, f64, {1, 5}) == "");
  CHECK(unlike(diag_embed(zeros({0})), {0, 0}, f32, {}) == "");
  CHECK(unlike(diag_embed(ones({1}, {.dtype = bool_}), 1), {2, 2}, bool_, {0, 1, 0, 0}) == "");
  CHECK(fault({2, 3, 3}, [](const Tensor& y) { return diagonal(y, -1, 2, 1); }) == "");
  CHECK(fault({2, 2}, [](const Tensor& y) { return diag_embed(y, 1); }) == "");
  CHECK(fault({3}, [](const Tensor& y) { return diag(y, -2); }) == "");
}

TEST_CASE("axes moved, split and turned") {
  const Tensor x = counted({2, 3, 4});
  CHECK(unlike(movedim(x, {0, 2}, {2, 0}), {4, 3, 2}, f64,
               {0, 12, 4, 16, 8,  20, 1, 13, 5, 17, 9,  21,
                2, 14, 6, 18, 10, 22, 3, 15, 7, 19, 11, 23}) == "");
  CHECK(x.movedim(0, -1).shape() == Shape({3, 4, 2}));
  CHECK(x.swapaxes(0, 2).shape() == Shape({4, 3, 2}));
  CHECK(x.unflatten(2, {2, -1}).shape() == Shape({2, 3, 2, 2}));
  CHECK(unflatten(zeros({0, 2}), 0, {0, 3}).shape() == Shape({0, 3, 2}));
  CHECK(unlike(x.narrow(1, -2, 1).reshape(-1), {8}, f64, {4, 5, 6, 7, 16, 17, 18, 19}) == "");
  const Tensor m = counted({2, 3}, i64);
  CHECK(unlike(rot90(m), {3, 2}, i64, {2, 5, 1, 4, 0, 3}) == "");
  CHECK(unlike(m.rot90(2), {2, 3}, i64, {5, 4, 3, 2, 1, 0}) == "");
  CHECK(unlike(rot90(m, -1), {3, 2}, i64, {3, 0, 4, 1, 5, 2}) == "");
  CHECK(unlike(rot90(m, 3), {3, 2}, i64, {3, 0, 4, 1, 5, 2}) == "");
  CHECK(rot90(m, 4).ref() == m.ref());
  const std::vector<Tensor> rows = m.unbind(), columns = unbind(m, 1);
  REQUIRE(rows.size() == 2);
  REQUIRE(columns.size() == 3);
  CHECK(unlike(rows[1], {3}, i64, {3, 4, 5}) == "");
  CHECK(unlike(columns[2], {2}, i64, {2, 5}) == "");
  CHECK(unbind(zeros({0, 2})).empty());
  const std::vector<Tensor> three = tensor_split(counted({7}, i64), 3);
  REQUIRE(three.size() == 3);
  CHECK(unlike(three[0], {3}, i64, {0, 1, 2}) == "");
  CHECK(unlike(three[2], {2}, i64, {5, 6}) == "");
  const std::vector<Tensor> cut = counted({7}, i64).tensor_split({2, -1, 9});
  REQUIRE(cut.size() == 4);
  CHECK(unlike(cut[1], {4}, i64, {2, 3, 4, 5}) == "");
  CHECK(unlike(cut[2], {1}, i64, {6}) == "");
  CHECK(unlike(cut[3], {0}, i64, {}) == "");
  CHECK(m.split(2, 1).size() == 2);
  CHECK(m.chunk(2).size() == 2);
  CHECK(fault({2, 3}, [](const Tensor& y) { return rot90(y) * cat(unbind(y, 0)).sum(); }) == "");
}

TEST_CASE("grids, labels and stacks") {
  const std::vector<Tensor> xy = meshgrid({tensor({1, 2, 3}), tensor({4, 5})}, "xy");
  CHECK(unlike(xy[0], {2, 3}, i64, {1, 2, 3, 1, 2, 3}) == "");
  CHECK(unlike(xy[1], {2, 3}, i64, {4, 4, 4, 5, 5, 5}) == "");
  const std::vector<Tensor> ij = meshgrid({tensor({1, 2, 3}), tensor(4)});
  CHECK(unlike(ij[1], {3, 1}, i64, {4, 4, 4}) == "");
  CHECK(unlike(one_hot(tensor({2, 0}), 3), {2, 3}, i64, {0, 0, 1, 1, 0, 0}) == "");
  CHECK(unlike(one_hot(tensor({{1}, {0}}).to(i32)), {2, 1, 2}, i64, {0, 1, 1, 0}) == "");
  CHECK(unlike(one_hot(tensor(1), 2), {2}, i64, {0, 1}) == "");
  CHECK(unlike(one_hot(zeros({0}, {.dtype = i64}), 3), {0, 3}, i64, {}) == "");
  CHECK_THROWS_AS(one_hot(tensor({0, 3}), 3).wait(), IndexError);
  CHECK_THROWS_AS(one_hot(tensor({0, -1})).wait(), IndexError);
  CHECK(atleast_1d(tensor(1)).shape() == Shape({1}));
  CHECK(atleast_2d(tensor({1, 2})).shape() == Shape({1, 2}));
  CHECK(atleast_3d(tensor({1, 2})).shape() == Shape({1, 2, 1}));
  CHECK(atleast_3d(ones({2, 3})).shape() == Shape({2, 3, 1}));
  const Tensor a = tensor({1, 2}), b = tensor({3, 4});
  CHECK(unlike(hstack({a, b}), {4}, i64, {1, 2, 3, 4}) == "");
  CHECK(unlike(hstack({a.reshape({2, 1}), b.reshape({2, 1})}), {2, 2}, i64, {1, 3, 2, 4}) == "");
  CHECK(unlike(vstack({a, b}), {2, 2}, i64, {1, 2, 3, 4}) == "");
  CHECK(unlike(column_stack({a, b}), {2, 2}, i64, {1, 3, 2, 4}) == "");
  CHECK(unlike(dstack({a, b}), {1, 2, 2}, i64, {1, 3, 2, 4}) == "");
}

TEST_CASE("composites plan as few kernels") {
  const Tensor x = counted({4, 4}, f32);
  eval(x);
  const auto kernels = [](const Tensor& y) { return make_plan({y}).count(StepKind::kernel); };
  CHECK(kernels(roll(x, 1, 0)) == 1);
  CHECK(kernels(pad(x, {1, 1, 1, 1}, {.mode = PadMode::reflect})) == 2);  // one for each axis
  CHECK(kernels(pad(x, {1, 1, 1, 1})) == 3);                              // and the value
  CHECK(kernels(exp(tril(x * 2, 1))) == 3);  // numbers of rows, of columns, and the rest
  CHECK(kernels(diag_embed(x[0])) == 3);
  CHECK(kernels(diagonal(x) * 2) == 1);
  CHECK(kernels(rot90(x) + 1) == 1);
  CHECK(kernels(var(x)) == 4);
  const Plan product = make_plan({einsum("ij,kj->ik", {x, x})});
  CHECK(product.steps().size() == 1);
}
