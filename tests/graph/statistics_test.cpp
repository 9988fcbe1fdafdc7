// Spread, norms and counts; the expected values are PyTorch's, or worked out by hand.
#include <limits>

#include "graph/composites.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor sample() { return tensor({{1.5, -2.0, 4.0, 0.25}, {3.0, 7.0, -1.0, 2.0}}, {.dtype = f64}); }

std::string fault(const Shape& shape, const std::function<Tensor(const Tensor&)>& f) {
  return second_order_fault([&](const std::vector<Tensor>& x) { return f(x[0]); },
                            {varied(shape, 1)});
}

}  // namespace

TEST_CASE("var and stddev: the correction comes last") {
  const Tensor x = sample();
  CHECK(unlike(var(x, 1), {2}, f64, {6.265625, 10.916666666666666}, 1e-15) == "");
  CHECK(unlike(x.var(1, keepdim), {2, 1}, f64, {6.265625, 10.916666666666666}, 1e-15) == "");
  CHECK(unlike(var(x, 1, false, 0), {2}, f64, {4.69921875, 8.1875}, 1e-15) == "");
  CHECK(unlike(var(x, 1, false, 2), {2}, f64, {9.3984375, 16.375}, 1e-15) == "");
  CHECK(unlike(stddev(x), {}, f64, {2.881398160119989}, 1e-15) == "");
  CHECK(unlike(x.stddev({0, 1}, keepdim, 1), {1, 1}, f64, {2.881398160119989}, 1e-15) == "");
  // No degree of freedom is left.
  CHECK(unlike(var(x, 1, false, 4), {2}, f64, {infinity, infinity}) == "");
  CHECK(unlike(var(x, 1, false, 5), {2}, f64, {infinity, infinity}) == "");
  CHECK(std::isnan(var(tensor({3.0})).item<double>()));
  CHECK(std::isnan(var(tensor(3.0)).item<double>()));
  CHECK(std::isnan(var(zeros({0})).item<double>()));
  CHECK(var(tensor(3.0), {}, false, 0).item<double>() == 0);
  CHECK(unlike(var(zeros({0, 2}), 1), {0}, f32, {}) == "");
  CHECK(std::isnan(var(tensor({infinity, 1.0})).item<double>()));
}

TEST_CASE("var: two passes keep the digits that a difference of squares would lose") {
  const Tensor far = tensor({100000.0, 100001.0, 100002.0}, {.dtype = f32});
  CHECK(var(far).item<double>() == 1);
  CHECK(var(tensor({1e8, 1e8 + 1, 1e8 + 2}, {.dtype = f64})).item<double>() == 1);
  // In halves the sums are made as f32: 2049 has no f16.
  CHECK(var(tensor({2048.0, 2046.0}, {.dtype = f16}), {}, false, 0).item<double>() == 1);
  CHECK(var(full({4096}, 2.0, {.dtype = bf16})).dtype() == bf16);
  CHECK(var(full({4096}, 2.0, {.dtype = bf16})).item<double>() == 0);
}

TEST_CASE("var, stddev and norm: gradients") {
  CHECK(fault({3, 4}, [](const Tensor& x) { return var(x, 0); }) == "");
  CHECK(fault({3, 4}, [](const Tensor& x) { return var(x, {0, 1}, keepdim, 0); }) == "");
  CHECK(fault({3, 4}, [](const Tensor& x) { return stddev(x, 1); }) == "");
  CHECK(fault({3, 4}, [](const Tensor& x) { return norm(x, 1); }) == "");
  CHECK(fault({5}, [](const Tensor& x) { return norm(x); }) == "");
  // Where all are equal, or 0: PyTorch's subgradient.
  const Variable same = variable(full({3}, 2.0, {.dtype = f64}));
  CHECK(values(grad(stddev(same), same)) == Values{0, 0, 0});
  const Variable none = variable(zeros({2, 2}));
  CHECK(values(grad(sum(norm(none, 1)), none)) == Values{0, 0, 0, 0});
  CHECK(values(grad(sum(grad(norm(none), none)), none)) == Values{0, 0, 0, 0});
}

TEST_CASE("norm") {
  CHECK(norm(tensor({3.0, 4.0})).item<double>() == 5);
  CHECK(unlike(sample().norm(0), {4}, f64,
               {3.3541019662496847, 7.280109889280518, 4.123105625617661, 2.0155644370746373},
               1e-15) == "");
  CHECK(unlike(norm(sample(), {0, -1}, keepdim), {1, 1}, f64, {std::sqrt(85.3125)}, 1e-14) == "");
  CHECK(norm(zeros({0})).item<double>() == 0);
  CHECK(norm(tensor({-2.0}).select(0, 0)).item<double>() == 2);
  CHECK(norm(tensor({-infinity, 1.0})).item<double>() == infinity);
  CHECK(std::isnan(norm(tensor({std::nan(""), 1.0})).item<double>()));
  // As f32 within, or 300 squared would be infinite.
  CHECK(unlike(norm(full({4}, 300.0, {.dtype = f16})), {}, f16, {600}) == "");
}

TEST_CASE("count_nonzero, nansum and nanmean") {
  const Tensor x = tensor({{0.0, -0.0, std::nan("")}, {1.0, infinity, -2.0}}, {.dtype = f64});
  CHECK(unlike(count_nonzero(x, 1), {2}, i64, {1, 3}) == "");
  CHECK(unlike(tensor({true, false, true}).count_nonzero(), {}, i64, {2}) == "");
  CHECK(unlike(count_nonzero(tensor({0, 3}).to(u8), 0, keepdim), {1}, i64, {1}) == "");
  const Tensor y = tensor({{1.0, std::nan(""), 2.0}, {std::nan(""), 4.0, -1.0}}, {.dtype = f64});
  CHECK(unlike(nansum(y, 0), {3}, f64, {1, 4, 1}) == "");
  CHECK(unlike(y.nanmean(1), {2}, f64, {1.5, 1.5}) == "");
  CHECK(unlike(nansum(tensor({1, 2})), {}, i64, {3}) == "");
  CHECK(std::isnan(nanmean(tensor({std::nan("")})).item<double>()));
  const Variable w = variable(y);
  CHECK(values(grad(sum(nanmean(w, 1)), w)) == Values{0.5, 0, 0.5, 0, 0.5, 0.5});
}

TEST_CASE("cov and corrcoef") {
  const Tensor x = sample();
  CHECK(unlike(cov(x), {2, 2}, f64,
               {6.265625, -7.770833333333333, -7.770833333333333, 10.916666666666666},
               1e-14) == "");
  CHECK(unlike(corrcoef(x), {2, 2}, f64, {1, -0.9395942931249127, -0.9395942931249127, 1}, 1e-14) ==
        "");
  CHECK(unlike(cov(x[0], 0), {}, f64, {4.69921875}, 1e-14) == "");
  CHECK(fault({2, 4}, [](const Tensor& y) { return cov(y); }) == "");
  CHECK(fault({3, 4}, [](const Tensor& y) { return corrcoef(y).index({0, slice(1, 3)}); }) == "");
}
