// Which instructions a program gets: some at random, some to try a cell of the coverage.
#include "generate.h"

#include "coverage.h"
#include "inventor.h"

namespace weft::fuzz {
namespace {

class Generator : public Inventor {
 public:
  explicit Generator(std::uint64_t seed) : Inventor(seed), seed_(seed) {
    on_devices_ = chance(30);
    stateful_ = chance(50);
    large_ = seed % 200 == 199;
  }

  Program run() {
    const int extra = large_ ? 10 : below(48);
    if (stateful_) start_variables();
    for (std::uint64_t k = 0; k < targets_of_a_program && !large_; ++k) {
      const std::vector<Cell>& cells = all_cells();
      target(cells[(seed_ * targets_of_a_program + k) * stride % cells.size()]);
      for (int n = 0; n < extra / 12; ++n) random_instruction();
    }
    for (int n = 0; n < extra; ++n) random_instruction();
    hold_ends();
    return std::move(program_);
  }

 private:
  static constexpr std::uint64_t stride = 1009;  // so that one program tries different ops

  void start_variables() {
    const int count = 1 + below(3);
    for (int n = 0; n < count; ++n) {
      const int x = leaf(chance(70) ? any_of<DType>({f32, f64, f16, bf16}) : any_dtype(),
                         any_shape(), chance(60));
      if (x != none) variable_of(x);
    }
  }

  // ---- choices

  void random_instruction() {
    const int dice = below(100);
    if (stateful_ && dice < 20) return state_instruction();
    if (dice < 24) return start_work();
    const int x = any_value();
    if (x == none) return;
    if (dice < 30) {
      if (on_devices_) moved(x);
      return;
    }
    if (dice < 62) {
      pointwise(any_of(testing::pointwise_rows()).op, x);
    } else if (dice < 80) {
      structured(any_of<OpId>({OpId::reshape, OpId::permute, OpId::expand, OpId::slice}), x);
    } else {
      structured(
          any_of<OpId>({OpId::sum,         OpId::prod,         OpId::amax,         OpId::amin,
                        OpId::any,         OpId::all,          OpId::argmax,       OpId::argmin,
                        OpId::matmul,      OpId::cat,          OpId::slice_update, OpId::gather,
                        OpId::scatter_add, OpId::scatter,      OpId::topk,         OpId::cumsum,
                        OpId::cumprod,     OpId::logcumsumexp, OpId::cummax,       OpId::cummin,
                        OpId::sort,        OpId::searchsorted}),
          x);
    }
    if (chance(15)) program_.code.back().held = true;
  }

  void start_work() {
    Instruction it;
    it.act = values_.empty() || chance(25) ? Act::flush : Act::eval;
    if (it.act == Act::eval)
      for (int n = 1 + below(3); n > 0; --n) it.operands.push_back(any_of(values_));
    it.place = Place::cpu;
    add(it);
  }

  void state_instruction() {
    if (variables_.empty()) return;
    const std::size_t which = bits_() % variables_.size();
    const int variable = variables_[which];
    const int dice = below(100);
    Instruction it;
    if (dice < 20) {
      read(variable);
    } else if (dice < 65) {  // w = f(w), as an optimiser's step
      const int now = read(variable);
      if (now == none) return;
      const int next = pointwise(
          any_of<OpId>({OpId::sub, OpId::add, OpId::mul, OpId::maximum, OpId::where}), now);
      if (next == none) return;
      assign(variable, next);
    } else {
      const int x = differentiable(variable);
      const int cotangent = x == none ? none : leaf(dtype_of(x), shape_of(x), true);
      if (cotangent == none) return;
      it.act = Act::grad;
      it.operands = {variable, x, cotangent};
      const int gradient = add(it);
      if (gradient != none && chance(40))
        assign(variable, op(OpId::sub, {read(variable), gradient}));
    }
  }

  /// Something that the Variable may lead to: a value that is there, or a chain of its own.
  int differentiable(int variable) {
    std::vector<int> found;
    for (const int id : values_)
      if (recording_.value(id).requires_grad()) found.push_back(id);
    if (!found.empty() && chance(40)) return any_of(found);
    int x = read(variable);
    if (x == none || !recording_.value(x).requires_grad()) return none;
    for (int n = 1 + below(5); n > 0; --n) {
      const int next = chance(60) ? pointwise(any_of(testing::pointwise_rows()).op, x)
                                  : structured(any_structured(), x);
      if (next != none && recording_.value(next).requires_grad()) x = next;
    }
    return x;
  }

  OpId any_structured() {
    return any_of<OpId>({OpId::reshape,     OpId::permute,      OpId::expand,       OpId::slice,
                         OpId::sum,         OpId::prod,         OpId::amax,         OpId::amin,
                         OpId::matmul,      OpId::cat,          OpId::slice_update, OpId::gather,
                         OpId::scatter_add, OpId::scatter,      OpId::topk,         OpId::cumsum,
                         OpId::cumprod,     OpId::logcumsumexp, OpId::cummax,       OpId::cummin,
                         OpId::sort});
  }

  void assign(int variable, int value) {
    if (value == none) return;
    Instruction it;
    it.act = Act::assign;
    it.operands = {variable, value};
    add(it);
  }

  // ---- cells of the coverage, on purpose

  void target(const Cell& cell) {
    const bool devices = on_devices_;
    const std::size_t before = values_.size();
    on_devices_ = false;  // groups are of one device
    const detail::OpInfo& row = detail::info(cell.op);
    if (row.is_pointwise())
      target_pointwise(cell);
    else
      target_structured(cell);
    on_devices_ = devices;
    // What else reads the same may change the group.
    if (chance(65) && values_.size() > before) values_.resize(before);
  }

  /// A point-wise op that takes any value and keeps its dtype.
  int plain_op(int x) {
    if (x == none) return none;
    return dtype_of(x) == bool_ ? op(OpId::logical_not, {x}) : op(OpId::neg, {x});
  }

  void target_pointwise(const Cell& cell) {
    const detail::OpInfo& row = detail::info(cell.op);
    Shape shape = chance(70) ? any_shape() : Shape(any_of<int>({17, 64, 65}));
    if (shape.numel() == 0) shape = {2, 3};
    std::vector<int> operands;
    for (int k = 0; k < row.input_count; ++k) {
      const bool condition = row.rule == detail::DTypeRule::select && k == 0;
      operands.push_back(leaf(condition ? bool_ : cell.dtype, shape));
    }
    int& fed = operands[row.rule == detail::DTypeRule::select ? 1 : 0];
    if (cell.role == Role::inner || cell.role == Role::last) fed = plain_op(fed);
    DType to = any_dtype();
    while (to == cell.dtype) to = any_dtype();
    const int made = op(cell.op, operands, {}, {}, to);
    if (made == none) return;
    if (cell.role == Role::first || cell.role == Role::inner) plain_op(made);
    std::erase(values_, made);  // nothing else reads it
    program_.code.back().held = true;
  }

  void target_structured(const Cell& cell) {
    const detail::OpInfo& row = detail::info(cell.op);
    int made = none;
    for (int attempt = 0; attempt < 6 && made == none; ++attempt) {
      if (row.kind == detail::OpKind::leaf && cell.op != OpId::variable) {
        made = cell.op == OpId::data ? leaf(cell.dtype, any_shape())
                                     : op(cell.op, {}, {}, {}, cell.dtype, {any_number()});
      } else if (row.kind == detail::OpKind::generate || row.kind == detail::OpKind::random) {
        const int n = below(40);
        made = op(cell.op, {}, {n, below(7)}, any_shape(), cell.dtype);
      } else if (cell.op == OpId::upload) {
        Instruction it;
        it.act = Act::data;
        it.dtype = cell.dtype;
        it.shape = any_shape();
        it.place = chance(50) ? Place::sim0 : Place::sim1;
        made = add(it);
      } else {
        int x = leaf(cell.dtype, any_shape(), chance(50));
        if (cell.role == Role::fed) x = plain_op(x);
        made = x == none ? none : structured(cell.op, x);
      }
    }
    if (made == none) return;
    program_.code[static_cast<std::size_t>(made / 2)].held = cell.role != Role::feeds;
    if (cell.role == Role::alone && cell.op == OpId::data) {
      structured(OpId::reshape, made);
      program_.code.back().held = true;
    }
    if (cell.role == Role::alone) std::erase(values_, made);
    if (cell.role == Role::feeds) {
      if (plain_op(made) != none) program_.code.back().held = true;
    }
  }

  /// What nothing reads is a root.
  void hold_ends() {
    std::vector<bool> read(program_.code.size(), false);
    for (const Instruction& it : program_.code)
      for (const int id : it.operands)
        if (id >= 0 && it.act != Act::eval) read[static_cast<std::size_t>(id / 2)] = true;
    for (std::size_t i = 0; i < program_.code.size(); ++i)
      if (!read[i] && program_.code[i].act != Act::data && program_.code[i].act != Act::index)
        program_.code[i].held = true;
  }

  std::uint64_t seed_;
  bool stateful_ = false;
};

}  // namespace

Program generate(std::uint64_t seed) { return Generator(seed).run(); }

}  // namespace weft::fuzz
