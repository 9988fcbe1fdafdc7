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
    read_strides();
    if (inner_rank_ <= 1) return;
    // Axes that do not become one: such views are rare.
    copy_.emplace(static_cast<std::size_t>(size_in_bytes(x)));
    x_ = dense_like(x, copy_->as());
    copy_strided(x_, x);
    read_strides();
  }

  /// Lines of a block: fewer at the end of a row of lines.
  std::int64_t width(std::int64_t block) const noexcept {
    return std::min(together_, inner_ - block % blocks_of_row_ * together_);
  }
  std::int64_t blocks() const noexcept { return outer_ * blocks_of_row_; }

  /// Rows first .. first+n-1 of a block, in the class, each with the elements of all its lines.
  void read(std::int64_t block, std::int64_t first, std::int64_t n, void* values) const {
    const std::int64_t w = width(block), j = block % blocks_of_row_ * together_;
    const std::int64_t base =
        offset_of(block / blocks_of_row_, outer_rank_, outer_extents_, outer_strides_[0]) +
        j * inner_stride_ + first * x_.strides[axis_];
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    const char* source = bytes_of(x_) + base * size;
    if (w == 1) return read_row(dtype, values, source, x_.strides[axis_], n);
    const auto row = w * static_cast<std::int64_t>(class_size(compute_class(dtype)));
    for (std::int64_t i = 0; i < n; ++i)
      read_row(dtype, static_cast<char*>(values) + i * row, source + i * x_.strides[axis_] * size,
               inner_stride_, w);
  }

  /// The same rows of a dense output: values of a class, as its dtype.
  void write(const ResolvedOperand& out, std::int64_t block, std::int64_t first, std::int64_t n,
             ComputeClass from, const void* values) const {
    const std::int64_t w = width(block), j = block % blocks_of_row_ * together_;
    const auto size = static_cast<std::int64_t>(size_of(out.dtype));
    const bool is_stored = is_class_storage(out.dtype) && compute_class(out.dtype) == from;
    char* target = bytes_of(out) + ((block / blocks_of_row_ * length + first) * inner_ + j) * size;
    const char* source = static_cast<const char*>(values);
    if (w == inner_ || w == 1) {
      const std::int64_t stride = w == inner_ ? 1 : inner_;
      if (is_stored)
        return copy_row(target, stride, source, 1, n * w, static_cast<std::size_t>(size));
      if (stride == 1) return write_row(out.dtype, target, from, source, n * w);
      const Scratch room(static_cast<std::size_t>(n * size));
      write_row(out.dtype, room.bytes(), from, source, n);
      return copy_row(target, stride, room.bytes(), 1, n, static_cast<std::size_t>(size));
    }
    const auto row = w * static_cast<std::int64_t>(class_size(from));
    for (std::int64_t i = 0; i < n; ++i, target += inner_ * size, source += row) {
      if (is_stored)
        copy_row(target, 1, source, 1, w, static_cast<std::size_t>(size));
      else
        write_row(out.dtype, target, from, source, w);
    }
  }

  std::int64_t length;
  DType dtype;

 private:
  // Fewer lines side by side are taken one by one.
  static constexpr std::int64_t fewest_together = 8;

  void read_strides() {
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
    together_ = inner_ < fewest_together ? 1 : std::min<std::int64_t>(inner_, scan_columns);
    blocks_of_row_ = (inner_ + together_ - 1) / together_;
  }

  int axis_;
  ResolvedOperand x_;
  std::optional<Scratch> copy_;
  std::int64_t outer_ = 1, inner_ = 1, inner_stride_ = 1, together_ = 1, blocks_of_row_ = 1;
  int outer_rank_ = 0, inner_rank_ = 0;
  std::int64_t outer_extents_[max_rank];
  Strides outer_strides_[1];
};

}  // namespace weft::detail
