// What other files need of indexing.
#pragma once

#include "rules.h"

namespace weft::detail {

/// DTypeError where the index is no i32 or i64.
void check_index(const char* op, const TensorArg& index, Where at);

/// A number as a value of an integer or bool dtype, where promotion would leave that dtype.
/// ValueError naming op where the dtype does not hold it.
Operand number_as(const char* op, const Operand& value, DType dtype, Where at);

/// x with the source brought in at the index along an axis, by an op that does so; messages call it
/// by the name.
Tensor scattered(OpId op, const char* name, const TensorArg& x, std::int64_t axis,
                 const TensorArg& index, const TensorArg& source);

/// An index whose negative elements, counted from the end, are counted from the front; those that
/// are out of range stay as they are.
Tensor from_front(const TensorArg& index, std::int64_t extent);

}  // namespace weft::detail
