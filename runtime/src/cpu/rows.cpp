#include "cpu/rows.h"

#include <algorithm>
#include <cstring>

#include "cpu/pool.h"
#include "cpu/walk.h"

namespace weft::detail {
namespace {

std::size_t unsigned_of(std::int64_t n) { return static_cast<std::size_t>(n); }

}  // namespace

void copy_row(char* target, std::int64_t target_stride, const char* source,
              std::int64_t source_stride, std::int64_t n, std::size_t size) {
  const KernelTable& table = kernels();
  const int log2 = log2_size(size);
  if (target_stride == 1 && source_stride == 1)
    std::memcpy(target, source, unsigned_of(n) * size);
  else if (target_stride == 1 && source_stride == 0)
    table.fill[log2](target, source, n);
  else if (target_stride == 1)
    table.gather[log2](target, source, source_stride, n);
  else if (source_stride == 1)
    table.scatter[log2](target, target_stride, source, n);
  else
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(target + i * target_stride * static_cast<std::int64_t>(size),
                  source + i * source_stride * static_cast<std::int64_t>(size), size);
}

void read_row(DType dtype, void* values, const char* source, std::int64_t stride, std::int64_t n) {
  const std::size_t size = size_of(dtype);
  if (is_class_storage(dtype)) {
    copy_row(static_cast<char*>(values), 1, source, stride, n, size);
    return;
  }
  const BlockFn load = kernels().load[index_of(dtype)];
  const std::size_t wide = class_size(compute_class(dtype));
  alignas(64) char stored[block_bytes] = {};
  alignas(64) char block[block_bytes];
  char* target = static_cast<char*>(values);
  for (std::int64_t i = 0; i < n; i += block_size, target += block_size * wide) {
    const std::int64_t m = std::min<std::int64_t>(block_size, n - i);
    const char* from = source + i * stride * static_cast<std::int64_t>(size);
    if (m < block_size || stride != 1) {
      copy_row(stored, 1, from, stride, m, size);
      from = stored;
    }
    load(m < block_size ? block : target, from, nullptr, nullptr);
    if (m < block_size) std::memcpy(target, block, unsigned_of(m) * wide);
  }
}

void write_row(DType dtype, char* target, ComputeClass from, const void* values, std::int64_t n) {
  const BlockFn cast = kernels().cast[index_of(from)][index_of(dtype)];
  const BlockFn store = kernels().store[index_of(dtype)];
  const std::size_t size = size_of(dtype), wide = class_size(from);
  alignas(64) char in[block_bytes] = {};
  alignas(64) char block[block_bytes];
  alignas(64) char stored[block_bytes];
  const char* source = static_cast<const char*>(values);
  for (std::int64_t i = 0; i < n; i += block_size, source += block_size * wide) {
    const std::int64_t m = std::min<std::int64_t>(block_size, n - i);
    const char* whole = source;
    if (m < block_size) {
      std::memcpy(in, source, unsigned_of(m) * wide);
      whole = in;
    }
    cast(block, whole, nullptr, nullptr);
    store(stored, block, nullptr, nullptr);
    std::memcpy(target + unsigned_of(i) * size, stored, unsigned_of(m) * size);
  }
}

ResolvedOperand dense_like(const ResolvedOperand& operand, void* data) noexcept {
  ResolvedOperand dense = operand;
  dense.data = reinterpret_cast<std::uintptr_t>(data);
  std::int64_t stride = 1;
  for (int d = dense.rank - 1; d >= 0; --d) {
    dense.strides[d] = stride;
    stride *= dense.shape[d];
  }
  return dense;
}

void copy_strided(const ResolvedOperand& target, const ResolvedOperand& source) {
  const std::int64_t numel = target.numel();
  if (numel == 0 || (target.data == source.data && target.rank == source.rank &&
                     std::equal(target.strides, target.strides + target.rank, source.strides)))
    return;
  int rank = target.rank;
  std::int64_t extents[max_rank];
  Strides strides[2];
  std::copy_n(target.shape, rank, extents);
  std::copy_n(target.strides, rank, strides[0]);
  std::copy_n(source.strides, rank, strides[1]);
  collapse(rank, extents, strides, 2);
  if (rank == 0) {
    rank = 1;
    extents[0] = strides[0][0] = strides[1][0] = 1;
  }
  const std::size_t size = size_of(target.dtype);
  const std::int64_t inner = extents[rank - 1], rows = numel / inner;
  // Long rows are cut and short ones joined, so that each piece is worth a thread's while.
  const std::int64_t cut = std::max<std::int64_t>(1, inner / parallel_elements);
  const std::int64_t piece = (inner + cut - 1) / cut;
  const std::int64_t joined = std::max<std::int64_t>(1, parallel_elements / inner);
  const std::int64_t groups = (rows + joined - 1) / joined;
  parallel_for(groups * cut, [&](std::int64_t i) {
    const std::int64_t start = i % cut * piece, n = std::min(piece, inner - start);
    const std::int64_t first = i / cut * joined, last = std::min(rows, first + joined);
    if (n <= 0) return;
    RowCursor cursor(rank, extents, first);
    for (std::int64_t row = first; row < last; ++row, cursor.next()) {
      const std::int64_t to = cursor.offset(strides[0]) + start * strides[0][rank - 1];
      const std::int64_t from = cursor.offset(strides[1]) + start * strides[1][rank - 1];
      copy_row(bytes_of(target) + to * static_cast<std::int64_t>(size), strides[0][rank - 1],
               bytes_of(source) + from * static_cast<std::int64_t>(size), strides[1][rank - 1], n,
               size);
    }
  });
}

void run_copy(const StepCall& call) {
  const ResolvedOperand& out = call.outputs[0];
  copy_strided(dense_like(out, bytes_of(out)), call.inputs[0]);
}

}  // namespace weft::detail
