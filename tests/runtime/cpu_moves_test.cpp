// Products, joins, indexing, sorting and random tensors on the cpu against plain loops.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "cpu_steps.h"

using namespace weft;
using namespace weft::testing;

namespace {

double wave(std::int64_t i) { return std::sin(static_cast<double>(i) * 0.7) * 3; }

double value_of(DType dtype, std::int64_t i) {
  return is_floating(dtype) ? wave(i) : static_cast<double>((i * 37 + 11) % 201 - 100);
}

// Element [b, i, j] of an operand with any batch axes.
double at(const ResolvedOperand& x, std::int64_t batch, std::int64_t i, std::int64_t j) {
  const std::int64_t columns = x.shape[x.rank - 1];
  return read(x, (batch * x.shape[x.rank - 2] + i) * columns + j);
}

void check_product(const ResolvedOperand& a, const ResolvedOperand& b) {
  Shape shape;
  std::int64_t batches = 1;
  for (int d = 0; d < a.rank - 2; ++d) {
    shape.push_back(a.shape[d]);
    batches *= a.shape[d];
  }
  const std::int64_t m = a.shape[a.rank - 2], k = a.shape[a.rank - 1], n = b.shape[b.rank - 1];
  shape.push_back(m);
  shape.push_back(n);
  Array out(a.dtype, shape);
  TestStep step(OpId::matmul, {});
  step.inputs = {a, b};
  step.outputs = {out.dense()};
  step.run();
  for (std::int64_t batch = 0; batch < batches; ++batch)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        long double sum = 0, size = 0;
        for (std::int64_t p = 0; p < k; ++p) {
          const long double term = static_cast<long double>(at(a, batch, i, p)) * at(b, batch, p, j);
          sum += term;
          size += std::fabs(term);
        }
        const double got = out[(batch * m + i) * n + j];
        INFO(name_of(a.dtype) << ' ' << m << 'x' << k << 'x' << n << " at " << i << ',' << j);
        if (!is_floating(a.dtype)) {
          REQUIRE(got == as_element(a.dtype, static_cast<double>(sum)));
          continue;
        }
        const double unit = a.dtype == DType::f64   ? 1e-15
                            : a.dtype == DType::f32 ? 1e-6
                            : a.dtype == DType::f16 ? 1e-3
                                                    : 8e-3;
        REQUIRE(std::fabs(got - static_cast<double>(sum)) <= unit * static_cast<double>(size) + 1e-7);
      }
  REQUIRE(out.memory.is_intact());
}

void check_layouts(DType dtype, std::int64_t m, std::int64_t k, std::int64_t n) {
  const auto value = [&](std::int64_t i) { return value_of(dtype, i); };
  const Array a(dtype, {m, k}, value), b(dtype, {k, n}, value);
  const auto a_t = a.view({m, k}, {1, m}), b_t = b.view({k, n}, {1, k});
  check_product(a.dense(), b.dense());
  check_product(a_t, b.dense());
  check_product(a.dense(), b_t);
  check_product(a_t, b_t);
  const Array wide(dtype, {m, 2 * k + 1}, value), deep(dtype, {2 * k, 3 * n}, value);
  check_product(wide.view({m, k}, {2 * k + 1, 2}), deep.view({k, n}, {6 * n, 3}, 1));
  check_product(wide.view({m, k}, {2 * k + 1, 1}, 1), deep.view({k, n}, {-3 * n, 1}, (k - 1) * 3 * n));
  check_product(a.view({m, k}, {0, 1}), b.view({k, n}, {0, 0}));
}

std::int64_t offset_along(std::int64_t linear, const Shape& shape, int axis, std::int64_t& position) {
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.ndim(); ++d) inner *= shape[static_cast<std::size_t>(d)];
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  position = linear / inner % extent;
  return linear - position * inner;
}

std::int64_t inner_of(const Shape& shape, int axis) {
  std::int64_t inner = 1;
  for (int d = axis + 1; d < shape.ndim(); ++d) inner *= shape[static_cast<std::size_t>(d)];
  return inner;
}

}  // namespace

TEST_CASE("cpu products: every dtype and layout of operands") {
  for (const DType dtype : all_dtypes) {
    if (dtype == DType::bool_) continue;
    for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{1, 1, 1}, {1, 7, 5}, {6, 1, 3}, {5, 9, 1},
                                  {1, 33, 1}, {17, 13, 11}, {70, 30, 65}})
      check_layouts(dtype, m, k, n);
  }
}

TEST_CASE("cpu products: batches, nothing to add, large shapes cut into panels") {
  const Array a(DType::f32, {3, 2, 9, 7}, wave), b(DType::f32, {3, 2, 7, 5}, wave);
  check_product(a.dense(), b.dense());
  check_product(a.dense(), b.view({3, 2, 7, 5}, {0, 35, 5, 1}));
  check_product(a.view({2, 3, 9, 7}, {63, 126, 7, 1}), b.view({2, 3, 7, 5}, {35, 70, 5, 1}));
  const Array none(DType::f32, {2, 0}, wave), none_too(DType::f32, {0, 3}, wave);
  check_product(none.dense(), none_too.dense());
  const Array tall(DType::f32, {601, 43}, wave), wide(DType::f32, {43, 77}, wave);
  check_product(tall.dense(), wide.dense());
  const Array few(DType::f64, {3, 301}, wave), many(DType::f64, {301, 1100}, wave);
  check_product(few.dense(), many.dense());
  check_product(few.view({1, 301}, {301, 1}), many.dense());
  check_product(many.view({1100, 301}, {1, 1100}), few.view({301, 1}, {1, 1}));
}

TEST_CASE("cpu products do not depend on the number of threads") {
  const Array a(DType::f32, {300, 200}, wave), b(DType::f32, {200, 250}, wave);
  std::vector<std::vector<char>> results;
  for (const int threads : {1, 2}) {
    Array out(DType::f32, {300, 250});
    TestStep step(OpId::matmul, {});
    step.inputs = {a.dense(), b.dense()};
    step.outputs = {out.dense()};
    limit_threads(threads);
    step.run();
    limit_threads(0);
    results.push_back(out.bytes());
  }
  REQUIRE(results[0] == results[1]);
}

TEST_CASE("cpu moves: cat, slice_update and copies of views") {
  for (const DType dtype : all_dtypes) {
    const auto value = [&](std::int64_t i) { return as_element(dtype, value_of(dtype, i)); };
    const Array a(dtype, {3, 4, 5}, value), b(dtype, {3, 2, 5}, value);
    Array joined(dtype, {3, 6, 5});
    TestStep cat(OpId::cat, {1});
    cat.inputs = {a.view({3, 4, 5}, {20, -5, 1}, 15), b.dense()};
    cat.outputs = {joined.dense()};
    cat.run();
    for (std::int64_t i = 0; i < 90; ++i) {
      const std::int64_t x = i / 30, y = i / 5 % 6, z = i % 5;
      REQUIRE(joined[i] == (y < 4 ? a[x * 20 + (3 - y) * 5 + z] : b[x * 10 + (y - 4) * 5 + z]));
    }
    Array updated(dtype, {3, 4, 5});
    TestStep update(OpId::slice_update, {1, -2, 3});
    update.inputs = {a.dense(), b.dense()};
    update.outputs = {updated.dense()};
    update.run();
    for (std::int64_t i = 0; i < 60; ++i) {
      const std::int64_t x = i / 20, y = i / 5 % 4, z = i % 5;
      REQUIRE(updated[i] == (y % 2 ? b[x * 10 + (3 - y) / 2 * 5 + z] : a[i]));
    }
    Array turned(dtype, {5, 3, 4});
    TestStep copy(OpId::transfer, {});
    copy.inputs = {a.view({5, 3, 4}, {1, 20, 5})};
    copy.outputs = {turned.dense()};
    copy.run();
    for (std::int64_t i = 0; i < 60; ++i) REQUIRE(turned[i] == read(copy.inputs[0], i));
    REQUIRE((joined.memory.is_intact() && updated.memory.is_intact() && turned.memory.is_intact()));
  }
}

namespace {

/// Whether an index was found to be bad.
bool run_scatter_add(int axis, const Array& x, const Array& index, const Array& source,
                     Array& sums) {
  TestStep step(OpId::scatter_add, {axis});
  step.inputs = {x.dense(), index.dense(), source.dense()};
  step.outputs = {sums.dense()};
  step.run();
  return step.error.is_set();
}

}  // namespace

TEST_CASE("cpu indexing: gather and scatter_add along each axis") {
  for (const DType dtype : all_dtypes)
    for (const DType index_dtype : {DType::i32, DType::i64})
      for (const int axis : {0, 1, 2}) {
        const auto value = [&](std::int64_t i) { return as_element(dtype, double(i % 13)); };
        const Shape shape{4, 3, 6};
        Shape picked = shape;
        picked[static_cast<std::size_t>(axis)] = 7;
        const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
        const Array x(dtype, shape, value), source(dtype, picked, value);
        const Array index(index_dtype, picked, [&](auto i) { return double(i * 5 % extent); });
        Array gathered(dtype, picked), added(dtype, shape);
        TestStep gather(OpId::gather, {axis});
        gather.inputs = {x.dense(), index.dense()};
        gather.outputs = {gathered.dense()};
        gather.run();
        const bool failed = run_scatter_add(axis, x, index, source, added);
        std::vector<double> sums;
        for (std::int64_t i = 0; i < x.numel(); ++i) sums.push_back(x[i]);
        for (std::int64_t i = 0; i < index.numel(); ++i) {
          std::int64_t position;
          const std::int64_t inner = inner_of(picked, axis);
          const std::int64_t base = offset_along(i, picked, axis, position);
          const std::int64_t to =
              base / (inner * 7) * inner * extent + base % inner + std::int64_t(index[i]) * inner;
          REQUIRE(gathered[i] == x[to]);
          sums[static_cast<std::size_t>(to)] += source[i];
        }
        for (std::int64_t i = 0; i < x.numel(); ++i)
          REQUIRE(added[i] == as_element(dtype, sums[static_cast<std::size_t>(i)]));
        REQUIRE_FALSE((gather.error.is_set() || failed));
      }
}

TEST_CASE("cpu indexing: an index that is narrower than the table off its axis") {
  // Every combination of full and single extents, so that any stride may come first or last.
  for (const DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::bf16, DType::u8})
    for (int narrow = 0; narrow < 8; ++narrow)
      for (const int axis : {0, 1, 2}) {
        const Shape shape{3, 4, 5};
        Shape picked = shape;
        for (int d = 0; d < 3; ++d)
          if (narrow >> d & 1) picked[std::size_t(d)] = d == axis ? 6 : 1;
        const std::int64_t extent = shape[std::size_t(axis)];
        const Array x(dtype, shape, [](auto i) { return double(i % 5); });
        const Array source(dtype, picked, [](auto i) { return double(i % 7 + 1); });
        const Array index(DType::i64, picked, [&](auto i) { return double(i * 7 % extent); });
        Array added(dtype, shape);
        const bool failed = run_scatter_add(axis, x, index, source, added);
        std::vector<double> sums;
        for (std::int64_t i = 0; i < x.numel(); ++i) sums.push_back(x[i]);
        for (std::int64_t i = 0; i < index.numel(); ++i) {
          std::int64_t at[3] = {i / (picked[1] * picked[2]), i / picked[2] % picked[1],
                                i % picked[2]};
          at[axis] = std::int64_t(index[i]);
          sums[std::size_t((at[0] * shape[1] + at[1]) * shape[2] + at[2])] += source[i];
        }
        INFO(name_of(dtype) << " narrow " << narrow << " axis " << axis);
        for (std::int64_t i = 0; i < x.numel(); ++i)
          REQUIRE(added[i] == as_element(dtype, sums[std::size_t(i)]));
        REQUIRE_FALSE(failed);
      }
}

TEST_CASE("cpu indexing: rows of a table, and indices out of range") {
  const Array x(DType::f32, {50, 300}, wave);
  const Array index(DType::i64, 1000, [](auto i) { return double(i * 7 % 50); });
  const auto rows = index.view({1000, 300}, {1, 0});
  Array out(DType::f32, {1000, 300});
  TestStep gather(OpId::gather, {0});
  gather.inputs = {x.dense(), rows};
  gather.outputs = {out.dense()};
  gather.run();
  for (std::int64_t i = 0; i < out.numel(); i += 7)
    REQUIRE(out[i] == x[std::int64_t(index[i / 300]) * 300 + i % 300]);
  Array sums(DType::f32, {50, 300});
  TestStep scatter(OpId::scatter_add, {0});
  scatter.inputs = {x.dense(), rows, out.dense()};
  scatter.outputs = {sums.dense()};
  scatter.run();
  for (std::int64_t i = 0; i < sums.numel(); i += 11) {
    float sum = float(x[i]);
    for (int k = 0; k < 20; ++k) sum += float(x[i]);
    REQUIRE(sums[i] == double(sum));
  }
  for (const double bad : {-1.0, 50.0}) {
    const Array wrong(DType::i64, 1000, [&](auto i) { return i == 400 ? bad : 0.0; });
    TestStep failing(OpId::gather, {0});
    failing.inputs = {x.dense(), wrong.view({1000, 300}, {1, 0})};
    failing.outputs = {out.dense()};
    failing.run();
    REQUIRE(failing.error.step == 8);
    REQUIRE(failing.error.index == std::int64_t(bad));
    REQUIRE(failing.error.limit == 50);
  }
}

TEST_CASE("cpu sorting: topk is stable, NaN is greatest") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const DType dtype : all_dtypes)
    for (const std::int64_t largest : {0, 1})
      for (const std::int64_t k : {1, 3, 9}) {
        const Array x(dtype, {2, 9, 3}, [&](auto i) {
          return is_floating(dtype) && i % 8 == 3 ? nan : as_element(dtype, double(i * i % 5) - (i % 2));
        });
        Array values(dtype, {2, k, 3}), indices(DType::i64, {2, k, 3});
        TestStep topk(OpId::topk, {k, 1, largest});
        topk.inputs = {x.dense()};
        topk.outputs = {values.dense(), indices.dense()};
        topk.run();
        for (const std::int64_t line : {0, 1, 2, 3, 4, 5}) {
          const std::int64_t base = line / 3 * 27 + line % 3;
          std::vector<std::int64_t> order(9);
          std::iota(order.begin(), order.end(), 0);
          const auto less = [&](double a, double b) { return !std::isnan(a) && (std::isnan(b) || a < b); };
          std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
            const double a = x[base + i * 3], b = x[base + j * 3];
            return largest ? less(b, a) : less(a, b);
          });
          for (std::int64_t i = 0; i < k; ++i) {
            const std::int64_t to = line / 3 * k * 3 + i * 3 + line % 3;
            REQUIRE(indices[to] == double(order[static_cast<std::size_t>(i)]));
            const double want = x[base + order[static_cast<std::size_t>(i)] * 3];
            REQUIRE((values[to] == want || (std::isnan(values[to]) && std::isnan(want))));
          }
        }
      }
}

TEST_CASE("cpu values from nothing: iota, integers in range, permutations, uniforms") {
  for (const DType dtype : all_dtypes) {
    const bool is_float = is_floating(dtype);
    Array out(dtype, 130);
    TestStep iota(OpId::iota, {is_float ? std::bit_cast<std::int64_t>(0.5) : 5,
                               is_float ? std::bit_cast<std::int64_t>(-0.25) : 3});
    iota.outputs = {out.dense()};
    iota.run();
    for (std::int64_t i = 0; i < 130; ++i)
      REQUIRE(out[i] == as_element(dtype, is_float ? 0.5 - 0.25 * double(i) : double(5 + 3 * i)));
  }
  Array drawn(DType::i32, 5000), order(DType::i64, 5000), uniform(DType::f32, 100000);
  TestStep integers(OpId::integers, {1, 2, -3, 7});
  integers.outputs = {drawn.dense()};
  integers.run();
  std::vector<int> counts(7, 0);
  for (std::int64_t i = 0; i < 5000; ++i) ++counts.at(static_cast<std::size_t>(drawn[i] + 3));
  for (const int count : counts) REQUIRE(count > 500);
  TestStep permutation(OpId::permutation, {1, 3});
  permutation.outputs = {order.dense()};
  permutation.run();
  std::vector<bool> seen(5000, false);
  for (std::int64_t i = 0; i < 5000; ++i) seen.at(static_cast<std::size_t>(order[i])) = true;
  REQUIRE(std::count(seen.begin(), seen.end(), true) == 5000);
  TestStep draw(OpId::uniform, {9, 4});
  draw.outputs = {uniform.dense()};
  draw.run();
  double sum = 0;
  for (std::int64_t i = 0; i < 100000; ++i) {
    REQUIRE((uniform[i] >= 0 && uniform[i] < 1));
    sum += uniform[i];
  }
  REQUIRE(sum / 100000 == Approx(0.5).margin(0.005));
}
