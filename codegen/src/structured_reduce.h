// What the emitters of reductions share: the operand's axes parted into kept and reduced ones.
#pragma once

#include "structured.h"

namespace weft::detail {

/// Each output is made of a sequence: the elements over the reduced axes in row-major order.
struct SequenceSpaces {
  /// Attribute 0 of the step is the mask of the reduced axes.
  explicit SequenceSpaces(const KernelStep& step);
  /// Whether neighbouring outputs' elements are nearer in memory than those of one sequence.
  bool lie_side_by_side() const noexcept;
  /// Whether 32 bits hold all offsets and numbers, `results` of the workspace among them.
  bool is_narrow(const GpuFacts& gpu, std::int64_t results) const;

  IndexSpace kept, reduced;
  std::int64_t outputs, length;
};

}  // namespace weft::detail
