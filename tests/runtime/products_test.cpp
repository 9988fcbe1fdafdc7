// Float products of the cpu against Eigen's in long double: every way that operands lie in memory,
// around the edges of tiles and blocks, on every instruction set; and that threads do not change
// their bits.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <Eigen/Core>

#include "cpu/matrices.h"
#include "runtime/cpu_steps.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr DType floats[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

enum class Form {
  plain,
  transposed,
  spread,
  spread_transposed,
  backwards,
  same_rows,
  same_columns
};
constexpr Form forms[] = {
    Form::plain,     Form::transposed, Form::spread,      Form::spread_transposed,
    Form::backwards, Form::same_rows,  Form::same_columns};

/// Matrices of a batch in memory whose end is guarded and whose gaps are NaN.
struct Laid {
  Array memory;
  ResolvedOperand view;
  std::vector<double> values;  // in row-major order, one matrix after another

  Laid(DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t columns, Form form,
       unsigned seed)
      : memory(make(dtype, batch, rows, columns, form)) {
    for (std::int64_t i = 0; i < memory.numel(); ++i) memory.set(i, not_a_number);
    std::int64_t row = columns, column = 1, offset = 0, each = rows * columns;
    if (form == Form::transposed) row = 1, column = rows;
    if (form == Form::spread) row = 2 * columns + 1, column = 2, each = rows * row;
    if (form == Form::spread_transposed) row = 1, column = rows + 3, each = columns * column;
    if (form == Form::backwards) row = -columns, offset = (rows - 1) * columns;
    if (form == Form::same_rows) row = 0, each = columns;
    if (form == Form::same_columns) row = 1, column = 0, each = rows;
    view = batch > 0 ? memory.view({batch, rows, columns}, {each, row, column}, offset)
                     : memory.view({rows, columns}, {row, column}, offset);
    std::mt19937 engine(seed);
    for (std::int64_t b = 0; b < std::max<std::int64_t>(1, batch); ++b)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          const std::int64_t at = offset + b * each + i * row + j * column;
          if (std::isnan(memory[at])) memory.set(at, (int(engine() % 4001) - 2000) / 1000.0);
          values.push_back(memory[at]);
        }
  }
  static Array make(DType dtype, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                    Form form) {
    std::int64_t each = rows * columns;
    if (form == Form::spread) each = rows * (2 * columns + 1);
    if (form == Form::spread_transposed) each = columns * (rows + 3);
    if (form == Form::same_rows) each = columns;
    if (form == Form::same_columns) each = rows;
    // As long as what is read of the last matrix, so that the guard follows its last element.
    std::int64_t last = each;
    if (form == Form::spread) last = (rows - 1) * (2 * columns + 1) + 2 * (columns - 1) + 1;
    if (form == Form::spread_transposed) last = (columns - 1) * (rows + 3) + rows;
    return Array(dtype, {std::max<std::int64_t>(0, batch - 1) * each + last});
  }
};

double epsilon_of(DType dtype) {
  if (dtype == DType::f64) return 0x1p-53;
  if (dtype == DType::f32) return 0x1p-24;
  return dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
}

/// The product and how far each element may be from it.
struct Wanted {
  std::vector<double> values, slack;

  Wanted(const Laid& a, const Laid& b, std::int64_t batch, std::int64_t m, std::int64_t n,
         std::int64_t k, DType dtype) {
    using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    using Values =
        Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
    const double step = dtype == DType::f64 ? 0x1p-53 : 0x1p-24;
    for (std::int64_t s = 0; s < std::max<std::int64_t>(1, batch); ++s) {
      const Matrix x = Values(a.values.data() + s * m * k, m, k).cast<long double>();
      const Matrix y = Values(b.values.data() + s * k * n, k, n).cast<long double>();
      const Matrix sums = x.lazyProduct(y), sizes = x.cwiseAbs().lazyProduct(y.cwiseAbs());
      for (std::int64_t i = 0; i < m * n; ++i) {
        const auto sum = double(sums.data()[i]);
        values.push_back(sum);
        slack.push_back(double(k + 2) * step * double(sizes.data()[i]) +
                        (size_of(dtype) == 2 ? epsilon_of(dtype) * std::abs(sum) + 1e-7 : 0));
      }
    }
  }
  void check(const Array& c) const {
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < c.numel(); ++i)
      wrong += !(std::abs(c[i] - values[std::size_t(i)]) <= slack[std::size_t(i)]);
    CHECK(wrong == 0);
    CHECK(c.memory.is_intact());
  }
};

std::vector<char> run(const Laid& a, const Laid& b, const Array& c, const ResolvedOperand& out) {
  for (std::int64_t i = 0; i < c.numel(); ++i) set_element(c.dtype, c.at(i), not_a_number);
  TestStep step(OpId::matmul, {});
  step.inputs = {a.view, b.view};
  step.outputs = {out};
  step.run();
  return c.bytes();
}

struct ProductSize {
  std::int64_t m, n, k;
};

void check(DType dtype, std::int64_t batch, ProductSize size, Form form_a, Form form_b) {
  const auto [m, n, k] = size;
  INFO(name_of(dtype) << " " << batch << " x " << m << " " << n << " " << k << ", forms "
                      << int(form_a) << " " << int(form_b));
  const Laid a(dtype, batch, m, k, form_a, 1), b(dtype, batch, k, n, form_b, 2);
  const Array c(dtype, batch > 0 ? Shape{batch, m, n} : Shape{m, n});
  limit_threads(1);
  const std::vector<char> one = run(a, b, c, c.dense());
  Wanted(a, b, batch, m, n, k, dtype).check(c);
  for (const int threads : {2, 3, 0}) {
    limit_threads(threads);
    CHECK(run(a, b, c, c.dense()) == one);
  }
}

ProductSize random_size(std::mt19937& engine, unsigned most) {
  const auto one = [&] { return std::int64_t(1 + engine() % most); };
  return {one(), one(), one()};
}

template <class T>
void check_level(const ProductKernels<T>& kernels, DType dtype, ProductSize size, Form form_a,
                 Form form_b) {
  const auto [m, n, k] = size;
  INFO(name_of(dtype) << " " << m << " " << n << " " << k << ", forms " << int(form_a) << " "
                      << int(form_b));
  const Laid a(dtype, 0, m, k, form_a, 1), b(dtype, 0, k, n, form_b, 2);
  const Array c(dtype, {m, n});
  for (std::int64_t i = 0; i < c.numel(); ++i) set_element(dtype, c.at(i), not_a_number);
  const Finished none{};
  const MatrixProduct product{{bytes_of(a.view), m, k, a.view.strides[0], a.view.strides[1]},
                              {bytes_of(b.view), k, n, b.view.strides[0], b.view.strides[1]},
                              c.memory.data(),
                              dtype,
                              0,
                              none};
  if (m == 1 || n == 1)
    multiply_vector(product, kernels);
  else
    multiply_matrices(product, kernels);
  Wanted(a, b, 0, m, n, k, dtype).check(c);
}

/// ProductSize just below, at and above a multiple of what a level's tiles and blocks are.
std::vector<ProductSize> edges(std::int64_t rows, std::int64_t columns, std::int64_t terms) {
  std::vector<ProductSize> sizes;
  for (const std::int64_t d : {-1, 0, 1}) {
    sizes.push_back({rows + d, columns + 1 - d, 7});
    sizes.push_back({2 * rows + d, 3 * columns + d, 40});
    sizes.push_back({rows + 1, columns + 1, terms + d});
    sizes.push_back({3, 2 * columns - d, 2 * terms + d});
    sizes.push_back({129 + d, 128 + d, 33});
    sizes.push_back({290 + d, 5, 3});
    sizes.push_back({1, 1025 + d, terms + d});
    sizes.push_back({5, 1, 2 * terms + d});
  }
  return sizes;
}

template <class T>
void check_levels(const ProductKernels<T>& kernels, DType dtype) {
  std::mt19937 engine(3);
  for (const Form a : forms)
    for (const Form b : forms) {
      for (int i = 0; i < 3; ++i) check_level(kernels, dtype, random_size(engine, 70), a, b);
      const ProductSize size = random_size(engine, 70);
      check_level(kernels, dtype, {1, size.n, size.k}, a, b);
      check_level(kernels, dtype, {size.m, 1, size.k}, a, b);
    }
  for (const ProductSize size : edges(kernels.rows, kernels.columns, kernels.terms))
    for (const auto& [a, b] : {std::pair{Form::plain, Form::plain},
                               {Form::transposed, Form::plain},
                               {Form::plain, Form::transposed},
                               {Form::transposed, Form::transposed}})
      check_level(kernels, dtype, size, a, b);
}

}  // namespace

TEST_CASE("products: every form of operands, on every instruction set", "[cpu][products]") {
  int levels = 0;
  for (const char* level : {"base", "v2", "v3", "v4"}) {
    KernelTable table{};
    ProductTable products{};
    if (!fill_level(level, table, products)) continue;
    INFO(level);
    ++levels;
    for (const DType dtype : floats) {
      if (dtype == DType::f64)
        check_levels(products.f64, dtype);
      else
        check_levels(products.f32, dtype);
    }
  }
  CHECK(levels > 0);
}

TEST_CASE("products: threads do not change the bits", "[cpu][products]") {
  std::mt19937 engine(5);
  for (const DType dtype : floats) {
    for (int i = 0; i < 12; ++i)
      check(dtype, 0, random_size(engine, 70), forms[engine() % 7], forms[engine() % 7]);
    // Large enough to be split: by columns, by rows, and vectors both ways.
    for (const Form b : {Form::plain, Form::transposed, Form::spread}) {
      check(dtype, 0, {20, 150, 300}, Form::plain, b);
      check(dtype, 0, {300, 70, 260}, Form::transposed, b);
      check(dtype, 0, {1, 500, 700}, Form::plain, b);
      check(dtype, 0, {700, 1, 500}, b, Form::spread);
    }
  }
  limit_threads(0);
}

TEST_CASE("products: batches, of which some share an operand", "[cpu][products]") {
  std::mt19937 engine(7);
  for (const DType dtype : floats)
    for (int i = 0; i < 10; ++i) {
      const auto batch = std::int64_t(1 + engine() % 9);
      const ProductSize size = random_size(engine, 40);
      check(dtype, batch, size, forms[engine() % 7], forms[engine() % 7]);
      check(dtype, batch, {1, size.n, size.k}, Form::plain, Form::transposed);
    }
  limit_threads(0);
}

TEST_CASE("products: rows of a batch that meet the same matrix", "[cpu][products]") {
  const Laid a(DType::f32, 6, 5, 30, Form::plain, 1), one(DType::f32, 0, 30, 20, Form::plain, 2);
  ResolvedOperand b = one.view;
  b.rank = 3;
  std::copy_backward(b.shape, b.shape + 2, b.shape + 3);
  std::copy_backward(b.strides, b.strides + 2, b.strides + 3);
  b.shape[0] = 6;
  b.strides[0] = 0;
  const Array c(DType::f32, {6, 5, 20});
  TestStep step(OpId::matmul, {});
  step.inputs = {a.view, b};
  step.outputs = {c.dense()};
  step.run();
  // The same as one matrix of 30 rows.
  Laid rows(DType::f32, 0, 30, 30, Form::plain, 1);
  CHECK(rows.values == a.values);
  Wanted(rows, one, 0, 30, 20, 30, DType::f32).check(c);
}

TEST_CASE("products: NaN and infinity are not lost to zeros", "[cpu][products]") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : floats)
    for (const auto& [m, n, k] :
         {ProductSize{7, 19, 40}, {1, 19, 40}, {7, 1, 40}, {150, 40, 300}}) {
      INFO(name_of(dtype) << " " << m << " " << n << " " << k);
      const Array a(dtype, {m, k}, [](std::int64_t) { return 0.0; });
      const Array b(dtype, {k, n}, [](std::int64_t) { return 1.0; });
      const Array c(dtype, {m, n});
      set_element(dtype, b.at((k - 1) * n), infinity);
      TestStep step(OpId::matmul, {});
      step.inputs = {a.dense(), b.dense()};
      step.outputs = {c.dense()};
      step.run();
      for (std::int64_t i = 0; i < m; ++i) {
        CHECK(std::isnan(c[i * n]));  // 0 · inf
        if (n > 1) CHECK(c[i * n + n - 1] == 0);
      }
    }
}

TEST_CASE("products: sums of nothing are 0", "[cpu][products]") {
  for (const DType dtype : floats) {
    const Array a(dtype, {3, 0}), b(dtype, {0, 4}),
        c(dtype, {3, 4}, [](std::int64_t) { return not_a_number; });
    TestStep step(OpId::matmul, {});
    step.inputs = {a.dense(), b.dense()};
    step.outputs = {c.dense()};
    step.run();
    for (std::int64_t i = 0; i < 12; ++i) CHECK(c[i] == 0);
  }
}

TEST_CASE("products: every region is reported once, when it is finished", "[cpu][products]") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64, DType::i32})
    for (const auto& [m, n, k] : {ProductSize{5, 7, 3},
                                  {300, 290, 600},
                                  {40, 700, 270},
                                  {1, 900, 300},
                                  {900, 1, 300},
                                  {4, 4, 0}}) {
      INFO(name_of(dtype) << " " << m << " " << n << " " << k);
      const std::int64_t batch = m * n < 3000 ? 3 : 1;
      const Array a(dtype, {batch, m, k}, [](std::int64_t) { return 1.0; });
      const Array b(dtype, {batch, k, n}, [](std::int64_t) { return 1.0; });
      const Array c(dtype, {batch, m, n}, [](std::int64_t) { return 77.0; });
      struct Seen {
        const Array& c;
        double wanted;
        std::vector<std::atomic<int>> times;
        std::atomic<int> unfinished{0};
      } seen{c, as_element(dtype, double(k)), std::vector<std::atomic<int>>(std::size_t(c.numel())),
             0};
      const Finished finished{[](void* context, std::int64_t row, std::int64_t rows,
                                 std::int64_t column, std::int64_t columns) {
                                Seen& of = *static_cast<Seen*>(context);
                                const std::int64_t width = of.c.shape[2];
                                for (std::int64_t i = row; i < row + rows; ++i)
                                  for (std::int64_t j = column; j < column + columns; ++j) {
                                    ++of.times[std::size_t(i * width + j)];
                                    of.unfinished += of.c[i * width + j] != of.wanted;
                                  }
                              },
                              &seen};
      TestStep step(OpId::matmul, {});
      step.inputs = {a.dense(), b.dense()};
      step.outputs = {c.dense()};
      run_product({&step.step, 7, step.inputs, step.outputs, nullptr, &step.error}, finished);
      CHECK(
          std::all_of(seen.times.begin(), seen.times.end(), [](const auto& t) { return t == 1; }));
      CHECK(seen.unfinished == 0);
    }
}
