// The greatest or least elements along an axis, or all, in order.
#include "cpu/sort.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/host.h"
#include "cpu/pool.h"
#include "cpu/rows.h"
#include "cpu/walk.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

template <class T>
void make_keys(KeyedIndex* keys, const void* values, std::int64_t n, bool greatest) {
  const T* x = static_cast<const T*>(values);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t key = order_of(x[i]);
    keys[i] = {greatest ? ~key : key, i};
  }
}

// Fewer are sorted by comparison.
constexpr std::int64_t fewest_by_digits = 256;

/// Sorts by key, equal ones as they stand, digit by digit from the lowest; `room` is as large.
void sort_by_digits(KeyedIndex* keys, KeyedIndex* room, std::int64_t n) {
  const int bits = n < 16384 ? 8 : 11, digits = (64 + bits - 1) / bits;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const std::int64_t size = std::int64_t{1} << bits;
  const Scratch memory(static_cast<std::size_t>(digits * size) * sizeof(std::int64_t));
  auto* const counts = memory.as<std::int64_t>();
  std::fill_n(counts, digits * size, 0);
  for (std::int64_t i = 0; i < n; ++i)
    for (int d = 0; d < digits; ++d)
      ++counts[d * size + static_cast<std::int64_t>(keys[i].key >> (d * bits) & mask)];
  KeyedIndex *from = keys, *to = room;
  for (int d = 0; d < digits; ++d) {
    std::int64_t* const count = counts + d * size;
    if (count[from[0].key >> (d * bits) & mask] == n) continue;  // all have the same digit
    std::int64_t place = 0;
    for (std::int64_t k = 0; k < size; ++k) place += std::exchange(count[k], place);
    for (std::int64_t i = 0; i < n; ++i)
      to[count[from[i].key >> (d * bits) & mask]++] = from[i];
    std::swap(from, to);
  }
  if (from != keys) std::copy_n(from, n, keys);
}

class TopK {
 public:
  explicit TopK(const StepCall& call)
      : call_(call),
        x_(call.inputs[0]),
        count_(attribute(call, 0)),
        greatest_(attribute(call, 2) != 0),
        size_(static_cast<std::int64_t>(size_of(x_.dtype))) {
    const int axis = static_cast<int>(attribute(call, 1));
    for (int d = 0; d < x_.rank; ++d) {
      if (d == axis) {
        extent_ = x_.shape[d];
        stride_ = x_.strides[d];
        continue;
      }
      if (d > axis) inner_ *= x_.shape[d];
      extents_[rank_] = x_.shape[d];
      strides_[rank_++] = x_.strides[d];
      lines_ *= x_.shape[d];
    }
  }

  void run() const {
    const std::int64_t together = std::max<std::int64_t>(1, parallel_elements / 16 / (extent_ + 1));
    parallel_for((lines_ + together - 1) / together, [&](std::int64_t i) {
      const Scratch values(static_cast<std::size_t>(extent_ + block_size) * 8);
      const Scratch keys(2 * static_cast<std::size_t>(extent_) * sizeof(KeyedIndex));
      const std::int64_t end = std::min(lines_, (i + 1) * together);
      for (std::int64_t line = i * together; line < end; ++line)
        sort_line(line, values.as(), keys.as<KeyedIndex>());
    });
  }

 private:
  void sort_line(std::int64_t line, void* values, KeyedIndex* keys) const {
    const char* source = bytes_of(x_) + offset_of(line, rank_, extents_, strides_) * size_;
    read_row(x_.dtype, values, source, stride_, extent_);
    switch (compute_class(x_.dtype)) {
      case ComputeClass::f32: make_keys<float>(keys, values, extent_, greatest_); break;
      case ComputeClass::f64: make_keys<double>(keys, values, extent_, greatest_); break;
      case ComputeClass::i32: make_keys<std::int32_t>(keys, values, extent_, greatest_); break;
      case ComputeClass::i64: make_keys<std::int64_t>(keys, values, extent_, greatest_); break;
    }
    if (count_ < extent_) std::nth_element(keys, keys + count_, keys + extent_);
    // Not after nth_element, which does not keep the order of equal keys.
    if (count_ == extent_ && count_ >= fewest_by_digits)
      sort_by_digits(keys, keys + extent_, extent_);
    else
      std::sort(keys, keys + count_);
    // Lines of the outputs differ from those of the input in the axis's extent alone.
    const std::int64_t first = line / inner_ * count_ * inner_ + line % inner_;
    char* const chosen = bytes_of(call_.outputs[0]);
    auto* const indices = reinterpret_cast<std::int64_t*>(call_.outputs[1].data);
    for (std::int64_t k = 0; k < count_; ++k) {
      const std::int64_t to = first + k * inner_;
      std::memcpy(chosen + to * size_, source + keys[k].index * stride_ * size_,
                  static_cast<std::size_t>(size_));
      indices[to] = keys[k].index;
    }
  }

  const StepCall& call_;
  const ResolvedOperand& x_;
  const std::int64_t count_;
  const bool greatest_;
  const std::int64_t size_;
  std::int64_t extent_ = 1, stride_ = 1, inner_ = 1, lines_ = 1;
  int rank_ = 0;
  std::int64_t extents_[max_rank], strides_[max_rank];
};

}  // namespace

void run_topk(const StepCall& call) {
  if (call.outputs[0].numel() > 0) TopK(call).run();
}

}  // namespace weft::detail
