// The instructions of random programs, one by one: records what it invents, so that what the
// library refuses is left out.
#pragma once

#include <random>

#include <weft/graph/error.h>

#include "program.h"
#include "support/op_table.h"

namespace weft::fuzz {

class Inventor {
 public:
  static constexpr int none = -1000;  // no value

 protected:
  explicit Inventor(std::uint64_t seed) : bits_(seed * 0x9e3779b97f4a7c15u + 1) {}

  // ---- dice

  int below(int count) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(count)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  T any_of(const std::vector<T>& all) {
    return all[bits_() % all.size()];
  }
  DType any_dtype() { return any_of(testing::all_dtypes()); }

  Shape any_shape() {
    if (large_) return any_of<Shape>({{70000}, {300, 250}, {2, 5000}, {40, 30, 30}, {1, 300}, {}});
    if (chance(12)) return Shape(any_of<int>({1, 7, 16, 31, 33, 63, 64, 65, 100, 129, 260}));
    Shape shape;
    const int rank = any_of<int>({0, 1, 1, 2, 2, 2, 3, 3, 4, 5});
    for (int d = 0; d < rank; ++d)
      shape.push_back(any_of<int>({1, 1, 2, 2, 3, 3, 4, rank < 4 ? 5 : 2, chance(12) ? 0 : 3}));
    return shape;
  }

  // ---- instructions

  const Shape shape_of(int id) { return recording_.value(id).shape(); }
  DType dtype_of(int id) { return recording_.value(id).dtype(); }

  /// Adds it where the library takes it; its value's id, or none.
  int add(Instruction it) {
    if (on_devices_ && it.place == Place::inherited && it.act != Act::move)
      it.place = any_of<Place>({Place::inherited, Place::inherited, Place::cpu, Place::sim0,
                                Place::sim1, it.act == Act::op ? Place::undecided : Place::sim0});
    it.seed = static_cast<std::uint32_t>(bits_());
    program_.code.push_back(std::move(it));
    const std::size_t i = program_.code.size() - 1;
    const int id = static_cast<int>(2 * i);
    if (program_.code[i].act == Act::eval || program_.code[i].act == Act::flush) return none;
    try {
      recording_.add(program_, i);
      const Tensor& made = recording_.value(id);
      if (!made.defined() || made.numel() <= (large_ ? 80000 : 1500)) {
        if (made.defined()) values_.push_back(id);
        if (recording_.value(id + 1).defined()) values_.push_back(id + 1);
        return id;
      }
    } catch (const InternalError&) {
      return none;  // a bug of the library: it is found again when the program runs
    } catch (const Error&) {
    }
    program_.code.pop_back();
    return none;
  }

  int leaf(DType dtype, const Shape& shape, bool plain = false) {
    Instruction it;
    it.act = Act::data;
    it.dtype = dtype;
    it.shape = shape;
    it.plain = plain;
    return add(it);
  }

  int op(OpId id, std::vector<int> operands, std::array<std::int64_t, 4> attrs = {},
         const Shape& shape = {}, DType dtype = f32, std::vector<Number> numbers = {}) {
    for (const int operand : operands)
      if (operand == none) return none;
    Instruction it;
    it.op = id;
    it.operands = std::move(operands);
    it.attrs = attrs;
    it.shape = shape;
    it.dtype = dtype;
    it.numbers = std::move(numbers);
    return add(it);
  }

  Number any_number() {
    Number number;
    number.kind = static_cast<Number::Kind>(below(3));
    number.integer = number.kind == Number::Kind::boolean ? below(2) : below(9) - 4;
    number.decimal = any_of<double>({0, -0.0, 1, -1.5, 0.3, 1e30, -7, 2});
    return number;
  }

  int any_value() {
    if (values_.empty() || chance(15)) return leaf(any_dtype(), any_shape());
    const std::size_t recent = std::min<std::size_t>(values_.size(), 6);
    return chance(60) ? values_[values_.size() - 1 - bits_() % recent] : any_of(values_);
  }

  /// A leaf that broadcasts to the shape, or has it.
  Shape narrowed(Shape shape, int percent) {
    for (int d = 0; d < shape.ndim(); ++d)
      if (chance(percent)) shape[static_cast<std::size_t>(d)] = 1;
    while (!shape.empty() && chance(percent)) shape.erase(0);
    return shape;
  }

  int pointwise(OpId id, int x) {
    const detail::OpInfo& row = detail::info(id);
    if (id == OpId::cast) return op(id, {x}, {}, {}, any_dtype());
    std::vector<int> operands{x};
    std::vector<Number> numbers;
    const bool selects = row.rule == detail::DTypeRule::select;
    if (selects) operands.insert(operands.begin(), leaf(bool_, narrowed(shape_of(x), 25)));
    while (operands.size() < static_cast<std::size_t>(row.input_count)) {
      if (chance(25)) {
        numbers.push_back(any_number());
        operands.push_back(-static_cast<int>(numbers.size()));
      } else if (chance(50)) {
        operands.push_back(any_value());
      } else {
        operands.push_back(leaf(chance(70) ? dtype_of(x) : any_dtype(), narrowed(shape_of(x), 25)));
      }
    }
    if (!selects && operands.size() == 2 && chance(20)) std::swap(operands[0], operands[1]);
    return op(id, operands, {}, {}, f32, numbers);
  }

  /// An op that is not point-wise, on x.
  int structured(OpId id, int x) {
    const Shape shape = shape_of(x);
    const int rank = shape.ndim();
    const int axis = rank ? below(rank) : 0;
    const std::int64_t extent = rank ? shape[static_cast<std::size_t>(axis)] : 1;
    const auto with_extent = [&](std::int64_t n) {
      Shape other = shape;
      if (rank) other[static_cast<std::size_t>(axis)] = n;
      return other;
    };
    switch (id) {
      case OpId::reshape: return op(id, {x}, {}, reshaped(shape));
      case OpId::permute: {
        Shape axes;
        for (int d = 0; d < rank; ++d) axes.insert(below(d + 1), d);
        return op(id, {x}, {}, axes);
      }
      case OpId::expand: return op(id, {x}, {}, expanded(shape));
      case OpId::slice: {
        if (rank == 0) return none;
        const bool back = chance(25);
        const int step = back ? 1 : 1 + below(3);
        const std::int64_t most = extent ? (extent - 1) / step + 1 : 0;
        const std::int64_t count = most ? chance(10) ? 0 : 1 + below(static_cast<int>(most)) : 0;
        const std::int64_t room = count ? extent - ((count - 1) * step + 1) : extent;
        return op(id, {x}, {axis, back ? -1 : step, below(static_cast<int>(room) + 1), room},
                  count);
      }
      case OpId::sum:
      case OpId::prod:
      case OpId::amax:
      case OpId::amin:
      case OpId::any:
      case OpId::all: return op(id, {x}, {rank ? below(1 << rank) : 0, below(2)});
      case OpId::argmax:
      case OpId::argmin: return op(id, {x}, {rank && chance(70) ? 1 << axis : 0, below(2)});
      case OpId::matmul: return product(x);
      case OpId::cat: {
        if (rank == 0) return none;
        std::vector<int> all{x};
        const int more = below(3);
        for (int n = 0; n < more; ++n)
          all.insert(all.begin() + below(static_cast<int>(all.size()) + 1),
                     chance(30) ? x : leaf(dtype_of(x), with_extent(below(4))));
        return op(id, all, {axis});
      }
      case OpId::slice_update: {
        if (rank == 0) return none;
        const int step = 1 + below(2);
        const std::int64_t most = extent ? (extent - 1) / step + 1 : 0;
        const std::int64_t count = below(static_cast<int>(most) + 1);
        const std::int64_t room = count ? extent - ((count - 1) * step + 1) : extent;
        const int y = leaf(dtype_of(x), with_extent(count));
        return op(id, {x, y}, {axis, step, below(static_cast<int>(room) + 1), room});
      }
      case OpId::gather:
      case OpId::scatter_add:
      case OpId::scatter: {
        Instruction index;
        index.act = Act::index;
        index.dtype = chance(50) ? i32 : i64;
        index.shape = with_extent(extent ? below(6) : 0);
        // The index may be narrower than the table off the axis.
        for (int d = 0; d < index.shape.ndim(); ++d)
          if (d != axis && index.shape[std::size_t(d)] > 1 && chance(25))
            index.shape[std::size_t(d)] = 1 + below(static_cast<int>(index.shape[std::size_t(d)]));
        index.attrs[0] = extent;
        const int places = rank ? add(index) : none;
        if (places == none) return none;
        if (id == OpId::gather) return op(id, {x, places}, {axis});
        return op(id, {x, places, leaf(dtype_of(x), index.shape)}, {axis});
      }
      case OpId::topk: return op(id, {x}, {below(static_cast<int>(extent) + 1), axis, below(2)});
      case OpId::sort: return op(id, {x}, {extent, axis, below(2)});
      case OpId::cumsum:
      case OpId::cumprod:
      case OpId::logcumsumexp:
      case OpId::cummax:
      case OpId::cummin:
        if (id == OpId::logcumsumexp && !is_floating(dtype_of(x))) return none;
        return op(id, {x}, {axis});
      case OpId::searchsorted: {
        if (rank == 0) return none;
        Shape values = shape;
        values[static_cast<std::size_t>(rank - 1)] = below(6);
        if (rank == 1 && chance(50)) values.push_back(2);
        const int line = chance(80) ? op(OpId::sort, {x}, {shape.back(), rank - 1, 0}) : x;
        int sought = leaf(dtype_of(x), values);
        if (sought != none && chance(40))
          sought = op(dtype_of(x) == bool_ ? OpId::logical_not : OpId::neg, {sought});
        return op(id, {line, sought}, {below(2)});
      }
      case OpId::transfer:
      case OpId::upload: return moved(x);
      case OpId::variable: return variable_of(x);
      default: return none;
    }
  }

  int moved(int x) {
    Instruction it;
    it.act = Act::move;
    it.operands = {x};
    it.place = any_of<Place>({Place::cpu, Place::sim0, Place::sim1});
    return add(it);
  }

  Shape reshaped(const Shape& shape) {
    Shape result;
    std::int64_t left = shape.numel();
    if (left == 0) return Shape{0, below(3) + 1};
    while (left > 1 && result.ndim() < 4) {
      const std::int64_t by = any_of<int>({1, 2, 3, 5, 7});
      if (left % by != 0 || chance(20)) break;
      result.insert(below(result.ndim() + 1), by);
      left /= by;
    }
    if (left > 1 || chance(20)) result.insert(below(result.ndim() + 1), left);
    return result;
  }

  Shape expanded(Shape shape) {
    for (int d = 0; d < shape.ndim(); ++d)
      if (shape[static_cast<std::size_t>(d)] == 1 && chance(70))
        shape[static_cast<std::size_t>(d)] = 1 + below(4);
    if (shape.ndim() < 5 && chance(50)) shape.insert(0, 1 + below(3));
    return shape;
  }

  int product(int x) {
    const Shape shape = shape_of(x);
    if (shape.empty()) return none;
    Shape other;
    if (shape.ndim() > 2 && chance(50))
      for (int d = 0; d + 2 < shape.ndim(); ++d)
        other.push_back(chance(30) ? 1 : shape[static_cast<std::size_t>(d)]);
    other.push_back(shape.back());
    if (!(shape.ndim() < 3 && chance(25))) other.push_back(chance(20) ? 17 : below(5));
    return op(OpId::matmul, {x, leaf(dtype_of(x), other, chance(70))});
  }

  int variable_of(int x) {
    Instruction it;
    it.act = Act::variable;
    it.operands = {x};
    it.held = true;
    const int made = add(it);
    if (made == none) return none;
    variables_.push_back(made);
    return read(made);
  }

  int read(int variable) {
    Instruction it;
    it.act = Act::value;
    it.operands = {variable};
    return add(it);
  }

  std::mt19937_64 bits_;
  bool on_devices_ = false;
  bool large_ = false;  // so large that threads share the work
  Program program_;
  Recording recording_;
  std::vector<int> values_;  // that further instructions may read
  std::vector<int> variables_;
};

}  // namespace weft::fuzz
