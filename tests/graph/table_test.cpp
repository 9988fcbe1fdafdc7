// The table of ops, row by row: its facts, and every op in every dtype that it is legal in, on
// shapes of all kinds, the engine against the interpreter.
#include <weft/weft.h>

#include "graph/structured_ops.h"
#include "support/catch.h"
#include "support/interpreter.h"
#include "support/op_slack.h"
#include "support/op_table.h"

using namespace weft;
using namespace weft::testing;

namespace {

/// By the public function of the op's name.
Tensor record(OpId op, const std::vector<Tensor>& x) {
#define WEFT_CALL_1(name) weft::name(x.at(0))
#define WEFT_CALL_2(name) weft::name(x.at(0), x.at(1))
#define WEFT_CALL_3(name) weft::name(x.at(0), x.at(1), x.at(2))
#define WEFT_CALL_arithmetic(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_numeric(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_floating(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_integral(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_compare(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_predicate(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_select(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_given(name, arity) Tensor()  // `cast` takes a dtype
#define WEFT_OP_POINTWISE(name, arity, rule, ...)                                                  \
  case OpId::name: return WEFT_CALL_##rule(name, arity);
  switch (op) {
#include <weft/graph/detail/ops.def>
    default: return Tensor();
  }
}

bool is_condition(const PointwiseRow& row, int k) {
  return row.rule == DTypeRule::select && k == 0;
}

Tolerance tolerance_of(const PointwiseRow& row, DType result) {
  const bool is_half = result == f16 || result == bf16;
  return {.ulp = row.ulp > 0 && is_half ? 1 : row.ulp,
          .absolute = slack_of(row.op, result),
          .zero_sign = true};
}

// Facts.

/// The number as a dtype has it; nothing where it is not exactly there.
bool holds(DType dtype, double number) {
  HostValue value(dtype, Shape());
  value.set_real(0, number);
  return value.real(0) == number || (std::isnan(number) && std::isnan(value.real(0)));
}

HostValue single(DType dtype, double number) {
  HostValue value(dtype, Shape());
  value.set_real(0, number);
  return value;
}

/// Facts are given to 15 digits or more.
constexpr double fact_precision = 5e-15;

struct Fact {
  std::string what;
  Tensor result;
  HostValue expected;
  Tolerance tolerance;
};

/// The fact in a dtype, where the dtype has its numbers.
void add_fact(const PointwiseRow& row, const std::vector<double>& fact, DType dtype,
              std::vector<Fact>& facts) {
  std::string what = std::string(row.name) + "(";
  std::vector<Tensor> operands;
  for (int k = 0; k < row.arity; ++k) {
    const double number = fact.at(static_cast<std::size_t>(k));
    const DType own = is_condition(row, k) ? bool_ : dtype;
    if (!holds(own, number)) return;
    operands.push_back(tensor_of(single(own, number)));
    what += (k ? ", " : "") + std::to_string(number);
  }
  const Tensor result = row.rule == DTypeRule::given ? cast(operands[0], dtype == f64 ? f32 : f64)
                                                     : record(row.op, operands);
  if (row.ulp == 0 && !holds(result.dtype(), fact.back())) return;
  Tolerance tolerance = tolerance_of(row, result.dtype());
  if (row.ulp > 0) tolerance.relative = fact_precision;
  facts.push_back({what + ") in " + std::string(name_of(dtype)), result,
                   single(result.dtype(), fact.back()), tolerance});
}

// Operands of all shapes.

enum class ShapeKind { scalar, empty, vector, broadcast, transposed, strided, pairs };

struct Layout {
  const char* name;
  ShapeKind kind;
  std::int64_t extent = 0;
};

constexpr Layout layouts[] = {
    {"rank 0", ShapeKind::scalar},           {"[0,3]", ShapeKind::empty},
    {"[1]", ShapeKind::vector, 1},           {"[17]", ShapeKind::vector, 17},
    {"[63]", ShapeKind::vector, 63},         {"[64]", ShapeKind::vector, 64},
    {"[65]", ShapeKind::vector, 65},         {"[129]", ShapeKind::vector, 129},
    {"[1000]", ShapeKind::vector, 1000},     {"broadcast", ShapeKind::broadcast},
    {"transposed", ShapeKind::transposed},   {"strided slice", ShapeKind::strided},
    {"pairs of specials", ShapeKind::pairs},
};

Tensor operand(const PointwiseRow& row, int k, DType dtype, const Layout& layout) {
  const unsigned seed = static_cast<unsigned>(layout.extent) * 31u + static_cast<unsigned>(k) * 7u +
                        static_cast<unsigned>(dtype);
  const auto make = [&](const Shape& shape) {
    return tensor_of(drawn(is_condition(row, k) ? bool_ : dtype, shape, row.low, row.high, seed));
  };
  switch (layout.kind) {
    case ShapeKind::scalar: return make({});
    case ShapeKind::empty: return make({0, 3});
    case ShapeKind::vector: return make({layout.extent});
    case ShapeKind::transposed: return transpose(make({5, 7}), 0, 1);
    case ShapeKind::strided: return slice(make({40}), 0, 1, 40, 3);
    case ShapeKind::pairs:
      if (is_condition(row, k)) return make(special_pairs(dtype, 1, row.arity).shape);
      return tensor_of(special_pairs(dtype, k, row.arity));
    case ShapeKind::broadcast: break;
  }
  if (row.arity == 1) return expand(make({3, 1}), {3, 5});
  return k == 0 ? make({3, 1}) : k == 1 ? make({1, 5}) : make({5});
}

void add_cases(const PointwiseRow& row, DType dtype, std::vector<Case>& cases) {
  for (const Layout& layout : layouts) {
    std::vector<Tensor> operands;
    for (int k = 0; k < row.arity; ++k) operands.push_back(operand(row, k, dtype, layout));
    const std::string what =
        std::string(row.name) + " of " + std::string(name_of(dtype)) + ", " + layout.name;
    if (row.rule != DTypeRule::given) {
      const Tensor result = record(row.op, operands);
      cases.push_back({what, result, tolerance_of(row, result.dtype())});
      continue;
    }
    for (const DType to : all_dtypes())
      cases.push_back({what + " to " + std::string(name_of(to)), cast(operands[0], to)});
  }
}

}  // namespace

TEST_CASE("table of ops: the comparison sees what differs", "[table]") {
  const auto differ = [](DType dtype, double a, double b, const Tolerance& tolerance) {
    return !matches(single(dtype, a), single(dtype, b), tolerance);
  };
  const double nan = std::nan(""), next = 1 + std::ldexp(1.0, -23);
  CHECK(differ(f32, 1, next, {}));
  CHECK(!differ(f32, 1, next, {.ulp = 1}));
  CHECK(differ(f32, 1, 1 + std::ldexp(1.0, -22), {.ulp = 1}));
  CHECK(!differ(f32, -std::ldexp(1.0, -149), std::ldexp(1.0, -149), {.ulp = 2}));
  CHECK(differ(bf16, 1, 1.0078125, {}));
  CHECK(!differ(f64, 100, 101, {.relative = 0.01}));
  CHECK(differ(f64, 0, -0.0, {.zero_sign = true}));
  CHECK(!differ(f64, 0, -0.0, {}));
  CHECK(!differ(f16, nan, -nan, {}));
  CHECK(differ(f16, nan, 1, {.ulp = 1e9, .absolute = 1e9}));
  CHECK(differ(f32, 3, std::numeric_limits<double>::infinity(), {.relative = 1, .absolute = 1e9}));
  CHECK(differ(i64, 3, 4, {.ulp = 9, .absolute = 9}));
  CHECK(!matches(single(i32, 3), single(i64, 3)));
  CHECK(!matches(single(i32, 3), HostValue(i32, {1})));
}

TEST_CASE("table of ops: every row has three facts, and they hold", "[table]") {
  for (const PointwiseRow& row : pointwise_rows()) {
    std::vector<Fact> facts;
    INFO(row.name);
    CHECK(row.facts.size() >= 3);
    for (const std::vector<double>& fact : row.facts) {
      REQUIRE(fact.size() == static_cast<std::size_t>(row.arity) + 1);
      const std::size_t before = facts.size();
      for (const DType dtype : legal_dtypes(row.op)) add_fact(row, fact, dtype, facts);
      CHECK(facts.size() > before);
    }
    std::vector<Tensor> results;
    for (const Fact& fact : facts) results.push_back(fact.result);
    const std::vector<HostValue> interpreted = interpret(results);  // before inputs are let go of
    eval(results);
    for (std::size_t i = 0; i < facts.size(); ++i) {
      const Fact& fact = facts[i];
      std::string by_interpreter, by_engine;
      matches(interpreted[i], fact.expected, fact.tolerance, &by_interpreter);
      matches(evaluated(results[i]), fact.expected, fact.tolerance, &by_engine);
      INFO(fact.what);
      CHECK(by_interpreter == "");
      CHECK(by_engine == "");
    }
  }
}

TEST_CASE("table of ops: every op in every legal dtype is what the interpreter says", "[table]") {
  Coverage coverage;
  for (const PointwiseRow& row : pointwise_rows()) {
    for (const DType dtype : legal_dtypes(row.op)) {
      std::vector<Case> cases;
      add_cases(row, dtype, cases);
      CHECK(failures(cases) == "");
      coverage.mark(row.op, dtype);
    }
  }
  for (const StructuredCases& family : structured_cases()) {
    INFO(family.name);
    CHECK(failures(family.cases) == "");
    for (const auto& [op, dtype] : family.covers) coverage.mark(op, dtype);
  }
  CHECK(coverage.missing() == "");
}
