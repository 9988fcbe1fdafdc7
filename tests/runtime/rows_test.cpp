// Row groups: point-wise steps and reductions over the same rows in one pass.
#include <cmath>
#include <functional>

#include <weft/runtime/plan.h>
#include <weft/weft.h>

#include "engine.h"
#include "support/catch.h"

using namespace weft;

namespace {

/// While it lives, plans are made by these options.
struct Planned {
  explicit Planned(const detail::PlanOptions& options) {
    detail::Engine::instance().set_options(options);
  }
  ~Planned() { detail::Engine::instance().set_options({}); }
};

Tensor varied(const Shape& shape, DType dtype = f32) {
  return (sin(arange(shape.numel()).to(f64) * 0.7) * 3.0).reshape(shape).to(dtype);
}

Tensor normalised(const Tensor& x) {
  const Tensor centred = x - mean(x, -1, keepdim);
  return centred * rsqrt(mean(square(centred), -1, keepdim) + 1e-5);
}

using Function = std::function<Tensor(const Tensor&)>;

/// "" where every plan gives the bits of the plan without groups.
std::string row_fault(const Function& f, const Tensor& x) {
  std::vector<double> want;
  {
    const Planned apart({.fuse = false});
    want = f(x).to_vector<double>();
  }
  for (const std::int64_t block : {1, 700, 20'000, 1'000'000}) {
    const Planned rows(
        {.most_row_bytes = 1 << 20, .least_row_group_bytes = 0, .row_block_bytes = block});
    const Tensor y = f(x);
    const std::string made = "in blocks of " + std::to_string(block) + " bytes";
    if (make_plan({y}).count(StepKind::kernel) != 1) return "several steps " + made;
    const std::vector<double> got = y.to_vector<double>();
    for (std::size_t i = 0; i < want.size(); ++i)
      if (!(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))))
        return made + ": element " + std::to_string(i) + " is " + std::to_string(got[i]) +
               ", not " + std::to_string(want[i]);
  }
  return "";
}

const std::vector<Shape> shapes = {{37, 129}, {5, 7, 64}, {3, 2, 5, 33},
                                   {2, 1000}, {300, 3},   {64, 1}};

}  // namespace

TEST_CASE("rows: any block gives the bits of separate steps") {
  for (const Shape& shape : shapes) {
    INFO(shape.str());
    for (const DType dtype : {f32, f64, f16, bf16}) {
      const Tensor x = varied(shape, dtype);
      eval(x);
      CHECK(row_fault([](const Tensor& t) { return softmax(t, -1); }, x) == "");
      CHECK(row_fault(normalised, x) == "");
    }
    const Tensor x = varied(shape);
    eval(x);
    CHECK(row_fault([](const Tensor& t) { return eq(t, amax(t, -1, keepdim)); }, x) == "");
    CHECK(row_fault([](const Tensor& t) { return t.to(i32) - argmax(t * 2.0f, -1, keepdim); }, x) ==
          "");
  }
}

TEST_CASE("rows: several reduced axes, views of operands, broadcast rows") {
  const Tensor x = varied({6, 20, 4, 16});
  eval(x);
  const auto centre = [](const Tensor& t) { return exp(t - mean(t, {2, 3}, keepdim)) * 2.0f; };
  CHECK(row_fault(centre, x) == "");
  CHECK(row_fault(centre, x.transpose(0, 1)) == "");
  CHECK(row_fault(centre, x.slice(1, 3, 19, 2)) == "");
  CHECK(row_fault(centre, flip(x, {0, 3})) == "");
  CHECK(row_fault(centre, x.slice(0, 2, 3).expand({6, 20, 4, 16})) == "");
}

TEST_CASE("rows: values are right") {
  const Tensor x = varied({512, 300});
  eval(x);
  const Tensor y = softmax(x, 1);
  const Plan plan = make_plan({y});
  REQUIRE(plan.count(StepKind::kernel) == 1);
  CHECK(plan.steps()[0].what == "amax sub exp sum div");
  CHECK(plan.steps()[0].reason == "one pass over 512 rows joins 4 steps");
  CHECK(plan.peak_bytes(Device::cpu()) == 512 * 300 * 4);
  const std::vector<float> in = x.to_vector<float>(), out = y.to_vector<float>();
  double worst = 0;
  for (std::size_t r = 0; r < 512; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < 300; ++c) sum += std::exp(double(in[r * 300 + c]));
    for (std::size_t c = 0; c < 300; ++c)
      worst = std::max(worst,
                       std::abs(out[r * 300 + c] / (std::exp(double(in[r * 300 + c])) / sum) - 1));
  }
  CHECK(worst < 2e-6);
}

TEST_CASE("rows: what is small, or mixes rows, stays apart") {
  CHECK(make_plan({softmax(varied({8, 16}), 1)}).count(StepKind::kernel) > 1);
  const Tensor x = varied({600, 600});
  eval(x);
  // Over the first axis no rows are left; through a transposition each row needs all others.
  CHECK(make_plan({x - amax(x, 0, keepdim)}).count(StepKind::kernel) == 2);
  const Tensor t = exp(x);
  const Plan plan = make_plan({t.transpose(0, 1) - amax(t, 1, keepdim)});
  REQUIRE(plan.count(StepKind::kernel) == 2);
  CHECK(plan.steps()[0].what == "exp amax");
  const Tensor all = varied({2, 300'000});
  eval(all);
  // A row that is longer than a cache.
  CHECK(make_plan({all - amax(all, 1, keepdim)}).count(StepKind::kernel) == 2);
}

TEST_CASE("rows: gradients, kept values and Variables") {
  const Tensor x = varied({256, 512});
  Variable w = variable(x);
  const auto loss = [&] { return sum(square(softmax(w * 2.0f, 1))); };
  std::vector<double> want, want_w;
  {
    const Planned apart({.fuse = false});
    want = grad(loss(), w).to_vector<double>();
    want_w = (w - softmax(w.value(), 1)).to_vector<double>();
  }
  CHECK(grad(loss(), w).to_vector<double>() == want);
  const Tensor highest = amax(w, 1, keepdim), moved = w - softmax(w.value(), 1);
  w.assign(moved);
  flush();
  CHECK(w.value().to_vector<double>() == want_w);
  CHECK(highest.to_vector<double>() == amax(x, 1, keepdim).to_vector<double>());
}

TEST_CASE("rows: groups that need each other's values in turn are planned") {
  const Tensor x = varied({256, 512}), y = varied({256, 512}) + 1.0f;
  eval(x, y);
  const auto both = [&] {
    const Tensor a = exp(x - amax(x, 1, keepdim)), b = exp(y - amax(y, 1, keepdim));
    const Tensor mixed = matmul(a, b.transpose(0, 1));
    const Tensor c = a * sum(mixed, 1, keepdim), d = b * sum(c, 1, keepdim);
    return cat({c / sum(d, 1, keepdim), d}, 1);
  };
  std::vector<double> want;
  {
    const Planned apart({.fuse = false});
    want = both().to_vector<double>();
  }
  CHECK(both().to_vector<double>() == want);
}
