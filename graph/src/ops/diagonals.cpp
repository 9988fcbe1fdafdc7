// Triangles and diagonals: comparisons of row and column numbers, which fuse with what reads them.
#include <algorithm>
#include <limits>

#include "composite.h"

namespace weft {
namespace detail {
namespace {

constexpr Composite one_hot_called{"one_hot", "label", "classes"};

/// Whether the column is at most (or at least) the row + k, of the last two axes.
Tensor triangle(const char* op, const TensorArg& x, std::int64_t k, bool is_lower) {
  const Where at = x.at();
  const Shape shape = spec_of(x, op).shape;
  if (shape.ndim() < 2)
    fail<ShapeError>(at, std::string(op) + ": takes a matrix, or several: " + describe(x.ref()) +
                             "; reshape it to two axes or more");
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const Tensor row = unsqueeze({counting(op, x, rows), at}, 1);
  // Any diagonal beyond the corners is as good as the one next to them.
  const Tensor column = counting(op, x, columns, -std::clamp(k, -rows, columns));
  return zero_but(is_lower ? le({column, at}, {row, at}) : ge({column, at}, {row, at}), x);
}

/// The axes other than two, then these two.
Dims with_last(const TensorArg& x, int a, int b) {
  Dims order(x.at());
  for (int i = 0; i < spec_of(x, "diagonal").shape.ndim(); ++i)
    if (i != a && i != b) order.push_back(i);
  order.push_back(a);
  order.push_back(b);
  return order;
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor tril(const TensorArg& x, std::int64_t diagonal) {
  return triangle("tril", x, diagonal, true);
}
Tensor triu(const TensorArg& x, std::int64_t diagonal) {
  return triangle("triu", x, diagonal, false);
}

Tensor diagonal(const TensorArg& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const Where at = x.at();
  const int a = axis_of("diagonal", x, axis1), b = axis_of("diagonal", x, axis2);
  if (a == b)
    fail<ValueError>(at, "diagonal: both axes are axis " + std::to_string(a) + ": " +
                             describe(x.ref()) + "; give two");
  const Tensor matrices = permute(x, with_last(x, a, b));
  Shape shape = matrices.shape(at);
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  const std::int64_t k = std::clamp(offset, -rows, columns);
  const std::int64_t count =
      std::max<std::int64_t>(0, k >= 0 ? std::min(rows, columns - k) : std::min(rows + k, columns));
  shape.erase(shape.ndim() - 1);
  shape[shape.size() - 1] = rows * columns;
  const int last = shape.ndim() - 1;
  const Tensor flat = reshape({matrices, at}, Dims(shape, at));
  if (count == 0) return slice({flat, at}, last, 0, 0);
  const std::int64_t start = k >= 0 ? k : -k * columns;
  return slice({flat, at}, last, start, start + (count - 1) * (columns + 1) + 1, columns + 1);
}

Tensor diag_embed(const TensorArg& x, std::int64_t offset, std::int64_t axis1, std::int64_t axis2) {
  const Where at = x.at();
  const Spec spec = spec_of(x, "diag_embed");
  const int last = axis_of("diag_embed", x, -1), rank = spec.shape.ndim() + 1;
  const int a = wrap_axis("diag_embed", axis1, rank, at);
  const int b = wrap_axis("diag_embed", axis2, rank, at);
  if (a == b)
    fail<ValueError>(at, "diag_embed: both axes are axis " + std::to_string(a) + ": " +
                             describe(x.ref()) + "; give two");
  offset = std::max(offset, -std::numeric_limits<std::int64_t>::max());
  const std::int64_t shift = offset < 0 ? -offset : offset;
  Shape shape = spec.shape;
  std::int64_t& extent = shape[static_cast<std::size_t>(last)];
  extent = sum_of_extents("diag_embed", x, extent, shift);
  const std::int64_t size = extent;
  shape.push_back(size, at);
  check_size("diag_embed", shape, spec.dtype, at);
  // As a column, or as a row where the diagonal starts further down, up to the matrix's extent.
  Tensor line = tensor_of(x);
  if (shift != 0) line = padded(x, last, 0, shift, number_like("diag_embed", x, Operand(0, at)));
  const Tensor spread = unsqueeze({line, at}, offset < 0 ? last : last + 1);
  const Tensor column = counting("diag_embed", x, size);
  const Tensor row = unsqueeze({counting("diag_embed", x, size, offset), at}, 1);
  const Tensor matrices = zero_but(eq({column, at}, {row, at}), {spread, at});
  return movedim({matrices, at}, Dims({last, last + 1}, at), Dims({a, b}, at));
}

Tensor diag(const TensorArg& x, std::int64_t offset) {
  const Shape shape = spec_of(x, "diag").shape;
  if (shape.ndim() == 1) return diag_embed(x, offset);
  if (shape.ndim() == 2) return diagonal(x, offset);
  fail<ShapeError>(x.at(), "diag: takes a vector or a matrix: " + describe(x.ref()) +
                               "; of more axes use diagonal or diag_embed");
}

Tensor one_hot(const TensorArg& labels, std::int64_t classes) {
  const Within within(one_hot_called);
  const Where at = labels.at();
  const Spec spec = spec_of(labels, "one_hot");
  check_index("one_hot", labels, at);
  if (classes < -1 || (classes == -1 && spec.shape.numel() == 0) ||
      (classes == 0 && spec.shape.numel() != 0))
    fail<ValueError>(at, "one_hot: " + std::to_string(classes) + " classes for " +
                             describe(labels.ref()) + "; give 1 or more");
  if (classes == -1) {
    const Tensor ends = stack({amin(labels), amax(labels)});  // looked at once
    const std::vector<std::int64_t> looked = ends.to_vector<std::int64_t>(at);
    const std::int64_t least = looked[0], greatest = looked[1];
    if (least < 0)
      fail<IndexError>(at, "one_hot: label " + std::to_string(least) +
                               " is negative: " + describe(labels.ref()) + "; labels count from 0");
    Shape result = spec.shape;
    result.push_back(greatest == std::numeric_limits<std::int64_t>::max() ? greatest
                                                                          : greatest + 1);
    check_size("one_hot", result, DType::i64, at);
    classes = greatest + 1;
  }
  const Tensor all = counting("one_hot", labels, std::max<std::int64_t>(classes, 0));
  // Looked up, so that a label out of range is found.
  const Tensor flat = gather({all, at}, 0, {reshape(labels, Dims(-1, at)), at});
  const Tensor column = unsqueeze({reshape({flat, at}, Dims(spec.shape, at)), at}, -1);
  return cast({eq({column, at}, {all, at}), at}, DType::i64);
}

Tensor trace(const TensorArg& x) {
  const Within within(composite<"trace">);
  if (spec_of(x, "trace").shape.ndim() != 2)
    fail<ShapeError>(x.at(), "trace: takes a matrix: " + describe(x.ref()) +
                                 "; of more axes use sum of diagonal");
  return sum({diagonal(x), x.at()});
}

}  // namespace weft
