// DetectAnomaly: which op, on which line, made NaN.
#include <limits>

#include <weft/graph/evaluate.h>
#include <weft/weft.h>

#include "support/catch.h"
#if !defined(WEFT_TESTS_WITHOUT_CUDA)
#include "support/fake_cuda.h"
#endif

using namespace weft;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The message and the line of what f throws.
std::pair<std::string, int> fault(const std::function<void()>& f) {
  try {
    f();
  } catch (const ValueError& error) {
    return {error.what(), error.line()};
  }
  return {"", 0};
}

}  // namespace

TEST_CASE("anomaly: the op whose value first has NaN, with its line and scope", "[anomaly]") {
  sim::enable(1);
  for (const Device device : {Device::cpu(), Device("sim:0")}) {
    const DetectAnomaly guard;
    const Tensor x = tensor({4.0, -1.0, 9.0}, {.device = device});
    Tensor y;
    int line = 0;
    {
      const Scope scope("encoder");
      line = __LINE__ + 1;
      y = exp(sqrt(x - 0.5) * 2) + 1;
    }
    const auto [text, at] = fault([&] { y.to_vector<float>(); });
    CHECK(at == line);
    CHECK_THAT(text, ContainsSubstring("sqrt in scope encoder: its value, f32[3]"));
    CHECK_THAT(text, ContainsSubstring("has NaN at [1]"));
    CHECK_THAT(text, ContainsSubstring("operands: f32[3]"));
    CHECK_THAT(text, !ContainsSubstring("already"));
    CHECK_THROWS_AS(eval(y), ValueError);
  }
}

TEST_CASE("anomaly: at each of the calls that evaluate", "[anomaly]") {
  const DetectAnomaly guard;
  const auto bad = [] { return log(tensor({-1.0})) * 2; };
  CHECK_THROWS_AS(eval(bad()), ValueError);
  CHECK_THROWS_AS(bad().wait(), ValueError);
  CHECK_THROWS_AS(bad().item<float>(), ValueError);
  const Tensor held = bad();
  CHECK_THROWS_AS(flush(), ValueError);
  CHECK(held.is_pending());
}

TEST_CASE("anomaly: of a gradient, the op that it belongs to", "[anomaly]") {
  const DetectAnomaly guard;
  const Variable x = variable(tensor({4.0, 0.0}));
  const int line = __LINE__ + 1;
  const Tensor root = sqrt(x);
  const Tensor loss = sum(root * tensor({1.0, 0.0}));
  loss.backward();
  const auto [text, at] = fault([&] { x.grad().to_vector<float>(); });
  CHECK(at == line + 2);
  CHECK_THAT(text, ContainsSubstring("div: its part of a gradient, f32[2], has NaN at [1]"));
  CHECK_THAT(text, ContainsSubstring("the gradient of sqrt, recorded at"));
  CHECK_THAT(text, ContainsSubstring("anomaly_test.cpp:" + std::to_string(line)));
}

TEST_CASE("anomaly: of a function made of others, its name and the op's", "[anomaly]") {
  const DetectAnomaly guard;
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({{infinity, 1.0}, {2.0, 3.0}}), labels = tensor({0, 1});
  const auto said = [](const Tensor& y) { return fault([&] { y.wait(); }).first; };
  CHECK_THAT(said(cross_entropy(x, labels)), ContainsSubstring("cross_entropy (sub): its value"));
  CHECK_THAT(said(softmax(x, 1)), ContainsSubstring("softmax (sub): its value"));
  CHECK_THAT(said(var(x)), ContainsSubstring("var (sub): its value"));
  CHECK_THAT(said(mean(x - x)), ContainsSubstring("sub: its value"));  // the program's own
  CHECK_THAT(said(nanmean(log(-abs(x)))), ContainsSubstring("log: its value"));
  CHECK_THAT(said(einsum("ij,jk", {x, zeros({2, 2})})), ContainsSubstring("einsum (matmul): its"));
  {
    const Scope scope("head");
    CHECK_THAT(said(mse_loss(x, x)), ContainsSubstring("mse_loss (sub) in scope head: its value"));
  }
  // Of a gradient: the function whose it is.
  const Variable w = variable(tensor({0.0, 0.0}));
  const Tensor total = logsumexp(log(w));
  const auto [text, at] = fault([&] { grad(total, w).wait(); });
  CHECK_THAT(text, ContainsSubstring("the gradient of logsumexp (exp), recorded at"));
  const Variable v = variable(tensor({-infinity, 1.0}));
  const auto spread = fault([&] { grad(corrcoef(stack({v, v})).sum(), v).wait(); }).first;
  CHECK_THAT(spread, ContainsSubstring("corrcoef ("));
}

TEST_CASE("anomaly: NaN that came with the data is told as such", "[anomaly]") {
  const DetectAnomaly guard;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const int line = __LINE__ + 1;
  const Tensor x = tensor({1.0, nan});
  const auto [text, at] = fault([&] { (x + 1).to_vector<float>(); });
  CHECK(at == line + 1);
  CHECK_THAT(text, ContainsSubstring("operand 1 had NaN at [1] already: it came in with the data"));
  CHECK_THAT(text, ContainsSubstring("anomaly_test.cpp:" + std::to_string(line)));
  // What is dealt with is no anomaly.
  CHECK(where(isnan(x), 0, x).to_vector<float>() == std::vector<float>{1, 0});
}

TEST_CASE("anomaly: infinities, where they are asked for", "[anomaly]") {
  const auto program = [] { return (1 / tensor({1.0, 0.0})).to_vector<float>(); };
  {
    const DetectAnomaly guard;
    CHECK(program()[1] == std::numeric_limits<float>::infinity());
    {
      const DetectAnomaly inner({.infinity = true});
      CHECK_THAT(fault(program).first,
                 ContainsSubstring("div: its value, f32[2], has an infinity at [1]"));
    }
    CHECK(program()[0] == 1);
  }
  CHECK(std::isnan(log(tensor({-1.0})).item<float>()));
}

TEST_CASE("anomaly: halves and doubles", "[anomaly]") {
  const DetectAnomaly guard({.infinity = true});
  for (const DType dtype : {f16, bf16, f32, f64}) {
    CHECK_THAT(fault([&] {
                 log(tensor({1.0, -1.0}, {.dtype = dtype})).wait();
               }).first,
               ContainsSubstring("NaN at [1]"));
    CHECK_THAT(fault([&] {
                 log(tensor({{1.0}, {0.0}}, {.dtype = dtype})).wait();
               }).first,
               ContainsSubstring("an infinity at [1, 0]"));
    CHECK(log(tensor({1.0}, {.dtype = dtype})).item<double>() == 0);
  }
  CHECK_THROWS_AS((tensor({60000.0}, {.dtype = f16}) * 2).wait(), ValueError);
}

TEST_CASE("anomaly: the same bits, values in order, and no Variable changes", "[anomaly]") {
  const auto train = [](bool looks) {
    std::optional<DetectAnomaly> guard;
    if (looks) guard.emplace();
    manual_seed(3);
    Variable w = variable(randn({5, 3}));
    const Tensor x = randn({7, 5});
    for (int i = 0; i < 3; ++i) {
      const Tensor loss = mean(square(sigmoid(matmul(x, w)) - 0.25));
      w -= grad(loss, w) * 0.5;
    }
    return w.to_vector<float>();
  };
  CHECK(train(true) == train(false));
  const DetectAnomaly guard;
  Variable a = variable(tensor({1.0})), b = variable(tensor({-1.0}));
  a.wait();
  b.wait();
  a += 1;
  b.assign(log(b));
  CHECK_THROWS_AS(eval(a, b), ValueError);
  CHECK(Tensor(a).is_pending());
  CHECK(Tensor(b).is_pending());
}

#if !defined(WEFT_TESTS_WITHOUT_CUDA)
TEST_CASE("anomaly: on a GPU", "[anomaly][cuda]") {
  const testing::FakeCuda gpu;
  const DetectAnomaly guard;
  const Tensor x = tensor({4.0, -1.0}, {.device = "cuda:0"});
  const Tensor y = sqrt(x) + sum(x);
  CHECK_THAT(fault([&] { y.cpu().wait(); }).first,
             ContainsSubstring("sqrt: its value, f32[2] on cuda:0, has NaN at [1]"));
}
#endif
