// Fused groups on the cpu: every way of reading operands, tails, rounding, threads, levels.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <new>
#include <thread>

#include "cpu_steps.h"

using namespace weft;
using namespace weft::testing;

namespace {

// (a + b) * c + 3, in the dtype.
std::shared_ptr<const Program> chain(DType dtype) {
  Body body;
  const auto a = body.input(dtype), b = body.input(dtype), c = body.input(dtype);
  const auto s = body.argument(dtype, 1);
  const auto sum = body.add(OpId::add, dtype, {a, b});
  const auto product = body.add(OpId::mul, dtype, {sum, c});
  body.output(body.add(OpId::add, dtype, {product, s}));
  return body.program();
}

double chain_of(DType dtype, double a, double b, double c) {
  const double sum = as_element(dtype, a + b);
  return as_element(dtype, as_element(dtype, sum * c) + as_element(dtype, 3));
}

double small(std::int64_t i) { return static_cast<double>(i * 7 % 11); }

void check_chain(DType dtype, const Shape& shape, const ResolvedOperand& a, const ResolvedOperand& b,
                 const ResolvedOperand& c) {
  TestStep step;
  step.step.program = chain(dtype);
  Array out(dtype, shape);
  step.inputs = {a, b, c};
  step.outputs = {out.dense()};
  step.arguments = {99, is_floating(dtype) ? std::bit_cast<std::uint64_t>(3.0) : 3};
  step.run();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    INFO(name_of(dtype) << ' ' << shape.str() << " element " << i);
    REQUIRE(out[i] == chain_of(dtype, read(a, i), read(b, i), read(c, i)));
  }
  REQUIRE(out.memory.is_intact());
}

}  // namespace

TEST_CASE("cpu fused: contiguous operands of every length up to two blocks") {
  for (const DType dtype : all_dtypes)
    for (std::int64_t n = 1; n <= 2 * block_size + 1; ++n) {
      const Array a(dtype, n, small), b(dtype, n, [](auto i) { return small(i + 3); }),
          c(dtype, n, [](auto i) { return small(2 * i + 1); });
      check_chain(dtype, n, a.dense(), b.dense(), c.dense());
    }
}

TEST_CASE("cpu fused: strided, reversed and broadcast operands") {
  for (const DType dtype : all_dtypes)
    for (const std::int64_t rows : {1, 2, 5, 70})
      for (const std::int64_t columns : {1, 3, 63, 127, 128, 129, 300}) {
        const Shape shape{rows, columns};
        const Array x(dtype, {columns, rows}, small), v(dtype, columns, small), s(dtype, 1, small);
        const auto transposed = x.view(shape, {1, rows});
        const auto row = v.view(shape, {0, 1});
        const auto reversed = v.view(shape, {0, -1}, columns - 1);
        const auto column = x.view(shape, {1, 0});
        const auto one = s.view(shape, {0, 0});
        check_chain(dtype, shape, transposed, row, one);
        check_chain(dtype, shape, column, reversed, transposed);
      }
}

TEST_CASE("cpu fused: operands of three axes with gaps") {
  const Shape shape{3, 5, 37};
  const Array x(DType::f32, {6, 10, 80}, small), y(DType::f32, {5}, small), z(DType::f32, shape, small);
  check_chain(DType::f32, shape, x.view(shape, {1600, 160, 2}, 3), y.view(shape, {0, 1, 0}), z.dense());
}

TEST_CASE("cpu fused: large operands, and the same bits with one thread and two") {
  for (const Shape& shape : {Shape{300001}, Shape{1000, 301}}) {
    const Array a(DType::f32, shape, [](auto i) { return std::sin(double(i)); });
    const Array b(DType::f32, shape.back(), [](auto i) { return 0.1 * double(i); });
    Body body;
    const auto x = body.input(DType::f32), y = body.input(DType::f32);
    const auto t = body.add(OpId::tanh, DType::f32, {body.add(OpId::mul, DType::f32, {x, y})});
    body.output(t);
    body.output(body.add(OpId::exp, DType::f32, {t}));
    TestStep step;
    step.step.program = body.program();
    std::vector<std::int64_t> strides(shape.size(), 0);
    strides.back() = 1;
    std::vector<std::vector<char>> results;
    for (const int threads : {1, 2}) {
      Array t_out(DType::f32, shape), e_out(DType::f32, shape);
      step.inputs = {a.dense(), b.view(shape, strides)};
      step.outputs = {t_out.dense(), e_out.dense()};
      limit_threads(threads);
      step.run();
      limit_threads(0);
      results.push_back(t_out.bytes());
      results.push_back(e_out.bytes());
      for (std::int64_t i = 0; i < a.numel(); i += 997)
        REQUIRE(t_out[i] == Approx(std::tanh(double(float(a[i]) * float(b[i % shape.back()])))));
    }
    REQUIRE(results[0] == results[2]);
    REQUIRE(results[1] == results[3]);
  }
}

TEST_CASE("cpu fused: halves are rounded after every op") {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const std::int64_t n = 200;
    const Array a(dtype, n, [](auto i) { return 1 + 0.013 * double(i); });
    const Array b(dtype, n, [](auto i) { return 0.37 * double(i) - 9; });
    Body body;
    const auto x = body.input(dtype), y = body.input(dtype);
    const auto product = body.add(OpId::mul, dtype, {x, y});
    body.output(body.add(OpId::sub, dtype, {product, x}));
    TestStep step;
    step.step.program = body.program();
    Array out(dtype, n);
    step.inputs = {a.dense(), b.dense()};
    step.outputs = {out.dense()};
    step.run();
    for (std::int64_t i = 0; i < n; ++i)
      REQUIRE(out[i] == as_element(dtype, as_element(dtype, a[i] * b[i]) - a[i]));
  }
}

TEST_CASE("cpu fused: casts, questions and choices between classes") {
  const std::int64_t n = 77;
  const Array a(DType::f32, n, [](auto i) { return double(i) * 5.75 - 200; });
  const Array b(DType::i64, n, [](auto i) { return double(i * i) - 900; });
  Body body;
  const auto x = body.input(DType::f32), y = body.input(DType::i64);
  const auto as_double = body.add(OpId::cast, DType::f64, {y});
  const auto as_byte = body.add(OpId::cast, DType::u8, {y});
  const auto wide = body.add(OpId::cast, DType::f64, {x});
  const auto less = body.add(OpId::lt, DType::bool_, {wide, as_double});
  const auto truncated = body.add(OpId::cast, DType::i8, {x});
  body.output(body.add(OpId::where, DType::f64, {less, wide, as_double}));
  body.output(less);
  body.output(as_byte);
  body.output(truncated);
  TestStep step;
  step.step.program = body.program();
  Array least(DType::f64, n), is_less(DType::bool_, n), byte(DType::u8, n), saturated(DType::i8, n);
  step.inputs = {a.dense(), b.dense()};
  step.outputs = {least.dense(), is_less.dense(), byte.dense(), saturated.dense()};
  step.run();
  for (std::int64_t i = 0; i < n; ++i) {
    REQUIRE(least[i] == std::min(a[i], b[i]));
    REQUIRE(is_less[i] == (a[i] < b[i] ? 1 : 0));
    REQUIRE(byte[i] == as_element(DType::u8, b[i]));
    REQUIRE(saturated[i] == std::clamp(std::trunc(a[i]), -128.0, 127.0));
  }
}

TEST_CASE("cpu fused: an output that takes the place of an input") {
  const std::int64_t n = 1000;
  Array a(DType::f32, n, small);
  Body body;
  const auto x = body.input(DType::f32);
  const auto doubled = body.add(OpId::add, DType::f32, {x, x});
  body.output(doubled);
  body.output(body.add(OpId::mul, DType::f32, {doubled, x}));
  TestStep step;
  step.step.program = body.program();
  Array product(DType::f32, n);
  step.inputs = {a.dense()};
  step.outputs = {a.dense(), product.dense()};
  step.run();
  for (std::int64_t i = 0; i < n; ++i) {
    REQUIRE(a[i] == 2 * small(i));
    REQUIRE(product[i] == 2 * small(i) * small(i));
  }
}

TEST_CASE("cpu fused: scalars and inputs that leave unchanged, no elements, one element") {
  Body body;
  const auto x = body.input(DType::i8);
  const auto s = body.argument(DType::f16, 0);
  body.output(x);
  body.output(s);
  TestStep step;
  step.step.program = body.program();
  step.arguments = {std::bit_cast<std::uint64_t>(0.1)};
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7, 11}}) {
    const Array a(DType::i8, shape, small);
    Array copy(DType::i8, shape), constant(DType::f16, shape);
    step.inputs = {a.dense()};
    step.outputs = {copy.dense(), constant.dense()};
    step.run();
    REQUIRE(copy.bytes() == a.bytes());
    for (std::int64_t i = 0; i < a.numel(); ++i) REQUIRE(constant[i] == as_element(DType::f16, 0.1));
  }
}

namespace {

// Elements of a class: ordinary ones and those at the edges.
template <class T>
void fill_edges(T* x, std::mt19937_64& random) {
  using Limits = std::numeric_limits<T>;
  for (int i = 0; i < block_size; ++i)
    if constexpr (std::is_integral_v<T>)
      x[i] = static_cast<T>(random() >> random() % 64);
    else
      x[i] = std::ldexp(static_cast<T>(static_cast<std::int64_t>(random())), static_cast<int>(random() % 80) - 103);
  const T edges[] = {T(0), T(1), T(-1), T(2), Limits::max(), Limits::lowest(), Limits::min(),
                     Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min()};
  for (const T edge : edges) x[random() % block_size] = edge;
  if constexpr (!std::is_integral_v<T>) x[random() % block_size] = -T(0);
}

template <class T>
bool same_bits(const char* pa, const char* pb) {
  for (int i = 0; i < block_size; ++i) {
    T a, b;
    std::memcpy(&a, pa + i * sizeof(T), sizeof(T));
    std::memcpy(&b, pb + i * sizeof(T), sizeof(T));
    if (a != a && b != b) continue;
    if (std::memcmp(&a, &b, sizeof(T)) != 0) return false;
  }
  return true;
}

bool same_block(int c, const char* a, const char* b) {
  switch (c) {
    case class_f32: return same_bits<float>(a, b);
    case class_f64: return same_bits<double>(a, b);
    case class_i32: return same_bits<std::int32_t>(a, b);
    default: return same_bits<std::int64_t>(a, b);
  }
}

struct Block {
  alignas(64) char bytes[block_bytes];
  void fill(int c, std::mt19937_64& random) {
    switch (c) {
      case class_f32: return fill_edges(reinterpret_cast<float*>(bytes), random);
      case class_f64: return fill_edges(reinterpret_cast<double*>(bytes), random);
      case class_i32: return fill_edges(reinterpret_cast<std::int32_t*>(bytes), random);
      default: return fill_edges(reinterpret_cast<std::int64_t*>(bytes), random);
    }
  }
};

void compare_levels(const KernelTable& one, const KernelTable& two) {
  std::mt19937_64 random(5);
  Block x, y, z, truth, a, b;
  for (int round = 0; round < 40; ++round)
    for (int c = 0; c < kernel_class_count; ++c) {
      for (Block* block : {&x, &y, &z}) block->fill(c, random);
      for (int i = 0; i < block_size; ++i) reinterpret_cast<std::int32_t*>(truth.bytes)[i] = random() & 1;
      for (int op = 0; op < kernel_op_count; ++op) {
        REQUIRE((one.pointwise[op][c] == nullptr) == (two.pointwise[op][c] == nullptr));
        if (!one.pointwise[op][c]) continue;
        const DTypeRule rule = info(static_cast<OpId>(op)).rule;
        const Block& first = rule == DTypeRule::select ? truth : x;
        const bool asks = rule == DTypeRule::compare || rule == DTypeRule::predicate;
        one.pointwise[op][c](a.bytes, first.bytes, y.bytes, z.bytes);
        two.pointwise[op][c](b.bytes, first.bytes, y.bytes, z.bytes);
        INFO(info(static_cast<OpId>(op)).name << " of class " << c);
        REQUIRE(same_block(asks ? class_i32 : c, a.bytes, b.bytes));
      }
      for (int d = 0; d < kernel_dtype_count; ++d) {
        one.cast[c][d](a.bytes, x.bytes, nullptr, nullptr);
        two.cast[c][d](b.bytes, x.bytes, nullptr, nullptr);
        INFO("cast of class " << c << " to " << name_of(static_cast<DType>(d)));
        REQUIRE(same_block(static_cast<int>(compute_class(static_cast<DType>(d))), a.bytes, b.bytes));
      }
    }
}

void compare_random(const KernelTable& one, const KernelTable& two) {
  std::vector<double> a(1000), b(1000);
  for (int c = 0; c < 2; ++c)
    for (const std::int64_t first : {0, 1, 5, 64})
      for (const auto kind : {&KernelTable::uniform, &KernelTable::normal}) {
        (one.*kind)[c](a.data(), first, 999, 42, 3);
        (two.*kind)[c](b.data(), first, 999, 42, 3);
        REQUIRE(std::memcmp(a.data(), b.data(), c ? 999 * 8 : 999 * 4) == 0);
      }
}

}  // namespace

TEST_CASE("cpu levels give the same bits") {
  KernelTable tables[3] = {};
  const char* const names[] = {"v2", "v3", "v4"};
  int count = 0;
  for (const char* name : names)
    if (fill_level(name, tables[count])) ++count;
  for (int i = 1; i < count; ++i) {
    INFO(tables[i].level);
    compare_levels(tables[0], tables[i]);
    compare_random(tables[0], tables[i]);
  }
}

TEST_CASE("the worker pool runs every piece once, from several threads, and keeps exceptions") {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        std::vector<int> counts(50, 0);
        parallel_for(50, [&](std::int64_t i) {
          parallel_for(2, [&](std::int64_t) { ++counts[static_cast<std::size_t>(i)]; });
        });
        for (const int count : counts) wrong += count != 2;
        try {
          parallel_for(20, [](std::int64_t i) {
            if (i == 13) throw std::bad_alloc();
          });
          ++wrong;
        } catch (const std::bad_alloc&) {
        }
      }
    });
  for (std::thread& caller : callers) caller.join();
  REQUIRE(wrong == 0);
}
