// What other families need of the reductions.
#pragma once

#include "rules.h"

namespace weft::detail {

/// The shape with the axes of the mask gone, or of extent 1.
Shape reduced_shape(const Shape& shape, std::int64_t mask, bool keep);

/// A bit for each axis given, or for all where none is; IndexError, or ValueError for one given
/// twice.
std::int64_t axes_mask(const char* op, const TensorArg& x, const Dims& axes);

/// e^x over its sum along an axis, or the log of that; halves are computed as f32.
Tensor softmax_of(const TensorArg& x, std::int64_t axis, bool is_log);

}  // namespace weft::detail
