// Joins, and values from nothing.
#include <algorithm>
#include <bit>

#include "cpu/host.h"
#include "cpu/pool.h"
#include "cpu/rows.h"

namespace weft::detail {
namespace {

// Every `step`-th element of an axis from `start` on, as many as `extent`.
ResolvedOperand part_of(ResolvedOperand operand, int axis, std::int64_t start, std::int64_t step,
                        std::int64_t extent) {
  operand.data += static_cast<std::uintptr_t>(start * operand.strides[axis]) * size_of(operand.dtype);
  operand.shape[axis] = extent;
  operand.strides[axis] *= step;
  return operand;
}

}  // namespace

void run_cat(const StepCall& call) {
  const ResolvedOperand out = dense_like(call.outputs[0], bytes_of(call.outputs[0]));
  const int axis = static_cast<int>(attribute(call, 0));
  std::int64_t start = 0;
  for (const ResolvedOperand& part : call.inputs) {
    const std::int64_t extent = part.shape[axis];
    copy_strided(part_of(out, axis, start, 1, extent), part);
    start += extent;
  }
}

void run_slice_update(const StepCall& call) {
  const ResolvedOperand out = dense_like(call.outputs[0], bytes_of(call.outputs[0]));
  copy_strided(out, call.inputs[0]);
  const int axis = static_cast<int>(attribute(call, 0));
  const ResolvedOperand& y = call.inputs[1];
  if (y.numel() == 0) return;
  copy_strided(part_of(out, axis, attribute(call, 2), attribute(call, 1), y.shape[axis]), y);
}

void run_iota(const StepCall& call) {
  const ResolvedOperand& out = call.outputs[0];
  const std::int64_t v0 = attribute(call, 0), v1 = attribute(call, 1);
  const std::int64_t count = out.numel();
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  const std::int64_t piece = parallel_elements;
  parallel_for((count + piece - 1) / piece, [&](std::int64_t p) {
    for (std::int64_t i = p * piece; i < std::min(count, (p + 1) * piece); i += block_size) {
      const std::int64_t n = std::min<std::int64_t>(block_size, count - i);
      if (is_floating(out.dtype)) {
        double values[block_size];
        const double start = std::bit_cast<double>(v0), step = std::bit_cast<double>(v1);
        for (std::int64_t j = 0; j < n; ++j)
          values[j] = start + static_cast<double>(i + j) * step;
        write_row(out.dtype, bytes_of(out) + i * size, ComputeClass::f64, values, n);
      } else {
        std::uint64_t values[block_size];
        for (std::int64_t j = 0; j < n; ++j)
          values[j] = static_cast<std::uint64_t>(v0) +
                      static_cast<std::uint64_t>(i + j) * static_cast<std::uint64_t>(v1);
        write_row(out.dtype, bytes_of(out) + i * size, ComputeClass::i64, values, n);
      }
    }
  });
}

}  // namespace weft::detail
