// Recording and running a described program through the public functions.
#include "program.h"

#include <cmath>
#include <memory>
#include <optional>

#include <weft/weft.h>

#include "support/op_table.h"

namespace weft::fuzz {

using testing::HostValue;

Tensor call_pointwise(OpId op, const std::vector<Operand>& x) {
#define WEFT_CALL_1(name) weft::name(x.at(0))
#define WEFT_CALL_2(name) weft::name(x.at(0), x.at(1))
#define WEFT_CALL_3(name) weft::name(x.at(0), x.at(1), x.at(2))
#define WEFT_CALL_arithmetic(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_numeric(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_floating(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_integral(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_compare(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_predicate(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_select(name, arity) WEFT_CALL_##arity(name)
#define WEFT_CALL_given(name, arity) Tensor()  // `cast` takes a dtype
#define WEFT_OP_POINTWISE(name, arity, rule, ...)                                                  \
  case OpId::name: return WEFT_CALL_##rule(name, arity);
  switch (op) {
#include <weft/graph/detail/ops.def>
    default: return Tensor();
  }
}

namespace {
Places current_places;
}

void set_places(const Places& places) { current_places = places; }

Device device_of(Place place) {
  return place == Place::sim0   ? current_places.sim0
         : place == Place::sim1 ? current_places.sim1
                                : current_places.cpu;
}

HostValue leaf_numbers(const Instruction& it, std::uint64_t round) {
  const auto seed = static_cast<unsigned>(it.seed + 7919 * round);
  HostValue value(it.dtype, it.shape);
  if (it.act == Act::data) {
    value = testing::drawn(it.dtype, it.shape, -8, 8, seed, !it.plain);
    const bool whole = it.plain && it.seed % 4 != 0;
    for (std::int64_t i = 0; whole && i < value.numel(); ++i)
      value.set_real(i, std::nearbyint(value.real(i)));
    return value;
  }
  std::mt19937_64 bits(seed);
  const auto bound = static_cast<std::uint64_t>(std::max<std::int64_t>(it.attrs[0], 1));
  for (std::int64_t i = 0; i < value.numel(); ++i)
    value.set_integer(i, static_cast<std::int64_t>(bits() % bound));
  return value;
}

Number number_in(const Instruction& it, std::size_t k, std::uint64_t round) {
  Number number = it.numbers.at(k);
  if (round == 0 || it.op == OpId::pow) return number;  // whether it is a square is structure
  const auto change = static_cast<std::int64_t>(round);
  if (number.kind == Number::Kind::boolean) number.integer = (number.integer + change) & 1;
  if (number.kind == Number::Kind::integer) number.integer += change;
  number.decimal += 0.75 * static_cast<double>(round);
  return number;
}

std::int64_t start_in(const Instruction& it, std::uint64_t round) {
  return (it.attrs[2] + static_cast<std::int64_t>(round)) % (it.attrs[3] + 1);
}

namespace {

Operand operand_of(const Number& number) {
  switch (number.kind) {
    case Number::Kind::boolean: return Operand(number.integer != 0);
    case Number::Kind::integer: return Operand(number.integer);
    default: return Operand(number.decimal);
  }
}

/// The axes that are set in a mask; without any: all.
Dims axes_of(std::int64_t mask) {
  Dims axes;
  for (int d = 0; d < max_rank; ++d)
    if (mask >> d & 1) axes.push_back(d);
  return axes;
}

Tensor reduced(const Instruction& it, const Tensor& x) {
  const Dims axes = axes_of(it.attrs[0]);
  const bool keep = it.attrs[1] != 0;
  switch (it.op) {
    case OpId::sum: return sum(x, axes, keep);
    case OpId::prod: return prod(x, axes, keep);
    case OpId::amax: return amax(x, axes, keep);
    case OpId::amin: return amin(x, axes, keep);
    case OpId::any: return any(x, axes, keep);
    case OpId::all: return all(x, axes, keep);
    case OpId::argmax: return argmax(x, axes, keep);
    case OpId::argmin: return argmin(x, axes, keep);
    default: return Tensor();
  }
}

}  // namespace

Tensor Recording::operand(const Instruction& it, std::size_t k) const {
  return value(it.operands.at(k));
}

Tensor Recording::leaf(const Instruction& it) const {
  if (it.place == Place::undecided) return testing::tensor_of(leaf_numbers(it, round_));
  return testing::tensor_of(leaf_numbers(it, round_), {.device = device_of(it.place)});
}

Tensor Recording::sequence(const Instruction& it) const {
  TensorOptions options{.dtype = it.dtype};
  if (it.place != Place::undecided) options.device = device_of(it.place);
  Generator generator(it.seed + round_);
  switch (it.op) {
    case OpId::iota:
      return is_floating(it.dtype)
                 ? arange(0.25, 0.25 + 0.5 * static_cast<double>(it.attrs[0]), 0.5, options)
                 : arange(it.attrs[1], it.attrs[1] + 3 * it.attrs[0], 3, options);
    case OpId::uniform: return rand(it.shape, generator, options);
    case OpId::normal: return randn(it.shape, generator, options);
    case OpId::integers: return randint(-5, 17, it.shape, generator, options);
    case OpId::permutation: return randperm(it.attrs[0], generator, options);
    case OpId::scalar: return full({}, operand_of(number_in(it, 0, round_)), options);
    default: return Tensor();
  }
}

Tensor Recording::structured(const Instruction& it) {
  if (it.operands.empty()) return sequence(it);
  const Tensor x = operand(it, 0);
  const auto& a = it.attrs;
  const auto first_of = [this](const std::pair<Tensor, Tensor>& outputs) {
    values_.back() = outputs.second;  // output 1: its slot is there
    return outputs.first;
  };
  switch (it.op) {
    case OpId::cast: return cast(x, it.dtype);
    case OpId::reshape: return reshape(x, Dims(it.shape));
    case OpId::permute: return permute(x, Dims(it.shape));
    case OpId::expand: return expand(x, Dims(it.shape));
    case OpId::slice: {  // its extent stands in `shape`
      const std::int64_t start = start_in(it, round_), extent = it.shape[0];
      const std::int64_t step = a[1] < 0 ? 1 : a[1];
      const Tensor part =
          slice(x, a[0], start, extent ? start + (extent - 1) * step + 1 : start, step);
      if (part.size(a[0]) != extent) throw ShapeError("the slice does not lie within", Where());
      return a[1] < 0 ? flip(part, a[0]) : part;
    }
    case OpId::matmul: return matmul(x, operand(it, 1));
    case OpId::cat: {
      std::vector<Tensor> all;
      for (std::size_t k = 0; k < it.operands.size(); ++k) all.push_back(operand(it, k));
      return cat(all, a[0]);
    }
    case OpId::slice_update:
      return slice_update(x, a[0], start_in(it, round_), operand(it, 1), a[1]);
    case OpId::gather: return gather(x, a[0], operand(it, 1));
    case OpId::scatter: return scatter(x, a[0], operand(it, 1), operand(it, 2));
    case OpId::scatter_add: return scatter_add(x, a[0], operand(it, 1), operand(it, 2));
    case OpId::topk: return first_of(topk(x, a[0], a[1], a[2] != 0));
    case OpId::sort: return first_of(sort(x, a[1], a[2] != 0));
    case OpId::cummax: return first_of(cummax(x, a[0]));
    case OpId::cummin: return first_of(cummin(x, a[0]));
    case OpId::cumsum: return cumsum(x, a[0]);
    case OpId::cumprod: return cumprod(x, a[0]);
    case OpId::logcumsumexp: return logcumsumexp(x, a[0]);
    case OpId::searchsorted: return searchsorted(x, operand(it, 1), a[0] != 0);
    default: return reduced(it, x);
  }
}

void Recording::act(const Instruction& it) {
  Tensor& out = values_[values_.size() - 2];
  const auto variable_of = [&](std::size_t k) -> Variable& {
    return variables_.at(static_cast<std::size_t>(it.operands.at(k) / 2));
  };
  switch (it.act) {
    case Act::data:
    case Act::index: out = leaf(it); return;
    case Act::move: out = operand(it, 0).to(device_of(it.place)); return;
    case Act::variable: variables_.back() = Variable(operand(it, 0)); return;
    case Act::assign: variable_of(0).assign(operand(it, 1)); return;
    case Act::value: out = variable_of(0).value(); return;
    case Act::grad: out = grad(operand(it, 1), variable_of(0), operand(it, 2)); return;
    case Act::eval: {
      std::vector<Tensor> roots;
      for (std::size_t k = 0; k < it.operands.size(); ++k) roots.push_back(operand(it, k));
      weft::eval(roots);
      return;
    }
    case Act::flush: weft::flush(); return;
    case Act::op: break;
  }
  if (it.op == OpId::cast || !detail::info(it.op).is_pointwise()) {
    const Tensor made = structured(it);
    values_[values_.size() - 2] = made;
    return;
  }
  std::vector<Operand> operands;
  for (const int id : it.operands) {
    if (id < 0)
      operands.push_back(operand_of(number_in(it, static_cast<std::size_t>(-1 - id), round_)));
    else
      operands.push_back(value(id));
  }
  out = call_pointwise(it.op, operands);
}

void Recording::add(const Program& program, std::size_t i) {
  const Instruction& it = program.code[i];
  values_.resize(2 * i + 2);
  variables_.resize(i + 1);
  std::optional<On> on;
  if (it.place == Place::undecided)
    on.emplace(automatic);
  else if (it.place != Place::inherited && it.act != Act::move)
    on.emplace(device_of(it.place));
  act(it);
}

void Recording::let_go(const Program& program, std::size_t next) {
  std::vector<bool> needed(values_.size(), false);
  for (std::size_t i = 0; i < variables_.size(); ++i)
    if (program.code[i].held) needed[2 * i] = needed[2 * i + 1] = true;
  for (std::size_t i = next; i < program.code.size(); ++i)
    for (const int id : program.code[i].operands)
      if (id >= 0 && static_cast<std::size_t>(id) < needed.size())
        needed[static_cast<std::size_t>(id)] = true;
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (!needed[v]) values_[v] = Tensor();
}

std::vector<Tensor> Recording::alive() const {
  std::vector<Tensor> all;
  for (const Tensor& value : values_)
    if (value.defined()) all.push_back(value);
  for (const Variable& variable : variables_)
    if (variable.defined()) all.push_back(variable.value());
  return all;
}

void require_valid(const Program& program) {
  for (const std::uint64_t round : {0, 1}) {
    Recording recording(round);
    for (std::size_t i = 0; i < program.code.size(); ++i) {
      const Act act = program.code[i].act;
      act == Act::eval || act == Act::flush ? recording.skip(i) : recording.add(program, i);
    }
  }
}

std::vector<Seen> run(const Program& program, std::uint64_t round, const BeforeWork& before) {
  Recording recording(round);
  const std::size_t count = program.code.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& it = program.code[i];
    if (it.act == Act::eval || it.act == Act::flush) {
      recording.let_go(program, i);
      if (before) {
        std::vector<Tensor> roots;
        for (const int id : it.operands) roots.push_back(recording.value(id));
        before(recording, roots);
      }
    }
    recording.add(program, i);
  }
  recording.let_go(program, count);
  std::vector<Seen> seen;
  std::vector<Tensor> roots;
  const auto look = [&](std::string name, const Tensor& tensor) {
    if (!tensor.defined()) return;
    seen.push_back({std::move(name), {}});
    roots.push_back(tensor);
  };
  for (std::size_t i = 0; i < count; ++i) {
    look("v" + std::to_string(i), recording.value(static_cast<int>(2 * i)));
    look("p" + std::to_string(i), recording.value(static_cast<int>(2 * i + 1)));
    const Variable& variable = recording.variable(static_cast<int>(2 * i));
    if (variable.defined()) look("w" + std::to_string(i), variable.value());
  }
  if (before) before(recording, roots);
  weft::eval(roots);
  for (std::size_t i = 0; i < roots.size(); ++i) seen[i].value = testing::evaluated(roots[i]);
  return seen;
}

}  // namespace weft::fuzz
