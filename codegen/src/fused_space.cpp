// Joins the axes of point-wise work.
#include "fused_space.h"

#include <algorithm>
#include <bit>

#include <weft/graph/error.h>

namespace weft::detail {

FusedSpace::FusedSpace(const KernelOperand& output, const std::vector<KernelOperand>& inputs)
    : strides(inputs.size()) {
  for (int axis = 0; axis < output.rank; ++axis) {
    const std::int64_t extent = output.shape[axis];
    if (extent == 1) continue;
    bool joins = rank > 0;
    for (std::size_t k = 0; k < inputs.size() && joins; ++k)
      joins = inner_stride(k) == inputs[k].strides[axis] * extent;
    if (!joins) extents[static_cast<std::size_t>(rank++)] = 1;
    const auto last = static_cast<std::size_t>(rank - 1);
    extents[last] *= extent;
    for (std::size_t k = 0; k < inputs.size(); ++k) strides[k][last] = inputs[k].strides[axis];
  }
  if (rank == 0) {
    extents[0] = 1;
    rank = 1;
  }
  std::int64_t step = numel() == 1 ? 0 : 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    dense[static_cast<std::size_t>(axis)] = step;
    step *= extents[static_cast<std::size_t>(axis)];
  }
}

std::int64_t FusedSpace::numel() const noexcept {
  std::int64_t n = 1;
  for (int axis = 0; axis < rank; ++axis) n *= extents[static_cast<std::size_t>(axis)];
  return n;
}

bool FusedSpace::is_constant(std::size_t input) const noexcept {
  return strides[input] == AxisStrides{};
}

bool FusedSpace::is_within(std::int64_t span) const noexcept {
  if (numel() > span) return false;
  for (std::size_t k = 0; k < strides.size(); ++k) {
    std::int64_t low = 0, high = 0;
    for (int axis = 0; axis < rank; ++axis)
      (stride(k, axis) < 0 ? low : high) +=
          stride(k, axis) * (extents[static_cast<std::size_t>(axis)] - 1);
    if (std::max(-low, high) >= span) return false;
  }
  return true;
}

std::uint64_t divisor_word(std::int64_t divisor, bool is_wide) {
  const auto d = static_cast<std::uint64_t>(divisor);
  WEFT_ENSURE(divisor > 0 && (is_wide || d <= std::uint64_t{1} << 31));
  if (is_wide) return d;
  const auto shift = static_cast<unsigned>(std::bit_width(d - 1));
  const std::uint64_t multiplier = ((((std::uint64_t{1} << shift) - d) << 32) / d) + 1;
  return std::uint64_t{shift} << 32 | multiplier;
}

}  // namespace weft::detail
