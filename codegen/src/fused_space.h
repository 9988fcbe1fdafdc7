// The iteration space of point-wise work: extents of the outputs, strides of every input.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <weft/codegen/kernel.h>

namespace weft::detail {

using AxisStrides = std::array<std::int64_t, max_rank>;

struct FusedSpace {
  /// Of the outputs' shape, neighbouring axes joined wherever all inputs allow it, those of extent
  /// 1 dropped. A space of one element has one axis, over which nothing moves.
  FusedSpace(const KernelOperand& output, const std::vector<KernelOperand>& inputs);

  int rank = 0;
  std::array<std::int64_t, max_rank> extents{};
  std::vector<AxisStrides> strides;  // of each input
  AxisStrides dense{};               // of the outputs

  std::int64_t numel() const noexcept;
  std::int64_t columns() const noexcept { return extents[static_cast<std::size_t>(rank - 1)]; }
  std::int64_t stride(std::size_t input, int axis) const noexcept {
    return strides[input][static_cast<std::size_t>(axis)];
  }
  std::int64_t inner_stride(std::size_t input) const noexcept { return stride(input, rank - 1); }
  /// Whether the input is one element.
  bool is_constant(std::size_t input) const noexcept;
  /// Whether the input is read as the outputs are written.
  bool is_dense(std::size_t input) const noexcept { return strides[input] == dense; }
  /// Whether all offsets and counts are below the span.
  bool is_within(std::int64_t span) const noexcept;
};

/// Word by which wf_divide divides a wf_u32 below 2^31 (Granlund and Montgomery, Division by
/// invariant integers using multiplication, PLDI 1994), or, where wide, a wf_u64.
std::uint64_t divisor_word(std::int64_t divisor, bool is_wide);

}  // namespace weft::detail
