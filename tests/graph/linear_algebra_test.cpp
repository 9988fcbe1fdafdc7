// Products and Einstein's sums; the expected values are PyTorch's.
#include "graph/composites.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

std::string fault(const std::vector<Shape>& shapes, const Function& f) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes)
    inputs.push_back(varied(shape, static_cast<int>(inputs.size()) + 1));
  return second_order_fault(f, inputs);
}

/// einsum of whole numbers without pattern.
Tensor summed(const char* equation, const std::vector<Shape>& shapes) {
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes) inputs.push_back(mixed(shape, static_cast<int>(inputs.size())));
  return einsum(equation, inputs);
}

}  // namespace

TEST_CASE("products of vectors and matrices") {
  const Tensor a = tensor({1, 2, 3}), b = tensor({4, 5, 6});
  CHECK(unlike(dot(a, b), {}, i64, {32}) == "");
  CHECK(unlike(outer(tensor({1, 2}), b), {2, 3}, i64, {4, 5, 6, 8, 10, 12}) == "");
  CHECK(unlike(tensor({{1, 2, 3}}).mv(b), {1}, i64, {32}) == "");
  CHECK(unlike(tensor({{1, 2}}).mm(tensor({{3}, {4}})), {1, 1}, i64, {11}) == "");
  CHECK(unlike(bmm(ones({2, 1, 3}), ones({2, 3, 1})), {2, 1, 1}, f32, {3, 3}) == "");
  CHECK(unlike(addmm(tensor({1, 1}), tensor({{1, 2}}), tensor({{1, 2}, {3, 4}}), 2, 3), {1, 2}, i64,
               {23, 32}) == "");
  CHECK(unlike(dot(zeros({0}), zeros({0})), {}, f32, {0}) == "");
  CHECK(unlike(outer(zeros({0}), ones({2})), {0, 2}, f32, {}) == "");
  CHECK(fault({{3}, {3}}, [](const std::vector<Tensor>& x) {
          return dot(x[0], x[1]) * outer(x[0], x[1]);
        }) == "");
}

TEST_CASE("kron, cross, trace and powers") {
  CHECK(unlike(kron(tensor({{1, 2}, {3, 4}}), tensor({5, 6})), {2, 4}, i64,
               {5, 6, 10, 12, 15, 18, 20, 24}) == "");
  CHECK(unlike(kron(tensor(2), tensor({5, 6})), {2}, i64, {10, 12}) == "");
  CHECK(unlike(cross(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}), tensor({{7.0, -8.0, 9.0}})),
               {2, 3}, f32, {42, 12, -22, 93, 6, -67}) == "");
  CHECK(unlike(tensor({1, 0, 0}).cross(tensor({0, 1, 0})), {3}, i64, {0, 0, 1}) == "");
  CHECK(unlike(cross(tensor({{1}, {0}, {0}}), tensor({{0}, {1}, {0}}), 0), {3, 1}, i64,
               {0, 0, 1}) == "");
  CHECK(unlike(trace(counted({2, 3})), {}, f64, {4}) == "");
  CHECK(unlike(counted({2, 2}, i32).trace(), {}, i64, {3}) == "");
  CHECK(unlike(matrix_power(tensor({{1, 1}, {1, 0}}), 10), {2, 2}, i64, {89, 55, 55, 34}) == "");
  CHECK(unlike(matrix_power(tensor({{1, 1}, {1, 0}}), 1), {2, 2}, i64, {1, 1, 1, 0}) == "");
  CHECK(unlike(matrix_power(ones({2, 2, 2}), 0), {2, 2, 2}, f32, {1, 0, 0, 1, 1, 0, 0, 1}) == "");
  CHECK(fault({{2, 2}, {2}}, [](const std::vector<Tensor>& x) { return kron(x[0], x[1]); }) == "");
  CHECK(fault({{2, 3}, {3}}, [](const std::vector<Tensor>& x) { return cross(x[0], x[1]); }) == "");
  CHECK(fault({{3, 3}},
              [](const std::vector<Tensor>& x) { return trace(matrix_power(x[0], 3)); }) == "");
}

TEST_CASE("tensordot") {
  CHECK(unlike(tensordot(mixed({2, 3, 4}, 0), mixed({4, 3, 2}, 1), {1, 2}, {1, 0}), {2, 2}, f64,
               {-1, -25, 51, 21}) == "");
  CHECK(unlike(tensordot(mixed({2, 3, 4}, 0), mixed({3, 4, 2}, 1)), {2, 2}, f64,
               {21, -25, 51, -1}) == "");
  CHECK(unlike(tensordot(tensor({1, 2}), tensor({3, 4}), 0), {2, 2}, i64, {3, 4, 6, 8}) == "");
  CHECK(unlike(tensordot(tensor({1, 2}), tensor({3, 4}).to(i32), 1), {}, i64, {11}) == "");
  CHECK(fault({{2, 3}, {3, 2}}, [](const std::vector<Tensor>& x) {
          return tensordot(x[0], x[1], {0, 1}, {1, 0}) * tensordot(x[0], x[1], 1);
        }) == "");
}

TEST_CASE("einsum: one operand") {
  CHECK(unlike(summed("ij->ji", {{2, 3}}), {3, 2}, f64, {-5, 5, 2, 1, -2, -3}) == "");
  CHECK(unlike(summed("ba", {{2, 3}}), {3, 2}, f64, {-5, 5, 2, 1, -2, -3}) == "");
  CHECK(unlike(summed("ii", {{3, 3}}), {}, f64, {-8}) == "");
  CHECK(unlike(summed("ii->i", {{3, 3}}), {3}, f64, {-5, 1, -4}) == "");
  CHECK(unlike(summed("iji->j", {{2, 3, 2}}), {3}, f64, {-5, 1, -4}) == "");
  CHECK(unlike(summed("iijj->ij", {{2, 2, 3, 3}}), {2, 3}, f64, {-5, 1, -4, -3, 3, -2}) == "");
  CHECK(unlike(summed("i...->...", {{2, 3, 2}}), {3, 2}, f64, {-1, 2, -6, 8, 0, -8}) == "");
  CHECK(unlike(einsum("iii->i", counted({2, 2, 2})), {2}, f64, {0, 7}) == "");
  CHECK(unlike(einsum(" i j -> i ", tensor({{1, 2}, {3, 4}}).to(i8)), {2}, i8, {3, 7}) == "");
  CHECK(unlike(einsum("", tensor(3)), {}, i64, {3}) == "");
  CHECK(unlike(einsum("...->", counted({2, 2})), {}, f64, {6}) == "");
  CHECK(unlike(einsum("i->", zeros({0})), {}, f32, {0}) == "");
}

TEST_CASE("einsum: two operands") {
  CHECK(unlike(summed("ij,jk->ik", {{2, 3}, {3, 2}}), {2, 2}, f64, {4, -31, -21, 22}) == "");
  CHECK(unlike(summed("ij,jk", {{2, 3}, {3, 2}}), {2, 2}, f64, {4, -31, -21, 22}) == "");
  CHECK(unlike(summed("i,j", {{2}, {3}}), {2, 3}, f64, {10, -25, -5, -4, 10, 2}) == "");
  CHECK(unlike(summed("bij,bjk->bik", {{2, 2, 3}, {2, 3, 2}}), {2, 2, 2}, f64,
               {4, -31, -21, 22, -24, 20, -21, 24}) == "");
  CHECK(unlike(summed("...ij,...jk", {{2, 2, 3}, {3, 2}}), {2, 2, 2}, f64,
               {4, -31, -21, 22, -24, 20, -27, 18}) == "");
  CHECK(unlike(summed("ij,ij->", {{2, 3}, {2, 3}}), {}, f64, {7}) == "");
  CHECK(unlike(summed("ijk,jil->kl", {{2, 3, 2}, {3, 2, 2}}), {2, 2}, f64, {19, -52, -3, 44}) ==
        "");
  CHECK(unlike(summed("b...i,...i->b...", {{2, 3, 4}, {3, 4}}), {2, 3}, f64,
               {3, -12, -3, -12, -24, -12}) == "");
  CHECK(unlike(summed("ij,kj->ik", {{2, 3}, {2, 3}}), {2, 2}, f64, {18, 23, -8, -11}) == "");
  CHECK(unlike(summed("ij,jk->ik", {{2, 1}, {3, 2}}), {2, 2}, f64, {-15, -10, 6, 4}) == "");
  CHECK(unlike(summed("Ab,bA->", {{2, 3}, {3, 2}}), {}, f64, {26}) == "");
  CHECK(unlike(summed("bhqd,bhkd->bhqk", {{1, 2, 2, 3}, {1, 2, 2, 3}}), {1, 2, 2, 2}, f64,
               {18, 23, -8, -11, -12, -12, -10, -7}) == "");
  CHECK(unlike(einsum("i,i->i", {tensor({1, 2}), tensor({3, 4})}), {2}, i64, {3, 8}) == "");
  CHECK(unlike(einsum("ij,jk->ik", {zeros({2, 0}), zeros({0, 2})}), {2, 2}, f32, {0, 0, 0, 0}) ==
        "");
  CHECK(unlike(einsum("i,->i", {tensor({1, 2}).to(i32), tensor(2.5)}), {2}, f32, {2.5, 5}) == "");
  CHECK(unlike(einsum("i,i", {tensor({100, 100}).to(u8), tensor({2, 2}).to(u8)}), {}, u8, {144}) ==
        "");
}

TEST_CASE("einsum: several operands, in pairs by their cost") {
  CHECK(unlike(summed("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 2}}), {2, 2}, f64, {3, -236, 183, 24}) ==
        "");
  CHECK(unlike(summed("bn,anm,bm->ba", {{2, 3}, {4, 3, 2}, {2, 2}}), {2, 4}, f64,
               {97, 77, -64, -18, -84, -108, 88, 64}) == "");
  // From the left these would make a product of 1000 times 1000.
  const Tensor column = ones({1000, 1}), row = ones({1, 1000}), vector = ones({1000, 1});
  const Tensor chain = einsum("ij,jk,kl->il", {column, row, vector});
  CHECK(chain.sum().item<double>() == 1e6);
  CHECK(make_plan({chain}).peak_bytes(Device::cpu()) < 100000);
  // Eight axes in pairs, more in all.
  std::vector<Tensor> many(5, ones({2, 2}));
  CHECK(einsum("ab,bc,cd,de,ef->af", many).to_vector<int>() == std::vector<int>{16, 16, 16, 16});
}

TEST_CASE("einsum: gradients") {
  const auto of = [](const char* equation) {
    return [equation](const std::vector<Tensor>& x) { return einsum(equation, x); };
  };
  CHECK(fault({{2, 3}, {3, 2}}, of("ij,jk->ki")) == "");
  CHECK(fault({{3, 3}}, [](const std::vector<Tensor>& x) { return einsum("ii", square(x[0])); }) ==
        "");
  CHECK(fault({{2, 2, 3}, {3, 2}}, of("b...i,i...->b")) == "");
  CHECK(fault({{2, 1}, {3, 2}}, of("ij,jk->ik")) == "");
  CHECK(fault({{2, 3}, {3, 2}, {2, 2}}, of("ij,jk,kl->li")) == "");
}
