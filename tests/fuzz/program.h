// A random program as data: it can be recorded again, printed and made smaller.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/detail/ops.h>
#include <weft/graph/tensor.h>

#include "support/interpreter.h"

namespace weft::fuzz {

using detail::OpId;

/// What an instruction does.
enum class Act : std::uint8_t {
  data,      // a leaf: drawn numbers
  index,     // a leaf: indices below attrs[0], which is positive unless there are none
  op,        // the op of that id, through its public function
  move,      // x.to(device)
  variable,  // a Variable that starts with x
  assign,    // the Variable takes x
  value,     // the Variable's current value
  grad,      // d sum(x * cotangent) / d Variable
  eval,      // starts the work of these
  flush,     // starts all that is pending
};

struct Number {
  enum class Kind : std::uint8_t { boolean, integer, decimal };
  Kind kind = Kind::integer;
  std::int64_t integer = 0;
  double decimal = 0;
};

/// Where an instruction is recorded.
enum class Place : std::int8_t { inherited, cpu, sim0, sim1, undecided };

/// Value 2i is output 0 of instruction i, value 2i + 1 its output 1. An operand below 0 is a C++
/// number: -1 the first of `numbers`.
struct Instruction {
  Act act = Act::op;
  OpId op{};
  std::vector<int> operands;
  std::vector<Number> numbers;
  DType dtype = DType::f32;  // of leaves, casts and sequences
  Shape shape;               // of leaves, reshapes and expansions; axes of a permutation
  std::array<std::int64_t, 4> attrs{};
  std::uint32_t seed = 0;  // of drawn numbers
  Place place = Place::inherited;
  bool held = false;   // the program keeps it to the end, and looks at it
  bool plain = false;  // of data: no specials, most often whole numbers
};

struct Program {
  std::vector<Instruction> code;
};

/// Records one instruction after another and keeps what it gave while something still needs it.
/// With another `round` the data, the numbers and the starts of slices are others; the structure is
/// the same.
class Recording {
 public:
  explicit Recording(std::uint64_t round = 0) : round_(round) {}
  /// Throws what the library throws where the program is not valid.
  void add(const Program& program, std::size_t i);
  /// Leaves its values undefined.
  void skip(std::size_t i) {
    values_.resize(2 * i + 2);
    variables_.resize(i + 1);
  }
  /// By value id; undefined where there is none or it has been let go of.
  const Tensor& value(int id) const { return values_.at(static_cast<std::size_t>(id)); }
  const Variable& variable(int id) const { return variables_.at(static_cast<std::size_t>(id / 2)); }
  /// Lets go of all that is not held and that no instruction from `next` on reads.
  void let_go(const Program& program, std::size_t next);
  /// Everything recorded so far that is still there, the current values of Variables included.
  std::vector<Tensor> alive() const;

 private:
  Tensor operand(const Instruction& it, std::size_t k) const;
  Tensor leaf(const Instruction& it) const;
  Tensor structured(const Instruction& it);
  Tensor sequence(const Instruction& it) const;
  void act(const Instruction& it);

  std::uint64_t round_;
  std::vector<Tensor> values_;
  std::vector<Variable> variables_;
};

/// The numbers of a leaf, and a C++ number, as they are in a round.
testing::HostValue leaf_numbers(const Instruction& it, std::uint64_t round);
Number number_in(const Instruction& it, std::size_t k, std::uint64_t round);
/// The start of a slice or slice_update in a round; attrs: axis, step, start, greatest start.
std::int64_t start_in(const Instruction& it, std::uint64_t round);

Tensor call_pointwise(OpId op, const std::vector<Operand>& operands);

/// Where the places of a program are. What nothing places is on `cpu`.
struct Places {
  Device cpu, sim0 = Device::sim(0), sim1 = Device::sim(1);
};
void set_places(const Places& places);
Device device_of(Place place);

/// Throws what the library throws where the program is not valid in both rounds.
void require_valid(const Program& program);

/// Called before the instruction that starts work, and before the end, with what it asks for.
using BeforeWork = std::function<void(const Recording&, const std::vector<Tensor>& roots)>;
/// A value that the program looks at, under its name in `source`.
struct Seen {
  std::string name;
  testing::HostValue value;
};
/// Runs it all: the values of what it holds, and of its Variables.
std::vector<Seen> run(const Program& program, std::uint64_t round, const BeforeWork& before = {});

/// The program as C++ against the public headers.
std::string source(const Program& program);

}  // namespace weft::fuzz
