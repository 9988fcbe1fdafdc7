// Greedy shrinking: each change is kept where the program still fails.
#include "shrink.h"

#include <optional>

#include <weft/graph/error.h>

namespace weft::fuzz {

namespace {

bool is_leaf(const Instruction& it) { return it.act == Act::data || it.act == Act::index; }
/// Whether its shape is its own to choose.
bool is_made(const Instruction& it) {
  return is_leaf(it) || (it.act == Act::op && it.operands.empty());
}
bool is_work(const Instruction& it) { return it.act == Act::eval || it.act == Act::flush; }

/// The instructions that are marked, with their operands renumbered. What one of them reads is
/// marked, but for the roots of an eval.
Program part(const Program& program, const std::vector<bool>& marked) {
  std::vector<int> moved(program.code.size(), -1);
  Program result;
  for (std::size_t i = 0; i < program.code.size(); ++i) {
    if (!marked[i]) continue;
    Instruction it = program.code[i];
    std::vector<int> operands;
    for (const int id : it.operands) {
      if (id < 0)
        operands.push_back(id);
      else if (moved[static_cast<std::size_t>(id / 2)] >= 0)
        operands.push_back(2 * moved[static_cast<std::size_t>(id / 2)] + id % 2);
    }
    it.operands = std::move(operands);
    if (it.act == Act::eval && it.operands.empty()) continue;
    moved[i] = static_cast<int>(result.code.size());
    result.code.push_back(std::move(it));
  }
  return result;
}

/// Without what nothing needs: neither held, nor work, nor state, nor read by what is needed.
Program without_dead(const Program& program) {
  std::vector<bool> needed(program.code.size(), false);
  for (std::size_t i = program.code.size(); i-- > 0;) {
    const Instruction& it = program.code[i];
    if (is_work(it)) {
      needed[i] = true;
      continue;
    }
    needed[i] = needed[i] || (it.held && it.act != Act::variable);
    if (it.act == Act::assign)  // needed where its Variable is read
      for (std::size_t j = 0; j < program.code.size(); ++j)
        if (needed[j] && !program.code[j].operands.empty() &&
            program.code[j].operands[0] == it.operands[0])
          needed[i] = true;
    if (needed[i])
      for (const int id : it.operands)
        if (id >= 0) needed[static_cast<std::size_t>(id / 2)] = true;
  }
  return part(program, needed);
}

/// Without one instruction and all that reads it.
Program without(const Program& program, std::size_t i) {
  std::vector<bool> stays(program.code.size(), true);
  stays[i] = false;
  for (std::size_t j = i + 1; j < stays.size(); ++j)
    for (const int id : program.code[j].operands)
      if (id >= 0 && !stays[static_cast<std::size_t>(id / 2)] && !is_work(program.code[j]))
        stays[j] = false;
  return part(program, stays);
}

class Shrinker {
 public:
  Shrinker(Program program, const Fails& fails) : program_(std::move(program)), fails_(fails) {}

  Program run() {
    accept(without_dead(program_));
    for (bool changed = true; changed && attempts_ < most_attempts;) {
      changed = false;
      for (std::size_t i = program_.code.size(); i-- > 0;)
        if (i < program_.code.size()) changed = simplify(i) || changed;
    }
    return std::move(program_);
  }

 private:
  bool accept(Program candidate) {
    if (++attempts_ > most_attempts || !fails_(candidate)) return false;
    program_ = std::move(candidate);
    return true;
  }

  template <class Change>
  bool change(std::size_t i, const Change& apply) {
    if (i >= program_.code.size()) return false;
    Program candidate = program_;
    if (!apply(candidate.code[i])) return false;
    return accept(without_dead(candidate));
  }

  bool simplify(std::size_t i) {
    if (drop(i) || drop_root(i) || look_earlier(i)) return true;
    if (to_leaf(i)) return true;
    bool changed = change(i, [](Instruction& it) {
      if (it.place == Place::inherited || it.act == Act::move) return false;
      it.place = Place::inherited;
      return true;
    });
    changed = change(i,
                     [](Instruction& it) {
                       if (it.act != Act::eval || it.operands.size() < 2) return false;
                       it.operands.pop_back();
                       return true;
                     }) ||
              changed;
    changed = shrink_shape(i) || changed;
    for (std::size_t k = 0; k < 4; ++k) changed = shrink_attribute(i, k) || changed;
    return change(i,
                  [](Instruction& it) {
                    if (it.act != Act::data || it.plain) return false;
                    it.plain = true;
                    return true;
                  }) ||
           changed;
  }

  bool drop(std::size_t i) { return accept(without_dead(without(program_, i))); }

  bool drop_root(std::size_t i) {
    return change(i, [](Instruction& it) {
      if (!it.held || it.act == Act::variable) return false;
      it.held = false;
      return true;
    });
  }

  /// Looks at one of its operands instead.
  bool look_earlier(std::size_t i) {
    if (is_work(program_.code[i])) return false;
    const std::vector<int> operands = program_.code[i].operands;
    for (const int id : operands) {
      if (id < 0) continue;
      Program candidate = program_;
      Instruction& operand = candidate.code[static_cast<std::size_t>(id / 2)];
      if (operand.act == Act::variable || is_leaf(operand) || operand.held) continue;
      operand.held = true;
      if (accept(without_dead(without(candidate, i)))) return true;
    }
    return false;
  }

  bool shrink_attribute(std::size_t i, std::size_t k) {
    for (const int divisor : {0, 2, 1}) {
      const bool changed = change(i, [&](Instruction& it) {
        std::int64_t& attribute = it.attrs[k];
        if (it.act != Act::op || attribute < 1 || (attribute == 1 && divisor == 2)) return false;
        attribute = divisor ? (attribute - (divisor == 1)) / divisor : 0;
        return true;
      });
      if (changed) return true;
    }
    return false;
  }

  /// Its value as given data.
  bool to_leaf(std::size_t i) {
    const Instruction& it = program_.code[i];
    if (is_leaf(it) || is_work(it) || it.act == Act::variable || it.act == Act::assign)
      return false;
    const std::optional<Instruction> leaf = leaf_like(i);
    if (!leaf) return false;
    return change(i, [&](Instruction& changed) {
      const bool held = changed.held;
      changed = *leaf;
      changed.held = held;
      return true;
    });
  }

  std::optional<Instruction> leaf_like(std::size_t i) {
    Recording recording;
    try {
      for (std::size_t j = 0; j <= i; ++j)
        if (!is_work(program_.code[j]))
          recording.add(program_, j);
        else
          recording.skip(j);
    } catch (const Error&) {
      return std::nullopt;
    }
    const Tensor& value = recording.value(static_cast<int>(2 * i));
    if (!value.defined()) return std::nullopt;
    Instruction leaf;
    leaf.act = Act::data;
    leaf.dtype = value.dtype();
    leaf.shape = value.shape();
    leaf.seed = program_.code[i].seed;
    leaf.place =
        program_.code[i].place == Place::undecided ? Place::inherited : program_.code[i].place;
    return leaf;
  }

  /// A smaller extent, an axis less; of all leaves of this shape, or of all with this extent there,
  /// where one alone does not do.
  bool shrink_shape(std::size_t i) {
    if (i >= program_.code.size() || !is_made(program_.code[i])) return false;
    const Shape shape = program_.code[i].shape;
    for (int d = 0; d < shape.ndim(); ++d) {
      const auto axis = static_cast<std::size_t>(d);
      const std::int64_t extent = shape[axis];
      for (const std::int64_t smaller : {std::int64_t{1}, extent / 2, extent - 1})
        if (smaller < extent && smaller >= 1 &&
            reshape_leaves(i, d, [&](Shape& it) { it[axis] = smaller; }))
          return true;
      if (reshape_leaves(i, d, [&](Shape& it) { it.erase(d); })) return true;
    }
    return false;
  }

  template <class Change>
  bool reshape_leaves(std::size_t i, int d, const Change& make_smaller) {
    const Shape from = program_.code[i].shape;
    const auto try_all = [&](const auto& is_chosen) {
      Program candidate = program_;
      for (Instruction& it : candidate.code)
        if (is_made(it) && is_chosen(it.shape)) make_smaller(it.shape);
      return accept(without_dead(candidate));
    };
    const auto has_extent = [&](const Shape& it) {
      const auto axis = static_cast<std::size_t>(d);
      return it.ndim() == from.ndim() && it[axis] == from[axis];
    };
    return change(i,
                  [&](Instruction& it) {
                    make_smaller(it.shape);
                    return true;
                  }) ||
           try_all([&](const Shape& it) { return it == from; }) || try_all(has_extent);
  }

  static constexpr int most_attempts = 1500;
  Program program_;
  const Fails& fails_;
  int attempts_ = 0;
};

}  // namespace

Program shrink(Program program, const Fails& fails) {
  return Shrinker(std::move(program), fails).run();
}

}  // namespace weft::fuzz
