// Writing at indices, and what is picked or written by indices of other forms and by masks.
#pragma once

#include <cstdint>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

/// x with source written along an axis at the places that index names, an i32 or i64 tensor:
/// out[i..][index[i..][j][k..]][k..] = source[i..][j][k..]. Source is a tensor of x's dtype that is
/// at least as large as index, or a number. Where several go to one place the last along the axis
/// stays, on all devices, and it alone has a gradient. An index out of range is found on the
/// device: IndexError at the next wait or read.
Tensor scatter(const TensorArg& x, std::int64_t axis, const TensorArg& index,
               const Operand& source);

// Positions of an axis, named by a vector (or one by a 0-dim tensor), in order: added to, replaced
// by the positions of source, or set to a number or 0-dim tensor. Source has x's dtype, and x's
// shape but for that axis, along which it is as long as index.
Tensor index_add(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                 const TensorArg& source);
Tensor index_copy(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                  const TensorArg& source);
/// ValueError for a number that x's dtype does not hold, as in `full`; so in put and scatter.
Tensor index_fill(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                  const Operand& value);

/// The elements of x in row-major order at these places, in the index's shape; negative ones count
/// from the end.
Tensor take(const TensorArg& x, const TensorArg& index);
/// x with source, a tensor of as many elements as index or a number, written at these places of its
/// row-major order, or added there; negative ones count from the end.
Tensor put(const TensorArg& x, const TensorArg& index, const Operand& source,
           bool accumulate = false);

// How many elements these give depends on the mask: it is evaluated, and waited for, at the call.
// TraceError in a compiled function.

/// The elements of x where the bool mask is true, in row-major order, as a vector; the two
/// broadcast.
Tensor masked_select(const TensorArg& x, const TensorArg& mask);
/// x with the first elements of source, in row-major order, where the bool mask is true; the mask
/// broadcasts to x. ShapeError where source has too few.
Tensor masked_scatter(const TensorArg& x, const TensorArg& mask, const TensorArg& source);
/// Where x is not 0: i64[n, rank], a row for each such element, in row-major order.
Tensor nonzero(const TensorArg& x);

}  // namespace weft
