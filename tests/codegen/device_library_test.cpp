// Cutting the device sources into definitions, and what a text is given of them.
#include <weft/codegen/kernel.h>

#include "device_scanner.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::detail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<Definition> scan(const std::string& source) {
  std::vector<Definition> definitions;
  scan_device_source(source, definitions);
  return definitions;
}

std::string names(const std::vector<Definition>& definitions) {
  std::string text;
  for (const Definition& definition : definitions) text += definition.name + " ";
  return text;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("device sources: definitions of every form") {
  const std::vector<Definition> found = scan(
      "#ifndef WEFT_X_CUH\n#define WEFT_X_CUH\n#ifndef __CUDACC_RTC__\n#include \"y.cuh\"\n#endif\n"
      "typedef unsigned short wf_u16;  // { not code }\n"
      "struct wf_pair {\n  int x, y;\n};\n"
      "struct __align__(8) wf_a8 { char v[8]; };\n"
      "template <class T, int N = 3>\nWEFT_FN T wf_first(const T (&x)[N]) { return x[0]; }\n"
      "WEFT_TABLE int wf__table[] = {1, 2, 3};\n"
      "WEFT_FN int wf_later(int);\n"
      "WEFT_FN int wf_text() { return sizeof(\"}{;//\") /* } */; }\n"
      "#define WF_TWO \\\n  2\n"
      "WEFT_FN int wf_block() {\n#define WF_INNER(n) n;\n  WF_INNER(int x = 1)\n#undef WF_INNER\n"
      "  return x;\n}\n#endif\n");
  REQUIRE(names(found) ==
          "wf_u16 wf_pair wf_a8 wf_first wf__table wf_later wf_text WF_TWO wf_block ");
  REQUIRE(found[0].text == "typedef unsigned short wf_u16;\n");
  REQUIRE(found[0].condition.empty());
  REQUIRE_THAT(found[8].text, ContainsSubstring("\n#define WF_INNER(n) n;\n"));
}

TEST_CASE("device sources: conditions, and macros that make definitions") {
  const std::vector<Definition> branches = scan(
      "#if defined(A)\nint a();\n#elif defined(B)\nint b();\n#else\nint c();\n#ifdef D\nint d();\n"
      "#endif\n#endif\nint e();\n");
  REQUIRE(names(branches) == "a b c d e ");
  REQUIRE(branches[0].condition == "(defined(A))");
  REQUIRE(branches[1].condition == "!(defined(A)) && (defined(B))");
  REQUIRE(branches[2].condition == "!(defined(A)) && !(defined(B))");
  REQUIRE(branches[3].condition == "!(defined(A)) && !(defined(B)) && defined(D)");
  REQUIRE(branches[4].condition.empty());
  const std::vector<Definition> made = scan(
      "#define WF_MAKE(name, T, value) \\\n  T wf_##name(T x) { return value; } \\\n"
      "  T wf_get_ ## name();\nWF_MAKE(one, int, f(x, 1))\nWF_MAKE(two, long, x)\n#undef WF_MAKE\n"
      "int wf_end();\n");
  REQUIRE(names(made) == "wf_one wf_get_one wf_two wf_get_two wf_end ");
  REQUIRE(made[0].text == "int wf_one(int x) { return f(x, 1); }\n");
  REQUIRE_THROWS_AS(scan("int f() { return 1;\n"), InternalError);
  REQUIRE_THROWS_AS(scan("#if 1\nint f();\n"), InternalError);
}

TEST_CASE("device library: what a text names, and what that names, and no more") {
  const std::string relu = device_library("float y = wf_relu(x);");
  REQUIRE(has(relu, "float wf_relu(float x)"));
  REQUIRE(has(relu, "wf_i64 wf_relu(wf_i64 x)"));
  REQUIRE(has(relu, "typedef long long wf_i64;"));
  REQUIRE(has(relu, "#define WEFT_FN"));
  REQUIRE_FALSE(has(relu, "wf_tanh"));
  REQUIRE_FALSE(has(relu, "#include"));
  const std::string tanh = device_library("wf_tanh(x)");
  REQUIRE(has(tanh, "wf__exp_poly"));
  REQUIRE(tanh.find("wf__exp_poly(float") < tanh.find("float wf_tanh"));
  REQUIRE(has(device_library("wf_isnan(3)"), "bool wf_isnan(wf_i32)"));
  REQUIRE(has(device_library("wf_philox4x32_10"), "#define WF_PHILOX_ROUND"));
  REQUIRE_FALSE(has(device_library("int x;"), "WEFT_FN"));
}

TEST_CASE("device types: expressions of ops") {
  REQUIRE(expression_of(OpId::add, "float", {"a", "b1"}) == "wf_add(a, b1)");
  REQUIRE(expression_of(OpId::reciprocal, "double", {"x0"}) == "double(1) / x0");
  REQUIRE(expression_of(OpId::where, "wf_i64", {"p", "x", "y"}) == "(p != wf_i64(0) ? x : y)");
  REQUIRE_THROWS_AS(expression_of(OpId::add, "float", {"a"}), InternalError);
  REQUIRE_THROWS_AS(expression_of(OpId::matmul, "float", {"a", "b"}), InternalError);
  REQUIRE(storage_type(bool_) == "wf_u8");
  REQUIRE(class_type(ComputeClass::i32) == "wf_i32");
  REQUIRE(load_expression(bf16, "s") == "wf_bf16_to_f32(s)");
  REQUIRE(store_expression(i8, "v") == "wf_i8(v)");
  REQUIRE(cast_expression(f16, "v") == "wf_f16_to_f32(wf_to_f16(v))");
  REQUIRE(argument_expression(f32, "p.w[0]") == "wf_to_f32(wf_from_bits(p.w[0]))");
  REQUIRE(argument_expression(u8, "p.w[0]") == "wf_to_u8(wf_i64(p.w[0]))");
}
