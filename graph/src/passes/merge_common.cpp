// Merge equal computations, and drop what no output needs.
//
// Leaves and random draws stay apart: two numbers that happen to be equal now may differ when the
// plan runs again.
#include <weft/graph/detail/passes.h>

#include "hash_index.h"

namespace weft::detail {

namespace {

struct Hash {
  std::uint64_t value = 0x9e3779b97f4a7c15u;
  void add(std::uint64_t word) noexcept {
    value = (value ^ word) * 0xff51afd7ed558ccdu;
    value ^= value >> 32;
  }
};

std::uint64_t hash_of(const IndexMap& map) noexcept {
  Hash h;
  for (int d = 0; d < map.shape.ndim(); ++d) {
    h.add(static_cast<std::uint64_t>(map.shape[d]));
    h.add(static_cast<std::uint64_t>(map.strides[d]));
  }
  h.add(static_cast<std::uint64_t>(map.offset));
  for (const OffsetTerm& term : map.terms) {
    h.add(term.slot);
    h.add(static_cast<std::uint64_t>(term.multiplier));
  }
  return h.value;
}

class Merger {
 public:
  explicit Merger(const Graph& old)
      : old_(old), builder_(old), new_(old.size(), no_vertex), needed_(old.size(), false) {}

  Graph run() {
    mark_needed();
    for (VertexId v = 0; v < old_.size(); ++v)
      if (needed_[v]) visit(v);
    for (const Value output : old_.outputs)
      graph().outputs.push_back({new_[output.vertex], output.output});
    for (const Assignment& a : old_.assignments)
      if (needed_[a.value.vertex])
        graph().assignments.push_back({{new_[a.value.vertex], a.value.output}, a.replaced_leaf});
    return std::move(builder_).take();
  }

 private:
  Graph& graph() noexcept { return builder_.graph(); }

  void mark_needed() {
    for (const Value output : old_.outputs) needed_[output.vertex] = true;
    for (VertexId v = static_cast<VertexId>(old_.size()); v-- > 0;)
      if (needed_[v])
        for (const InEdge& edge : old_.inputs(v)) needed_[edge.source.vertex] = true;
  }

  void visit(VertexId v) {
    const Vertex& vertex = old_.vertices[v];
    edges_.clear();
    for (const InEdge& edge : old_.inputs(v))
      edges_.push_back({{new_[edge.source.vertex], edge.source.output}, map_number(edge.map)});
    const bool mergeable = info(vertex.op).is_mergeable();
    std::uint64_t hash = 0;
    if (mergeable) {
      hash = hash_of_vertex(vertex);
      const VertexId equal = known_.find(hash, [&](VertexId candidate) { return same(candidate, vertex); });
      if (equal != HashIndex::none) return merge(v, equal);
    }
    new_[v] = builder_.add(vertex, edges_);
    if (mergeable) known_.add(hash, new_[v]);
  }

  void merge(VertexId v, VertexId into) {
    new_[v] = into;
    Vertex& kept = graph().vertices[into];
    const Vertex& gone = old_.vertices[v];
    for (std::uint32_t o = 0; o < most_outputs; ++o)
      if (kept.keep[o] != Keep::held && gone.keep[o] != Keep::no) kept.keep[o] = gone.keep[o];
    kept.assigns = kept.assigns || gone.assigns;
  }

  /// Equal maps get one number, so that edges compare by it.
  std::uint32_t map_number(std::uint32_t old) {
    if (old == identity_map) return old;
    const IndexMap& map = old_.maps[old];
    const std::uint64_t hash = hash_of(map);
    const std::uint32_t equal =
        maps_.find(hash, [&](std::uint32_t number) { return graph().maps[number] == map; });
    if (equal != HashIndex::none) return equal;
    const std::uint32_t number = graph().add_map(map);
    maps_.add(hash, number);
    return number;
  }

  std::uint64_t hash_of_vertex(const Vertex& vertex) const noexcept {
    Hash h;
    h.add(std::uint64_t(vertex.op) | std::uint64_t(vertex.dtype) << 16 |
          std::uint64_t(vertex.device.code()) << 24);
    for (const std::int64_t extent : vertex.shape) h.add(static_cast<std::uint64_t>(extent));
    for (const std::int64_t attr : vertex.attrs.v) h.add(static_cast<std::uint64_t>(attr));
    for (const InEdge& edge : edges_) {
      h.add(std::uint64_t(edge.source.vertex) << 32 | edge.map);
      h.add(edge.source.output);
    }
    return h.value;
  }

  bool same(VertexId candidate, const Vertex& vertex) const noexcept {
    const Graph& g = builder_.graph_view();
    const Vertex& c = g.vertices[candidate];
    if (c.op != vertex.op || c.dtype != vertex.dtype || c.device != vertex.device ||
        !(c.shape == vertex.shape) || c.in_count != edges_.size() ||
        c.output_count != vertex.output_count)
      return false;
    for (int i = 0; i < 4; ++i)
      if (c.attrs.v[i] != vertex.attrs.v[i]) return false;
    const auto inputs = g.inputs(candidate);
    for (std::size_t i = 0; i < edges_.size(); ++i)
      if (!(inputs[i].source == edges_[i].source) || inputs[i].map != edges_[i].map) return false;
    return true;
  }

  const Graph& old_;
  GraphBuilder builder_;
  std::vector<VertexId> new_;
  std::vector<bool> needed_;
  std::vector<InEdge> edges_;
  HashIndex known_, maps_;
};

}  // namespace

Graph merge_common(Graph&& graph, const PassContext&) { return Merger(graph).run(); }

}  // namespace weft::detail
