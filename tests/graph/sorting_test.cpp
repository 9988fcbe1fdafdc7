// Scans, orders and counts: values worked out by hand, gradients.
#include <cmath>
#include <limits>

#include <weft/weft.h>

#include "gradcheck.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

using Inputs = std::vector<Tensor>;
using Whole = std::vector<std::int64_t>;

constexpr double infinity = std::numeric_limits<double>::infinity();
const double no_number = std::nan("");

Whole whole(const Tensor& x) { return x.to_vector<std::int64_t>(); }

/// Equal, where NaN equals NaN.
bool same(const Values& got, const Values& want) {
  if (got.size() != want.size()) return false;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != want[i] && !(std::isnan(got[i]) && std::isnan(want[i]))) return false;
  return true;
}

}  // namespace

TEST_CASE("scans by hand") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  CHECK(whole(cumsum(x, 0)) == Whole{1, 2, 3, 5, 7, 9});
  CHECK(whole(x.cumsum(-1)) == Whole{1, 3, 6, 4, 9, 15});
  CHECK(whole(x.cumprod(1)) == Whole{1, 2, 6, 4, 20, 120});
  CHECK(cumsum(tensor({true, true, false, true}), 0).dtype() == i64);
  CHECK(whole(cumsum(tensor({true, true, false, true}), 0)) == Whole{1, 2, 2, 3});
  CHECK(whole(cumsum(tensor({100, 100}).to(i8), 0)) == Whole{100, 200});
  CHECK(cumsum(tensor({1.0, 2.0}).to(f16), 0).dtype() == f16);
  CHECK(cumsum(tensor(3), 0).shape() == Shape{});
  CHECK(cumprod(zeros({0, 3}), 0).shape() == Shape({0, 3}));
  // Halves add up as f32: 2048 + 1 would be lost.
  CHECK(values(cumsum(tensor({2048.0, 1.0, 1.0}).to(f16), 0)) == Values{2048, 2048, 2050});
  // One by one, these would stop at 2^24.
  CHECK(cumsum(ones({1 << 25}), 0).index({-1}).item<float>() == 33554432.0f);

  const auto [greatest, at] = tensor({1.0, 3.0, 3.0, no_number, 5.0, no_number}).cummax(0);
  CHECK(same(values(greatest), {1, 3, 3, no_number, no_number, no_number}));
  CHECK(whole(at) == Whole{0, 1, 2, 3, 3, 5});
  const auto [least, least_at] = cummin(tensor({3, 1, 2, 1, 0}), 0);
  CHECK(whole(least) == Whole{3, 1, 1, 1, 0});
  CHECK(whole(least_at) == Whole{0, 1, 1, 3, 4});
  CHECK(whole(cummax(tensor({false, true, false}), 0).second) == Whole{0, 1, 1});

  const Values sums = values(logcumsumexp(of({0, 1000, 1000, -infinity, infinity}), 0));
  CHECK(is_near({sums.begin(), sums.begin() + 4},
                {0, 1000, 1000 + std::log(2.0), 1000 + std::log(2.0)}));
  CHECK(sums[4] == infinity);
  CHECK(values(logcumsumexp(of({-infinity, -infinity}), 0)) == Values{-infinity, -infinity});
  CHECK(logcumsumexp(tensor({1, 2}), 0).dtype() == f32);
}

TEST_CASE("orders by hand") {
  const Tensor x = tensor({{3.0, no_number, 1.0}, {2.0, 2.0, -infinity}});
  const auto [up, up_at] = sort(x, 1);
  CHECK(same(values(up), {1, 3, no_number, -infinity, 2, 2}));
  CHECK(whole(up_at) == Whole{2, 0, 1, 2, 0, 1});
  const auto [down, down_at] = x.sort(1, true);
  CHECK(same(values(down), {no_number, 3, 1, 2, 2, -infinity}));
  CHECK(whole(down_at) == Whole{1, 0, 2, 0, 1, 2});
  CHECK(whole(x.argsort(0)) == Whole{1, 1, 1, 0, 0, 0});
  CHECK(whole(msort(tensor({{3, 1}, {2, 5}}))) == Whole{2, 1, 3, 5});
  // Zeros of both signs are equal, and stay in their order.
  CHECK(whole(argsort(tensor({0.0, -0.0, 0.0, -1.0}))) == Whole{3, 0, 1, 2});
  CHECK(whole(argsort(tensor({true, false, true, false}), 0, true)) == Whole{0, 2, 1, 3});
  CHECK(sort(tensor(5)).second.shape() == Shape{});
  CHECK(sort(zeros({2, 0}), 1).first.shape() == Shape({2, 0}));

  const auto [kth, kth_at] = tensor({{4, 1, 3}, {9, 8, 8}}).kthvalue(2, 1);
  CHECK(whole(kth) == Whole{3, 8});
  CHECK(whole(kth_at) == Whole{2, 2});
  CHECK(kthvalue(tensor({{4, 1, 3}}), 1, 1, keepdim).first.shape() == Shape({1, 1}));
  CHECK(tensor({4, 1, 3, 2}).median().item<int>() == 2);
  CHECK(median(tensor({5.0})).item<double>() == 5);
  const auto [middle, middle_at] =
      median(tensor({{4.0, 1.0, 3.0}, {no_number, 8.0, no_number}}), 1);
  CHECK(same(values(middle), {3, no_number}));
  CHECK(whole(middle_at) == Whole{2, 0});
  CHECK(median(tensor({{4.0, 1.0}}), 1, keepdim).second.shape() == Shape({1, 1}));
  CHECK(median(tensor(7.0), 0).first.item<double>() == 7);
}

TEST_CASE("searches by hand") {
  const Tensor line = tensor({1, 3, 3, 7});
  const Tensor x = tensor({{0, 1}, {3, 9}});
  CHECK(whole(searchsorted(line, x)) == Whole{0, 0, 1, 4});
  CHECK(whole(searchsorted(line, x, true)) == Whole{0, 1, 3, 4});
  CHECK(searchsorted(line, x).shape() == Shape({2, 2}));
  CHECK(whole(searchsorted(line, tensor({2.5, no_number}))) == Whole{1, 4});
  CHECK(whole(searchsorted(tensor({{1, 2}, {3, 4}}), tensor({{2, 3, 0}, {2, 3, 9}}))) ==
        Whole{1, 2, 0, 0, 0, 2});
  CHECK(whole(x.bucketize(line, true)) == Whole{0, 1, 3, 4});
  CHECK(searchsorted(line, tensor(4)).shape() == Shape{});
  CHECK(whole(searchsorted(zeros({0}), tensor({1.0}))) == Whole{0});
  CHECK(searchsorted(line, zeros({0, 2})).shape() == Shape({0, 2}));
  CHECK(whole(isin(x, tensor({{3, 0}}))) == Whole{1, 0, 1, 0});
  CHECK(whole(isin(tensor({no_number, 1.0}), tensor({no_number, 1.0}))) == Whole{0, 1});
  CHECK(whole(x.isin(zeros({0}))) == Whole{0, 0, 0, 0});
  CHECK(isin(zeros({0, 2}), x).shape() == Shape({0, 2}));
}

TEST_CASE("a search counts what is less") {
  Generator generator(3);
  const Tensor line = sort(randint(0, 50, {70}, generator)).first;
  const Tensor x = randint(-5, 60, {90}, generator), each = unsqueeze(x, 1);
  CHECK(equal(searchsorted(line, x), sum(line < each, 1)));
  CHECK(equal(searchsorted(line, x, true), sum(line <= each, 1)));
  CHECK(equal(isin(x, line), any(line == each, 1)));
  const UniqueResult all = unique(x, {.return_inverse = true, .return_counts = true});
  CHECK(equal(gather(all.values, 0, all.inverse), x));
  CHECK(equal(all.counts, sum(unsqueeze(all.values, 1) == x, 1)));
  CHECK(equal(gather(bincount(x + 5), 0, all.values + 5), all.counts));
}

TEST_CASE("sets and counts by hand") {
  const Tensor x = tensor({{3, 1, 3}, {2, 1, 3}});
  const UniqueResult all = x.unique({.return_inverse = true, .return_counts = true});
  CHECK(whole(all.values) == Whole{1, 2, 3});
  CHECK(whole(all.inverse) == Whole{2, 0, 2, 1, 0, 2});
  CHECK(all.inverse.shape() == x.shape());
  CHECK(whole(all.counts) == Whole{2, 1, 3});
  CHECK_FALSE(x.unique().inverse.defined());
  CHECK_FALSE(unique(x).counts.defined());
  CHECK(
      same(values(unique(tensor({no_number, 1.0, no_number})).values), {1, no_number, no_number}));
  CHECK(whole(unique(tensor({true, false, true})).values) == Whole{0, 1});
  CHECK(whole(unique(tensor(4), {.return_inverse = true}).inverse) == Whole{0});
  CHECK(unique(zeros({0, 2}), {.return_inverse = true}).inverse.shape() == Shape({0, 2}));

  CHECK(whole(bincount(tensor({1, 3, 1}))) == Whole{0, 2, 0, 1});
  CHECK(whole(bincount(tensor({1, 3, 1}).to(u8), {.minlength = 6})) == Whole{0, 2, 0, 1, 0, 0});
  const Tensor weighted = bincount(tensor({1, 0, 1}), {.weights = tensor({0.5, 2.0, 1.0})});
  CHECK(values(weighted) == Values{2, 1.5});
  CHECK(weighted.dtype() == f32);
  CHECK(bincount(tensor({1}), {.weights = tensor({2})}).dtype() == f64);
  CHECK(bincount(zeros({0}, {.dtype = i64})).shape() == Shape({0}));

  const Tensor y = tensor({0.0, 0.5, 1.0, 1.5, 2.0, -0.1, 2.1, no_number});
  const auto [counts, edges] = histogram(y, 2, {.low = 0, .high = 2});
  CHECK(whole(counts) == Whole{2, 3});
  CHECK(values(edges) == Values{0, 1, 2});
  CHECK(whole(histogram(tensor({1, 2, 3, 4}), 3).first) == Whole{1, 1, 2});
  CHECK(values(histogram(tensor({7, 7}), 1).second) == Values{6.5, 7.5});
  CHECK(values(histogram(zeros({0}), 2).second) == Values{0, 0.5, 1});
  const Tensor weights = of({1, 2, 4, 8, 16, 32, 64, 128});
  CHECK(values(histogram(y, 2, {.low = 0, .high = 2, .weights = weights}).first) == Values{3, 28});
}

TEST_CASE("gradients of scans and orders") {
  const Tensor x = varied({3, 5}, 1);
  const Function f[] = {
      [](const Inputs& in) { return square(cumsum(in[0], 1)); },
      [](const Inputs& in) { return square(cumsum(in[0], 0)); },
      [](const Inputs& in) { return cumprod(in[0], 1); },
      [](const Inputs& in) { return square(cumprod(in[0], 0)); },
      [](const Inputs& in) { return logcumsumexp(in[0], 1); },
      [](const Inputs& in) { return square(cummax(in[0], 1).first); },
      [](const Inputs& in) { return square(cummin(in[0], 0).first); },
      [](const Inputs& in) { return square(sort(in[0], 1).first); },
      [](const Inputs& in) { return square(sort(in[0], 0, true).first); },
      [](const Inputs& in) { return square(median(in[0], 1).first); },
      [](const Inputs& in) { return square(kthvalue(in[0], 2, 0).first); },
      [](const Inputs& in) { return square(msort(in[0])) * square(cumsum(in[0], 0)); },
  };
  for (const Function& each : f) CHECK(second_order_fault(each, {x}) == "");
  CHECK(second_order_fault(f[0], {varied({2, 1}, 1)}) == "");
  const Function number = [](const Inputs& in) { return square(cumprod(in[0], 0)); };
  CHECK(second_order_fault(number, {varied({}, 1)}) == "");
}

TEST_CASE("gradient of running products with zeros") {
  const Function f = [](const Inputs& in) { return cumprod(in[0], 0); };
  // Of x1, x1 x2, x1 x2 x3, ... by hand, with all cotangents 1.
  const Tensor one = of({2, 0, 3}), two = of({2, 0, 0, 3}), first = of({0, 2, 3});
  CHECK(values(grad(sum(f({one})), one)) == Values{1, 8, 0});
  CHECK(values(grad(sum(f({two})), two)) == Values{1, 2, 0, 0});
  CHECK(values(grad(sum(f({first})), first)) == Values{9, 0, 0});
  for (const Tensor& x :
       {one, two, first, of({0, 0, 0, 0, 0, 0, 0}), of({1, 2, 0, 3, 4, 5, 0, 6, 7})})
    CHECK(second_order_fault(f, {x}) == "");
}

TEST_CASE("gradient of logs of running sums at the edges") {
  const Tensor x = of({-infinity, 0, -infinity, 1});
  const Values g = values(grad(sum(logcumsumexp(x, 0)), x));
  const double e = std::exp(1.0);
  CHECK(is_near(g, {0, 2 + 1 / (1 + e), 0, e / (1 + e)}));
}

TEST_CASE("weighted counts have gradients") {
  const Function counts = [](const Inputs& in) {
    return square(bincount(tensor({1, 0, 1}), {.weights = in[0]}));
  };
  CHECK(second_order_fault(counts, {varied({3}, 1)}) == "");
  const Function bins = [](const Inputs& in) {
    return square(histogram(of({0.1, 0.9, 0.2}), 2, {.low = 0, .high = 1, .weights = in[0]}).first);
  };
  CHECK(second_order_fault(bins, {varied({3}, 1)}) == "");
}
