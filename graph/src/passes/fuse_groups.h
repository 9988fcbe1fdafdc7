// The parts of fusion: which vertices go together, and the graph in which they are one.
#pragma once

#include <vector>

#include <weft/graph/detail/ir.h>

namespace weft::detail {

struct Groups {
  std::vector<VertexId> of;                    // group of each vertex, or ~0
  std::vector<std::vector<VertexId>> members;  // in topological order
  std::vector<std::uint32_t> level;            // of each vertex, where groups are fused by levels
};

/// Units are ungrouped vertices, by their number, and groups, numbered after all vertices.
inline VertexId unit_of(const Groups& groups, VertexId v) {
  return groups.of[v] == ~VertexId{0} ? v : static_cast<VertexId>(groups.of.size()) + groups.of[v];
}
/// Topological, and as near to the recorded order as that allows: a unit goes where its last member
/// stood.
std::vector<VertexId> order_units(const Graph& graph, const Groups& groups);

/// Point-wise values that are read once, through a view, are computed in the reader's index space
/// instead, so that both can be one kernel. In place.
void absorb_views(Graph& graph);
/// Each group of point-wise vertices as one with a body; outside readers read its outputs.
Graph build_fused(const Graph& graph, const Groups& groups);

}  // namespace weft::detail
