// docs/ops.md is what the table of ops and the headers of the functions say.
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <weft/graph/detail/ops.h>

#include "support/catch.h"

namespace {

namespace fs = std::filesystem;

const fs::path root = fs::path(WEFT_TESTS_DIR).parent_path();

std::string read(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// In a cell of a table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, "\\");
  return text;
}

std::string dtypes_of(const std::string& rule) {
  if (rule == "arithmetic") return "all";
  if (rule == "numeric") return "all but bool";
  if (rule == "floating") return "floats; others become the default float";
  if (rule == "integral") return "integers, bool";
  if (rule == "compare") return "all; gives bool";
  if (rule == "predicate") return "all; gives bool";
  if (rule == "select") return "a bool, then all";
  return "all";
}

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string pointwise_rows(int wanted) {
  std::string text = "| function | value | dtypes | ulp | gradient |\n|---|---|---|---|---|\n";
  const auto row = [&](const char* name, int arity, const char* rule, double ulp, const char* doc,
                       std::string gradient) {
    if (arity != wanted) return;
    constexpr const char* operands[] = {"", "(x)", "(x, y)", "(x, y, z)"};
    if (!gradient.empty()) gradient = "`" + cell(gradient) + "`";
    text += "| `" + std::string(name) + operands[arity] + "` | " + cell(doc) + " | " +
            dtypes_of(rule) + " | " + (ulp > 0 ? number(ulp) : "exact") + " | " +
            (gradient.empty() ? "none" : gradient) + " |\n";
  };
#define WEFT_GRADIENT(...) #__VA_ARGS__
#define WEFT_NO_GRADIENT ""
#define WEFT_OP_POINTWISE(name, arity, rule, classes, flops, low, high, ulp, doc, expression,      \
                          gradient, ...)                                                           \
  row(#name, arity, #rule, ulp, doc, gradient);
#include <weft/graph/detail/ops.def>
#undef WEFT_GRADIENT
#undef WEFT_NO_GRADIENT
  return text;
}

std::string structured_rows() {
  std::string text = "| op | kind | what it gives | bits | gradient |\n|---|---|---|---|---|\n";
  const auto row = [&](const char* name, const char* kind, const char* exactness, bool gradient,
                       const char* doc) {
    text += "| `" + std::string(name) + "` | " + kind + " | " + cell(doc) + " | " + exactness +
            " | " + (gradient ? "yes" : "none") + " |\n";
  };
#define WEFT_OP_STRUCTURED(name, kind, inputs, outputs, exactness, mask, has_gradient, doc)        \
  row(#name, #kind, #exactness, has_gradient, doc);
#include <weft/graph/detail/ops.def>
  return text;
}

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin);
}

/// The functions that a header declares at namespace scope, each with the comment above it.
std::string functions_of(const std::string& header) {
  std::istringstream lines(read(root / header));
  std::string text, comment, declaration;
  bool is_inside = false, is_body = false;  // of namespace detail, of a function
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("namespace detail {")) is_inside = true;
    if (line.starts_with("}")) is_inside = is_body = false;
    if (is_inside || is_body) continue;
    if (line.starts_with("// ---- ")) {
      text += "\n**" + line.substr(8, line.find(" --", 8) - 8) + "**\n\n";
      comment.clear();
    } else if (line.starts_with("/// ")) {
      comment += (comment.empty() ? "" : " ") + line.substr(4);
    } else if (!declaration.empty() ||
               (!line.empty() && std::isupper(static_cast<unsigned char>(line[0])) &&
                line.find('(') != std::string::npos) ||
               line.starts_with("std::") || line.starts_with("bool ") ||
               line.starts_with("void ")) {
      declaration += (declaration.empty() ? "" : " ") + trimmed(line);
      is_body = line.ends_with('{');
      if (!is_body && !line.ends_with(';')) continue;
      if (declaration.find("operator") == std::string::npos)
        text += "- `" + declaration.substr(0, declaration.size() - (is_body ? 2 : 1)) + "`" +
                (comment.empty() ? "" : "  \n  " + comment) + "\n";
      declaration.clear();
      comment.clear();
    } else if (line.empty() || !std::isspace(static_cast<unsigned char>(line[0]))) {
      comment.clear();
    }
  }
  return text;
}

std::string page() {
  std::string text =
      "# Functions and ops\n\n"
      "Made from the table of ops and the headers by a test, which fails where this page differs:\n"
      "`WEFT_UPDATE_GOLDEN=1 build/release/tests/test_graph \"docs*\"` writes it again.\n\n"
      "Operands broadcast and promote as PyTorch's do. f16 and bf16 are computed as f32 and "
      "rounded\n"
      "after each function; i8, u8 and bool as i32, and wrap. Of NaN, ties, empty reductions and\n"
      "integers over 0 see [architecture.md](architecture.md) and the comments below. `exact` in "
      "the\n"
      "column ulp: the correctly rounded value, or one defined by its steps; a number: the "
      "greatest\n"
      "distance from the correctly rounded f32 or f64 value, in units in the last place. In "
      "gradients\n"
      "`g` is the cotangent and `out` the value. All point-wise functions are methods too, and "
      "all\n"
      "ops run on every device.\n\n"
      "## Point-wise, one operand\n\n" +
      pointwise_rows(1) + "\n## Point-wise, two operands\n\n" + pointwise_rows(2) +
      "\n## Point-wise, three operands\n\n" + pointwise_rows(3) +
      "\n## Ops with a structure\n\nbits: `exact` are the same on every device, for any plan and "
      "number of threads.\n\n" +
      structured_rows() + "\n## Functions\n\nDeclared in `weft/graph`, beside those above.\n";
  const std::string folder = "graph/include/weft/graph/";
  for (const char* header : {"functions.h", "indexing.h", "shaping.h", "sorting.h", "statistics.h",
                             "linear_algebra.h", "activations.h"}) {
    text += "\n### " + std::string(header) + "\n";
    text += functions_of(folder + header);
  }
  return text;
}

}  // namespace

TEST_CASE("docs: ops.md is what the table and the headers say", "[docs]") {
  const fs::path path = root / "docs/ops.md";
  const std::string wanted = page();
  if (std::getenv("WEFT_UPDATE_GOLDEN")) std::ofstream(path) << wanted;
  const std::string found = read(path);
  if (found == wanted) return;
  std::istringstream have(found), want(wanted);
  std::string a, b;
  int line = 0;
  do {
    ++line;
    if (!std::getline(have, a)) a = "(its end)";
    if (!std::getline(want, b)) b = "(its end)";
  } while (a == b);
  FAIL("docs/ops.md line " << line << " is\n  " << a << "\nand should be\n  " << b
                           << "\nWEFT_UPDATE_GOLDEN=1 writes it");
}

TEST_CASE("docs: the page has every op, with its bound and its gradient", "[docs]") {
  const std::string text = read(root / "docs/ops.md");
  for (int i = 0; i < weft::detail::op_count; ++i) {
    const auto& op = weft::detail::info(static_cast<weft::detail::OpId>(i));
    if (op.kind == weft::detail::OpKind::fused) continue;
    INFO(op.name);
    CHECK(text.find("| `" + std::string(op.name)) != std::string::npos);
  }
  CHECK(
      text.find("| `tanh(x)` | hyperbolic tangent | floats; others become the default float | 2 | "
                "`g * (1 - out * out)` |\n") != std::string::npos);
  CHECK(text.find("- `Tensor matmul(const TensorArg& a, const TensorArg& b)`") !=
        std::string::npos);
}
