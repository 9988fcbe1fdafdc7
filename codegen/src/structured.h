// What the emitters of structured ops share: index spaces, parameter words, the text of an entry.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/codegen/kernel.h>

namespace weft::detail {

/// Extents with the strides of several operands, walked in row-major order.
struct IndexSpace {
  static constexpr int most_operands = 3;
  explicit IndexSpace(int count) : operands(count) {}
  void add(std::int64_t extent, std::initializer_list<std::int64_t> operand_strides);
  /// Joins neighbouring axes wherever all operands allow it, and drops those of extent 1.
  void collapse();
  std::int64_t numel() const noexcept;
  /// The most elements, a power of two up to `most`, that can be moved as one: neighbours along the
  /// last axis in each operand of the mask `moved`, of which another operand needs one index for
  /// all.
  std::int64_t together(std::int64_t most, unsigned moved) const noexcept;
  /// Makes that many one, for which the strides of those operands count from then on.
  void join(std::int64_t elements, unsigned moved) noexcept;
  /// Greatest distance of two elements of operand k.
  std::int64_t reach(int k) const noexcept;

  int operands;
  int rank = 0;
  std::int64_t extents[max_rank + 1];
  std::int64_t strides[most_operands][max_rank + 1];
};

/// An operand's lines along one axis: their length and step, and where they begin.
struct AxisLines {
  AxisLines(const KernelOperand& operand, std::int64_t axis);
  /// Greatest distance of two elements.
  std::int64_t reach() const noexcept;

  std::int64_t extent = 1, stride = 1;
  std::int64_t inner = 1;  // elements of the axes behind, in a dense value
  std::int64_t count = 1;
  IndexSpace space{1};
};

/// Strides of a dense value of the operand's shape.
std::vector<std::int64_t> dense_strides(const KernelOperand& operand);

/// Elements of 16 bytes, or fewer where the addresses are not so aligned, or strides and offsets
/// no multiples.
std::int64_t aligned_elements(std::initializer_list<const KernelOperand*> operands,
                              std::initializer_list<std::int64_t> multiples);

/// Whether 32 bits hold all these distances and counts, with room for a last block's excess.
bool is_narrow(const GpuFacts& gpu, std::initializer_list<std::int64_t> spans);
/// "wf_u32" or "wf_u64".
std::string index_type(bool narrow);
/// Type of the device library that stands for a dtype: "wf_as_f32".
std::string tag_of(DType dtype);
/// An unsigned C type of that many bytes, for elements that are only moved.
std::string bits_type(std::size_t bytes);
/// The dtype whose storage is the class itself.
DType storage_of(ComputeClass compute) noexcept;
/// Input 0, in order, as output 0.
KernelSequence copy_of_first_input(const KernelStep& step, const GpuFacts& gpu);
inline std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept { return (a + b - 1) / b; }
inline std::size_t aligned(std::size_t bytes) noexcept { return (bytes + 255) / 256 * 256; }

/// "name<a, b, c>"
template <class... T>
std::string instance(const std::string& name, const T&... arguments) {
  std::string list;
  const auto add = [&list](const auto& argument) {
    if (!list.empty()) list += ", ";
    if constexpr (requires { std::to_string(argument); })
      list += std::to_string(argument);
    else
      list += argument;
  };
  (add(arguments), ...);
  return name + "<" + list + ">";
}

/// Builds one launch of a function of the device library that takes the words.
class LaunchBuilder {
 public:
  explicit LaunchBuilder(const KernelStep& step) : step_(step) {}
  LaunchBuilder& constant(std::int64_t value) {
    return add(ParamWord::Kind::constant, static_cast<std::uint64_t>(value));
  }
  LaunchBuilder& input(std::size_t i) { return add(ParamWord::Kind::input, i); }
  LaunchBuilder& output(std::size_t i) { return add(ParamWord::Kind::output, i); }
  LaunchBuilder& workspace(std::size_t offset) { return add(ParamWord::Kind::workspace, offset); }
  LaunchBuilder& counters() { return add(ParamWord::Kind::counters, 0); }
  /// Attribute i of the step: its value, be it structure or an argument of the run.
  LaunchBuilder& attribute(int i);
  /// The error block, and what to write into it.
  LaunchBuilder& error();
  LaunchBuilder& space(const IndexSpace& space, bool narrow);
  std::size_t word_count() const noexcept { return words_.size(); }
  /// `function` is called with the words; blocks along x, of which a processor should be able to
  /// hold `resident` at once.
  KernelLaunch launch(const std::string& function, std::int64_t blocks, unsigned threads_x,
                      unsigned threads_y = 1, unsigned resident = 1);

 private:
  LaunchBuilder& add(ParamWord::Kind kind, std::uint64_t value) {
    words_.push_back({kind, value});
    return *this;
  }
  const KernelStep& step_;
  std::vector<ParamWord> words_;
};

}  // namespace weft::detail
