// The parts of fusion: which vertices go together, and the graph in which they are one.
#pragma once

#include <vector>

#include <weft/graph/detail/ir.h>

namespace weft::detail {

struct Groups {
  std::vector<VertexId> of;                    // group of each vertex, or ~0
  std::vector<std::vector<VertexId>> members;  // in topological order
  std::vector<std::uint32_t> level;            // of each vertex
};

/// Point-wise values that are read once, through a view, are computed in the reader's index space
/// instead, so that both can be one kernel. In place.
void absorb_views(Graph& graph);
/// Each group as one vertex with a body; outside readers read its outputs.
Graph build_fused(const Graph& graph, const Groups& groups);

}  // namespace weft::detail
