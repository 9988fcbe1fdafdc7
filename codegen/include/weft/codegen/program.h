// A fused body as straight-line code over virtual registers: what the CPU runs block by block, and
// what a kernel's text is written from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/graph/detail/ir.h>
#include <weft/graph/detail/ops.h>

namespace weft::detail {

/// One instruction. Its result and operands are registers of one compute class each; a register
/// written twice is never live across.
struct Instruction {
  enum class Kind : std::uint8_t {
    compute,  // result = op(operands), operands of class `from`
    cast,     // result = operand of class `from` as a value of `dtype`, in dtype's class: casts that
              // the program wrote, and the rounding to a narrow dtype after each op
  };
  Kind kind;
  OpId op;            // of compute
  ComputeClass from;  // class of the operands (of the last ones, for a selection by a bool)
  DType dtype;        // of the result; its class is compute_class(dtype)
  std::uint8_t operand_count;
  std::uint16_t result;
  std::uint16_t operands[3];
  /// Its result is one operand of the next instruction and read by nothing else, and the next one's
  /// result takes the register of none of its operands: both may be done in one pass.
  bool joins_next = false;
};

/// A value that enters: read from memory through the step's index map, or an argument of the run.
struct ProgramInput {
  DType dtype;
  bool is_argument;        // a scalar leaf: arguments[slot], an i64 or an f64 by the dtype
  std::uint32_t slot;
  std::uint16_t reg;
};

struct ProgramOutput {
  DType dtype;
  std::uint16_t reg;
};

struct Program {
  std::vector<ProgramInput> inputs;  // those from memory come first, in the step's input order
  std::vector<Instruction> code;
  std::vector<ProgramOutput> outputs;
  std::uint16_t register_count = 0;
  std::uint32_t memory_inputs = 0;
};

/// Lowers a body: widens, rounds after every op, gives registers, reuses them after their last use.
Program lower(const Graph& body);
/// One line per instruction, for plans and tests.
std::string to_text(const Program& program);

}  // namespace weft::detail
