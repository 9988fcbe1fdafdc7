// What reductions share: the operand's axes parted into kept and reduced ones.
#pragma once

#include "cpu/host.h"
#include "cpu/rows.h"
#include "cpu/walk.h"

namespace weft::detail {

/// Most columns that are reduced together: their rows are worth a prefetcher's while, and the
/// partial results of a tree of lanes stay in the nearest cache.
inline constexpr std::int64_t column_block = 256;
/// Fewer columns are reduced one by one.
inline constexpr std::int64_t fewest_columns = 4;
inline constexpr std::int64_t short_sequence = 32;

/// Each output is made of a sequence: the elements over the reduced axes in row-major order.
struct Sequences {
  explicit Sequences(const StepCall& call);

  /// Offset of the first element of output number o.
  std::int64_t base(std::int64_t o) const noexcept {
    return offset_of(o, kept_rank, kept, kept_strides[0]);
  }
  /// Offset of element i of a sequence from its first.
  std::int64_t step(std::int64_t i) const noexcept {
    return offset_of(i, reduced_rank, reduced, reduced_strides[0]);
  }
  const char* at(std::int64_t offset) const noexcept {
    return data + offset * static_cast<std::int64_t>(size_of(dtype));
  }
  bool is_plain() const noexcept { return is_class_storage(dtype); }
  /// Elements start .. start+n-1 of the sequence at `first`, side by side in the class: where they
  /// stand, or copied into `room`.
  const void* read(std::int64_t first, std::int64_t start, std::int64_t n, void* room) const;
  /// Columns: outputs whose sequences lie side by side, or are so short that reading across them
  /// is cheaper than starting each.
  std::int64_t columns() const noexcept {
    return kept_rank > 0 && (column_stride() == 1 || length <= short_sequence) ? kept[kept_rank - 1] : 1;
  }
  std::int64_t column_stride() const noexcept { return kept_strides[0][kept_rank - 1]; }
  /// Element i of `n` neighbouring sequences, side by side in the class.
  const void* read_columns(std::int64_t first, std::int64_t i, std::int64_t n, void* room) const;

  const char* data;
  DType dtype;
  ComputeClass compute;
  std::int64_t length = 1;   // of a sequence
  std::int64_t outputs = 1;
  int kept_rank = 0, reduced_rank = 0;
  std::int64_t kept[max_rank], reduced[max_rank];
  Strides kept_strides[1], reduced_strides[1];
};

}  // namespace weft::detail
