// The recorded history between an output and what it is differentiated with respect to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <weft/graph/detail/record.h>
#include <weft/graph/detail/variable.h>

namespace weft::detail {

/// A floating value that the walk came by, or not: an input, and its node's place in the walk.
struct WalkedInput {
  Ref ref;
  std::uint32_t index;
};
inline constexpr std::uint32_t not_walked = ~std::uint32_t{0};

/// What a history is walked for.
struct WalkRequest {
  Ref output;
  /// Empty: all leaf Variables that require a gradient.
  std::vector<Ref> targets;
  const char* op;
  Where at;
};

/// A snapshot: nodes in topological order with their inputs, pinned. Evaluation may let go of a
/// node's own inputs while gradients are being recorded, and that changes nothing here. The walk is
/// iterative, and visits each node once.
class History {
 public:
  /// Takes the engine lock while it walks. ValueError where history that is needed was given up.
  explicit History(const WalkRequest& request);
  History(const History&) = delete;
  History& operator=(const History&) = delete;
  ~History();

  std::size_t size() const noexcept { return nodes_.size(); }
  /// From the output's node (the last) down to 0: consumers before what they consume.
  Node* node(std::uint32_t index) const noexcept { return nodes_[index].node; }
  std::span<const WalkedInput> inputs(std::uint32_t index) const noexcept {
    const Entry& entry = nodes_[index];
    return {inputs_.data() + entry.begin, entry.count};
  }
  /// Whether differentiation goes through this node's inputs.
  bool is_open(std::uint32_t index) const noexcept { return nodes_[index].count != 0; }
  /// Where a node stands, or not_walked.
  std::uint32_t find(const Node* node) const noexcept;
  /// A node other than this was met that is evaluated and has let go of its inputs, since no
  /// Variable needed them: what led to it is not known any more.
  bool has_lost(const Node* other_than) const noexcept {
    return lost_count_ > (last_lost_ == other_than ? 1u : 0u);
  }
  /// Backward is done with these nodes: their history is given up.
  void release() noexcept;

 private:
  struct Entry {
    Node* node;
    std::uint32_t begin = 0, count = 0;
  };
  struct Frame {
    std::uint32_t entry, next;
  };

  void walk();
  bool opens(Node* node);
  bool enters(Ref input) const noexcept;
  std::uint32_t discover(Node* node);
  void put_in_order(const std::vector<std::uint32_t>& finished);
  std::uint32_t* place_of(const Node* node) noexcept;
  void grow_table();
  [[noreturn]] void fail_released(const Node* node) const;

  const WalkRequest& request_;
  bool only_required_;  // every target requires a gradient: so does all that leads to it
  std::size_t lost_count_ = 0;
  const Node* last_lost_ = nullptr;
  std::vector<Entry> nodes_;
  std::vector<WalkedInput> inputs_;
  std::vector<std::uint32_t> table_;  // open addressing: index + 1, or 0
};

}  // namespace weft::detail
