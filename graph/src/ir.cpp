// Graph values and their builder.
#include <weft/graph/detail/ir.h>

namespace weft::detail {

Spec Graph::spec(Value value) const {
  const Vertex& v = vertices[value.vertex];
  if (value.output == 0) return {v.shape, v.dtype};
  return more_specs[v.specs_more + value.output - 1];
}

IndexMap Graph::map_of(const InEdge& edge) const {
  return edge.map == identity_map ? IndexMap::dense(spec(edge.source).shape) : maps[edge.map];
}

std::uint32_t Graph::add_map(IndexMap map) {
  maps.push_back(std::move(map));
  return static_cast<std::uint32_t>(maps.size() - 1);
}

std::uint32_t Graph::add_reason(std::string text) {
  // Few distinct reasons occur, and the newest are the likeliest to come again.
  for (std::size_t i = reasons.size(), end = i > 16 ? i - 16 : 0; i-- > end;)
    if (reasons[i] == text) return static_cast<std::uint32_t>(i);
  reasons.push_back(std::move(text));
  return static_cast<std::uint32_t>(reasons.size() - 1);
}

GraphBuilder::GraphBuilder(std::size_t expected_vertices) {
  graph_.vertices.reserve(expected_vertices);
  graph_.edges.reserve(2 * expected_vertices);
}

GraphBuilder::GraphBuilder(const Graph& from) : GraphBuilder(from.size()) {
  graph_.reasons = from.reasons;
  graph_.more_specs = from.more_specs;
  graph_.leaf_count = from.leaf_count;
  graph_.argument_count = from.argument_count;
  graph_.bodies = from.bodies;
}

VertexId GraphBuilder::add(Vertex vertex, std::span<const InEdge> inputs) {
  const auto id = static_cast<VertexId>(graph_.vertices.size());
  for (const InEdge& edge : inputs) {
    WEFT_ENSURE(edge.source.vertex < id);
    WEFT_ENSURE(edge.source.output < graph_.vertices[edge.source.vertex].output_count);
    WEFT_ENSURE(edge.map == identity_map || edge.map < graph_.maps.size());
  }
  vertex.in_begin = static_cast<std::uint32_t>(graph_.edges.size());
  vertex.in_count = static_cast<std::uint32_t>(inputs.size());
  graph_.edges.insert(graph_.edges.end(), inputs.begin(), inputs.end());
  graph_.vertices.push_back(std::move(vertex));
  return id;
}

Graph GraphBuilder::take() && { return std::move(graph_); }

}  // namespace weft::detail
