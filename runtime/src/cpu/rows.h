// Rows of elements between memory and compute classes, and strided copies.
#pragma once

#include "cpu/host.h"

namespace weft::detail {

/// Copies n elements of `size` bytes; strides in elements.
void copy_row(char* target, std::int64_t target_stride, const char* source,
              std::int64_t source_stride, std::int64_t n, std::size_t size);
/// Reads n elements, `stride` apart, as values of the dtype's class.
void read_row(DType dtype, void* values, const char* source, std::int64_t stride, std::int64_t n);
/// Converts n values of a class to a dtype (rounding, wrapping) and stores them side by side.
void write_row(DType dtype, char* target, ComputeClass from, const void* values, std::int64_t n);
/// An operand of this shape and dtype, in order, at `data`.
ResolvedOperand dense_like(const ResolvedOperand& operand, void* data) noexcept;
/// Copies elements between two operands of one shape and dtype, either by any strides.
void copy_strided(const ResolvedOperand& target, const ResolvedOperand& source);

}  // namespace weft::detail
