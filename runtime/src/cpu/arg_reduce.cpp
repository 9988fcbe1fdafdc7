// Indices of extremes over any axes.
#include <algorithm>
#include <cstring>

#include "cpu/pool.h"
#include "cpu/reduce.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t group_length = 16 * chunk_size;

struct Best {
  alignas(8) char value[8];
  std::int64_t index;
};

class ArgReducer {
 public:
  ArgReducer(const StepCall& call, bool greatest)
      : x_(call),
        target_(reinterpret_cast<std::int64_t*>(call.outputs[0].data)),
        kernels_(kernels().arg[greatest ? 0 : 1][index_of(x_.compute)]) {}

  void run() const {
    const std::int64_t columns = x_.columns();
    const bool is_small = x_.length * x_.outputs < parallel_elements;
    if (columns >= fewest_columns && x_.length > 1)
      run_columns(columns, is_small);
    else if (is_small)
      run_rows(0, x_.outputs);
    else if (x_.outputs >= 8 || x_.length <= group_length)
      run_row_groups();
    else
      for (std::int64_t o = 0; o < x_.outputs; ++o) run_long_row(o);
  }

 private:
  void run_row_groups() const {
    const std::int64_t group = std::max<std::int64_t>(1, parallel_elements / 2 / x_.length);
    parallel_for((x_.outputs + group - 1) / group, [&](std::int64_t g) {
      run_rows(g * group, std::min(x_.outputs, (g + 1) * group));
    });
  }

  void run_rows(std::int64_t begin, std::int64_t end) const {
    Scratch room(chunk_size * 8);
    for (std::int64_t o = begin; o < end; ++o)
      target_[o] = find(x_.base(o), 0, x_.length, room.as()).index;
  }

  // The best of elements start .. start+length-1, its index counted from start.
  Best find(std::int64_t base, std::int64_t start, std::int64_t length, void* room) const {
    Best best{};
    for (std::int64_t i = 0; i < length; i += chunk_size) {
      const std::int64_t n = std::min<std::int64_t>(chunk_size, length - i);
      kernels_.chunk(best.value, &best.index, x_.read(base, start + i, n, room), n, i);
    }
    return best;
  }

  void run_long_row(std::int64_t output) const {
    const std::int64_t base = x_.base(output);
    const std::int64_t groups = (x_.length + group_length - 1) / group_length;
    Scratch bests(static_cast<std::size_t>(groups) * sizeof(Best));
    parallel_for(groups, [&](std::int64_t g) {
      Scratch room(chunk_size * 8);
      const std::int64_t start = g * group_length;
      Best best = find(base, start, std::min(group_length, x_.length - start), room.as());
      best.index += start;
      bests.as<Best>()[g] = best;
    });
    Best best = bests.as<Best>()[0];
    for (std::int64_t g = 1; g < groups; ++g) {
      const Best& other = bests.as<Best>()[g];
      kernels_.columns(best.value, &best.index, other.value, 1, other.index);
    }
    target_[output] = best.index;
  }

  void run_columns(std::int64_t columns, bool is_small) const {
    const std::int64_t blocks = (columns + column_block - 1) / column_block;
    const std::int64_t tasks = x_.outputs / columns * blocks;
    const auto block = [&](std::int64_t i) {
      const std::int64_t j = i % blocks * column_block;
      const std::int64_t output = i / blocks * columns + j;
      const std::int64_t base = x_.base(output), n = std::min(column_block, columns - j);
      Scratch memory(2 * column_block * 8);
      char* const room = memory.bytes() + column_block * 8;
      for (std::int64_t r = 0; r < x_.length; ++r)
        kernels_.columns(memory.as(), target_ + output, x_.read_columns(base, r, n, room), n, r);
    };
    if (is_small)
      for (std::int64_t i = 0; i < tasks; ++i) block(i);
    else
      parallel_for(tasks, block);
  }

  Sequences x_;
  std::int64_t* target_;
  const ArgKernels& kernels_;
};

}  // namespace

void run_arg_reduce(const StepCall& call, bool greatest) {
  const std::int64_t outputs = call.outputs[0].numel();
  if (outputs == 0) return;
  if (call.inputs[0].numel() == 0)
    std::memset(bytes_of(call.outputs[0]), 0, static_cast<std::size_t>(outputs) * 8);
  else
    ArgReducer(call, greatest).run();
}

}  // namespace weft::detail
