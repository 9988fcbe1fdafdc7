// What functions composed of other ops share.
#pragma once

#include "index.h"
#include "rules.h"

namespace weft::detail {

/// `count` integers from start on, as i64, where an op on x runs.
Tensor counting(const char* op, const TensorArg& x, std::int64_t count, std::int64_t start = 0);

/// Axis counted from the front; IndexError where it is out of range, or x has none.
int axis_of(const char* op, const TensorArg& x, std::int64_t axis);

/// x where the bool mask is true, 0 of its dtype elsewhere.
Tensor zero_but(const Tensor& mask, const TensorArg& x);

/// Common dtype of two operands; DTypeError naming op where there is none.
DType promoted(const char* op, const TensorArg& a, const TensorArg& b);

/// x with so many positions of a 0-dim value before and after, or fewer of its own where negative,
/// along one axis.
Tensor padded(const TensorArg& x, int axis, std::int64_t before, std::int64_t after,
              const Tensor& value);

/// 0, or another number, of x's dtype, where an op on x runs.
Tensor number_like(const char* op, const TensorArg& x, const Operand& value);

/// Axis by axis from the first: a position removes its axis, a range keeps it.
Tensor indexed_by_numbers(const TensorArg& x, std::span<const Index> indices);

}  // namespace weft::detail
