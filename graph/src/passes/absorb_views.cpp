// view(f(x)) is f(view(x)) for point-wise f: moves views from between point-wise ops to their inputs.
#include <vector>

#include <weft/graph/detail/passes.h>

#include "fuse_groups.h"

namespace weft::detail {

namespace {

/// Reads no element twice.
bool is_injective(const IndexMap& map) noexcept {
  for (int d = 0; d < map.shape.ndim(); ++d)
    if (map.strides[d] == 0 && map.shape[d] != 1) return false;
  return true;
}

class Absorber {
 public:
  explicit Absorber(Graph& graph) : graph_(graph), uses_(graph.size(), 0) {
    for (const InEdge& edge : graph.edges) ++uses_[edge.source.vertex];
    for (const Value output : graph.outputs) ++uses_[output.vertex];
  }

  void run() {
    // Readers before what they read, so that a view travels up a whole chain.
    for (VertexId v = static_cast<VertexId>(graph_.size()); v-- > 0;) {
      if (!info(graph_.vertices[v].op).is_pointwise()) continue;
      for (InEdge& edge : graph_.inputs(v))
        if (edge.map != identity_map) absorb(edge, graph_.vertices[v].device);
    }
  }

 private:
  void absorb(InEdge& edge, Device device) {
    const VertexId s = edge.source.vertex;
    Vertex& source = graph_.vertices[s];
    const OpInfo& row = info(source.op);
    if (!row.is_pointwise() || uses_[s] != 1 || source.device != device) return;
    const IndexMap outer = graph_.maps[edge.map];
    // A repeated value is computed once in its own step, unless it is one cheap element.
    if (!is_injective(outer) && !(source.shape.numel() == 1 && row.flops <= cheap)) return;
    std::vector<IndexMap> composed;
    for (const InEdge& input : graph_.inputs(s)) {
      IndexMap map;
      if (!compose(outer, source.shape, graph_.map_of(input), map)) return;
      if (map.terms.size() > most_offset_terms) return;
      composed.push_back(std::move(map));
    }
    source.shape = outer.shape;
    std::size_t i = 0;
    for (InEdge& input : graph_.inputs(s)) {
      IndexMap& map = composed[i++];
      const Shape from = graph_.spec(input.source).shape;
      input.map = map.shape == from && map.is_identity(from.numel())
                      ? identity_map
                      : graph_.add_map(std::move(map));
    }
    edge.map = identity_map;
  }

  static constexpr float cheap = 4;
  Graph& graph_;
  std::vector<std::uint32_t> uses_;
};

}  // namespace

void absorb_views(Graph& graph) { Absorber(graph).run(); }

}  // namespace weft::detail
