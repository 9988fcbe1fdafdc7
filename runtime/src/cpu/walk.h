// Index spaces: extents with the strides of several operands, walked in row-major order.
#pragma once

#include <cstdint>

#include "backend.h"

namespace weft::detail {

using Strides = std::int64_t[max_rank];

/// Joins neighbouring axes wherever all operands allow it, and drops those of extent 1. What is
/// left of a space with one element has rank 0.
inline void collapse(int& rank, std::int64_t* extents, Strides* strides, int operands) {
  int last = -1;
  for (int d = 0; d < rank; ++d) {
    if (extents[d] == 1) continue;
    bool joins = last >= 0;
    for (int k = 0; k < operands && joins; ++k)
      joins = strides[k][last] == strides[k][d] * extents[d];
    if (joins) {
      extents[last] *= extents[d];
    } else {
      extents[++last] = extents[d];
    }
    for (int k = 0; k < operands; ++k) strides[k][last] = strides[k][d];
  }
  rank = last + 1;
}

/// Offset of element number `linear` in row-major order.
inline std::int64_t offset_of(std::int64_t linear, int rank, const std::int64_t* extents,
                              const std::int64_t* strides) noexcept {
  std::int64_t offset = 0;
  for (int d = rank - 1; d > 0; --d) {
    offset += linear % extents[d] * strides[d];
    linear /= extents[d];
  }
  return rank > 0 ? offset + linear * strides[0] : 0;
}

/// A place in a space's outer axes: steps from row to row and says how far an operand moves.
class RowCursor {
 public:
  /// Starts at row number `row` of the axes before the last one.
  RowCursor(int rank, const std::int64_t* extents, std::int64_t row) noexcept
      : outer_(rank - 1), extents_(extents) {
    for (int d = outer_ - 1; d >= 0; --d) {
      at_[d] = row % extents[d];
      row /= extents[d];
    }
  }
  std::int64_t offset(const std::int64_t* strides) const noexcept {
    std::int64_t offset = 0;
    for (int d = 0; d < outer_; ++d) offset += at_[d] * strides[d];
    return offset;
  }
  void next() noexcept {
    for (int d = outer_ - 1; d >= 0; --d) {
      if (++at_[d] < extents_[d]) return;
      at_[d] = 0;
    }
  }

 private:
  int outer_;
  const std::int64_t* extents_;
  std::int64_t at_[max_rank] = {};
};

}  // namespace weft::detail
