// Element-wise ops that a program defines: its expression as text for kernels, checked, since GPUs
// know nothing else of the program.
#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/codegen/kernel.h>
#include <weft/custom.h>

#include "device_scanner.h"

namespace weft::detail {
namespace {

using Words = std::vector<std::pair<std::string_view, std::string_view>>;

constexpr std::string_view functions[] = {
#define WEFT_SCALAR_FUNCTION(name) #name,
#include <weft/codegen/scalar_functions.def>
};
constexpr std::string_view known_words[] = {"T",   "true",   "false", "bool",
                                            "int", "double", "float", "static_cast"};

template <class List>
bool contains(const List& list, std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

/// Whether the device library defines it.
bool is_of_device_library(const std::string& word) {
  return word.starts_with("wf_") && device_library(word) != device_library("");
}

Words operand_words(std::string_view operands) {
  static constexpr std::string_view names[] = {"x", "y", "z"};
  Words words;
  for_each_identifier(
      operands, [&](std::string_view word) { words.emplace_back(word, names[words.size()]); });
  return words;
}

class Translation {
 public:
  Translation(const ElementwiseText& text, Where at)
      : text_(text), at_(at), operands_(operand_words(text.operands)) {}

  std::string run() {
    check_characters();
    const std::string_view from(text_.expression);
    std::string result;
    for (std::size_t i = 0; i < from.size();) {
      std::size_t end = i;
      while (end < from.size() && is_word(from[end])) ++end;
      if (end == i) {
        result += from[i++];
        continue;
      }
      result += translated(from.substr(i, end - i), from.substr(end));
      i = end;
    }
    return result;
  }

 private:
  [[noreturn]] void fail_text(const std::string& what) const {
    fail<ValueError>(at_, std::string(text_.name) + ": " + what +
                              " in the expression: " + text_.expression);
  }

  void check_characters() const {
    const std::string_view text(text_.expression);
    if (text.find_first_of("\"'`;{}#\\[]@$\n") != text.npos)
      fail_text("only names, numbers, operators and parentheses may stand");
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '=') continue;
      const bool is_first = i + 1 < text.size() && text[i + 1] == '=';
      const bool is_second = i > 0 && std::string_view("=!<>").find(text[i - 1]) != text.npos;
      if (!is_first && !is_second) fail_text("nothing may be assigned");
      if (is_first) ++i;
    }
    if (text.find("<<") != text.npos || text.find(">>") != text.npos)
      fail_text(
          "shifts by the width or more have no value: use wf_shl(x, y) and wf_shr(x, y), which "
          "are defined, instead of << and >>");
    // Elements past a tensor's end are computed as well, from zeros.
    if (is_of_integers(text_.options.rule) && text.find_first_of("/%") != text.npos)
      fail_text("integers divided by 0 trap: use floor_divide(x, y) and remainder(x, y), which are "
                "defined, or the rule `floating`, instead of / and %");
  }

  std::string translated(std::string_view word, std::string_view rest) const {
    for (const auto& [name, standard] : operands_)
      if (word == name) return std::string(standard);
    const bool is_number = word[0] >= '0' && word[0] <= '9';
    if (is_number || contains(known_words, word)) return std::string(word);
    const std::size_t next = rest.find_first_not_of(' ');
    const bool is_call = next != rest.npos && rest[next] == '(';
    if (is_call && contains(functions, word)) return "wf_" + std::string(word);
    if (is_of_device_library(std::string(word))) return std::string(word);
    fail_text("\"" + std::string(word) +
              "\" is not known to GPUs: use the operands, T, numbers and the functions of "
              "weft/codegen/scalar_functions.def; pass other values as operands,");
  }

  const ElementwiseText& text_;
  const Where at_;
  const Words operands_;
};

}  // namespace

OpId define_elementwise(const ElementwiseText& text, Where at) {
  const DTypeRule rule = text.options.rule;
  if (rule == DTypeRule::select || rule == DTypeRule::given || rule == DTypeRule::none)
    fail<ValueError>(at, std::string(text.name) +
                             ": the dtype rule is to be arithmetic, numeric, floating, integral, "
                             "compare or predicate");
  if (text.is_contracted)
    fail<UnsupportedError>(at, std::string(text.name) +
                                   ": the file that defines it is compiled so that a * b + c is "
                                   "rounded once, which gives other bits than a GPU; compile it "
                                   "with -ffp-contract=off");
  auto op = std::make_unique<RegisteredOp>();
  op->name = text.name;
  op->doc = "defined by the program";
  const std::string expression = Translation(text, at).run();
  // As the loop of the CPU converts it.
  op->expression =
      (gives_bool(rule) ? "wf_i32((" + expression + ") != 0)" : "T(" + expression + ")");
  std::copy(std::begin(text.blocks), std::end(text.blocks), op->blocks);
  OpInfo& row = op->row;
  row.kind = OpKind::pointwise;
  row.rule = rule;
  row.exactness = Exactness::exact;
  row.input_count = static_cast<std::int8_t>(text.arity);
  row.output_count = 1;
  row.floats_only = !is_of_integers(rule);
  row.ints_only = !is_of_floats(rule);
  row.flops = text.options.cost;
  row.gradient = text.gradient;
  return register_op(std::move(op), at);
}

Tensor record_elementwise(OpId op, std::span<const Operand> operands) {
  return record_pointwise(op, operands);
}

}  // namespace weft::detail
