// Products of a GPU by the library, over a driver and a library of the tests: which are left to it,
// what it is told, and what becomes of failures. Where there is a real GPU, by the real library.
#include <cmath>
#include <random>

#include <weft/runtime/counters.h>
#include <weft/weft.h>

#include "support/catch.h"
#include "support/fake_blas.h"
#include "support/fake_cuda.h"
#include "support/gpu.h"

using namespace weft;
using testing::FakeBlas;
using testing::FakeCuda;

namespace {

/// Modes of the program as they were, when the test is over.
struct KeepModes {
  ~KeepModes() {
    set_numerics(standard);
    set_matmul_precision(MatmulPrecision::f32);
  }
};

/// Small numbers, whose products of a few hundred terms every float dtype but the halves holds.
Tensor numbers(const Shape& shape, DType dtype, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i)
    values.push_back(static_cast<float>(int(random() % 17) - 8) / 8);
  return from_vector(values, shape).to(dtype);
}

/// a b by plain loops; a and b of one batch.
std::vector<double> product(const Tensor& a, const Tensor& b) {
  const auto x = a.to_vector<double>(), y = b.to_vector<double>();
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  std::vector<double> c;
  for (std::int64_t batch = 0; batch < a.numel() / (m * k); ++batch)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t p = 0; p < k; ++p)
          sum += x[std::size_t((batch * m + i) * k + p)] * y[std::size_t((batch * k + p) * n + j)];
        c.push_back(sum);
      }
  return c;
}

void check_near(const Tensor& got, const std::vector<double>& wanted) {
  const auto values = got.to_vector<double>();
  REQUIRE(values.size() == wanted.size());
  const DType dtype = got.dtype();
  const double unit = dtype == f64 ? 1e-13 : dtype == f32 ? 1e-5 : dtype == f16 ? 1e-3 : 8e-3;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::abs(values[i] - wanted[i]) <= unit * (1 + std::abs(wanted[i]))))
      FAIL("element " << i << ": " << values[i] << ", wanted " << wanted[i]);
}

/// Two views of values that are there: on the GPU they are operands as they stand.
struct Views {
  Shape a, b;
  std::pair<Tensor, Tensor> (*of)(const Tensor& a, const Tensor& b);
  std::int64_t calls;  // of the library; 0: a generated kernel's
};

Tensor turned(const Tensor& x) { return transpose(x, -1, -2); }

// clang-format off
const Views all_views[] = {
    {{37, 41}, {41, 29}, [](const Tensor& a, const Tensor& b) { return std::pair(a, b); }, 1},
    {{41, 37}, {41, 29}, [](const Tensor& a, const Tensor& b) { return std::pair(turned(a), b); }, 1},
    {{37, 41}, {29, 41}, [](const Tensor& a, const Tensor& b) { return std::pair(a, turned(b)); }, 1},
    {{41, 37}, {29, 41}, [](const Tensor& a, const Tensor& b) { return std::pair(turned(a), turned(b)); }, 1},
    // Parts of larger matrices, at odd places.
    {{50, 61}, {60, 33}, [](const Tensor& a, const Tensor& b) {
       return std::pair(a.slice(0, 3, 40).slice(1, 5, 46), b.slice(0, 7, 48)); }, 1},
    {{61, 50}, {60, 33}, [](const Tensor& a, const Tensor& b) {
       return std::pair(turned(a).slice(0, 3, 40).slice(1, 5, 46), b.slice(0, 7, 48)); }, 1},
    // Vectors.
    {{1, 700}, {700, 60}, [](const Tensor& a, const Tensor& b) { return std::pair(a, b); }, 1},
    {{300, 200}, {200, 1}, [](const Tensor& a, const Tensor& b) { return std::pair(a, b); }, 1},
    {{400, 1}, {1, 100}, [](const Tensor& a, const Tensor& b) { return std::pair(a, b); }, 1},
    {{300, 200}, {200, 3}, [](const Tensor& a, const Tensor& b) { return std::pair(a, b.slice(1, 1, 2)); }, 1},
    // Batches: each its own, some shared.
    {{6, 20, 30}, {6, 30, 25}, [](const Tensor& a, const Tensor& b) { return std::pair(a, b); }, 1},
    {{3, 4, 20, 30}, {3, 4, 25, 30}, [](const Tensor& a, const Tensor& b) { return std::pair(a, turned(b)); }, 1},
    {{3, 4, 20, 30}, {30, 25}, [](const Tensor& a, const Tensor& b) { return std::pair(a, expand(b, {3, 4, 30, 25})); }, 1},
    {{20, 30}, {5, 30, 25}, [](const Tensor& a, const Tensor& b) { return std::pair(expand(a, {5, 20, 30}), b); }, 1},
    // Two axes that can not become one: a call for each index of the shorter.
    {{3, 20, 4, 30}, {3, 30, 4, 25}, [](const Tensor& a, const Tensor& b) {
       return std::pair(transpose(a, 1, 2), transpose(b, 1, 2)); }, 3},
    {{2, 3, 40, 30}, {30, 25}, [](const Tensor& a, const Tensor& b) {
       return std::pair(a.slice(2, 0, 20), expand(b, {2, 3, 30, 25})); }, 1},
    // Not the library's: every second column, rows in reverse, one row for all.
    {{40, 80}, {40, 30}, [](const Tensor& a, const Tensor& b) { return std::pair(a.slice(1, 0, 80, 2), b); }, 0},
    {{40, 40}, {40, 30}, [](const Tensor& a, const Tensor& b) { return std::pair(flip(a, {0}), b); }, 0},
    {{40, 40}, {1, 30}, [](const Tensor& a, const Tensor& b) { return std::pair(a, expand(b, {40, 30})); }, 0},
};
// clang-format on

constexpr DType float_dtypes[] = {f16, bf16, f32, f64};

void check_all_views(DType dtype, bool counts) {
  for (const Views& views : all_views) {
    INFO(name_of(dtype) << " " << views.a.str() << " times " << views.b.str());
    const Tensor a = numbers(views.a, dtype, 1), b = numbers(views.b, dtype, 2);
    const auto [x, y] = views.of(a, b);
    const std::vector<double> wanted = product(x, y);
    const Tensor on_gpu[] = {a.cuda(), b.cuda()};
    eval(on_gpu[0], on_gpu[1]);
    synchronize(Device::cuda(0));
    const std::int64_t products = FakeBlas::products(), launches = FakeCuda::launches();
    // Nobody holds the views, so that they are no values of their own.
    const Tensor c = [&] {
      const auto [left, right] = views.of(on_gpu[0], on_gpu[1]);
      return matmul(left, right);
    }();
    check_near(c, wanted);
    if (!counts) continue;
    CHECK(FakeBlas::products() - products == views.calls);
    CHECK((FakeCuda::launches() > launches) == (views.calls == 0));
  }
}

}  // namespace

TEST_CASE("cuda product: every float dtype, operands as they stand", "[cuda][product]") {
  const FakeCuda gpu;
  const FakeBlas blas;
  for (const DType dtype : float_dtypes) check_all_views(dtype, true);
}

TEST_CASE("cuda product: nothing is made or chosen where a plan is found", "[cuda][product]") {
  const FakeCuda gpu;
  const FakeBlas blas;
  const Tensor a = numbers({64, 64}, f32, 1).cuda(), b = numbers({64, 64}, f32, 2).cuda();
  eval(a, b);
  const auto run = [&] { static_cast<void>(matmul(a, b).to_vector<float>()); };
  run();
  const std::int64_t objects = FakeBlas::objects(), choices = FakeBlas::choices();
  CHECK(choices == 1);
  run();
  run();
  CHECK(FakeBlas::objects() == objects);
  CHECK(FakeBlas::choices() == choices);
  // Another plan with the same problem uses the algorithm that was chosen.
  CHECK(matmul(a, b + 1.0f).to_vector<float>().size() == 4096);
  CHECK(FakeBlas::objects() == objects);
  CHECK(FakeBlas::choices() == choices);
  CHECK(FakeBlas::products() == 4);
}

TEST_CASE("cuda product: what stays with generated kernels", "[cuda][product]") {
  const KeepModes keep;
  const FakeCuda gpu;
  const FakeBlas blas;
  const Tensor a = numbers({64, 64}, f32, 1), b = numbers({64, 64}, f32, 2);
  const auto wanted = product(a, b);
  // Small ones: a program that has no others does not open the library.
  FakeBlas::fail("cublasLtCreate", 7);
  CHECK(matmul(tensor({{1.0f, 2.0f}}).cuda(), tensor({{3.0f}, {4.0f}}).cuda()).item<float>() == 11);
  CHECK(sum(a.cuda() * b.cuda()).item<float>() == sum(a * b).item<float>());
  FakeBlas::fail("", 0);
  // No terms, and no elements.
  const Tensor none = zeros({300, 0}, {.device = "cuda:0"});
  CHECK(matmul(none, transpose(none, 0, 1)).to_vector<float>() ==
        std::vector<float>(300 * 300, 0.0f));
  CHECK(matmul(transpose(none, 0, 1), none).shape() == Shape({0, 0}));
  CHECK(matmul(transpose(none, 0, 1), a.cuda().slice(0, 0, 1).expand({300, 64})).numel() == 0);
  // Integers.
  const Tensor integers = (a * 8.0f).to(i32).cuda();
  CHECK(matmul(integers, integers).to_vector<int>() ==
        matmul(integers.cpu(), integers.cpu()).to_vector<int>());
  CHECK(FakeBlas::products() == 0);
  // Strict numerics, with the CPU's bits.
  set_numerics(strict);
  const Tensor thirds = a / 3.0f;
  CHECK(matmul(thirds.cuda(), b.cuda()).to_vector<float>() == matmul(thirds, b).to_vector<float>());
  CHECK(FakeBlas::products() == 0);
  set_numerics(standard);
  check_near(matmul(a.cuda(), b.cuda()), wanted);
  CHECK(FakeBlas::products() == 1);
}

TEST_CASE("cuda product: TF32 where it is asked for", "[cuda][product]") {
  const KeepModes keep;
  const FakeCuda gpu;
  const FakeBlas blas;
  const float fine = 1.0f + 0x1p-12f;  // 1 with ten bits after the point
  const Tensor a = full({64, 64}, fine, {.device = "cuda:0"});
  const Tensor b = full({64, 64}, 1.0f, {.device = "cuda:0"});
  eval(a, b);
  const auto first = [&] { return matmul(a, b)[0][0].item<float>(); };
  CHECK(first() == 64 * fine);
  set_matmul_precision(tf32);
  CHECK(first() == 64.0f);
  CHECK(matmul(a.to(f64), b.to(f64))[0][0].item<double>() == 64.0 * double(fine));
  set_matmul_precision(MatmulPrecision::f32);
  CHECK(first() == 64 * fine);
  CHECK(FakeBlas::choices() == 3);
}

TEST_CASE("cuda product: a plan says what carries a product out", "[cuda][product]") {
  const KeepModes keep;
  const FakeCuda gpu;
  const auto reason = [](const Shape& shape, const Device& device) {
    const Tensor a = zeros(shape, {.device = device});
    const Plan plan = make_plan({matmul(a, a)});
    for (const Step& step : plan.steps())
      if (step.kind == StepKind::library) return step.reason;
    return std::string("no product");
  };
  const Device device = Device::cuda(0);
  CHECK(reason({64, 64}, device) == "by cuBLASLt where that can");
  CHECK(reason({8, 8}, device) == "a generated kernel: it is small");
  CHECK(reason({64, 64}, Device::cpu()) == "");
  set_matmul_precision(tf32);
  CHECK(reason({64, 64}, device) == "by cuBLASLt where that can, in TF32");
  set_numerics(strict);
  CHECK(reason({64, 64}, device) == "strict: sums in one order");
  CHECK(reason({64, 64}, Device::cpu()) == "strict: sums in one order");
}

TEST_CASE("cuda product: fast numerics plan and build again", "[cuda][product]") {
  const KeepModes keep;
  const FakeCuda gpu;
  const Tensor x = tensor({1.0f, 2.0f}).cuda();
  const auto run = [&] { return (x * 2.0f + 1.0f).to_vector<float>(); };
  const std::vector<float> wanted = {3, 5};
  CHECK(run() == wanted);
  const Counters before = counters();
  set_numerics(fast);
  CHECK(run() == wanted);
  CHECK(counters().plans_made == before.plans_made + 1);
}

TEST_CASE("cuda product: a library that is missing or does not fit is done without",
          "[cuda][product]") {
  const Tensor a = numbers({64, 64}, f32, 1), b = numbers({64, 64}, f32, 2);
  const auto wanted = product(a, b);
  {
    const FakeCuda gpu;  // whose library is none
    check_near(matmul(a.cuda(), b.cuda()), wanted);
  }
  for (const int status : {1, 8, 15}) {  // not initialised, another architecture, not supported
    const FakeCuda gpu;
    const FakeBlas blas;
    FakeBlas::fail("cublasLtCreate", status);
    check_near(matmul(a.cuda(), b.cuda()), wanted);
    CHECK(FakeBlas::products() == 0);
  }
  const FakeCuda gpu;
  const FakeBlas blas;
  FakeBlas::refuse(true);
  check_near(matmul(a.cuda(), b.cuda()), wanted);
  FakeBlas::refuse(false);
  FakeBlas::fail("cublasLtMatmulAlgoGetHeuristic", 15);
  check_near(matmul(transpose(a.cuda(), 0, 1), b.cuda()), product(transpose(a, 0, 1), b));
  CHECK(FakeBlas::products() == 0);
}

TEST_CASE("cuda product: each function of the library may fail", "[cuda][product]") {
  const Tensor a = numbers({4, 40, 40}, f32, 1), b = numbers({4, 40, 40}, f32, 2);
  const auto wanted = product(a, b);
  for (const char* const function :
       {"cublasLtCreate", "cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
        "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute",
        "cublasLtMatmulPreferenceCreate", "cublasLtMatmulPreferenceSetAttribute",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"}) {
    const FakeCuda gpu;
    const FakeBlas blas;
    INFO(function);
    const Tensor x = transpose(a, 1, 2).cuda(), y = b.cuda();
    eval(x, y);
    const bool at_once = std::string(function) != "cublasLtMatmul";
    const auto make = [&] { return matmul(transpose(x, 1, 2), y); };
    const std::int64_t objects = FakeBlas::objects();
    for (const int status : {3, 7, 13, 14}) {
      FakeBlas::fail(function, status);
      const Tensor c = make();
      std::string said;
      try {
        static_cast<void>(c.to_vector<float>());
      } catch (const OutOfMemoryError& error) {
        CHECK(status == 3);
        said = error.what();
      } catch (const InternalError& error) {
        CHECK(status != 3);
        said = error.what();
      }
      CHECK(said.find("cuda:0") != std::string::npos);
      CHECK(said.find(function) != std::string::npos);
      FakeBlas::fail("", 0);
      if (!at_once) continue;
      CHECK(FakeBlas::objects() == objects);  // nothing is left behind
      CHECK(c.is_pending());
    }
    check_near(make(), wanted);
    CHECK(FakeBlas::products() == 1);
  }
}

TEST_CASE("cuda product: any call of the driver may fail once", "[cuda][product]") {
  const Tensor a = numbers({40, 40}, f32, 1), b = numbers({40, 40}, f32, 2);
  const auto wanted = product(a, b);
  for (const int status : {2, 1, 719}) {
    for (std::int64_t k = 1;; ++k) {
      const FakeCuda gpu;
      const FakeBlas blas;
      FakeCuda::fail(k, status);
      INFO("call " << k << ", status " << status);
      try {
        check_near(matmul(a.cuda(), b.cuda()), wanted);
      } catch (const OutOfMemoryError&) {
        CHECK(status == 2);
      } catch (const InternalError&) {  // the library does not say what its call failed of
        CHECK(status != 719);
      } catch (const DeviceLostError&) {
        CHECK(status == 719);
      }
      const bool failed = FakeCuda::has_failed();
      FakeCuda::fail(0, 0);
      if (status != 719) check_near(matmul(a.cuda(), b.cuda()), wanted);
      if (!failed) break;
      REQUIRE(k < 2000);
    }
  }
}

TEST_CASE("cuda product: a Variable's new value is not written by a run that has failed",
          "[cuda][product]") {
  const FakeCuda gpu;
  const FakeBlas blas;
  const Device device = Device::cuda(0);
  const Tensor a = numbers({64, 64}, f32, 1).cuda();
  Variable w(numbers({64, 64}, f32, 2).cuda());
  const auto before = w.to_vector<float>();
  const Tensor data = tensor({1.0f, 2.0f}, {.device = device});
  const Tensor bad = gather(data, 0, tensor({7}, {.device = device}));
  w.assign(matmul(a, w.value()));
  eval(bad, w);
  CHECK_THROWS_AS(w.to_vector<float>(), IndexError);
  CHECK(w.to_vector<float>() == before);
}

TEST_CASE("cuda product: a real GPU", "[cuda][product][gpu]") {
  if (!testing::has_gpus(1)) return;
  const KeepModes keep;
  for (const DType dtype : float_dtypes) check_all_views(dtype, false);
  const Tensor a = numbers({300, 2000}, f32, 1) / 3.0f, b = numbers({2000, 200}, f32, 2) / 3.0f;
  // The same bits again, and in strict mode those of the CPU.
  const auto once = matmul(a.cuda(), b.cuda()).to_vector<float>();
  CHECK(matmul(a.cuda(), b.cuda()).to_vector<float>() == once);
  set_numerics(strict);
  for (const DType dtype : float_dtypes) {
    INFO(name_of(dtype));
    const Tensor x = a.to(dtype), y = b.to(dtype);
    CHECK(matmul(x.cuda(), y.cuda()).to_vector<double>() == matmul(x, y).to_vector<double>());
  }
}
