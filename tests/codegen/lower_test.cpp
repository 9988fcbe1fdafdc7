// Lowering of fused bodies: inputs, rounding, registers.
#include <weft/codegen/program.h>

#include "support/catch.h"

using namespace weft;
using namespace weft::detail;

namespace {

struct Body {
  Graph graph;
  VertexId add(OpId op, DType dtype, std::initializer_list<VertexId> sources) {
    Vertex vertex{};
    vertex.op = op;
    vertex.dtype = dtype;
    vertex.in_begin = static_cast<std::uint32_t>(graph.edges.size());
    vertex.in_count = static_cast<std::uint32_t>(sources.size());
    for (const VertexId source : sources) graph.edges.push_back({{source, 0}, identity_map});
    graph.vertices.push_back(vertex);
    return static_cast<VertexId>(graph.vertices.size() - 1);
  }
  VertexId input(DType dtype, std::int32_t leaf) {
    const VertexId v = add(OpId::data, dtype, {});
    graph.vertices[v].leaf = leaf;
    return v;
  }
  VertexId argument(DType dtype, std::int64_t slot) {
    const VertexId v = add(OpId::scalar, dtype, {});
    graph.vertices[v].attrs.v[0] = slot;
    return v;
  }
  void output(VertexId v) { graph.outputs.push_back({v, 0}); }
};

}  // namespace

TEST_CASE("lower: memory inputs by their number, arguments after them") {
  Body body;
  const auto scalar = body.argument(f32, 5);
  const auto second = body.input(f32, 1), first = body.input(f32, 0);
  body.output(body.add(OpId::sub, f32, {body.add(OpId::mul, f32, {first, scalar}), second}));
  const Program program = lower(body.graph);
  REQUIRE(program.memory_inputs == 2);
  REQUIRE(to_text(program) == "r0 = input 0 f32\nr1 = input 1 f32\nr2 = argument 5 f32\n"
                              "r3 = mul.f32 r0 r2\nr4 = sub.f32 r3 r1\noutput r4 f32\n");
}

TEST_CASE("lower: narrow dtypes are rounded after every op, questions and choices are not") {
  Body body;
  const auto x = body.input(f16, 0), y = body.input(f16, 1);
  const auto sum = body.add(OpId::add, f16, {x, y});
  const auto less = body.add(OpId::lt, bool_, {sum, y});
  body.output(body.add(OpId::where, f16, {less, sum, x}));
  REQUIRE(to_text(lower(body.graph)) ==
          "r0 = input 0 f16\nr1 = input 1 f16\nr2 = add.f32 r0 r1\nr3 = cast.f16 r2\n"
          "r2 = lt.f32 r3 r1\nr4 = where.f32 r2 r3 r0\noutput r4 f16\n");
  Body bools;
  const auto a = bools.input(bool_, 0);
  bools.output(bools.add(OpId::mul, bool_, {a, a}));
  REQUIRE(to_text(lower(bools.graph)) ==
          "r0 = input 0 bool\nr1 = mul.i32 r0 r0\nr2 = cast.bool r1\noutput r2 bool\n");
}

TEST_CASE("lower: casts that the program wrote") {
  Body body;
  const auto x = body.input(i64, 0);
  const auto narrow = body.add(OpId::cast, u8, {x});
  body.output(body.add(OpId::cast, f32, {narrow}));
  const Program program = lower(body.graph);
  REQUIRE(program.code.size() == 2);
  REQUIRE(program.code[0].from == ComputeClass::i64);
  REQUIRE(program.code[1].from == ComputeClass::i32);
  REQUIRE(to_text(program) ==
          "r0 = input 0 i64\nr1 = cast.u8 r0\nr2 = cast.f32 r1\noutput r2 f32\n");
}

TEST_CASE("lower: registers are reused, but never an operand's, an input's or an output's") {
  Body body;
  const auto x = body.input(f32, 0);
  VertexId v = x;
  for (int i = 0; i < 1000; ++i) v = body.add(OpId::add, f32, {v, x});
  const auto early = body.add(OpId::neg, f32, {v});
  body.output(early);
  v = early;
  for (int i = 0; i < 1000; ++i) v = body.add(OpId::mul, f32, {v, v});
  body.output(v);
  const Program program = lower(body.graph);
  REQUIRE(program.register_count == 4);
  bool is_written = false;
  for (const Instruction& code : program.code) {
    REQUIRE(code.result != program.inputs[0].reg);
    for (int i = 0; i < code.operand_count; ++i) REQUIRE(code.result != code.operands[i]);
    REQUIRE_FALSE((is_written && code.result == program.outputs[0].reg));
    is_written = is_written || code.op == OpId::neg;
  }
}

TEST_CASE("lower: what may be done in one pass with the next") {
  const auto joins = [](const Program& program) {
    std::string text;
    for (const Instruction& code : program.code) text += code.joins_next ? 'j' : '-';
    return text;
  };
  Body chain;
  const auto x = chain.input(f32, 0), y = chain.input(f32, 1);
  const auto product = chain.add(OpId::mul, f32, {x, y});
  const auto sum = chain.add(OpId::add, f32, {product, y});
  chain.output(chain.add(OpId::sub, f32, {x, sum}));
  // The difference takes the register of the product.
  CHECK(joins(lower(chain.graph)) == "j--");
  // Twice, later again, or outside.
  Body twice;
  const auto a = twice.input(f32, 0);
  const auto once = twice.add(OpId::add, f32, {a, a});
  twice.output(twice.add(OpId::mul, f32, {once, once}));
  CHECK(joins(lower(twice.graph)) == "--");
  Body later;
  const auto b = later.input(f32, 0);
  const auto first = later.add(OpId::add, f32, {b, b});
  const auto second = later.add(OpId::mul, f32, {first, b});
  later.output(later.add(OpId::sub, f32, {second, first}));
  CHECK(joins(lower(later.graph)) == "-j-");
  Body kept;
  const auto c = kept.input(f32, 0);
  const auto value = kept.add(OpId::add, f32, {c, c});
  kept.output(kept.add(OpId::mul, f32, {value, c}));
  kept.output(value);
  CHECK(joins(lower(kept.graph)) == "--");
  // A narrow result is rounded between.
  Body narrow;
  const auto h = narrow.input(f16, 0);
  narrow.output(narrow.add(OpId::mul, f16, {narrow.add(OpId::add, f16, {h, h}), h}));
  CHECK(joins(lower(narrow.graph)) == "----");
}
