// Einstein's sums in their corners: the expected values are numpy.einsum's, of operands that count
// from 1.
#include <string>
#include <vector>

#include "graph/composites.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

std::vector<Tensor> operands(const std::vector<Shape>& shapes) {
  std::vector<Tensor> result;
  for (const Shape& shape : shapes) result.push_back(counted(shape) + 1);
  return result;
}

struct Sum {
  const char* equation;
  std::vector<Shape> shapes;
  Shape shape;
  Values wanted;
};

}  // namespace

TEST_CASE("einsum: repeated, broadcast, empty and implied axes") {
  const std::vector<Sum> sums{
      // clang-format off
      {"ii->i", {{3, 3}}, {3}, {1, 5, 9}},
      {"ii", {{3, 3}}, {}, {15}},
      {"iii->i", {{2, 2, 2}}, {2}, {1, 8}},
      {"...i,...i->...", {{2, 3}, {4, 2, 3}}, {4, 2}, {14, 77, 50, 167, 86, 257, 122, 347}},
      {"...i,...i->...", {{2, 3}, {3}}, {2}, {14, 32}},
      {"...,...", {{2, 3}, {3}}, {2, 3}, {1, 4, 9, 4, 10, 18}},
      {"...i,i...->...", {{2, 3}, {3, 2}}, {2}, {22, 64}},
      {"i...,i...->...", {{3, 2}, {3, 4, 2}}, {4, 2}, {113, 152, 131, 176, 149, 200, 167, 224}},
      {"ij,jk->ik", {{2, 1}, {3, 4}}, {2, 4}, {15, 18, 21, 24, 30, 36, 42, 48}},
      {"ij,jk->ik", {{2, 3}, {1, 4}}, {2, 4}, {6, 12, 18, 24, 15, 30, 45, 60}},
      {"i,i->", {{1}, {3}}, {}, {6}},
      {"i,i->i", {{1}, {3}}, {3}, {1, 2, 3}},
      {"i,i->i", {{3}, {1}}, {3}, {1, 2, 3}},
      {"ij,ij->ij", {{1, 3}, {2, 1}}, {2, 3}, {1, 2, 3, 2, 4, 6}},
      {"i,->i", {{3}, {}}, {3}, {1, 2, 3}},
      {",->", {{}, {}}, {}, {1}},
      {",", {{}, {}}, {}, {1}},
      {"->", {{}}, {}, {1}},
      {"", {{}}, {}, {1}},
      {",i", {{}, {3}}, {3}, {1, 2, 3}},
      {"i->", {{3}}, {}, {6}},
      {"i->i", {{3}}, {3}, {1, 2, 3}},
      {"i", {{3}}, {3}, {1, 2, 3}},
      {"ba", {{2, 3}}, {3, 2}, {1, 4, 2, 5, 3, 6}},
      {"ba->ab", {{2, 3}}, {3, 2}, {1, 4, 2, 5, 3, 6}},
      {"Ab,bC", {{2, 3}, {3, 2}}, {2, 2}, {22, 28, 49, 64}},
      {"bA,Ac", {{2, 3}, {3, 2}}, {2, 2}, {22, 28, 49, 64}},
      {"aB", {{2, 3}}, {3, 2}, {1, 4, 2, 5, 3, 6}},
      {"Ba", {{2, 3}}, {2, 3}, {1, 2, 3, 4, 5, 6}},
      {"zA,zb->Ab", {{2, 3}, {2, 2}}, {3, 2}, {13, 18, 17, 24, 21, 30}},
      {"ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}}, {2, 2}, {106, 156, 241, 354}},
      {"i,j,k->ijk", {{2}, {2}, {2}}, {2, 2, 2}, {1, 2, 2, 4, 2, 4, 4, 8}},
      {"i,i,i->", {{3}, {3}, {3}}, {}, {36}},
      {"ij,ij,ij->i", {{2, 2}, {2, 2}, {2, 2}}, {2}, {9, 91}},
      {"ab,bc,cd,de->ae", {{2, 2}, {2, 2}, {2, 2}, {2, 2}}, {2, 2}, {199, 290, 435, 634}},
      {"ij,jk->ik", {{2, 0}, {0, 3}}, {2, 3}, {0, 0, 0, 0, 0, 0}},
      {"i->", {{0}}, {}, {0}},
      {"ij->j", {{0, 3}}, {3}, {0, 0, 0}},
      {"ij,jk->ik", {{0, 2}, {2, 3}}, {0, 3}, {}},
      {"i,i->i", {{0}, {0}}, {0}, {}},
      {"i,i->i", {{0}, {1}}, {0}, {}},
      {" i j , j k -> i k ", {{2, 2}, {2, 2}}, {2, 2}, {7, 10, 15, 22}},
      {"ij, jk", {{2, 2}, {2, 2}}, {2, 2}, {7, 10, 15, 22}},
      {"i j", {{2, 2}}, {2, 2}, {1, 2, 3, 4}},
      {"ij-> ji", {{2, 2}}, {2, 2}, {1, 3, 2, 4}},
      {"...", {{2, 2}}, {2, 2}, {1, 2, 3, 4}},
      {"...->...", {{2, 2}}, {2, 2}, {1, 2, 3, 4}},
      {"...ij->...ji", {{2, 1, 2}}, {2, 2, 1}, {1, 2, 3, 4}},
      {"i...->...", {{2, 3}}, {3}, {5, 7, 9}},
      {"...ii->...i", {{2, 2, 2}}, {2, 2}, {1, 4, 5, 8}},
      {"i...j->ij...", {{2, 3, 2}}, {2, 2, 3}, {1, 3, 5, 2, 4, 6, 7, 9, 11, 8, 10, 12}},
      {"ij,", {{2, 2}, {}}, {2, 2}, {1, 2, 3, 4}},
      {"...i,...j->...ij", {{2, 2}, {2, 2}}, {2, 2, 2}, {1, 2, 2, 4, 9, 12, 12, 16}},
      {"...ab,...bc->...ac", {{2, 1, 2, 2}, {3, 2, 2}}, {2, 3, 2, 2}, {7, 10, 15, 22, 19, 22, 43, 50, 31, 34, 71, 78, 23, 34, 31, 46, 67, 78, 91, 106, 111, 122, 151, 166}},
      {"...,...->...", {{2, 1, 3}, {4, 1}}, {2, 4, 3}, {1, 2, 3, 2, 4, 6, 3, 6, 9, 4, 8, 12, 4, 5, 6, 8, 10, 12, 12, 15, 18, 16, 20, 24}},
      {"a...,b...->ab...", {{2, 3}, {2, 3}}, {2, 2, 3}, {1, 4, 9, 4, 10, 18, 4, 10, 18, 16, 25, 36}},
      {"...a,...a", {{2, 2}, {2, 2}}, {2}, {5, 25}},
      {"ij,kj->", {{2, 2}, {3, 2}}, {}, {108}},
      {"ij,kl->", {{2, 2}, {2, 2}}, {}, {100}},
      {"ij,i->", {{2, 3}, {2}}, {}, {36}},
      {"i...,j...->...", {{2, 2}, {3, 2}}, {2}, {36, 72}},
      {"ii,i->i", {{2, 2}, {2}}, {2}, {1, 8}},
      {"ii,jj->ij", {{2, 2}, {2, 2}}, {2, 2}, {1, 4, 4, 16}},
      {"ijj->i", {{2, 2, 2}}, {2}, {5, 13}},
      {"iji->j", {{2, 3, 2}}, {3}, {9, 13, 17}},
      {"ii,ii->", {{2, 2}, {2, 2}}, {}, {17}},
      {"a,a...->...", {{1}, {3, 2}}, {2}, {9, 12}},
      {"a,a->", {{0}, {0}}, {}, {0}},
      {",ij->ji", {{}, {2, 3}}, {3, 2}, {1, 4, 2, 5, 3, 6}},
      // clang-format on
  };
  for (const Sum& sum : sums) {
    INFO(sum.equation);
    CHECK(unlike(einsum(sum.equation, operands(sum.shapes)), sum.shape, f64, sum.wanted) == "");
  }
}

TEST_CASE("einsum: what numpy.einsum refuses") {
  struct Wrong {
    const char* equation;
    std::vector<Shape> shapes;
  };
  const std::vector<Wrong> all{
      // clang-format off
      {"ij->ii", {{2, 2}}},
      {"ii->ii", {{2, 2}}},
      {"ii->i", {{1, 3}}},
      {"ii", {{3, 1}}},
      {"ij->k", {{2, 3}}},
      {"ij->ijk", {{2, 3}}},
      {"..ij", {{2, 2}}},
      {"....ij", {{2, 2}}},
      {"i.j", {{2, 2}}},
      {"...i...", {{2, 2}}},
      {"ij,jk->ik->", {{2, 2}, {2, 2}}},
      {"ij->-", {{2, 2}}},
      {"i1", {{2, 2}}},
      {"ij,", {{2, 2}}},
      {"ij", {{2, 2}, {2, 2}}},
      {"ij,jk", {{2, 2}}},
      {"ijk", {{2, 2}}},
      {"i", {{2, 2}}},
      {"ij,jk", {{2, 3}, {2, 3}}},
      {"i>j", {{2, 2}}},
      {"i-j", {{2, 2}}},
      // clang-format on
  };
  for (const Wrong& wrong : all) {
    INFO(wrong.equation);
    CHECK_THROWS_AS(einsum(wrong.equation, operands(wrong.shapes)), Error);
  }
}

TEST_CASE("einsum: axes of \"...\" that the output leaves out are summed, as in PyTorch") {
  CHECK(unlike(einsum("...i->i", operands({{2, 3}})), {3}, f64, {5, 7, 9}) == "");
  CHECK(unlike(einsum("...->", operands({{2, 2}})), {}, f64, {10}) == "");
  CHECK(unlike(einsum("...i,j->j", operands({{2, 2}, {3}})), {3}, f64, {10, 20, 30}) == "");
}

TEST_CASE("einsum: gradients through repeated and broadcast axes") {
  for (const char* equation :
       {"ii,i->i", "iij->j", "i,i->", "...i,i...->...", ",i->i", "ij,kl->"}) {
    INFO(equation);
    const std::string text = equation;
    const std::vector<Tensor> inputs =
        text == "ii,i->i"   ? std::vector{varied({3, 3}, 1), varied({3}, 2)}
        : text == "iij->j"  ? std::vector{varied({2, 2, 3}, 1)}
        : text == "i,i->"   ? std::vector{varied({1}, 1), varied({3}, 2)}
        : text == ",i->i"   ? std::vector{varied({}, 1), varied({3}, 2)}
        : text == "ij,kl->" ? std::vector{varied({2, 2}, 1), varied({1, 3}, 2)}
                            : std::vector{varied({2, 3}, 1), varied({3, 2}, 2)};
    const Function f = [&](const std::vector<Tensor>& in) { return square(einsum(text, in)); };
    CHECK(second_order_fault(f, inputs) == "");
  }
}
