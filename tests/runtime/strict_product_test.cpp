// The cpu's strict product against its order of sums written out in plain loops; and that neither
// threads nor instruction sets change its bits.
#include <cmath>

#include <weft/codegen/product.h>
#include <weft/runtime/counters.h>
#include <weft/weft.h>

#include "runtime/cpu_steps.h"

using namespace weft;
using namespace weft::testing;

namespace {

/// Modes of the program as they were, when the test is over.
struct KeepModes {
  ~KeepModes() {
    set_numerics(standard);
    set_matmul_precision(MatmulPrecision::f32);
  }
};

template <class T>
std::vector<T> by_the_order(const std::vector<T>& a, const std::vector<T>& b, std::int64_t m,
                            std::int64_t n, std::int64_t k) {
  const ComputeClass compute = sizeof(T) == 4 ? ComputeClass::f32 : ComputeClass::f64;
  const ProductOrder order = product_order(compute, m, n, k, 1);
  std::vector<T> c(std::size_t(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      T total = 0;
      for (std::int64_t part = 0; part < order.parts; ++part) {
        T sum = 0;
        const std::int64_t first = part * order.part, end = std::min(k, first + order.part);
        for (std::int64_t p = first; p < end; ++p)
          sum = std::fma(a[std::size_t(i * k + p)], b[std::size_t(p * n + j)], sum);
        total = part == 0 ? sum : total + sum;
      }
      c[std::size_t(i * n + j)] = total;
    }
  return c;
}

template <class T>
std::vector<T> numbers(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(T(int(engine() % 20001) - 10000) / 7000);
  return values;
}

template <class T>
void check_order(std::int64_t m, std::int64_t n, std::int64_t k) {
  INFO(m << " " << n << " " << k);
  const auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2);
  const Tensor x = from_vector(a, {m, k}), y = from_vector(b, {k, n});
  const std::vector<T> wanted = by_the_order(a, b, m, n, k);
  CHECK(matmul(x, y).to_vector<T>() == wanted);
  // Transposed twice, as other strides of the same numbers.
  const Tensor xt = transpose(from_vector(numbers<T>(m * k, 3), {k, m}), 0, 1);
  const auto at = xt.to_vector<T>();
  CHECK(matmul(xt, y).to_vector<T>() == by_the_order(at, b, m, n, k));
}

}  // namespace

TEST_CASE("strict product: the order that product_order gives", "[cpu][numerics]") {
  const KeepModes keep;
  set_numerics(strict);
  for (const auto& [m, n, k] : {std::tuple{1, 1, 1},
                                {3, 5, 7},
                                {65, 33, 100},
                                {1, 300, 2000},
                                {300, 1, 2000},
                                {130, 70, 1500},
                                {257, 129, 40}}) {
    check_order<float>(m, n, k);
    check_order<double>(m, n, k);
  }
}

TEST_CASE("strict product: threads do not change its bits", "[cpu][numerics]") {
  const KeepModes keep;
  set_numerics(strict);
  const Tensor a = from_vector(numbers<float>(300 * 700, 1), {300, 700});
  const Tensor b = from_vector(numbers<float>(700 * 200, 2), {700, 200});
  limit_threads(1);
  const auto one = matmul(a, b).to_vector<float>();
  limit_threads(0);
  CHECK(matmul(a, b).to_vector<float>() == one);
}

TEST_CASE("strict product: every instruction set has the same bits", "[cpu][numerics]") {
  constexpr std::int64_t m = 7, n = 2 * strict_columns, k = 50;
  const auto a = numbers<float>(m * k, 1), b = numbers<float>(k * n, 2);
  std::vector<float> wanted;
  for (const char* level : {"base", "v2", "v3", "v4"}) {
    KernelTable table{};
    if (!fill_level(level, table)) continue;
    INFO(level);
    std::vector<float> c(m * n);
    table.strict_product[0](c.data(), n, a.data(), k, 1, b.data(), n, m, n, k, true);
    if (wanted.empty()) {
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (std::int64_t p = 0; p < k; ++p)
            sum = std::fma(a[std::size_t(i * k + p)], b[std::size_t(p * n + j)], sum);
          wanted.push_back(sum);
        }
    }
    CHECK(c == wanted);
  }
}

TEST_CASE("numerics: a change of mode plans again, and changing back does not", "[numerics]") {
  const KeepModes keep;
  CHECK(numerics() == standard);
  CHECK(matmul_precision() == MatmulPrecision::f32);
  const Tensor a = from_vector(numbers<float>(40 * 700, 1), {40, 700});
  const Tensor b = from_vector(numbers<float>(700 * 30, 2), {700, 30});
  const auto plans_of_a_run = [&] {
    const Counters before = counters();
    static_cast<void>(matmul(a, b).to_vector<float>());
    const Counters after = counters();
    CHECK(after.runs == before.runs + 1);
    CHECK(after.plans_made + after.plan_hits == before.plans_made + before.plan_hits + 1);
    return after.plans_made - before.plans_made;
  };
  plans_of_a_run();
  CHECK(plans_of_a_run() == 0);
  set_numerics(strict);
  CHECK(plans_of_a_run() == 1);
  CHECK(plans_of_a_run() == 0);
  set_numerics(fast);
  CHECK(plans_of_a_run() == 1);
  set_matmul_precision(tf32);
  CHECK(plans_of_a_run() == 1);
  set_numerics(standard);
  CHECK(plans_of_a_run() == 1);
  set_matmul_precision(MatmulPrecision::f32);
  CHECK(plans_of_a_run() == 0);
  set_numerics(strict);
  CHECK(plans_of_a_run() == 0);
}

TEST_CASE("numerics: the mode of the evaluation counts, on simulated devices too", "[numerics]") {
  const KeepModes keep;
  sim::enable(1);
  const auto a = numbers<float>(50 * 900, 1), b = numbers<float>(900 * 20, 2);
  const Tensor x = from_vector(a, {50, 900}), y = from_vector(b, {900, 20});
  const Tensor c = matmul(x.to("sim:0"), y.to("sim:0"));
  set_numerics(strict);
  CHECK(c.to_vector<float>() == by_the_order(a, b, 50, 20, 900));
}
