// Minimum cuts of flow networks.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::detail {

/// A directed network between a source and a sink. Built anew for each cut; storage is kept.
class MinCut {
 public:
  using Node = std::uint32_t;
  static constexpr Node source = 0, sink = 1;
  static constexpr std::int64_t unlimited = std::int64_t{1} << 52;

  void clear();
  Node add_node() { return node_count_++; }
  void add_edge(Node from, Node to, std::int64_t capacity);
  /// Whether each node is on the source's side of a cut of least capacity. A node that may be on
  /// either side is on the sink's.
  const std::vector<bool>& solve();

 private:
  struct Edge {
    Node from, to;
    std::int64_t capacity;
  };
  Node node_count_ = 2;
  std::vector<Edge> edges_;
  std::vector<bool> source_side_;
};

}  // namespace weft::detail
