// Every op on many elements: milliseconds from recording to the value, warm. Medians.
//   ops [--json] [--quick] [--device cpu]
// benchmarks/ops_table.py puts them beside other libraries' figures.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "measure.h"

namespace {

using namespace weft;

struct Work {
  std::string name;
  std::function<Tensor()> value;
};

class Ops {
 public:
  Ops(Device device, std::int64_t count) : device_(device), count_(count) {}

  std::vector<Work> all() {
    pointwise();
    structured();
    return std::move(work_);
  }

 private:
  enum class Class { floats, ints, all };

  /// Uniform numbers from low to high that are there.
  Tensor drawn(const Shape& shape, double low, double high, Class kind) {
    const Tensor x = rand(shape, {.device = device_}) * (high - low) + low;
    const Tensor y = kind == Class::ints ? x.to(i32) : x;
    y.wait();
    return y;
  }
  void add(const std::string& name, std::function<Tensor()> value) {
    work_.push_back({name, std::move(value)});
  }

  template <class F>
  void one(const char* name, Class kind, double low, double high, F f) {
    const Tensor x = drawn({count_}, low, high, kind);
    add(name, [x, f] { return f(x); });
  }
  template <class F>
  void two(const char* name, Class kind, double low, double high, F f) {
    const Tensor x = drawn({count_}, low, high, kind), y = drawn({count_}, low, high, kind);
    add(name, [x, y, f] { return f(x, y); });
  }
  template <class F>
  void three(const char* name, Class, double low, double high, F f) {
    const Tensor x = drawn({count_}, low, high, Class::floats),
                 y = drawn({count_}, low, high, Class::floats),
                 z = drawn({count_}, low, high, Class::floats);
    if (std::strcmp(name, "where") == 0) {
      const Tensor mask = x > 0;
      mask.wait();
      return add(name, [mask, y, z, f] { return f(mask, y, z); });
    }
    add(name, [x, y, z, f] { return f(x, y, z); });
  }

  void pointwise() {
#define WEFT_BENCH_1(name, kind, low, high)                                                        \
  one(#name, Class::kind, low, high, [](const Tensor& x) { return weft::name(x); });
#define WEFT_BENCH_2(name, kind, low, high)                                                        \
  two(#name, Class::kind, low, high,                                                               \
      [](const Tensor& x, const Tensor& y) { return weft::name(x, y); });
#define WEFT_BENCH_3(name, kind, low, high)                                                        \
  three(#name, Class::kind, low, high,                                                             \
        [](const Tensor& x, const Tensor& y, const Tensor& z) { return weft::name(x, y, z); });
#define WEFT_BENCH_given(name, arity, kind, low, high)
#define WEFT_BENCH_arithmetic(name, arity, kind, low, high)                                        \
  WEFT_BENCH_##arity(name, kind, low, high)
#define WEFT_BENCH_numeric(name, arity, kind, low, high) WEFT_BENCH_##arity(name, kind, low, high)
#define WEFT_BENCH_floating(name, arity, kind, low, high) WEFT_BENCH_##arity(name, kind, low, high)
#define WEFT_BENCH_integral(name, arity, kind, low, high) WEFT_BENCH_##arity(name, kind, low, high)
#define WEFT_BENCH_compare(name, arity, kind, low, high) WEFT_BENCH_##arity(name, kind, low, high)
#define WEFT_BENCH_predicate(name, arity, kind, low, high) WEFT_BENCH_##arity(name, kind, low, high)
#define WEFT_BENCH_select(name, arity, kind, low, high) WEFT_BENCH_##arity(name, kind, low, high)
#define WEFT_OP_POINTWISE(name, arity, rule, kind, flops, low, high, ...)                          \
  WEFT_BENCH_##rule(name, arity, kind, low, high)
#include <weft/graph/detail/ops.def>
    one("cast to f64", Class::floats, -9, 9, [](const Tensor& x) { return x.to(f64); });
    one("cast to f16", Class::floats, -9, 9, [](const Tensor& x) { return x.to(f16); });
    one("cast to i32", Class::floats, -9, 9, [](const Tensor& x) { return x.to(i32); });
  }

  void structured() {
    const std::int64_t rows = count_ / 4096;
    const Tensor m = drawn({rows, 4096}, -1, 1, Class::floats);
    add("sum", [m] { return sum(m); });
    add("sum of columns", [m] { return sum(m, 0); });
    add("sum of rows", [m] { return sum(m, 1); });
    add("mean", [m] { return mean(m); });
    add("prod of rows", [m] { return prod(m, 1); });
    add("amax", [m] { return amax(m); });
    add("amax of rows", [m] { return amax(m, 1); });
    add("argmax of rows", [m] { return argmax(m, 1); });
    add("logsumexp of rows", [m] { return logsumexp(m, 1); });
    add("softmax of rows", [m] { return softmax(m, 1); });
    add("any", [m] { return any(m > 2); });
    add("transpose", [m] { return transpose(m, 0, 1) + 0.0f; });
    add("flip", [m] { return flip(m, 1) + 0.0f; });
    add("cat", [m] { return cat({m, m}, 1); });
    const Tensor picks = randint(0, rows, {rows}, {.device = device_});
    picks.wait();
    add("index_select of rows", [m, picks] { return index_select(m, 0, picks); });
    add("topk 8 of rows", [m] { return topk(m, 8, 1).first; });
    add("cumsum of rows", [m] { return cumsum(m, 1); });
    add("sort of rows", [m] { return sort(m, 1).first; });
    const Tensor row_of = expand(reshape(picks, {rows, 1}), {rows, 4096}) + 0;
    row_of.wait();
    add("scatter_add of rows", [m, row_of] { return scatter_add(m, 0, row_of, m); });
    add("var of rows", [m] { return var(m, 1); });
    add("pad", [m] { return pad(m, {1, 1}); });
    add("roll", [m] { return roll(m, 1, 1); });
    add("tril", [m] { return tril(m); });
    const Device device = device_;
    const std::int64_t count = count_;
    add("rand", [=] { return rand({count}, {.device = device}); });
    add("randn", [=] { return randn({count}, {.device = device}); });
    add("arange", [=] { return arange(count, {.dtype = f32, .device = device}); });
    const Tensor a = drawn({1024, 1024}, -1, 1, Class::floats);
    add("matmul 1024", [a] { return matmul(a, a); });
  }

  Device device_;
  std::int64_t count_;
  std::vector<Work> work_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Options options;
  options.device = "cpu";
  const bench::Options given = bench::options_of(argc, argv);
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], "--device") == 0) options.device = given.device;
  try {
    const Device device(options.device);
    manual_seed(1);
    std::vector<bench::Row> rows;
    for (const Work& work : Ops(device, given.quick ? 1 << 20 : 1 << 24).all()) {
      const double seconds = bench::seconds_of(
          given.quick ? 5 : 7, 1, [&] { eval(work.value()); }, [&] { synchronize(device); });
      rows.push_back({work.name, "weft", seconds * 1e3, "ms"});
    }
    bench::print(rows, given.json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ops: %s\n", error.what());
    return 1;
  }
}
