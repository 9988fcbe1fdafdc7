// The captured program, as a value to look at.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>

#include <weft/graph/args.h>

namespace weft {

namespace detail {
class Graph;
}

/// What is recorded and not yet evaluated.
class Graph {
 public:
  explicit Graph(std::shared_ptr<const detail::Graph> graph) noexcept : graph_(std::move(graph)) {}
  /// Values: ops, and the leaves that they read.
  std::size_t size() const noexcept;
  /// "" where its invariants hold, else what is wrong.
  std::string verify() const;
  const detail::Graph& ir() const noexcept { return *graph_; }

 private:
  std::shared_ptr<const detail::Graph> graph_;
};

/// Captures what evaluating these would compute. Nothing runs.
Graph capture(const TensorList& roots);

/// Graphviz DOT: devices as clusters, ops as boxes, values by dtype and shape.
void write_dot(std::ostream& out, const Graph& graph);

}  // namespace weft
