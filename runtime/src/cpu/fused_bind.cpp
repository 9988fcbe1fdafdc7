// Binding a fused group's step to its operands.
#include <algorithm>
#include <cstring>

#include "cpu/fused.h"

namespace weft::detail {
namespace {

static_assert(block_size == custom_block);
// Larger outputs would only push other data out of the caches that one core reaches fast.
constexpr std::size_t streaming_bytes = std::size_t{32} << 20;

// Lowest and one past the highest address that an operand touches.
struct Range {
  std::uintptr_t begin, end;
};
Range range_of(const ResolvedOperand& operand) {
  std::int64_t low = 0, high = 1;
  for (int d = 0; d < operand.rank; ++d)
    (operand.strides[d] < 0 ? low : high) += operand.strides[d] * (operand.shape[d] - 1);
  const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
  return {operand.data + static_cast<std::uintptr_t>(low * size),
          operand.data + static_cast<std::uintptr_t>(high * size)};
}

BlockFn function_of(OpId op, int from) {
  const RegisteredOp* own = registered(op);
  return own ? own->blocks[from] : kernels().pointwise[static_cast<int>(op)][from];
}

int first_of(OpId op) {
  return op == OpId::add   ? first_add
         : op == OpId::sub ? first_sub
         : op == OpId::mul ? first_mul
                           : -1;
}

int second_of(OpId op, bool is_right) {
  if (op == OpId::sub) return is_right ? second_sub_from : second_sub;
  return op == OpId::add ? second_add : op == OpId::mul ? second_mul : -1;
}

}  // namespace

FusedCall::FusedCall(const StepCall& call)
    : program_(*call.step->program), numel_(call.outputs[0].numel()), memory_(bytes_needed()) {
  char* p = memory_.bytes();
  code_ = take<Step>(p, program_.code.size());
  direct_ = take<MemoryInput>(p, program_.memory_inputs);
  gathered_ = take<MemoryInput>(p, program_.memory_inputs);
  fixed_ = take<MemoryInput>(p, program_.memory_inputs);
  strides_ = take<Strides>(p, program_.memory_inputs + 1);
  outputs_ = take<MemoryOutput>(p, program_.outputs.size());
  registers_ = take<void*>(p, program_.register_count);
  constants_ = p;
  std::fill_n(registers_, program_.register_count, nullptr);
  bind_inputs(call);
  bind_code();
  bind_outputs(call);
}

void FusedCall::move_to(const StepCall& call) {
  const auto moved = [&](MemoryInput* inputs, int count) {
    for (int i = 0; i < count; ++i) inputs[i].data = bytes_of(call.inputs[inputs[i].operand]);
  };
  moved(direct_, direct_count_);
  moved(gathered_, gathered_count_);
  moved(fixed_, fixed_count_);
  for (int i = 0; i < fixed_count_; ++i) fill_constant(fixed_[i]);
  any_streamed_ = false;
  for (std::size_t o = 0; o < program_.outputs.size(); ++o)
    place_output(outputs_[o], call.outputs[o]);
}

std::size_t FusedCall::bytes_needed() const {
  const auto lines = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t inputs = program_.memory_inputs;
  return lines(program_.code.size() * sizeof(Step)) + 3 * lines(inputs * sizeof(MemoryInput)) +
         lines((inputs + 1) * sizeof(Strides)) +
         lines(program_.outputs.size() * sizeof(MemoryOutput)) +
         lines(program_.register_count * sizeof(void*)) + program_.inputs.size() * block_bytes;
}

void FusedCall::bind_inputs(const StepCall& call) {
  const ResolvedOperand& shape = call.outputs[0];
  const int count = static_cast<int>(program_.memory_inputs);
  rank_ = shape.rank;
  std::copy_n(shape.shape, rank_, extents_);
  for (int k = 0; k < count; ++k) std::copy_n(call.inputs[k].strides, rank_, strides_[k]);
  collapse(rank_, extents_, strides_, count);
  if (rank_ == 0) extents_[rank_++] = 1;  // one element: its strides are never used
  for (int k = 0; k < count; ++k) bind_memory(call.inputs[k], program_.inputs[k].reg, k);
  for (const ProgramInput& input : program_.inputs)
    if (input.is_argument) bind_argument(input, call.arguments[input.slot]);
}

void FusedCall::bind_memory(const ResolvedOperand& operand, std::uint16_t reg, int k) {
  const MemoryInput input{bytes_of(operand),
                          operand.dtype,
                          reg,
                          static_cast<std::uint16_t>(k),
                          static_cast<std::uint8_t>(size_of(operand.dtype)),
                          is_class_storage(operand.dtype),
                          kernels().load[index_of(operand.dtype)]};
  bool is_constant = true, is_dense = true;
  std::int64_t dense = 1;
  for (int d = rank_ - 1; d >= 0; --d) {
    is_constant = is_constant && (strides_[k][d] == 0 || numel_ == 1);
    is_dense = is_dense && (strides_[k][d] == dense || numel_ == 1);
    dense *= extents_[d];
  }
  if (is_constant) {
    new_constant(reg);
    fill_constant(fixed_[fixed_count_++] = input);
  } else if (is_dense) {
    direct_[direct_count_++] = input;
  } else {
    std::copy_n(strides_[k], rank_, strides_[gathered_count_]);
    gathered_[gathered_count_++] = input;
  }
}

// A scalar is rounded to its dtype as a tensor of that dtype would be.
void FusedCall::bind_argument(const ProgramInput& input, std::uint64_t bits) {
  alignas(64) std::uint64_t wide[block_size];
  std::fill_n(wide, block_size, bits);
  const int from = is_floating(input.dtype) ? class_f64 : class_i64;
  kernels().cast[from][index_of(input.dtype)](new_constant(input.reg), wide, nullptr, nullptr);
}

char* FusedCall::new_constant(std::uint16_t reg) {
  char* const block = constants_;
  registers_[reg] = block;
  constants_ += block_bytes;
  return block;
}

void FusedCall::fill_constant(const MemoryInput& input) const {
  alignas(64) char stored[block_bytes];
  kernels().fill[log2_size(input.size)](stored, input.data, block_size);
  input.load(registers_[input.reg], stored, nullptr, nullptr);
}

void FusedCall::bind_code() {
  Step* step = code_;
  const Instruction* const end = program_.code.data() + program_.code.size();
  for (const Instruction* code = program_.code.data(); code != end; ++code, ++step) {
    flops_ += code->kind == Instruction::Kind::cast ? 1.0f : info(code->op).flops;
    if (class_size(compute_class(code->dtype)) == 8) block_stride_ = block_bytes;
    if (code->joins_next && bind_pair(*step, code[0], code[1])) {
      flops_ += info((++code)->op).flops;
      continue;
    }
    const int from = index_of(code->from);
    step->run = code->kind == Instruction::Kind::cast ? kernels().cast[from][index_of(code->dtype)]
                                                      : function_of(code->op, from);
    step->result = code->result;
    std::copy_n(code->operands, 3, step->operands);
  }
  code_end_ = step;
  for (const ProgramInput& input : program_.inputs)
    if (class_size(compute_class(input.dtype)) == 8) block_stride_ = block_bytes;
}

/// Both in one step, where there is a function for that.
bool FusedCall::bind_pair(Step& step, const Instruction& first, const Instruction& second) {
  if (first.from != second.from || index_of(first.from) > class_f64) return false;
  const int a = first_of(first.op), b = second_of(second.op, second.operands[1] == first.result);
  if (a < 0 || b < 0) return false;
  step.run = kernels().pair[index_of(first.from)][a][b];
  step.result = second.result;
  step.operands[0] = first.operands[0];
  step.operands[1] = first.operands[1];
  step.operands[2] = second.operands[second.operands[0] == first.result ? 1 : 0];
  return true;
}

void FusedCall::bind_outputs(const StepCall& call) {
  for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
    const ResolvedOperand& operand = call.outputs[i];
    MemoryOutput& output = outputs_[i];
    output = {};
    output.reg = program_.outputs[i].reg;
    output.size = static_cast<std::uint8_t>(size_of(operand.dtype));
    output.as_stored = is_class_storage(operand.dtype);
    output.store = kernels().store[index_of(operand.dtype)];
    output.is_large = static_cast<std::size_t>(size_in_bytes(operand)) > streaming_bytes ||
                      (i < 32 && (call.parts_of_large >> i & 1));
    output.can_be_in_place = output.as_stored && is_written_as(output) &&
                             !overlaps_input(operand, call) && is_first_of_register(i);
    place_output(output, operand);
  }
}

void FusedCall::place_output(MemoryOutput& output, const ResolvedOperand& operand) {
  output.data = bytes_of(operand);
  output.streamed = output.is_large && operand.data % 64 == 0;
  output.in_place = output.can_be_in_place && !output.streamed;
  any_streamed_ = any_streamed_ || output.streamed;
}

bool is_large_output(std::size_t bytes) noexcept { return bytes > streaming_bytes; }

// Whether code computes the register, and only ever with elements of the output's size.
bool FusedCall::is_written_as(const MemoryOutput& output) const {
  bool is_written = false;
  for (const Instruction& code : program_.code) {
    if (code.result != output.reg) continue;
    if (class_size(compute_class(code.dtype)) != output.size) return false;
    is_written = true;
  }
  return is_written;
}

bool FusedCall::overlaps_input(const ResolvedOperand& output, const StepCall& call) const {
  const Range a = range_of(output);
  for (std::uint32_t k = 0; k < program_.memory_inputs; ++k) {
    const Range b = range_of(call.inputs[k]);
    if (a.begin < b.end && b.begin < a.end) return true;
  }
  return false;
}

bool FusedCall::is_first_of_register(std::size_t i) const {
  for (std::size_t j = 0; j < i; ++j)
    if (outputs_[j].reg == outputs_[i].reg) return false;
  return true;
}

}  // namespace weft::detail
