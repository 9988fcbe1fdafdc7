// Element-wise ops that a program defines: values, dtypes, fusion, gradients, devices, mistakes.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include <weft/custom.h>
#include <weft/graph/detail/passes.h>
#include <weft/weft.h>

#include "gradcheck.h"
#include "support/catch.h"

using namespace weft;
using Catch::Matchers::ContainsSubstring;
using Floats = std::vector<float>;

namespace {

WEFT_ELEMENTWISE(softsign, (x), x / (T(1) + abs(x)), (g / square(1 + abs(x))));
// Contracted, it would have other bits.
WEFT_ELEMENTWISE(multiply_add, (a, x, b), a* x + b, (g * x, g* a, g), .rule = DTypeRule::arithmetic,
                 .cost = 2);
WEFT_ELEMENTWISE(swish_of, (v, slope), v* sigmoid(slope* v),
                 (g * sigmoid(slope * v) +
                      g * v * slope * sigmoid(slope * v) * (1 - sigmoid(slope * v)),
                  g* v* v* sigmoid(slope* v) * (1 - sigmoid(slope * v))));
WEFT_ELEMENTWISE(summed_slope, (x), x * x, (sum(g * 2 * x)));
WEFT_ELEMENTWISE(wide_slope, (x), x * x, ((g * 2 * x).to(f64)));
WEFT_ELEMENTWISE(shifted, (x), wf_shl(x, T(2)), (), .rule = DTypeRule::integral);
WEFT_ELEMENTWISE(is_near, (x, y), abs(x - y) < T(2), (), .rule = DTypeRule::compare);
WEFT_ELEMENTWISE(low_bits, (x), x& T(3), (), .rule = DTypeRule::integral);
WEFT_ELEMENTWISE(truth, (x), x, (), .rule = DTypeRule::predicate);
WEFT_ELEMENTWISE(divided, (x, y), x / y, (), .rule = DTypeRule::numeric);
WEFT_ELEMENTWISE(of_number, (x), x * 0.1, ());

const float unknown_constant = 3;
WEFT_ELEMENTWISE(names_the_program, (x), x* unknown_constant, ());
WEFT_ELEMENTWISE(assigns, (x), x = T(2), ());
WEFT_ELEMENTWISE(selects, (x, y, z), y + z, (), .rule = DTypeRule::select);

namespace first {
WEFT_ELEMENTWISE(same_name, (x), x + T(1), ());
}
namespace second {
WEFT_ELEMENTWISE(same_name, (x), x + T(2), ());
}

std::vector<float> many() {
  std::vector<float> values;
  for (int i = 0; i < 1003; ++i) values.push_back(std::sin(float(i)) * float(i % 17));
  return values;
}

}  // namespace

TEST_CASE("custom: an expression's values, broadcast and promoted", "[custom]") {
  CHECK(softsign(tensor({-3.0, 0.0, 1.0})).to_vector<float>() == Floats{-0.75f, 0.0f, 0.5f});
  CHECK(softsign(tensor({1, 3})).dtype() == f32);
  CHECK(softsign(tensor({1.0, 3.0}, {.dtype = f64})).dtype() == f64);
  const Tensor half = softsign(tensor({1.0, 2.0}, {.dtype = f16}));
  CHECK(half.dtype() == f16);
  CHECK(half.to_vector<float>() == Floats{0.5f, 0.66650390625f});
  CHECK(softsign(tensor({2.0}, {.dtype = bf16})).item<float>() == 0.66796875f);
  const Tensor sums = multiply_add(tensor({{1}, {2}}), tensor({10, 20}), 3);
  CHECK(sums.dtype() == i64);
  CHECK(sums.shape() == Shape({2, 2}));
  CHECK(sums.to_vector<int>() == std::vector<int>{13, 23, 23, 43});
  CHECK(multiply_add(tensor({200}, {.dtype = u8}), 2, 1).item<int>() == (401 & 255));
  CHECK(low_bits(tensor({5, -1, 8})).to_vector<int>() == std::vector<int>{1, 3, 0});
  CHECK(low_bits(tensor({true, false})).to_vector<int>() == std::vector<int>{1, 0});
  CHECK(shifted(tensor({3}, {.dtype = i32})).item<int>() == 12);
  const Tensor near = is_near(tensor({1.0, 5.0}), 2);
  CHECK(near.dtype() == bool_);
  CHECK(near.to_vector<int>() == std::vector<int>{1, 0});
  CHECK(truth(tensor({0.5, 0.0, -2.0})).to_vector<int>() == std::vector<int>{1, 0, 1});
  CHECK(of_number(tensor({3.0f})).item<float>() == float(3.0 * 0.1));
  const Variable v = variable(tensor({3.0}));
  CHECK(softsign(v).item<float>() == 0.75f);
}

TEST_CASE("custom: products and sums are rounded apart, in float and double", "[custom]") {
  const float a = 1.0f + 0x1p-20f, b = -(1.0f + 0x1p-19f);
  CHECK(multiply_add(tensor({a}), tensor({a}), tensor({b})).item<float>() == 0.0f);
  const double c = 1.0 + 0x1p-50, d = -(1.0 + 0x1p-49);
  CHECK(multiply_add(tensor({c}, {.dtype = f64}), tensor({c}, {.dtype = f64}), d).item<double>() ==
        0.0);
}

TEST_CASE("custom: the functions have the bits of weft's own", "[custom]") {
  const std::vector<float> values = many();
  const Tensor x = from_vector(values, {1003});
  CHECK(swish_of(x, 1.5).to_vector<float>() == (x * sigmoid(1.5 * x)).to_vector<float>());
}

TEST_CASE("custom: an op fuses with its neighbours and shows its name", "[custom]") {
  const Tensor x = tensor({-3.0, 0.0, 1.0});
  const Tensor y = softsign(x * 2) + 1;
  const Plan plan = make_plan({y});
  CHECK(plan.count(StepKind::kernel) == 1);
  std::ostringstream table, picture, graph;
  table << plan;
  CHECK(table.str().find("mul softsign add") != std::string::npos);
  write_dot(picture, plan);
  CHECK(picture.str().find("softsign") != std::string::npos);
  write_dot(graph, capture({y}));
  CHECK(graph.str().find("softsign") != std::string::npos);
  CHECK(y.to_vector<float>() == Floats{-6.0f / 7.0f + 1.0f, 1.0f, 2.0f / 3.0f + 1.0f});
}

TEST_CASE("custom: ops of one name are different ops, and equal work is done once", "[custom]") {
  const Tensor x = tensor({1.0});
  const Tensor a = first::same_name(x), b = second::same_name(x);
  CHECK(a.item<float>() == 2);
  CHECK(b.item<float>() == 3);
  CHECK((first::same_name(x) * second::same_name(x)).item<float>() == 6);
  const Tensor twice = sum(softsign(x)) + sum(softsign(x));
  CHECK(make_plan({twice}).count(StepKind::kernel) <= 3);
}

TEST_CASE("custom: gradients, twice, against difference quotients", "[custom]") {
  using Inputs = std::vector<Tensor>;
  const Tensor x = testing::varied({3}, 1), slopes = testing::varied({2, 1}, 2);
  CHECK(testing::second_order_fault([](const Inputs& in) { return softsign(in[0]); }, {x}) == "");
  CHECK(testing::second_order_fault([](const Inputs& in) { return swish_of(in[0], in[1]); },
                                    {x, slopes}) == "");
  CHECK(testing::second_order_fault(
            [](const Inputs& in) { return multiply_add(in[0], in[1], in[0]); }, {x, slopes}) == "");
  const Variable v = variable(tensor({1.0}, {.dtype = f64}));
  CHECK(grad(sum(softsign(v)), v).item<double>() == 0.25);
  // d/dx 1 / (1 + x)^2 = -2 / (1 + x)^3
  CHECK(grad(sum(grad(sum(softsign(v)), v)), v).item<double>() == -0.25);
  CHECK_THROWS_AS(grad(sum(of_number(v)), v), ValueError);
}

TEST_CASE("custom: simulated devices give the same bits", "[custom]") {
  sim::enable(1);
  const std::vector<float> values = many();
  const auto program = [&](Device device) {
    const Tensor x = from_vector(values, {17, 59}, {.device = device});
    const Tensor y =
        multiply_add(x, softsign(x), 0.25) * swish_of(transpose(x, 0, 1), x[3][2]).transpose(0, 1);
    return sum(y, 1) + is_near(y, 0).to(f32).sum(1);
  };
  const Floats expected = program(Device::cpu()).to_vector<float>();
  CHECK(program("sim:0").to_vector<float>() == expected);
}

TEST_CASE("custom: mistakes are told at the first use", "[custom]") {
  const Tensor x = tensor({1.0});
  const auto message = [&](auto f) -> std::string {
    try {
      f();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const Variable v = variable(tensor({1.0, 2.0, 3.0}));
  CHECK_THROWS_AS(grad(sum(summed_slope(v)), v), ShapeError);
  CHECK_THAT(message([&] { (void)grad(sum(summed_slope(v)), v); }),
             ContainsSubstring("summed_slope: gradient 1 is f32[]") &&
                 ContainsSubstring("operand 1 f32[3]") && ContainsSubstring("custom_test.cpp"));
  CHECK_THROWS_AS(grad(sum(wide_slope(v)), v), DTypeError);
  CHECK_THROWS_AS(names_the_program(x), ValueError);
  CHECK_THROWS_AS(names_the_program(x), ValueError);  // every time
  CHECK_THAT(message([&] { names_the_program(x); }),
             ContainsSubstring("names_the_program") &&
                 ContainsSubstring("\"unknown_constant\" is not known to GPUs"));
  CHECK_THAT(message([&] { assigns(x); }), ContainsSubstring("nothing may be assigned"));
  CHECK_THAT(message([&] { divided(x, x); }), ContainsSubstring("floor_divide"));
  CHECK_THAT(message([&] { selects(x > 0, x, x); }), ContainsSubstring("the dtype rule is to be"));
  const auto define = [](const char* expression, bool is_contracted) {
    return detail::define_elementwise(
        {"defined", "x", expression, 1, {}, nullptr, {}, is_contracted}, {});
  };
  CHECK_THROWS_AS(define("x", true), UnsupportedError);
  CHECK_THROWS_AS(define("x; x", false), ValueError);
  CHECK_THROWS_AS(define("x << T(40)", false), ValueError);
  CHECK_THROWS_AS(define("x >> x", false), ValueError);
  CHECK_THROWS_AS(define("x[0]", false), ValueError);
  CHECK_THROWS_AS(define("exp", false), ValueError);
  CHECK_THROWS_AS(define("wf_no_such(x)", false), ValueError);
  CHECK_THROWS_AS(softsign(Tensor()), ValueError);
  CHECK_THROWS_AS(multiply_add(x, tensor({1.0, 2.0}), tensor({1.0, 2.0, 3.0})), ShapeError);
  CHECK_THROWS_AS(low_bits(x), DTypeError);
  CHECK_THROWS_AS(multiply_add(1, 2, 3), ValueError);
}

TEST_CASE("custom: the snippets of the guide stand in the sample", "[custom]") {
  const std::string root = std::string(WEFT_TESTS_DIR) + "/..";
  const auto lines_of = [](const std::string& path) {
    std::ifstream file(path);
    REQUIRE(file);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      const std::size_t first = line.find_first_not_of(' ');
      lines.push_back(first == line.npos ? "" : line.substr(first));
    }
    return lines;
  };
  const std::vector<std::string> sample = lines_of(root + "/samples/07_custom_op.cpp");
  bool is_code = false;
  int compared = 0;
  for (const std::string& line : lines_of(root + "/docs/custom-ops.md")) {
    if (line.starts_with("```")) {
      is_code = !is_code;
    } else if (is_code && !line.empty()) {
      INFO(line);
      CHECK(std::find(sample.begin(), sample.end(), line) != sample.end());
      ++compared;
    }
  }
  CHECK(compared > 40);
}
