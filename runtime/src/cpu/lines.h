// What scans share: the operand's axes parted into the one that is scanned and the lines along it,
// in blocks of neighbouring lines.
#pragma once

#include <algorithm>
#include <optional>

#include "cpu/host.h"
#include "cpu/rows.h"
#include "cpu/walk.h"
#include "cpu/workspace.h"

namespace weft::detail {

class LineBlocks {
 public:
  LineBlocks(const ResolvedOperand& x, int axis)
      : length(x.shape[axis]), dtype(x.dtype), axis_(axis), x_(x) {
    part_axes();
    if (inner_rank_ > 1) {
      // Axes that do not become one: such views are rare.
      copy_.emplace(static_cast<std::size_t>(size_in_bytes(x)));
      x_ = dense_like(x, copy_->as());
      copy_strided(x_, x);
      part_axes();
    }
    out_row_ = inner_;
    if (inner_ == 1 && length <= most_across && outer_rank_ == 1) {
      inner_ = outer_extents_[0];
      inner_stride_ = outer_strides_[0][0];
      outer_ = 1;
      outer_rank_ = 0;
      out_column_ = length;
    }
    together_ = inner_ < fewest_together ? 1 : std::min<std::int64_t>(inner_, scan_columns);
    blocks_of_row_ = (inner_ + together_ - 1) / together_;
  }

  std::int64_t blocks() const noexcept { return outer_ * blocks_of_row_; }
  /// Lines of a block: fewer at the end of a row of lines.
  std::int64_t width(std::int64_t block) const noexcept {
    return std::min(together_, inner_ - column(block));
  }

  /// Rows first .. first+n-1 of a block, in the class, each with the elements of all its lines.
  void read(std::int64_t block, std::int64_t first, std::int64_t n, void* values) const {
    const std::int64_t w = width(block), stride = x_.strides[axis_];
    const std::int64_t at =
        offset_of(block / blocks_of_row_, outer_rank_, outer_extents_, outer_strides_[0]) +
        column(block) * inner_stride_ + first * stride;
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    const char* source = bytes_of(x_) + at * size;
    if (w == 1) return read_row(dtype, values, source, stride, n);
    const auto row = w * static_cast<std::int64_t>(class_size(compute_class(dtype)));
    for (std::int64_t i = 0; i < n; ++i)
      read_row(dtype, static_cast<char*>(values) + i * row, source + i * stride * size,
               inner_stride_, w);
  }

  /// The same rows of a dense output: values of a class, as its dtype.
  void write(const ResolvedOperand& out, std::int64_t block, std::int64_t first, std::int64_t n,
             ComputeClass from, const void* values) const {
    const std::int64_t w = width(block);
    const std::int64_t at =
        block / blocks_of_row_ * length * inner_ + first * out_row_ + column(block) * out_column_;
    const auto size = static_cast<std::int64_t>(size_of(out.dtype));
    char* const target = bytes_of(out) + at * size;
    const char* source = static_cast<const char*>(values);
    if (w == inner_ && out_column_ == 1)
      return write_elements(out.dtype, target, 1, from, source, n * w);
    if (w == 1) return write_elements(out.dtype, target, out_row_, from, source, n);
    const auto row = w * static_cast<std::int64_t>(class_size(from));
    for (std::int64_t i = 0; i < n; ++i)
      write_elements(out.dtype, target + i * out_row_ * size, out_column_, from, source + i * row,
                     w);
  }

  std::int64_t length;
  DType dtype;

 private:
  // Fewer lines side by side are taken one by one; short lines one after the other are taken
  // across.
  static constexpr std::int64_t fewest_together = 8, most_across = 64;

  std::int64_t column(std::int64_t block) const noexcept {
    return block % blocks_of_row_ * together_;
  }

  static void write_elements(DType dtype, char* target, std::int64_t stride, ComputeClass from,
                             const char* values, std::int64_t n) {
    if (is_class_storage(dtype) && compute_class(dtype) == from)
      return copy_row(target, stride, values, 1, n, size_of(dtype));
    if (stride == 1) return write_row(dtype, target, from, values, n);
    const Scratch room(static_cast<std::size_t>(n) * size_of(dtype));
    write_row(dtype, room.bytes(), from, values, n);
    copy_row(target, stride, room.bytes(), 1, n, size_of(dtype));
  }

  void part_axes() {
    outer_ = inner_ = 1;
    outer_rank_ = inner_rank_ = 0;
    std::int64_t inner_extents[max_rank];
    Strides inner_strides[1];
    for (int d = 0; d < x_.rank; ++d) {
      if (d == axis_) continue;
      const bool is_outer = d < axis_;
      (is_outer ? outer_ : inner_) *= x_.shape[d];
      const int k = is_outer ? outer_rank_++ : inner_rank_++;
      (is_outer ? outer_extents_ : inner_extents)[k] = x_.shape[d];
      (is_outer ? outer_strides_ : inner_strides)[0][k] = x_.strides[d];
    }
    collapse(outer_rank_, outer_extents_, outer_strides_, 1);
    collapse(inner_rank_, inner_extents, inner_strides, 1);
    inner_stride_ = inner_rank_ > 0 ? inner_strides[0][inner_rank_ - 1] : 1;
  }

  int axis_;
  ResolvedOperand x_;
  std::optional<Scratch> copy_;
  std::int64_t outer_ = 1, inner_ = 1, inner_stride_ = 1, together_ = 1, blocks_of_row_ = 1;
  std::int64_t out_row_ = 1, out_column_ = 1;
  int outer_rank_ = 0, inner_rank_ = 0;
  std::int64_t outer_extents_[max_rank];
  Strides outer_strides_[1];
};

}  // namespace weft::detail
