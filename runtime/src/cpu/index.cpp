// Reading and adding at indices along an axis.
#include <algorithm>
#include <cstring>

#include "cpu/host.h"
#include "cpu/pool.h"
#include "cpu/rows.h"
#include "cpu/walk.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

// Columns of a task: fewer would read indices too often, more leave threads without work.
constexpr std::int64_t task_columns = 1024;

enum Operand { table, index, other, operand_count };

// The index's shape as outer axes, the indexed axis, inner axes; the last inner one is a row. The
// operands are the table (read, or added to), the index, and the output or the source.
struct IndexedSpace {
  IndexedSpace(const ResolvedOperand& x, const ResolvedOperand& at, const ResolvedOperand& y, int axis)
      : index_dtype(at.dtype), index_data(bytes_of(at)) {
    for (int d = 0; d < at.rank; ++d) {
      const std::int64_t strides[operand_count] = {x.strides[d], at.strides[d], y.strides[d]};
      if (d == axis) {
        count = at.shape[d];
        limit = x.shape[d];
        std::copy_n(strides, operand_count, axis_strides);
      } else {
        Group& group = d < axis ? outer : inner;
        group.add(at.shape[d], strides);
      }
    }
    outer.close();
    inner.close();
    if (at.rank == 0) limit = 1;
  }

  struct Group {
    int rank = 0;
    std::int64_t extents[max_rank + 1];
    Strides strides[operand_count];
    std::int64_t numel = 1;
    void add(std::int64_t extent, const std::int64_t* s) {
      extents[rank] = extent;
      for (int k = 0; k < operand_count; ++k) strides[k][rank] = s[k];
      ++rank;
      numel *= extent;
    }
    void close() {
      collapse(rank, extents, strides, operand_count);
      const std::int64_t zeros[operand_count] = {};
      if (rank == 0) add(1, zeros);
    }
    std::int64_t row() const { return extents[rank - 1]; }
    std::int64_t offset(int k, std::int64_t i) const { return offset_of(i, rank, extents, strides[k]); }
    std::int64_t row_stride(int k) const { return strides[k][rank - 1]; }
  };

  std::int64_t index_at(std::int64_t offset) const {
    if (index_dtype == DType::i64) return reinterpret_cast<const std::int64_t*>(index_data)[offset];
    return reinterpret_cast<const std::int32_t*>(index_data)[offset];
  }

  DType index_dtype;
  const char* index_data;
  Group outer, inner;
  std::int64_t count = 1, limit = 1;
  std::int64_t axis_strides[operand_count] = {};
};

// Visits the lines of the space: each a stretch of one inner row, for a range of the axis in
// ascending order. Lines of different tasks never meet in the table.
template <class Visit>
void for_each_line(const IndexedSpace& space, bool splits_axis, Visit visit) {
  const std::int64_t row = space.inner.row(), rows = space.inner.numel / row;
  const std::int64_t blocks = (row + task_columns - 1) / task_columns;
  const std::int64_t width = std::min(row, task_columns);
  const std::int64_t together =
      splits_axis ? std::clamp<std::int64_t>(parallel_elements / 4 / width, 1, space.count) : space.count;
  const std::int64_t parts = (space.count + together - 1) / together;
  const std::int64_t tasks = space.outer.numel * rows * blocks * parts;
  const auto task = [&](std::int64_t i) {
    const std::int64_t part = i % parts, block = i / parts % blocks;
    const std::int64_t r = i / parts / blocks % rows, o = i / parts / blocks / rows;
    const std::int64_t column = block * task_columns;
    std::int64_t offsets[operand_count];
    for (int k = 0; k < operand_count; ++k)
      offsets[k] = space.outer.offset(k, o) + space.inner.offset(k, r * row + column);
    visit(offsets, std::min(task_columns, row - column), part * together,
          std::min(space.count, (part + 1) * together));
  };
  if (space.outer.numel * space.inner.numel * space.count < parallel_elements)
    for (std::int64_t i = 0; i < tasks; ++i) task(i);
  else
    parallel_for(tasks, task);
}

bool is_within(const StepCall& call, std::int64_t i, std::int64_t limit) {
  if (i >= 0 && i < limit) return true;
  call.error->set(call.number, i, limit);
  return false;
}

template <class T>
void gather(const StepCall& call, const IndexedSpace& space) {
  const T* x = reinterpret_cast<const T*>(call.inputs[0].data);
  T* out = reinterpret_cast<T*>(call.outputs[0].data);
  const std::int64_t x_stride = space.inner.row_stride(table);
  const std::int64_t index_stride = space.inner.row_stride(index);
  for_each_line(space, true, [&](const std::int64_t* at, std::int64_t n, std::int64_t begin,
                                 std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      T* target = out + at[other] + j * space.axis_strides[other];
      const std::int64_t where = at[index] + j * space.axis_strides[index];
      if (index_stride == 0 || n == 1) {
        const std::int64_t i = space.index_at(where);
        if (is_within(call, i, space.limit))
          copy_row(reinterpret_cast<char*>(target), 1,
                   reinterpret_cast<const char*>(x + at[table] + i * space.axis_strides[table]),
                   x_stride, n, sizeof(T));
        continue;
      }
      for (std::int64_t c = 0; c < n; ++c) {
        const std::int64_t i = space.index_at(where + c * index_stride);
        if (is_within(call, i, space.limit))
          target[c] = x[at[table] + i * space.axis_strides[table] + c * x_stride];
      }
    }
  });
}

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

template <class T>
void scatter_add(const StepCall& call, const IndexedSpace& space, T* target, const T* source) {
  const std::int64_t index_stride = space.inner.row_stride(index);
  const std::int64_t source_stride = space.inner.row_stride(other);
  const std::int64_t target_stride = space.inner.row_stride(table);
  const auto combine = kernels().reduce[reduce_sum][index_of(compute_class(DTypeOf<T>::value))].combine;
  // Sums of i32 are wider than it: their kernel is not this one.
  const bool by_rows =
      !std::is_same_v<T, std::int32_t> && index_stride == 0 && source_stride == 1 &&
      target_stride == 1;
  for_each_line(space, false, [&](const std::int64_t* at, std::int64_t n, std::int64_t begin,
                                  std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      const T* from = source + at[other] + j * space.axis_strides[other];
      const std::int64_t where = at[index] + j * space.axis_strides[index];
      if (by_rows) {
        const std::int64_t i = space.index_at(where);
        if (is_within(call, i, space.limit))
          combine(target + at[table] + i * space.axis_strides[table], from, n);
        continue;
      }
      for (std::int64_t c = 0; c < n; ++c) {
        const std::int64_t i = space.index_at(where + c * index_stride);
        if (!is_within(call, i, space.limit)) continue;
        T& sum_here =
            target[at[table] + i * space.axis_strides[table] + c * target_stride];
        sum_here = sum(sum_here, from[c * source_stride]);
      }
    }
  });
}

// Half and narrow sums are made in their class, and rounded or wrapped once.
std::size_t wide_bytes(const ResolvedOperand& operand) {
  return static_cast<std::size_t>(operand.numel()) * class_size(compute_class(operand.dtype));
}

// The operand's values in their class, dense; `room` is for its stored elements in order.
void widen(const ResolvedOperand& operand, char* values, char* room) {
  copy_strided(dense_like(operand, room), operand);
  read_row(operand.dtype, values, room, 1, operand.numel());
}

template <class T>
void scatter_add_in_class(const StepCall& call, int axis) {
  const ResolvedOperand& x = call.inputs[0];
  const ResolvedOperand& source = call.inputs[2];
  const ResolvedOperand& out = call.outputs[0];
  if (is_class_storage(out.dtype)) {
    const ResolvedOperand target = dense_like(out, bytes_of(out));
    copy_strided(target, x);
    const IndexedSpace space(target, call.inputs[1], source, axis);
    scatter_add<T>(call, space, reinterpret_cast<T*>(out.data), reinterpret_cast<const T*>(source.data));
    return;
  }
  const Scratch sums(wide_bytes(x)), values(wide_bytes(source));
  const Scratch room(static_cast<std::size_t>(std::max(size_in_bytes(x), size_in_bytes(source))));
  widen(x, sums.bytes(), room.bytes());
  widen(source, values.bytes(), room.bytes());
  const IndexedSpace space(dense_like(x, sums.as()), call.inputs[1], dense_like(source, values.as()), axis);
  scatter_add<T>(call, space, sums.as<T>(), values.as<T>());
  write_row(out.dtype, bytes_of(out), compute_class(out.dtype), sums.as(), out.numel());
}

// In order along the axis, so that of those that go to one place the last stays.
template <class T>
void scatter(const StepCall& call, const IndexedSpace& space) {
  T* target = reinterpret_cast<T*>(call.outputs[0].data);
  const T* source = reinterpret_cast<const T*>(call.inputs[2].data);
  const std::int64_t index_stride = space.inner.row_stride(index);
  const std::int64_t source_stride = space.inner.row_stride(other);
  const std::int64_t target_stride = space.inner.row_stride(table);
  for_each_line(space, false, [&](const std::int64_t* at, std::int64_t n, std::int64_t begin,
                                  std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      const T* from = source + at[other] + j * space.axis_strides[other];
      const std::int64_t where = at[index] + j * space.axis_strides[index];
      if (index_stride == 0 && target_stride == 1) {
        const std::int64_t i = space.index_at(where);
        if (is_within(call, i, space.limit))
          copy_row(reinterpret_cast<char*>(target + at[table] + i * space.axis_strides[table]), 1,
                   reinterpret_cast<const char*>(from), source_stride, n, sizeof(T));
        continue;
      }
      for (std::int64_t c = 0; c < n; ++c) {
        const std::int64_t i = space.index_at(where + c * index_stride);
        if (is_within(call, i, space.limit))
          target[at[table] + i * space.axis_strides[table] + c * target_stride] =
              from[c * source_stride];
      }
    }
  });
}

}  // namespace

void run_gather(const StepCall& call) {
  if (call.outputs[0].numel() == 0) return;
  const ResolvedOperand out = dense_like(call.outputs[0], bytes_of(call.outputs[0]));
  const IndexedSpace space(call.inputs[0], call.inputs[1], out, static_cast<int>(attribute(call, 0)));
  switch (size_of(out.dtype)) {
    case 1: return gather<std::uint8_t>(call, space);
    case 2: return gather<std::uint16_t>(call, space);
    case 4: return gather<std::uint32_t>(call, space);
    default: return gather<std::uint64_t>(call, space);
  }
}

void run_scatter_add(const StepCall& call) {
  if (call.outputs[0].numel() == 0) return;
  if (call.inputs[1].numel() == 0) {
    copy_strided(dense_like(call.outputs[0], bytes_of(call.outputs[0])), call.inputs[0]);
    return;
  }
  const int axis = static_cast<int>(attribute(call, 0));
  switch (compute_class(call.outputs[0].dtype)) {
    case ComputeClass::f32: return scatter_add_in_class<float>(call, axis);
    case ComputeClass::f64: return scatter_add_in_class<double>(call, axis);
    case ComputeClass::i32: return scatter_add_in_class<std::int32_t>(call, axis);
    case ComputeClass::i64: return scatter_add_in_class<std::int64_t>(call, axis);
  }
}

void run_scatter(const StepCall& call) {
  if (call.outputs[0].numel() == 0) return;
  const ResolvedOperand out = dense_like(call.outputs[0], bytes_of(call.outputs[0]));
  copy_strided(out, call.inputs[0]);
  if (call.inputs[1].numel() == 0) return;
  const IndexedSpace space(out, call.inputs[1], call.inputs[2],
                           static_cast<int>(attribute(call, 0)));
  switch (size_of(out.dtype)) {
    case 1: return scatter<std::uint8_t>(call, space);
    case 2: return scatter<std::uint16_t>(call, space);
    case 4: return scatter<std::uint32_t>(call, space);
    default: return scatter<std::uint64_t>(call, space);
  }
}

}  // namespace weft::detail
