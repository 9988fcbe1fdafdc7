// Writes a program as straight-line C++ over elements.
#include "fused_text.h"

#include <weft/graph/error.h>

namespace weft::detail {

void begin_loop(KernelWriter& writer, int count) {
  writer.line("#pragma unroll");
  writer.line("for (int e = 0; e < " + std::to_string(count) + "; ++e) {");
}

FusedText::FusedText(KernelWriter& writer, const KernelStep& step, const FusedSpace& space)
    : writer_(writer),
      step_(step),
      registers_(step.program->register_count),
      stored_(step.inputs.size()) {
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    held_.push_back(space.is_constant(k)         ? Held::constant
                    : space.inner_stride(k) == 0 ? Held::row
                                                 : Held::elements);
}

void FusedText::hold_each() {
  for (Held& held : held_)
    if (held == Held::row) held = Held::elements;
}

float FusedText::flops() const noexcept {
  float sum = 0;
  for (const Instruction& code : step_.program->code) sum += info(code.op).flops;
  return sum;
}

void FusedText::begin() {
  if (step_.guards_state)
    writer_.line("if (wf_run_failed(" + writer_.word(ParamWord::Kind::error) + ")) return;");
  const Program& program = *step_.program;
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const ProgramInput& input = program.inputs[i];
    if (input.is_argument)
      name_value(i, argument_expression(input.dtype,
                                        writer_.word(ParamWord::Kind::argument, input.slot)));
    else if (held(i) == Held::constant)
      name_stored(i, "*reinterpret_cast<const " + storage_type(input.dtype) + "*>(" +
                         writer_.word(ParamWord::Kind::input, i) + ")");
  }
}

void FusedText::name_value(std::size_t i, const std::string& value) {
  const ProgramInput& input = step_.program->inputs[i];
  writer_.line("const " + class_type(compute_class(input.dtype)) + " " + value_name(i) + " = " +
               value + ";");
  registers_[input.reg] = value_name(i);
}

/// One value for many elements, as it is stored and as it is computed with.
void FusedText::name_stored(std::size_t k, const std::string& stored) {
  const ProgramInput& input = step_.program->inputs[k];
  stored_[k] = "s" + std::to_string(k);
  writer_.line("const " + storage_type(input.dtype) + " " + stored_[k] + " = " + stored + ";");
  name_value(k, load_expression(input.dtype, stored_[k]));
}

void FusedText::declare_source(std::size_t k, const std::string& offset) {
  const std::string type = "const " + storage_type(input(k).dtype) + "*";
  writer_.line(type + " const " + source(k) + " = reinterpret_cast<" + type + ">(" +
               writer_.word(ParamWord::Kind::input, k) + ")" +
               (offset.empty() ? "" : " + " + offset) + ";");
}

void FusedText::declare_targets() {
  for (std::size_t k = 0; k < output_count(); ++k) {
    const std::string type = storage_type(output(k).dtype) + "*";
    writer_.line(type + " const " + target(k) + " = reinterpret_cast<" + type + ">(" +
                 writer_.word(ParamWord::Kind::output, k) + ");");
  }
}

void FusedText::declare_arrays(int count, const std::vector<char>& inputs) {
  const std::string size = "[" + std::to_string(count) + "];";
  for (std::size_t k = 0; k < input_count(); ++k)
    if (inputs[k]) writer_.line(storage_type(input(k).dtype) + " " + elements(k) + size);
  for (std::size_t k = 0; k < output_count(); ++k)
    writer_.line(storage_type(output(k).dtype) + " " + results(k) + size);
}

void FusedText::read_rows() {
  for (std::size_t k = 0; k < input_count(); ++k) {
    if (held(k) == Held::row) name_stored(k, "*" + source(k));
  }
}

void FusedText::compute(int count, const std::vector<std::string>& element) {
  begin_loop(writer_, count);
  element_code(element);
  writer_.line("}");
}

std::string FusedText::stored_of(std::size_t k, const std::vector<std::string>& element) const {
  return held(k) == Held::elements ? element[k] : stored_[k];
}

// Every register that is written gets a new name, so that the text has constants only.
void FusedText::element_code(const std::vector<std::string>& element) {
  const Program& program = *step_.program;
  std::vector<std::string> registers = registers_;
  std::vector<int> untouched(registers.size(), -1);  // the input whose value a register is
  for (std::size_t k = 0; k < input_count(); ++k) {
    const ProgramInput& input = program.inputs[k];
    untouched[input.reg] = static_cast<int>(k);
    if (held(k) != Held::elements) continue;
    const std::string name = "v" + std::to_string(k);
    writer_.line("const " + class_type(compute_class(input.dtype)) + " " + name + " = " +
                 load_expression(input.dtype, element[k]) + ";");
    registers[input.reg] = name;
  }
  std::size_t number = input_count();
  for (const Instruction& code : program.code) {
    std::vector<std::string> operands;
    for (int i = 0; i < code.operand_count; ++i) operands.push_back(registers[code.operands[i]]);
    const std::string value = code.kind == Instruction::Kind::cast
                                  ? cast_expression(code.dtype, operands[0])
                                  : expression_of(code.op, class_type(code.from), operands);
    const std::string name = "v" + std::to_string(number++);
    writer_.line("const " + class_type(compute_class(code.dtype)) + " " + name + " = " + value +
                 ";");
    registers[code.result] = name;
    untouched[code.result] = -1;
  }
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    const ProgramOutput& result = program.outputs[k];
    const int same = untouched[result.reg];
    // What only passes through keeps its bits.
    const bool passes =
        same >= 0 && program.inputs[static_cast<std::size_t>(same)].dtype == result.dtype;
    writer_.line(results(k) + "[e] = " +
                 (passes ? stored_of(static_cast<std::size_t>(same), element)
                         : store_expression(result.dtype, registers[result.reg])) +
                 ";");
  }
}

}  // namespace weft::detail
