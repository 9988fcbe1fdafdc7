// The same elements in another arrangement: shifted, repeated, padded, along diagonals.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

/// Elements moved along axes by shifts, one each, those beyond the end to the start; without axes,
/// in row-major order by one shift.
Tensor roll(const TensorArg& x, const Dims& shifts, const Dims& axes = {});
/// x so many times along each axis, with new leading axes where there are more counts than axes.
/// ShapeError for fewer: `tile` takes 1 for the leading ones that are not given.
Tensor repeat(const TensorArg& x, const Dims& counts);
Tensor tile(const TensorArg& x, const Dims& counts);
/// Each position of an axis so many times, one after the other; without an axis, of the flattened
/// x.
Tensor repeat_interleave(const TensorArg& x, std::int64_t count,
                         std::optional<std::int64_t> axis = std::nullopt);
/// A count for each position, or one for all, of i32 or i64: evaluated, and waited for, at the
/// call.
Tensor repeat_interleave(const TensorArg& x, const TensorArg& counts,
                         std::optional<std::int64_t> axis = std::nullopt);

/// What stands in the padding: one value; x mirrored at its edge, which is not repeated; the edge
/// repeated; or the opposite end of x.
enum class PadMode : std::uint8_t { constant, reflect, replicate, circular };

struct PadOptions {
  PadMode mode = PadMode::constant;
  OptionalOperand value = std::nullopt;  // of `constant`: a number or 0-dim; none: 0
};

/// Widths before and after, in pairs from the last axis on: {1, 2, 0, 1} pads the last axis by 1
/// and 2, the one before it by 0 and 1. Negative ones crop, in mode `constant`. ShapeError where x
/// is too small to be mirrored or repeated so far, ValueError for a value that its dtype does not
/// hold, as in `full`.
Tensor pad(const TensorArg& x, const Sizes& widths, const PadOptions& options = {});

/// The lower or upper triangle of the last two axes, 0 elsewhere; diagonals above the main one
/// count from 1 up, those below it from -1 down.
Tensor tril(const TensorArg& x, std::int64_t diagonal = 0);
Tensor triu(const TensorArg& x, std::int64_t diagonal = 0);
/// A diagonal of two axes, which becomes the last axis.
Tensor diagonal(const TensorArg& x, std::int64_t offset = 0, std::int64_t axis1 = 0,
                std::int64_t axis2 = 1);
/// Of a matrix a diagonal; of a vector the matrix with it there, 0 elsewhere.
Tensor diag(const TensorArg& x, std::int64_t offset = 0);
/// The last axis as a diagonal of two new ones, 0 elsewhere.
Tensor diag_embed(const TensorArg& x, std::int64_t offset = 0, std::int64_t axis1 = -2,
                  std::int64_t axis2 = -1);

/// Axes taken to other positions; those that are not named keep their order.
Tensor movedim(const TensorArg& x, const Dims& from, const Dims& to);
/// `transpose` by another name.
Tensor swapaxes(const TensorArg& x, std::int64_t a, std::int64_t b);
/// One axis as several; one of their extents may be -1.
Tensor unflatten(const TensorArg& x, std::int64_t axis, const Dims& sizes);
/// The positions of an axis, which goes.
std::vector<Tensor> unbind(const TensorArg& x, std::int64_t axis = 0);
/// `length` positions of an axis from start on, negative from the end. IndexError where they do not
/// fit.
Tensor narrow(const TensorArg& x, std::int64_t axis, std::int64_t start, std::int64_t length);
/// Turned by k right angles, from the first axis to the second.
Tensor rot90(const TensorArg& x, std::int64_t k = 1, const Dims& axes = {0, 1});
/// So many parts, the first of them longer by one where the extent is no multiple.
std::vector<Tensor> tensor_split(const TensorArg& x, std::int64_t parts, std::int64_t axis = 0);
/// Cut before each of these positions; as in slices, those out of range are clipped.
std::vector<Tensor> tensor_split(const TensorArg& x, const Sizes& positions, std::int64_t axis = 0);

/// Coordinates of the grid that vectors span, a tensor for each; "ij": axes in their order, "xy":
/// the first two exchanged, as of pictures.
std::vector<Tensor> meshgrid(const TensorList& tensors, std::string_view indexing = "ij");
/// i64[..., classes]: 1 at each label, else 0. Labels are i32 or i64; one that is no class is found
/// on the device: IndexError at the next wait or read. Without a number of classes it is the
/// greatest label + 1: evaluated, and waited for, at the call.
Tensor one_hot(const TensorArg& labels, std::int64_t classes = -1);

/// With axes of extent 1 until there are so many.
Tensor atleast_1d(const TensorArg& x);
Tensor atleast_2d(const TensorArg& x);
Tensor atleast_3d(const TensorArg& x);
/// Joined side by side: along the second axis, vectors along their only one.
Tensor hstack(const TensorList& tensors);
/// Joined along the first axis, vectors as rows.
Tensor vstack(const TensorList& tensors);
/// Joined along the third axis.
Tensor dstack(const TensorList& tensors);
/// Joined along the second axis, vectors as columns.
Tensor column_stack(const TensorList& tensors);

}  // namespace weft
