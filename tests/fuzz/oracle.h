// The interpreter on the engine's own values, one op at a time.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <weft/graph/detail/node.h>
#include <weft/graph/tensor.h>

#include "support/interpreter.h"

namespace weft::fuzz {

/// Holds all that a program records, hidden conversions included, so that the engine keeps every
/// value; then checks each op against its definition on the values that the engine gave its inputs.
class Oracle {
 public:
  /// Before work starts: what these are made of.
  void hold(const std::vector<Tensor>& tensors);
  /// After the end: "" or the first op that is not right.
  std::string check();
  /// After the end: whether a value's bits follow from the program alone. A product's do in strict
  /// mode, and where every order of adding gives the same, as of small whole numbers; what is made
  /// of others has no bits of its own.
  bool is_exact(const detail::Node* node) const { return entries_[place_.at(node)].exact; }
  /// Reads what `check` and `is_exact` need.
  void read();
  bool is_falsified = false;
  detail::OpId falsified_op{};
  DType falsified_dtype{};

 private:
  struct Entry {
    detail::Handle handle;
    std::vector<detail::Ref> inputs;
    std::vector<testing::HostValue> values;
    bool exact = true;
  };
  void read(Entry& entry);
  std::string check(const Entry& entry);
  std::vector<Entry> entries_;  // in topological order
  std::unordered_map<const detail::Node*, std::size_t> place_;
};

}  // namespace weft::fuzz
