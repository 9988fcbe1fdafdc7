// The golden runner itself: what it must refuse, it refuses.
#include <cmath>
#include <limits>

#include "golden.h"
#include "support/catch.h"
#include "tolerance.h"

namespace {

using golden::Case;
using golden::HostTensor;
using golden::mismatch;
using golden::ulp_distance;
using golden::Verdict;
using weft::DType;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

HostTensor reals(DType dtype, std::vector<double> values) {
  return {dtype, {static_cast<std::int64_t>(values.size())}, std::move(values), {}};
}

double moved(float value, int ulps) {
  for (; ulps > 0; --ulps) value = std::nextafter(value, std::numeric_limits<float>::infinity());
  for (; ulps < 0; ++ulps) value = std::nextafter(value, -std::numeric_limits<float>::infinity());
  return value;
}

Case one_output(const std::string& op, HostTensor output) {
  Case made;
  made.op = op;
  made.outputs = {std::move(output)};
  return made;
}

// Whether the runner takes `actual` for the only output of `op`.
bool takes(const std::string& op, const HostTensor& expected, const HostTensor& actual) {
  return mismatch(expected, actual, golden::tolerance_of(one_output(op, expected), 0)).empty();
}

Case parsed(const std::string& text) { return golden::parse_case(text, "here:1"); }

}  // namespace

TEST_CASE("golden comparison: distances in ulp", "[golden]") {
  CHECK(ulp_distance(1.0, moved(1.0f, 1), DType::f32) == 1);
  CHECK(ulp_distance(1.0, moved(1.0f, -3), DType::f32) == 3);
  CHECK(ulp_distance(1.0, moved(1.0f, 5), DType::f32) == 5);
  CHECK(ulp_distance(-1.0, moved(-1.0f, 2), DType::f32) == 2);
  CHECK(ulp_distance(0.0, -0.0, DType::f32) == 0);
  CHECK(ulp_distance(0.0, std::numeric_limits<float>::denorm_min(), DType::f32) == 1);
  CHECK(ulp_distance(-std::numeric_limits<float>::denorm_min(),
                     std::numeric_limits<float>::denorm_min(), DType::f32) == 2);
  CHECK(ulp_distance(std::numeric_limits<float>::min(),
                     moved(std::numeric_limits<float>::min(), -4), DType::f32) == 4);
  CHECK(ulp_distance(1.0, 1.0009765625, DType::f16) == 1);
  CHECK(ulp_distance(65504.0, 65472.0, DType::f16) == 1);
  CHECK(ulp_distance(0.0, std::ldexp(1.0, -24), DType::f16) == 1);
  CHECK(ulp_distance(1.0, 1.0078125, DType::bf16) == 1);
  CHECK(ulp_distance(256.0, 260.0, DType::bf16) == 2);
  CHECK(ulp_distance(1.0, std::nextafter(1.0, 2.0), DType::f64) == 1);
  CHECK(ulp_distance(-1e300, 1e300, DType::f64) > 1e18);
}

TEST_CASE("golden comparison: f32 functions may be 4 ulp off and not 5", "[golden]") {
  const HostTensor expected = reals(DType::f32, {1.5, 2.5});
  CHECK(takes("exp", expected, reals(DType::f32, {1.5, moved(2.5f, 4)})));
  CHECK_FALSE(takes("exp", expected, reals(DType::f32, {1.5, moved(2.5f, 5)})));
  CHECK_FALSE(takes("exp", expected, reals(DType::f32, {1.5, moved(2.5f, -5)})));
  CHECK_FALSE(takes("mul", expected, reals(DType::f32, {1.5, moved(2.5f, 1)})));
  CHECK_FALSE(takes("maximum", expected, reals(DType::f32, {moved(1.5f, 1), 2.5})));
}

TEST_CASE("golden comparison: halves are held to 1 ulp", "[golden]") {
  CHECK(takes("mul", reals(DType::f16, {1.0}), reals(DType::f16, {1.0009765625})));
  CHECK_FALSE(takes("mul", reals(DType::f16, {1.0}), reals(DType::f16, {1.001953125})));
  CHECK(takes("exp", reals(DType::bf16, {1.0}), reals(DType::bf16, {1.0078125})));
  CHECK_FALSE(takes("exp", reals(DType::bf16, {1.0}), reals(DType::bf16, {1.015625})));
  CHECK_FALSE(takes("maximum", reals(DType::f16, {1.0}), reals(DType::f16, {1.0009765625})));
}

TEST_CASE("golden comparison: f64 is held to 1e-12", "[golden]") {
  CHECK(takes("exp", reals(DType::f64, {2.0}), reals(DType::f64, {2.0 + 1.9e-12})));
  CHECK_FALSE(takes("exp", reals(DType::f64, {2.0}), reals(DType::f64, {2.0 + 2.1e-12})));
  CHECK_FALSE(takes("exp", reals(DType::f64, {1e-20}), reals(DType::f64, {0.0})));
  CHECK_FALSE(takes("div", reals(DType::f64, {2.0}), reals(DType::f64, {std::nextafter(2.0, 3)})));
}

TEST_CASE("golden comparison: NaN and infinities and zeros keep their places", "[golden]") {
  for (const char* op : {"exp", "add", "maximum"}) {
    INFO(op);
    CHECK(
        takes(op, reals(DType::f32, {not_a_number, 1.0}), reals(DType::f32, {-not_a_number, 1.0})));
    CHECK_FALSE(
        takes(op, reals(DType::f32, {not_a_number, 1.0}), reals(DType::f32, {1.0, not_a_number})));
    CHECK_FALSE(takes(op, reals(DType::f32, {1.0}), reals(DType::f32, {not_a_number})));
    CHECK_FALSE(takes(op, reals(DType::f32, {infinity}), reals(DType::f32, {-infinity})));
    CHECK_FALSE(takes(op, reals(DType::f32, {infinity}), reals(DType::f32, {3.4028234e38})));
    CHECK_FALSE(takes(op, reals(DType::f64, {infinity}), reals(DType::f64, {1.7e308})));
  }
  for (const char* op : {"maximum", "mul", "reshape", "tanh"}) {
    INFO(op);
    CHECK_FALSE(takes(op, reals(DType::f32, {-0.0}), reals(DType::f32, {0.0})));
    CHECK(takes(op, reals(DType::f32, {-0.0}), reals(DType::f32, {-0.0})));
  }
}

TEST_CASE("golden comparison: dtype and shape and integers are exact", "[golden]") {
  const HostTensor expected = reals(DType::f32, {1.0, 2.0});
  CHECK_FALSE(takes("exp", expected, reals(DType::f64, {1.0, 2.0})));
  CHECK_FALSE(takes("exp", expected, reals(DType::f32, {1.0, 2.0, 3.0})));
  HostTensor column = expected;
  column.shape = {2, 1};
  CHECK_FALSE(takes("exp", expected, column));
  const HostTensor integers{DType::i64, {1}, {}, {(std::int64_t{1} << 53) + 1}};
  const HostTensor near{DType::i64, {1}, {}, {std::int64_t{1} << 53}};
  CHECK(takes("add", integers, integers));
  CHECK_FALSE(takes("add", integers, near));
}

TEST_CASE("golden comparison: sums are held to their largest term", "[golden]") {
  Case sum = parsed(R"({"op": "sum", "attrs": {"dim": 1, "keepdim": false},
      "inputs": [{"dtype": "f32", "shape": [2, 3], "data": [1000, 1, -1000, 3, 2, 1]}],
      "outputs": [{"dtype": "f32", "shape": [2], "data": [1, 6]}]})");
  CHECK(golden::largest_terms(sum) == std::vector<double>{1000, 3});
  const golden::Tolerance tolerance = golden::tolerance_of(sum, 0);
  CHECK(mismatch(sum.outputs[0], reals(DType::f32, {1.0009, 6}), tolerance).empty());
  CHECK_FALSE(mismatch(sum.outputs[0], reals(DType::f32, {1.0011, 6}), tolerance).empty());
  CHECK_FALSE(mismatch(sum.outputs[0], reals(DType::f32, {1, 6.00001}), tolerance).empty());

  const Case product = parsed(R"({"op": "matmul", "attrs": {},
      "inputs": [{"dtype": "f32", "shape": [2, 1, 2], "data": [1, 10, 3, 4]},
                 {"dtype": "f32", "shape": [2, 2], "data": [5, 1, 2, 7]}],
      "outputs": [{"dtype": "f32", "shape": [2, 1, 2], "data": [25, 71, 23, 31]}]})");
  CHECK(golden::largest_terms(product) == std::vector<double>{20, 70, 15, 28});
  const Case vectors = parsed(R"({"op": "matmul", "attrs": {},
      "inputs": [{"dtype": "f32", "shape": [2], "data": [1, -10]},
                 {"dtype": "f32", "shape": [2], "data": [5, 2]}],
      "outputs": [{"dtype": "f32", "shape": [], "data": [-15]}]})");
  CHECK(golden::largest_terms(vectors) == std::vector<double>{20});
}

TEST_CASE("golden comparison: casts of floats to integers follow K5", "[golden]") {
  Case cast = parsed(R"({"op": "cast", "attrs": {"dtype": "u8"},
      "inputs": [{"dtype": "f32", "shape": [5], "data": ["nan", -3.5, 300, "inf", 7.9]}],
      "outputs": [{"dtype": "u8", "shape": [5], "data": [17, 253, 44, 0, 7]}]})");
  CHECK(golden::apply_conventions(cast) == "K5");
  CHECK(cast.outputs[0].ints == std::vector<std::int64_t>{0, 0, 255, 255, 7});
  CHECK(golden::apply_conventions(cast).empty());
  Case wide = parsed(R"({"op": "cast", "attrs": {"dtype": "i64"},
      "inputs": [{"dtype": "f64", "shape": [2], "data": [9.3e18, -9.3e18]}],
      "outputs": [{"dtype": "i64", "shape": [2], "data": [0, 0]}]})");
  CHECK(golden::apply_conventions(wide) == "K5");
  CHECK(wide.outputs[0].ints ==
        std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max(),
                                  std::numeric_limits<std::int64_t>::min()});
}

TEST_CASE("golden comparison: square roots are those of IEEE 754", "[golden]") {
  Case root = parsed(R"({"op": "sqrt", "attrs": {},
      "inputs": [{"dtype": "f64", "shape": [3], "data": [0.5, 4, -1]}],
      "outputs": [{"dtype": "f64", "shape": [3], "data": [0.7071067811865475, 3, "nan"]}]})");
  CHECK(golden::apply_conventions(root) == "IEEE 754");
  CHECK(root.outputs[0].reals[0] == std::sqrt(0.5));
  CHECK(root.outputs[0].reals[1] == 3);
  CHECK(golden::apply_conventions(root).empty());
}

TEST_CASE("golden files: malformed lines are refused", "[golden]") {
  CHECK_THROWS(parsed("{"));
  CHECK_THROWS(parsed(R"({"op": "neg", "inputs": [], "attrs": {}})"));
  CHECK_THROWS(golden::parse_tensor({{"dtype", "f32"}, {"shape", {2}}, {"data", {1.0}}}));
  CHECK_THROWS(golden::parse_tensor({{"dtype", "f99"}, {"shape", {1}}, {"data", {1.0}}}));
  CHECK_THROWS(golden::parse_tensor({{"dtype", "f32"}, {"shape", {1}}, {"data", {"seven"}}}));
  CHECK_THROWS(golden::parse_tensor({{"dtype", "i64"}, {"shape", {1}}, {"data", {1.5}}}));
  CHECK_THROWS(golden::load_cases("no-such-file.jsonl.gz"));
}

TEST_CASE("golden runner: a wrong op or gradient and a throw are failures", "[golden]") {
  const Case square = parsed(R"({"op": "square", "attrs": {},
      "inputs": [{"dtype": "f64", "shape": [2], "data": [3, -2]}],
      "outputs": [{"dtype": "f64", "shape": [2], "data": [9, 4]}],
      "cotangent": {"dtype": "f64", "shape": [2], "data": [1, 10]}, "grad_of": [0],
      "grads": [{"dtype": "f64", "shape": [2], "data": [6, -40]}]})");
  const golden::Backend cpu = golden::backend("cpu");
  const auto verdict = [&](const golden::Op& op) {
    return golden::run_case(square, cpu, {{"square", op}});
  };
  const auto x = [](const golden::Args& args) { return std::get<weft::Tensor>(args.at(0)); };
  using golden::Args, golden::Attrs, golden::Tensors;
  CHECK(verdict([&](const Args& args, const Attrs&) -> Tensors {
          return {x(args) * x(args)};
        }).kind == Verdict::Kind::passed);
  CHECK(verdict([&](const Args& args, const Attrs&) -> Tensors {
          return {x(args) * x(args) + 1.0};
        }).kind == Verdict::Kind::failed);
  const Verdict half = verdict(
      [&](const Args& args, const Attrs&) -> Tensors { return {x(args) * x(args).detach()}; });
  CHECK(half.kind == Verdict::Kind::failed);
  CHECK(half.message.find("gradient for input 0") == 0);
  CHECK(verdict([&](const Args&, const Attrs&) -> Tensors {
          throw std::runtime_error("no");
        }).kind == Verdict::Kind::failed);
  CHECK(verdict([&](const Args& args, const Attrs&) -> Tensors {
          return {x(args), x(args)};
        }).kind == Verdict::Kind::failed);
  CHECK(golden::run_case(square, cpu, {}).kind == Verdict::Kind::not_there);
}

TEST_CASE("golden runner: on sim every second input is moved", "[golden]") {
  const Case add = parsed(R"({"op": "add", "attrs": {},
      "inputs": [{"dtype": "f32", "shape": [2], "data": [1, 2]},
                 {"dtype": "f32", "shape": [2], "data": [3, 4]}],
      "outputs": [{"dtype": "f32", "shape": [2], "data": [4, 6]}]})");
  const golden::Backend sim = golden::backend("sim");
  weft::sim::reset_counters();
  CHECK(golden::run_case(add, sim, golden::registry()).kind == Verdict::Kind::passed);
  CHECK(weft::sim::counters(0).kernels + weft::sim::counters(1).kernels > 0);
  CHECK(weft::sim::counters(0).bytes_between_devices +
            weft::sim::counters(1).bytes_between_devices ==
        2 * sizeof(float));
}
