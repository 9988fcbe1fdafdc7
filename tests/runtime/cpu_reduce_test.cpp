// Reductions on the cpu against the definition of their tree, bit for bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "cpu_steps.h"

using namespace weft;
using namespace weft::testing;

namespace {

// The definition, literally: chunks of 4096, in each 512 lanes of eight adds, then halving; the
// chunks' sums the same way.
template <class T, class Join>
T tree(std::vector<T> x, T identity, Join join) {
  if (x.empty()) return identity + T(0);
  do {
    std::vector<T> partials;
    for (std::size_t first = 0; first < x.size(); first += 4096) {
      std::vector<T> lanes(512, identity);
      for (std::size_t r = 0; r < 8; ++r)
        for (std::size_t l = 0; l < 512; ++l)
          if (const std::size_t i = first + r * 512 + l; i < x.size()) lanes[l] = join(lanes[l], x[i]);
      for (std::size_t h = 256; h > 0; h /= 2)
        for (std::size_t l = 0; l < h; ++l) lanes[l] = join(lanes[l], lanes[l + h]);
      partials.push_back(lanes[0]);
    }
    x = partials;
  } while (x.size() > 1);
  return x[0];
}

double expected(OpId op, DType dtype, const std::vector<double>& x) {
  const auto in_floats = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values(x.begin(), x.end());
    if (op == OpId::sum) return double(tree(values, T(-0.0), [](T a, T b) { return a + b; }));
    return double(tree(values, T(1), [](T a, T b) { return a * b; }));
  };
  const auto nan = [](double v) { return std::isnan(v); };
  switch (op) {
    case OpId::any: return std::any_of(x.begin(), x.end(), [](double v) { return v != 0; });
    case OpId::all: return std::all_of(x.begin(), x.end(), [](double v) { return v != 0; });
    case OpId::amax:
    case OpId::amin: {
      if (const auto found = std::find_if(x.begin(), x.end(), nan); found != x.end()) return *found;
      double best = x.at(0);
      for (const double v : x)
        if (op == OpId::amax ? v > best || (v == best && std::signbit(best))
                             : v < best || (v == best && std::signbit(v)))
          best = v;
      return best;
    }
    case OpId::argmax:
    case OpId::argmin: {
      std::size_t best = 0;
      for (std::size_t i = 1; i < x.size(); ++i) {
        if (nan(x[best])) break;
        if (nan(x[i]) || (op == OpId::argmax ? x[i] > x[best] : x[i] < x[best])) best = i;
      }
      return double(best);
    }
    default: break;
  }
  if (dtype == DType::f64) return in_floats(double{});
  if (is_floating(dtype)) return as_element(dtype, in_floats(float{}));
  std::uint64_t total = op == OpId::prod ? 1 : 0;
  for (const double v : x) {
    const auto u = static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
    total = op == OpId::prod ? total * u : total + u;
  }
  return double(static_cast<std::int64_t>(total));
}

DType result_dtype(OpId op, DType dtype) {
  if (op == OpId::any || op == OpId::all) return DType::bool_;
  if (op == OpId::argmax || op == OpId::argmin) return DType::i64;
  if (op == OpId::amax || op == OpId::amin || is_floating(dtype)) return dtype;
  return DType::i64;
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

void check(OpId op, const ResolvedOperand& x, std::int64_t mask) {
  Shape kept;
  std::int64_t length = 1;
  for (int d = 0; d < x.rank; ++d)
    if (mask >> d & 1)
      length *= x.shape[d];
    else
      kept.push_back(x.shape[d]);
  if (length == 0 && op >= OpId::amax && op != OpId::any && op != OpId::all) return;
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(kept.numel()));
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::int64_t rest = i, group = 0, place = 1;
    for (int d = x.rank - 1; d >= 0; --d) {
      if (!(mask >> d & 1)) {
        group += rest % x.shape[d] * place;
        place *= x.shape[d];
      }
      rest /= x.shape[d];
    }
    groups[static_cast<std::size_t>(group)].push_back(read(x, i));
  }
  Array out(result_dtype(op, x.dtype), kept);
  TestStep step(op, {mask, 0});
  step.inputs = {x};
  step.outputs = {out.dense()};
  step.run();
  for (std::int64_t o = 0; o < out.numel(); ++o) {
    const double want = expected(op, x.dtype, groups[static_cast<std::size_t>(o)]);
    INFO(info(op).name << ' ' << name_of(x.dtype) << " of " << length << ", output " << o << " of "
                       << out.numel() << ": " << out[o] << " for " << want);
    REQUIRE(same(out[o], want));
  }
  REQUIRE(out.memory.is_intact());
}

constexpr OpId reductions[] = {OpId::sum, OpId::prod, OpId::amax,   OpId::amin,
                               OpId::any, OpId::all,  OpId::argmax, OpId::argmin};
constexpr std::int64_t lengths[] = {0, 1, 2, 10, 511, 512, 513, 1000, 4095, 4096, 4097, 8192, 100003};

// Not near enough to 1 for products to leave the range, but far from exact.
double value_of(OpId op, DType dtype, std::int64_t i) {
  const double x = std::sin(static_cast<double>(i) * 1.7 + 0.3);
  if (!is_floating(dtype)) return std::floor(x * (dtype == DType::u8 ? 100 : 3)) + (dtype == DType::u8 ? 100 : 0);
  return op == OpId::prod ? std::exp2(x * 0.4) : x * 100;
}

void check_layouts(OpId op, DType dtype, std::int64_t n) {
  const auto value = [&](std::int64_t i) { return value_of(op, dtype, i); };
  const Array whole(dtype, n, value);
  check(op, whole.dense(), 1);
  const std::int64_t rows = n > 10000 ? 2 : 5, columns = n > 10000 ? 17 : 70;
  const Array inner(dtype, {rows, n}, value);
  check(op, inner.dense(), 2);
  const Array outer(dtype, {n, columns}, value);
  check(op, outer.dense(), 1);
  if (n > 5000) return;
  const Array few(dtype, {n, 3}, value);
  check(op, few.dense(), 1);
  const Array middle(dtype, {2, n, 20}, value);
  check(op, middle.dense(), 2);
  check(op, inner.view({n, rows}, {1, n}), 2);
}

}  // namespace

TEST_CASE("cpu reductions: the tree in f32 over inner, outer and middle axes") {
  for (const OpId op : reductions)
    for (const std::int64_t n : lengths) check_layouts(op, DType::f32, n);
}

TEST_CASE("cpu reductions: every dtype") {
  for (const OpId op : reductions)
    for (const DType dtype : all_dtypes)
      for (const std::int64_t n : {0, 1, 7, 513, 4097})
        if (dtype != DType::f32) check_layouts(op, dtype, n);
}

TEST_CASE("cpu reductions: several axes, strides, and views that go backwards") {
  const Array x(DType::f32, {4, 6, 5, 90}, [](auto i) { return std::sin(double(i)); });
  for (const OpId op : reductions)
    for (std::int64_t mask = 0; mask < 16; ++mask) check(op, x.dense(), mask);
  const auto strided = x.view({4, 3, 5, 45}, {2700, -900, 90, 2}, 1800);
  const auto repeated = x.view({4, 6, 5, 90}, {2700, 0, 0, 1});
  for (const OpId op : reductions)
    for (const std::int64_t mask : {1, 2, 5, 8, 10, 15}) {
      check(op, strided, mask);
      check(op, repeated, mask);
    }
}

TEST_CASE("cpu reductions: negative zeros, NaN and infinities") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  for (const std::int64_t n : {1, 3, 600, 5000}) {
    const Array zeros(DType::f32, n, [](auto) { return -0.0; });
    const Array mixed(DType::f32, n, [](auto i) { return i % 3 ? 0.0 : -0.0; });
    const Array nans(DType::f32, n, [&](auto i) { return i % 7 == 2 ? nan : double(i); });
    const Array infinite(DType::f64, n, [&](auto i) { return i == n / 2 ? -inf : double(i); });
    for (const OpId op : reductions)
      for (const Array* x : {&zeros, &mixed, &nans, &infinite}) check(op, x->dense(), 1);
  }
}

TEST_CASE("cpu reductions: ones sum to their number, and bits do not depend on threads") {
  const std::int64_t n = std::int64_t{1} << 25;
  const Array ones(DType::f32, n, [](auto) { return 1.0; });
  Array out(DType::f32, Shape{});
  TestStep step(OpId::sum, {1, 0});
  step.inputs = {ones.dense()};
  step.outputs = {out.dense()};
  step.run();
  REQUIRE(out[0] == 33554432);
  for (const Shape& shape : {Shape{1 << 20}, Shape{1000, 1001}, Shape{3, 300000}})
    for (const std::int64_t mask : {1, 2, 3}) {
      if (shape.ndim() == 1 && mask != 1) continue;
      const Array x(DType::f32, shape, [](auto i) { return std::sin(double(i)); });
      const std::int64_t kept = mask == 3 || shape.ndim() == 1 ? 1 : shape[mask == 1 ? 1 : 0];
      std::vector<std::vector<char>> results;
      for (const int threads : {1, 2}) {
        Array sums(DType::f32, kept), first(DType::i64, kept);
        limit_threads(threads);
        for (const OpId op : {OpId::sum, OpId::argmax}) {
          TestStep reduction(op, {mask, 0});
          reduction.inputs = {x.dense()};
          reduction.outputs = {op == OpId::sum ? sums.dense() : first.dense()};
          reduction.run();
        }
        limit_threads(0);
        results.push_back(sums.bytes());
        results.push_back(first.bytes());
      }
      REQUIRE(results[0] == results[2]);
      REQUIRE(results[1] == results[3]);
    }
}
