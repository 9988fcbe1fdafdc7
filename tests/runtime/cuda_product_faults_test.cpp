// The k-th failure of each function of cuBLASLt through a program of several products: a typed
// error or the right result, nothing lost, and an engine that works on.
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/catch.h"
#include "support/fake_blas.h"
#include "support/fake_cuda.h"

using namespace weft;
using testing::FakeBlas;
using testing::FakeCuda;

namespace {

constexpr int no_memory = 3;

/// Elements (i + 2 j) mod 5: integers, so that every sum is exact.
Tensor numbers(std::int64_t rows, std::int64_t columns, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) values.push_back(double((i + 2 * j) % 5));
  return from_vector(values, {rows, columns}, {.dtype = dtype});
}

/// Products of several problems in one plan, one of them for a Variable.
struct Program {
  Variable w{numbers(40, 40, f32).cuda()};
  Tensor once, twice, wide;
  Program() {
    const Tensor a = numbers(40, 48, f32).cuda(), b = numbers(48, 40, f32).cuda();
    once = matmul(a, b);
    twice = matmul(transpose(once, 0, 1), a.slice(1, 0, 40));
    wide = matmul(numbers(72, 40, f64).cuda().reshape({2, 36, 40}),
                  numbers(80, 36, f64).cuda().reshape({2, 40, 36}));
    w += matmul(b.slice(0, 0, 40), once);
  }
  std::vector<Tensor> results() const { return {once, twice, wide, w.value()}; }
  void run() { eval(once, twice, wide, w); }
  /// The elements of all, one after the other.
  std::vector<double> values() const {
    std::vector<double> all;
    for (const Tensor& x : results())
      for (const double element : x.to_vector<double>()) all.push_back(element);
    return all;
  }
};

/// a b by plain loops, on the host.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b,
                            std::size_t m, std::size_t k, std::size_t n) {
  std::vector<double> c(m * n, 0);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t p = 0; p < k; ++p)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
  return c;
}

std::vector<double> elements(std::size_t rows, std::size_t columns) {
  std::vector<double> values;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) values.push_back(double((i + 2 * j) % 5));
  return values;
}

std::vector<double> expected() {
  const auto once = product(elements(40, 48), elements(48, 40), 40, 48, 40);
  std::vector<double> turned(once.size());
  for (std::size_t i = 0; i < 40; ++i)
    for (std::size_t j = 0; j < 40; ++j) turned[j * 40 + i] = once[i * 40 + j];
  const auto twice = product(turned, elements(40, 40), 40, 40, 40);
  const auto half = [](std::vector<double> all, bool second) {
    const auto middle = all.begin() + std::ptrdiff_t(all.size() / 2);
    return second ? std::vector(middle, all.end()) : std::vector(all.begin(), middle);
  };
  const auto wide = [&](bool second) {
    return product(half(elements(72, 40), second), half(elements(80, 36), second), 36, 40, 36);
  };
  auto w = product(elements(40, 40), once, 40, 40, 40);
  const auto before = elements(40, 40);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] += before[i];
  std::vector<double> all;
  for (const auto& part : {once, twice, wide(false), wide(true), w})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// What earlier failures left to be said is said.
void hear_all() {
  for (int i = 0; i < 20; ++i) try {
      return synchronize(Device::cuda(0));
    } catch (const Error&) {
    }
  FAIL("failures without end");
}

}  // namespace

TEST_CASE("cuda product: the k-th call of each function of the library may fail",
          "[cuda][product-faults]") {
  const std::vector<double> wanted = expected();
  for (const char* const function :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    for (const int status : {no_memory, 7, 13, 14}) {
      std::int64_t k = 1;
      for (;; ++k) {
        const FakeCuda gpu({.seed = static_cast<std::uint64_t>(k)});
        const FakeBlas blas;
        INFO(function << ", call " << k << " returns " << status);
        Program program;
        FakeBlas::fail(function, status, k);
        bool threw = false;
        try {
          program.run();
          const std::vector<double> got = program.values();
          CHECK(got == wanted);
        } catch (const OutOfMemoryError&) {
          CHECK(status == no_memory);
          threw = true;
        } catch (const InternalError&) {
          CHECK(status != no_memory);
          threw = true;
        }
        const bool failed = FakeBlas::has_failed();
        FakeBlas::fail("", 0);
        hear_all();
        if (threw && std::string(function) != "cublasLtMatmul")
          for (const Tensor& x : {program.once, program.twice, program.wide}) CHECK(x.is_pending());
        // A call that failed when the run was on its way failed that run; what is pending is done.
        if (!threw || program.once.is_pending()) CHECK(program.values() == wanted);
        CHECK(Program().values() == wanted);
        if (!failed) break;
        REQUIRE(k < 100);
      }
      CHECK(k > 1);  // it is called at all
    }
  }
}
