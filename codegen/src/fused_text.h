// The element-wise part of a point-wise kernel's text: its program as straight-line C++.
#pragma once

#include <string>
#include <vector>

#include "fused_space.h"
#include "kernel_writer.h"

namespace weft::detail {

/// Where an input's elements are while a thread computes.
enum class Held : std::uint8_t {
  constant,  // one for all: in a variable
  row,       // one for the thread: in a variable
  elements,  // one each: by an expression in `e`
};

class FusedText {
 public:
  FusedText(KernelWriter& writer, const KernelStep& step, const FusedSpace& space);

  std::size_t input_count() const noexcept { return step_.inputs.size(); }
  const KernelOperand& input(std::size_t k) const noexcept { return step_.inputs[k]; }
  std::size_t output_count() const noexcept { return step_.outputs.size(); }
  const KernelOperand& output(std::size_t k) const noexcept { return step_.outputs[k]; }
  Held held(std::size_t input) const noexcept { return held_[input]; }
  /// Takes inputs that are one for a row as elements too: a thread's are of several rows.
  void hold_each();
  /// Costs of one element, in additions.
  float flops() const noexcept;

  /// "x3", "y0": arrays of stored elements; "a3", "b0": pointers.
  static std::string elements(std::size_t input) { return "x" + std::to_string(input); }
  static std::string results(std::size_t output) { return "y" + std::to_string(output); }
  static std::string source(std::size_t input) { return "a" + std::to_string(input); }
  static std::string target(std::size_t output) { return "b" + std::to_string(output); }

  /// First lines: leaves where the run has failed, reads what is one for all.
  void begin();
  /// Declares the pointers of an input, moved by `offset`, or of all outputs.
  void declare_source(std::size_t input, const std::string& offset);
  void declare_targets();
  /// Declares arrays of `count` stored elements, of the inputs that are to be held so and of the
  /// outputs.
  void declare_arrays(int count, const std::vector<char>& inputs);
  /// Reads the inputs that are one for the thread, through their pointers.
  void read_rows();
  /// Computes `count` results; `element` gives an input's stored element number e.
  void compute(int count, const std::vector<std::string>& element);

 private:
  std::string value_name(std::size_t input) const { return "c" + std::to_string(input); }
  void element_code(const std::vector<std::string>& element);
  void name_value(std::size_t input, const std::string& value);
  void name_stored(std::size_t input, const std::string& stored);
  /// What an input's element is stored as.
  std::string stored_of(std::size_t input, const std::vector<std::string>& element) const;

  KernelWriter& writer_;
  const KernelStep& step_;
  std::vector<Held> held_;
  std::vector<std::string> registers_;  // what holds them where the element's code begins
  std::vector<std::string> stored_;     // of inputs that are one for many: the stored value's name
};

/// A loop over e = 0 .. count-1 that the compiler unrolls.
void begin_loop(KernelWriter& writer, int count);

/// Point-wise work row by row of the space.
KernelLaunch emit_rows(const KernelStep& step, const GpuFacts& gpu, const FusedSpace& space);

/// The axis along which tiles turn inputs that are read across the rows; -1: there are none.
int tile_axis(const KernelStep& step, const FusedSpace& space);
/// Point-wise work by square tiles of the last axis and that one.
KernelLaunch emit_tiles(const KernelStep& step, const GpuFacts& gpu, const FusedSpace& space,
                        int axis);

}  // namespace weft::detail
