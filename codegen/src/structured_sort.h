// Launches that sort numbers by 64-bit keys, for the emitters that need an order.
#pragma once

#include "structured.h"

namespace weft::detail {

/// Where a sort's data stand in a step's workspace. Keys are 64 bits wide, numbers as the index
/// type.
class SortRoom {
 public:
  SortRoom(std::int64_t count, bool narrow, std::size_t offset = 0);
  /// Where the unsorted keys are to be put.
  std::size_t keys() const noexcept { return keys_[current_]; }
  /// After a sort: the numbers 0 .. count-1 in the order of their keys, equal ones ascending.
  std::size_t order() const noexcept { return order_[current_]; }
  std::size_t end() const noexcept { return end_; }
  /// Sorts by the keys' lowest `bits` bits, above which they are 0. With `again`, numbers start in
  /// the order of the sort before: the keys put at keys() are in that order.
  void sort(const KernelStep& step, int bits, bool again, KernelSequence& sequence);

 private:
  void sort_block(const KernelStep& step, KernelSequence& sequence);
  void sort_digit(const KernelStep& step, int shift, bool has_order, KernelSequence& sequence);

  std::int64_t count_, blocks_;
  bool narrow_;
  int current_ = 0;
  std::size_t keys_[2], order_[2], counts_, sums_, end_;
};

}  // namespace weft::detail
