// Sorting by keys: in one block where they fit into its memory, else by radix.
#include "structured_sort.h"

#include <bit>

namespace weft::detail {
namespace {

constexpr std::int64_t block_keys = 2048;  // of a block's shared memory, and of a block of a pass

}  // namespace

SortRoom::SortRoom(std::int64_t count, bool narrow, std::size_t offset)
    : count_(count), blocks_(ceil_div(count, block_keys)), narrow_(narrow), end_(offset) {
  const std::size_t index_size = narrow ? 4 : 8;
  const auto take = [this](std::int64_t elements, std::size_t size) {
    const std::size_t at = end_;
    end_ += aligned(static_cast<std::size_t>(elements) * size);
    return at;
  };
  for (std::size_t& keys : keys_) keys = take(count, 8);
  for (std::size_t& order : order_) order = take(count, index_size);
  counts_ = take(256 * blocks_, index_size);
  sums_ = take(256, index_size);
}

void SortRoom::sort(const KernelStep& step, int bits, bool again, KernelSequence& sequence) {
  if (count_ <= block_keys && !again) return sort_block(step, sequence);
  for (int shift = 0; shift < std::max(1, bits); shift += 8)
    sort_digit(step, shift, again || shift > 0, sequence);
}

void SortRoom::sort_block(const KernelStep& step, KernelSequence& sequence) {
  const auto n = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(64, count_)));
  LaunchBuilder builder(step);
  builder.workspace(keys_[current_]);
  current_ = 1 - current_;
  builder.workspace(keys_[current_]).workspace(order_[current_]).constant(count_);
  sequence.launches.push_back(builder.launch(instance("wf_sort_block", n, index_type(narrow_)), 1,
                                             static_cast<unsigned>(n / 2)));
}

void SortRoom::sort_digit(const KernelStep& step, int shift, bool has_order,
                          KernelSequence& sequence) {
  const auto pass = [&](const char* kernel, std::int64_t blocks) {
    LaunchBuilder builder(step);
    builder.workspace(keys_[current_]);
    if (has_order)
      builder.workspace(order_[current_]);
    else
      builder.constant(0);
    builder.workspace(keys_[1 - current_]).workspace(order_[1 - current_]);
    builder.constant(count_).constant(shift).workspace(counts_).workspace(sums_).constant(blocks_);
    sequence.launches.push_back(builder.launch(instance(kernel, index_type(narrow_)), blocks, 256));
  };
  pass("wf_sort_count", blocks_);
  pass("wf_sort_sum", 32);
  pass("wf_sort_move", blocks_);
  current_ = 1 - current_;
}

}  // namespace weft::detail
