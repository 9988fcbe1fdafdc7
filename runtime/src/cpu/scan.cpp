// Scans along an axis. Sums, products and logs of sums follow the one pattern: chunks by
// kernels().scan, the chunks' last elements scanned the same way, and put before the chunks.
#include <algorithm>
#include <cstring>

#include "cpu/lines.h"
#include "cpu/pool.h"

namespace weft::detail {
namespace {

ComputeClass accumulator_of(ComputeClass c) {
  return c == ComputeClass::i32 ? ComputeClass::i64 : c;
}

class Scanner {
 public:
  Scanner(const StepCall& call, Scan scan)
      : x_(call.inputs[0], static_cast<int>(attribute(call, 0))), out_(call.outputs[0]),
        accumulator_(accumulator_of(compute_class(x_.dtype))), size_(class_size(accumulator_)),
        chunks_((x_.length + scan_chunk - 1) / scan_chunk),
        first_(kernels().scan[scan][index_of(compute_class(x_.dtype))]),
        later_(kernels().scan[scan][index_of(accumulator_)]) {}

  void run() const {
    const std::int64_t elements = out_.numel(), blocks = x_.blocks();
    if (elements < parallel_elements) {
      for (std::int64_t b = 0; b < blocks; ++b) scan_block(b, false);
    } else if (blocks >= 8 || chunks_ < 8) {
      const std::int64_t together =
          std::max<std::int64_t>(1, parallel_elements / 4 / (elements / blocks + 1));
      parallel_for((blocks + together - 1) / together, [&](std::int64_t i) {
        const std::int64_t end = std::min(blocks, (i + 1) * together);
        for (std::int64_t b = i * together; b < end; ++b) scan_block(b, false);
      });
    } else {
      for (std::int64_t b = 0; b < blocks; ++b) scan_block(b, true);
    }
  }

 private:
  void scan_block(std::int64_t block, bool in_parallel) const {
    const std::size_t row = static_cast<std::size_t>(x_.width(block)) * size_;
    const Scratch ends(static_cast<std::size_t>(chunks_) * row);
    if (chunks_ > 1) {
      for_each_chunk(chunks_ - 1, in_parallel, [&](std::int64_t c, char* values, char*) {
        char* const end = ends.bytes() + static_cast<std::size_t>(c) * row;
        x_.read(block, c * scan_chunk, scan_chunk, values);
        first_(nullptr, values, scan_chunk, x_.width(block), nullptr, end);
      });
      scan_ends(ends.bytes(), chunks_ - 1, x_.width(block));
    }
    for_each_chunk(chunks_, in_parallel, [&](std::int64_t c, char* values, char* results) {
      const char* before = c > 0 ? ends.bytes() + static_cast<std::size_t>(c - 1) * row : nullptr;
      const std::int64_t n = std::min<std::int64_t>(scan_chunk, x_.length - c * scan_chunk);
      x_.read(block, c * scan_chunk, n, values);
      first_(results, values, n, x_.width(block), before, nullptr);
      x_.write(out_, block, c * scan_chunk, n, accumulator_, results);
    });
  }

  // body(chunk, room for its values, room for its results)
  template <class Body>
  void for_each_chunk(std::int64_t count, bool in_parallel, const Body& body) const {
    constexpr std::int64_t together = 16;
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      const Scratch room(2 * 8 * static_cast<std::size_t>(scan_chunk * scan_columns));
      for (std::int64_t c = begin; c < end; ++c)
        body(c, room.bytes(), room.bytes() + 8 * scan_chunk * scan_columns);
    };
    if (in_parallel)
      parallel_for((count + together - 1) / together, [&](std::int64_t i) {
        some(i * together, std::min(count, (i + 1) * together));
      });
    else
      some(0, count);
  }

  // `count` rows of accumulators, in place.
  void scan_ends(char* rows, std::int64_t count, std::int64_t width) const {
    const std::size_t row = static_cast<std::size_t>(width) * size_;
    const auto chunk = [&](std::int64_t c) {
      return rows + static_cast<std::size_t>(c * scan_chunk) * row;
    };
    const auto rows_of = [&](std::int64_t c) {
      return std::min<std::int64_t>(scan_chunk, count - c * scan_chunk);
    };
    if (count <= scan_chunk) return later_(rows, rows, count, width, nullptr, nullptr);
    const std::int64_t chunks = (count + scan_chunk - 1) / scan_chunk;
    const Scratch ends(static_cast<std::size_t>(chunks) * row);
    const auto end = [&](std::int64_t c) {
      return ends.bytes() + static_cast<std::size_t>(c) * row;
    };
    for (std::int64_t c = 0; c + 1 < chunks; ++c)
      later_(nullptr, chunk(c), scan_chunk, width, nullptr, end(c));
    scan_ends(ends.bytes(), chunks - 1, width);
    for (std::int64_t c = 0; c < chunks; ++c)
      later_(chunk(c), chunk(c), rows_of(c), width, c > 0 ? end(c - 1) : nullptr, nullptr);
  }

  const LineBlocks x_;
  const ResolvedOperand& out_;
  const ComputeClass accumulator_;
  const std::size_t size_;  // bytes of an accumulator
  const std::int64_t chunks_;
  const ScanFn first_, later_;
};

template <class T>
bool is_nan(T x) {
  return x != x;
}

// The extreme so far and its index, of equal ones the last; a NaN stays until the next one.
template <class T, bool greatest>
void scan_extremes(T* best, std::int64_t* index, T* values, std::int64_t* indices, std::int64_t n,
                   std::int64_t width, std::int64_t first) {
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < width; ++j) {
      const T x = values[i * width + j];
      const bool is_better = first + i == 0 || is_nan(x) ||
                             (!is_nan(best[j]) && (greatest ? x >= best[j] : x <= best[j]));
      best[j] = is_better ? x : best[j];
      index[j] = is_better ? first + i : index[j];
      values[i * width + j] = best[j];
      indices[i * width + j] = index[j];
    }
}

template <class T, bool greatest>
void run_extremes(const StepCall& call) {
  const LineBlocks x(call.inputs[0], static_cast<int>(attribute(call, 0)));
  const ComputeClass c = compute_class(x.dtype);
  const auto scan_block = [&](std::int64_t block) {
    const std::int64_t width = x.width(block);
    const Scratch values(8 * scan_chunk * scan_columns), indices(8 * scan_chunk * scan_columns);
    T best[scan_columns] = {};
    std::int64_t index[scan_columns] = {};
    for (std::int64_t first = 0; first < x.length; first += scan_chunk) {
      const std::int64_t n = std::min<std::int64_t>(scan_chunk, x.length - first);
      x.read(block, first, n, values.as());
      scan_extremes<T, greatest>(best, index, values.as<T>(), indices.as<std::int64_t>(), n, width,
                                 first);
      x.write(call.outputs[0], block, first, n, c, values.as());
      x.write(call.outputs[1], block, first, n, ComputeClass::i64, indices.as());
    }
  };
  if (call.outputs[0].numel() < parallel_elements)
    for (std::int64_t b = 0; b < x.blocks(); ++b) scan_block(b);
  else
    parallel_for(x.blocks(), scan_block);
}

template <bool greatest>
void run_extremes_of(const StepCall& call) {
  switch (compute_class(call.inputs[0].dtype)) {
    case ComputeClass::f32: return run_extremes<float, greatest>(call);
    case ComputeClass::f64: return run_extremes<double, greatest>(call);
    case ComputeClass::i32: return run_extremes<std::int32_t, greatest>(call);
    case ComputeClass::i64: return run_extremes<std::int64_t, greatest>(call);
  }
}

}  // namespace

void run_scan(const StepCall& call, Scan scan) {
  if (call.outputs[0].numel() > 0) Scanner(call, scan).run();
}

void run_extreme_scan(const StepCall& call, bool greatest) {
  if (call.outputs[0].numel() == 0) return;
  greatest ? run_extremes_of<true>(call) : run_extremes_of<false>(call);
}

}  // namespace weft::detail
