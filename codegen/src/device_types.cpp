// The C++ that stands for dtypes and ops in kernel texts.
#include <array>
#include <string_view>

#include <weft/codegen/kernel.h>
#include <weft/graph/error.h>

#include "device_scanner.h"

namespace weft::detail {
namespace {

struct Expression {
  OpId op;
  std::string_view text;
};

constexpr Expression expressions[] = {
#define WEFT_OP_POINTWISE(name, arity, rule, classes, flops, low, high, ulp, doc, expression, ...) \
  {OpId::name, #expression},
#include <weft/graph/detail/ops.def>
};

std::string_view expression_text(OpId op) {
  if (const RegisteredOp* own = registered(op)) return own->expression;
  for (const Expression& expression : expressions)
    if (expression.op == op) return expression.text;
  return {};
}

const char* cast_function(DType dtype) {
  constexpr const char* of[dtype_count] = {"wf_to_f16", "wf_to_bf16", "wf_to_f32",
                                           "wf_to_f64", "wf_to_i8",   "wf_to_i32",
                                           "wf_to_i64", "wf_to_u8",   "wf_to_bool"};
  return of[static_cast<int>(dtype)];
}

std::string call(const char* function, const std::string& argument) {
  return std::string(function) + "(" + argument + ")";
}

}  // namespace

std::string expression_of(OpId op, const std::string& type,
                          const std::vector<std::string>& operands) {
  const std::string_view text = expression_text(op);
  WEFT_ENSURE(!text.empty() && operands.size() == static_cast<std::size_t>(info(op).input_count));
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == i) {
      result += text[i++];
      continue;
    }
    const std::string_view word = text.substr(i, end - i);
    const std::size_t operand = std::string_view("xyz").find(word);
    if (word == "T")
      result += type;
    else if (word.size() == 1 && operand < operands.size())
      result += operands[operand];
    else
      result += word;
    i = end;
  }
  return result;
}

std::string storage_type(DType dtype) {
  constexpr const char* of[dtype_count] = {"wf_u16", "wf_u16", "float", "double", "wf_i8",
                                           "wf_i32", "wf_i64", "wf_u8", "wf_u8"};
  return of[static_cast<int>(dtype)];
}

std::string class_type(ComputeClass compute) {
  constexpr const char* of[compute_class_count] = {"float", "double", "wf_i32", "wf_i64"};
  return of[static_cast<int>(compute)];
}

std::string load_expression(DType dtype, const std::string& stored) {
  if (dtype == DType::f16) return call("wf_f16_to_f32", stored);
  if (dtype == DType::bf16) return call("wf_bf16_to_f32", stored);
  return size_of(dtype) == 1 ? call("wf_i32", stored) : stored;
}

std::string store_expression(DType dtype, const std::string& value) {
  if (dtype == DType::f16) return call("wf_f32_to_f16", value);
  if (dtype == DType::bf16) return call("wf_f32_to_bf16", value);
  return size_of(dtype) == 1 ? call(storage_type(dtype).c_str(), value) : value;
}

std::string cast_expression(DType dtype, const std::string& value) {
  const std::string narrow = call(cast_function(dtype), value);
  return size_of(dtype) == 2 ? load_expression(dtype, narrow) : narrow;
}

std::string argument_expression(DType dtype, const std::string& word) {
  return cast_expression(dtype, call(is_floating(dtype) ? "wf_from_bits" : "wf_i64", word));
}

}  // namespace weft::detail
