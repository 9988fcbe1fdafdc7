// Lowers a fused body to straight-line code: widening, rounding after every op, register reuse.
#include <algorithm>
#include <limits>
#include <vector>

#include <weft/codegen/program.h>
#include <weft/graph/error.h>

namespace weft::detail {
namespace {

constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t max_registers = std::numeric_limits<std::uint16_t>::max();

DType natural_dtype(ComputeClass c) noexcept {
  constexpr DType of[compute_class_count] = {DType::f32, DType::f64, DType::i32, DType::i64};
  return of[static_cast<int>(c)];
}

bool is_argument(const OpInfo& op) noexcept { return op.is_leaf() && op.argument_mask != 0; }

// Whether the rule's result is 0 or 1 whatever the operands.
bool gives_truth(DTypeRule rule) noexcept {
  return rule == DTypeRule::compare || rule == DTypeRule::predicate;
}

class Lowering {
 public:
  explicit Lowering(const Graph& body) : body_(body) {}

  Program run() {
    find_last_uses();
    bind_inputs();
    for (VertexId v = 0; v < body_.size(); ++v)
      if (!info(body_.vertices[v].op).is_leaf()) emit(v);
    for (const Value& value : body_.outputs)
      program_.outputs.push_back({body_.vertices[value.vertex].dtype, registers_[value.vertex]});
    program_.register_count = static_cast<std::uint16_t>(next_);
    find_joins();
    return std::move(program_);
  }

 private:
  void find_last_uses() {
    last_use_.assign(body_.size(), 0);
    registers_.assign(body_.size(), 0);
    for (VertexId v = 0; v < body_.size(); ++v)
      for (const InEdge& edge : body_.inputs(v)) {
        WEFT_ENSURE(edge.map == identity_map && edge.source.output == 0);
        last_use_[edge.source.vertex] = v;
      }
    for (const Value& value : body_.outputs) last_use_[value.vertex] = never;
  }

  // Inputs keep their registers: an executor lets them point at memory, which no one may write.
  void bind_inputs() {
    std::vector<VertexId> memory, arguments;
    for (VertexId v = 0; v < body_.size(); ++v) {
      const OpInfo& op = info(body_.vertices[v].op);
      if (op.is_leaf()) (is_argument(op) ? arguments : memory).push_back(v);
    }
    std::sort(memory.begin(), memory.end(), [&](VertexId a, VertexId b) {
      return body_.vertices[a].leaf < body_.vertices[b].leaf;
    });
    program_.memory_inputs = static_cast<std::uint32_t>(memory.size());
    for (VertexId v : memory) bind(v, false, 0);
    for (VertexId v : arguments)
      bind(v, true, static_cast<std::uint32_t>(body_.vertices[v].attrs.v[0]));
  }

  void bind(VertexId v, bool argument, std::uint32_t slot) {
    registers_[v] = new_register();
    last_use_[v] = never;
    program_.inputs.push_back({body_.vertices[v].dtype, argument, slot, registers_[v]});
  }

  void emit(VertexId v) {
    const Vertex& vertex = body_.vertices[v];
    const OpInfo& op = info(vertex.op);
    const auto inputs = body_.inputs(v);
    WEFT_ENSURE(op.is_pointwise() && inputs.size() == static_cast<std::size_t>(op.input_count));
    Instruction code{};
    code.op = vertex.op;
    code.operand_count = static_cast<std::uint8_t>(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      code.operands[i] = registers_[inputs[i].source.vertex];
    code.from = compute_class(body_.vertices[inputs.back().source.vertex].dtype);
    if (op.rule == DTypeRule::given) {
      code.kind = Instruction::Kind::cast;
      code.dtype = vertex.dtype;
    } else {
      code.kind = Instruction::Kind::compute;
      code.dtype = gives_truth(op.rule) ? DType::bool_ : natural_dtype(code.from);
    }
    // The result never takes the register of an operand: blocks are written while they are read.
    code.result = new_register();
    program_.code.push_back(code);
    // A selected value is one of the operands, so it is of the dtype already.
    registers_[v] = code.dtype == vertex.dtype || op.rule == DTypeRule::select
                        ? code.result
                        : round(code, vertex.dtype);
    release_operands(v);
    if (last_use_[v] == 0) free_.push_back(registers_[v]);
  }

  std::uint16_t round(const Instruction& computed, DType dtype) {
    Instruction code{};
    code.kind = Instruction::Kind::cast;
    code.op = computed.op;
    code.from = compute_class(computed.dtype);
    WEFT_ENSURE(code.from == compute_class(dtype));
    code.dtype = dtype;
    code.operand_count = 1;
    code.operands[0] = computed.result;
    code.result = new_register();
    program_.code.push_back(code);
    free_.push_back(computed.result);
    return code.result;
  }

  void release_operands(VertexId v) {
    const auto inputs = body_.inputs(v);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const VertexId source = inputs[i].source.vertex;
      if (last_use_[source] != v) continue;
      last_use_[source] = never;  // an operand used twice is freed once
      free_.push_back(registers_[source]);
    }
  }

  void find_joins() {
    std::vector<bool> is_read(next_, false);  // later, before it is written again
    for (const ProgramOutput& output : program_.outputs) is_read[output.reg] = true;
    for (std::size_t i = program_.code.size(); i-- > 0;) {
      const Instruction& code = program_.code[i];
      if (i > 0) {
        Instruction& before = program_.code[i - 1];
        const std::uint16_t* const begin = before.operands;
        const std::uint16_t* const end = begin + before.operand_count;
        before.joins_next =
            before.kind == Instruction::Kind::compute && code.kind == Instruction::Kind::compute &&
            !is_read[before.result] &&
            std::count(code.operands, code.operands + code.operand_count, before.result) == 1 &&
            std::find(begin, end, code.result) == end;
      }
      is_read[code.result] = false;
      for (int k = 0; k < code.operand_count; ++k) is_read[code.operands[k]] = true;
    }
  }

  // The most recently freed register is the one whose block is still in the nearest cache.
  std::uint16_t new_register() {
    if (!free_.empty()) {
      const std::uint16_t reg = free_.back();
      free_.pop_back();
      return reg;
    }
    WEFT_ENSURE(next_ < max_registers);
    return static_cast<std::uint16_t>(next_++);
  }

  const Graph& body_;
  Program program_;
  std::vector<VertexId> last_use_;  // 0: nobody reads it (vertex 0 reads nothing)
  std::vector<std::uint16_t> registers_;
  std::vector<std::uint16_t> free_;
  std::uint32_t next_ = 0;
};

std::string reg_name(std::uint16_t reg) { return "r" + std::to_string(reg); }

}  // namespace

Program lower(const Graph& body) { return Lowering(body).run(); }

std::string to_text(const Program& program) {
  std::string text;
  std::uint32_t memory = 0;
  for (const ProgramInput& input : program.inputs) {
    text += reg_name(input.reg) + (input.is_argument ? " = argument " : " = input ") +
            std::to_string(input.is_argument ? input.slot : memory++) + " " +
            std::string(name_of(input.dtype)) + "\n";
  }
  for (const Instruction& code : program.code) {
    const bool is_cast = code.kind == Instruction::Kind::cast;
    text += reg_name(code.result) + " = " +
            (is_cast ? std::string("cast") : std::string(info(code.op).name)) + "." +
            std::string(name_of(is_cast ? code.dtype : natural_dtype(code.from)));
    for (int i = 0; i < code.operand_count; ++i) text += " " + reg_name(code.operands[i]);
    text += "\n";
  }
  for (const ProgramOutput& output : program.outputs)
    text += "output " + reg_name(output.reg) + " " + std::string(name_of(output.dtype)) + "\n";
  return text;
}

}  // namespace weft::detail
