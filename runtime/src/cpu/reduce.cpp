// Reductions by the one tree, over any axes.
#include "cpu/reduce.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "cpu/pool.h"
#include "cpu/workspace.h"

namespace weft::detail {

Sequences::Sequences(const StepCall& call)
    : data(bytes_of(call.inputs[0])),
      dtype(call.inputs[0].dtype),
      compute(compute_class(call.inputs[0].dtype)) {
  const ResolvedOperand& x = call.inputs[0];
  const auto mask = static_cast<std::uint64_t>(call.step->attrs.v[0]);
  for (int d = 0; d < x.rank; ++d) {
    const bool is_reduced = mask >> d & 1;
    (is_reduced ? length : outputs) *= x.shape[d];
    const int k = is_reduced ? reduced_rank++ : kept_rank++;
    (is_reduced ? reduced : kept)[k] = x.shape[d];
    (is_reduced ? reduced_strides : kept_strides)[0][k] = x.strides[d];
  }
  collapse(kept_rank, kept, kept_strides, 1);
  collapse(reduced_rank, reduced, reduced_strides, 1);
}

const void* Sequences::read(std::int64_t first, std::int64_t start, std::int64_t n,
                            void* room) const {
  const int last = reduced_rank - 1;
  const std::int64_t stride = last < 0 ? 1 : reduced_strides[0][last];
  if (reduced_rank <= 1) {
    const char* source = at(first + start * stride);
    if (is_plain() && stride == 1) return source;
    read_row(dtype, room, source, stride, n);
    return room;
  }
  const std::int64_t extent = reduced[last];
  const auto wide = static_cast<std::int64_t>(class_size(compute));
  std::int64_t inner = start % extent;
  RowCursor rows(reduced_rank, reduced, start / extent);
  for (std::int64_t filled = 0; filled < n; rows.next(), inner = 0) {
    const std::int64_t piece = std::min(n - filled, extent - inner);
    const char* source = at(first + rows.offset(reduced_strides[0]) + inner * stride);
    if (piece == n && is_plain() && stride == 1) return source;
    read_row(dtype, static_cast<char*>(room) + filled * wide, source, stride, piece);
    filled += piece;
  }
  return room;
}

const void* Sequences::read_columns(std::int64_t first, std::int64_t i, std::int64_t n,
                                    void* room) const {
  const char* source = at(first + step(i));
  if (is_plain() && column_stride() == 1) return source;
  read_row(dtype, room, source, column_stride(), n);
  return room;
}

namespace {

constexpr std::int64_t chunks_together = 16;  // of one long sequence, per thread and turn

class Reducer {
 public:
  Reducer(const StepCall& call, Reduction reduction)
      : x_(call),
        target_(bytes_of(call.outputs[0])),
        dtype_(call.outputs[0].dtype),
        accumulator_(accumulator_of(reduction, x_.compute)),
        size_(class_size(accumulator_)),
        first_(kernels().reduce[reduction][index_of(x_.compute)]),
        later_(kernels().reduce[reduction][index_of(accumulator_)]) {}

  void run() const {
    const std::int64_t columns = x_.columns();
    if (columns >= fewest_columns && x_.length > 1)
      run_columns(columns);
    else
      run_rows();
  }

  void fill_empty(Reduction reduction) const {
    std::int32_t values[block_size];
    std::fill_n(values, block_size, reduction == reduce_prod || reduction == reduce_all ? 1 : 0);
    for (std::int64_t o = 0; o < x_.outputs; o += block_size)
      write_row(dtype_, target_of(o), ComputeClass::i32, values,
                std::min<std::int64_t>(block_size, x_.outputs - o));
  }

 private:
  static ComputeClass accumulator_of(Reduction reduction, ComputeClass c) {
    if (reduction == reduce_any || reduction == reduce_all) return ComputeClass::i32;
    const bool widens = reduction == reduce_sum || reduction == reduce_prod;
    return widens && c == ComputeClass::i32 ? ComputeClass::i64 : c;
  }

  char* target_of(std::int64_t output) const {
    return target_ + output * static_cast<std::int64_t>(size_of(dtype_));
  }

  // ---- one output at a time

  void run_rows() const {
    const std::int64_t total = x_.length * x_.outputs;
    const std::int64_t group = std::max<std::int64_t>(1, parallel_elements / 2 / x_.length);
    const std::int64_t groups = (x_.outputs + group - 1) / group;
    if (total < parallel_elements) {
      row_group(0, x_.outputs);
    } else if (groups >= 8 || x_.length <= chunks_together * chunk_size) {
      parallel_for(groups, [&](std::int64_t g) {
        row_group(g * group, std::min(x_.outputs, (g + 1) * group));
      });
    } else {
      for (std::int64_t o = 0; o < x_.outputs; ++o) long_row(o, true);
    }
  }

  void row_group(std::int64_t begin, std::int64_t end) const {
    if (x_.length > chunk_size) {
      for (std::int64_t o = begin; o < end; ++o) long_row(o, false);
      return;
    }
    Scratch room(chunk_size * 8);
    alignas(64) char results[block_bytes];
    for (std::int64_t o = begin; o < end; o += block_size) {
      const std::int64_t n = std::min<std::int64_t>(block_size, end - o);
      for (std::int64_t j = 0; j < n; ++j)
        first_.chunk(results + j * static_cast<std::int64_t>(size_),
                     x_.read(x_.base(o + j), 0, x_.length, room.as()), x_.length);
      write_row(dtype_, target_of(o), accumulator_, results, n);
    }
  }

  void long_row(std::int64_t output, bool in_parallel) const {
    const std::int64_t base = x_.base(output);
    const std::int64_t chunks = (x_.length + chunk_size - 1) / chunk_size;
    Scratch partials(static_cast<std::size_t>(chunks) * size_);
    const auto reduce_chunks = [&](std::int64_t begin, std::int64_t end) {
      Scratch room(chunk_size * 8);
      for (std::int64_t c = begin; c < end; ++c) {
        const std::int64_t n = std::min<std::int64_t>(chunk_size, x_.length - c * chunk_size);
        first_.chunk(partials.bytes() + static_cast<std::size_t>(c) * size_,
                     x_.read(base, c * chunk_size, n, room.as()), n);
      }
    };
    if (in_parallel)
      parallel_for((chunks + chunks_together - 1) / chunks_together, [&](std::int64_t g) {
        reduce_chunks(g * chunks_together, std::min(chunks, (g + 1) * chunks_together));
      });
    else
      reduce_chunks(0, chunks);
    join(partials.bytes(), chunks);
    write_row(dtype_, target_of(output), accumulator_, partials.bytes(), 1);
  }

  // The partial results of chunks, by the same tree, into the first of them.
  void join(char* partials, std::int64_t count) const {
    while (count > 1) {
      std::int64_t chunks = 0;
      for (std::int64_t i = 0; i < count; i += chunk_size, ++chunks) {
        alignas(8) char result[8];
        later_.chunk(result, partials + static_cast<std::size_t>(i) * size_,
                     std::min<std::int64_t>(chunk_size, count - i));
        std::memcpy(partials + static_cast<std::size_t>(chunks) * size_, result, size_);
      }
      count = chunks;
    }
  }

  // ---- many neighbouring outputs at a time

  void run_columns(std::int64_t columns) const {
    const std::int64_t blocks = (columns + column_block - 1) / column_block;
    const std::int64_t tasks = x_.outputs / columns * blocks;
    const bool is_small = x_.length * x_.outputs < parallel_elements;
    const bool splits_length = !is_small && tasks < 8 && x_.length > chunk_size;
    const auto block = [&](std::int64_t i) {
      const std::int64_t j = i % blocks * column_block;
      const std::int64_t output = i / blocks * columns + j;
      reduce_columns(output, std::min(column_block, columns - j), splits_length);
    };
    if (is_small || splits_length)
      for (std::int64_t i = 0; i < tasks; ++i) block(i);
    else
      parallel_for(tasks, block);
  }

  void reduce_columns(std::int64_t output, std::int64_t n, bool in_parallel) const {
    const std::int64_t base = x_.base(output);
    const std::size_t row = column_block * size_;
    const std::int64_t count = (x_.length + chunk_size - 1) / chunk_size;
    const Scratch partials(static_cast<std::size_t>(count) * row);
    const auto chunk = [&](std::int64_t c) {
      reduce_chunk_of_columns(partials.bytes() + static_cast<std::size_t>(c) * row, base, c * chunk_size, n);
    };
    if (in_parallel)
      parallel_for(count, chunk);
    else
      for (std::int64_t c = 0; c < count; ++c) chunk(c);
    join_columns(partials.bytes(), n, count);
    write_row(dtype_, target_of(output), accumulator_, partials.bytes(), n);
  }

  void reduce_chunk_of_columns(char* result, std::int64_t base, std::int64_t start,
                               std::int64_t n) const {
    const std::int64_t length = std::min<std::int64_t>(chunk_size, x_.length - start);
    if (first_.is_any_order && has_plain_rows()) {
      first_.lanes(result, x_.at(base + x_.step(start)), x_.reduced_strides[0][0], length, n);
      return;
    }
    column_tree(result, n, length, [&](char* lane, std::int64_t l, std::int64_t adds, char* room) {
      source_lane(lane, base, start + l, adds, n, room);
    });
  }

  // The partial results of chunks, by the same tree, into the first of them.
  void join_columns(char* partials, std::int64_t n, std::int64_t count) const {
    const std::size_t row = column_block * size_;
    while (count > 1) {
      std::int64_t chunks = 0;
      for (std::int64_t i = 0; i < count; i += chunk_size, ++chunks) {
        const char* from = partials + static_cast<std::size_t>(i) * row;
        // In place: a chunk's result goes where no later chunk reads.
        column_tree(partials + static_cast<std::size_t>(chunks) * row, n,
                    std::min<std::int64_t>(chunk_size, count - i),
                    [&](char* lane, std::int64_t l, std::int64_t adds, char*) {
                      later_.lanes(lane, from + static_cast<std::size_t>(l) * row,
                                   lane_count * column_block, adds, n);
                    });
      }
      count = chunks;
    }
  }

  bool has_plain_rows() const {
    return x_.is_plain() && x_.reduced_rank == 1 && x_.column_stride() == 1;
  }

  // One lane of n columns: every 512th row from row l on.
  void source_lane(char* lane, std::int64_t base, std::int64_t l, std::int64_t adds, std::int64_t n,
                   char* room) const {
    if (has_plain_rows()) {
      first_.lanes(lane, x_.at(base + x_.step(l)), lane_count * x_.reduced_strides[0][0], adds, n);
      return;
    }
    char* const other = room + column_block * 8;
    first_.lanes(lane, x_.read_columns(base, l, n, room), 0, 1, n);
    for (std::int64_t r = 1; r < adds; ++r) {
      first_.lanes(other, x_.read_columns(base, l + r * lane_count, n, room), 0, 1, n);
      later_.combine(lane, other, n);
    }
  }

  // The tree of one chunk of `length` rows: lanes in the order in which halving joins them, so that
  // only the logarithm of their number is ever held.
  template <class Lane>
  void column_tree(char* result, std::int64_t n, std::int64_t length, Lane lane) const {
    constexpr int most = 11;  // levels, for 512 lanes
    const std::size_t row = column_block * size_;
    Scratch memory(most * row + 2 * column_block * 8);
    char* const room = memory.bytes() + most * row;
    bool is_empty[most];
    const auto level = [&](int k) { return memory.bytes() + static_cast<std::size_t>(k) * row; };
    const auto lanes = std::bit_ceil(static_cast<std::uint64_t>(std::min<std::int64_t>(length, lane_count)));
    const int bits = std::bit_width(lanes) - 1;
    int top = 0;
    for (std::uint64_t i = 0; i < lanes; ++i) {
      std::int64_t l = 0;
      for (int b = 0; b < bits; ++b) l = l << 1 | static_cast<std::int64_t>(i >> b & 1);
      is_empty[top] = l >= length;
      if (!is_empty[top]) lane(level(top), l, (length - l + lane_count - 1) / lane_count, room);
      ++top;
      for (std::uint64_t ones = i; ones & 1; ones >>= 1) {
        --top;
        if (!is_empty[top]) later_.combine(level(top - 1), level(top), n);
      }
    }
    std::memcpy(result, level(0), static_cast<std::size_t>(n) * size_);
  }

  Sequences x_;
  char* target_;
  DType dtype_;
  ComputeClass accumulator_;
  std::size_t size_;  // bytes of an accumulator
  const ReduceKernels& first_;
  const ReduceKernels& later_;
};

}  // namespace

void run_reduce(const StepCall& call, Reduction reduction) {
  if (call.outputs[0].numel() == 0) return;
  const Reducer reducer(call, reduction);
  if (call.inputs[0].numel() == 0)
    reducer.fill_empty(reduction);
  else
    reducer.run();
}

}  // namespace weft::detail
