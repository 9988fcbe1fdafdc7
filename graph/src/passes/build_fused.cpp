// From groups to a graph in which each is one vertex with a body.
#include <unordered_map>

#include <weft/graph/detail/passes.h>

#include "fuse_groups.h"

namespace weft::detail {

namespace {

constexpr VertexId none = ~VertexId{0};

class Builder {
 public:
  Builder(const Graph& old, const Groups& groups)
      : old_(old), groups_(groups), builder_(old), new_(old) {
    graph().maps = old.maps;
  }

  Graph run() {
    find_leaving();
    for (const VertexId unit : order_units(old_, groups_)) {
      if (unit < old_.size())
        copy_vertex(unit);
      else
        add_group(unit - static_cast<VertexId>(old_.size()));
    }
    for (const Value output : old_.outputs) graph().outputs.push_back(replacement(output));
    // A value of which the Variable is gone already may not leave its group.
    for (const Assignment& a : old_.assignments)
      if (replacement(a.value).vertex != no_vertex)
        graph().assignments.push_back({replacement(a.value), a.replaced_leaf});
    return std::move(builder_).take();
  }

 private:
  Graph& graph() noexcept { return builder_.graph(); }
  Value& replacement(Value old) { return new_[old]; }

  VertexId unit_of(VertexId v) const { return detail::unit_of(groups_, v); }

  void find_leaving() {
    leaves_group_.assign(old_.size(), false);
    for (VertexId v = 0; v < old_.size(); ++v)
      for (const InEdge& edge : old_.inputs(v))
        if (unit_of(edge.source.vertex) != unit_of(v)) leaves_group_[edge.source.vertex] = true;
    for (const Value output : old_.outputs) leaves_group_[output.vertex] = true;
  }

  void copy_vertex(VertexId v) {
    const Vertex& vertex = old_.vertices[v];
    edges_.clear();
    for (const InEdge& edge : old_.inputs(v))
      edges_.push_back({replacement(edge.source), edge.map});
    const VertexId id = builder_.add(vertex, edges_);
    for (std::uint32_t o = 0; o < vertex.output_count; ++o) replacement({v, o}) = {id, o};
  }

  /// What a body reads from outside: a value through a map, or an argument.
  struct Entering {
    InEdge edge;
    VertexId in_body;
  };

  void add_group(VertexId g) {
    const std::vector<VertexId>& members = groups_.members[g];
    GraphBuilder body(members.size());
    edges_.clear();
    entering_.clear();
    std::vector<InEdge> inputs;
    // Leaves first: a body's vertices are in topological order too.
    for (const VertexId v : members)
      for (const InEdge& edge : old_.inputs(v)) enter(edge, v, body);
    for (const VertexId v : members) {
      inputs.clear();
      for (const InEdge& edge : old_.inputs(v)) {
        const bool inside = unit_of(edge.source.vertex) == unit_of(v);
        const VertexId source = inside ? in_body_[edge.source.vertex] : entered(edge);
        inputs.push_back({{source, 0}, identity_map});
      }
      Vertex member = old_.vertices[v];
      in_body_[v] = body.add(std::move(member), inputs);
    }
    finish_group(g, std::move(body));
  }

  void finish_group(VertexId g, GraphBuilder&& body) {
    const std::vector<VertexId>& members = groups_.members[g];
    const Vertex& last = old_.vertices[members.back()];
    Vertex fused{};
    fused.op = fused_op();
    fused.fused_kind = FusedKind::pointwise;
    fused.device = last.device;
    fused.shape = last.shape;
    fused.ordinal = last.ordinal;
    fused.output_count = 0;
    fused.reason = graph().add_reason(reason_of(g));
    std::vector<Spec> more;
    std::vector<VertexId> leaving;
    for (const VertexId v : members) {
      if (!leaves_group_[v]) continue;
      const Vertex& vertex = old_.vertices[v];
      if (leaving.empty())
        fused.dtype = vertex.dtype;
      else
        more.push_back({vertex.shape, vertex.dtype});
      fused.assigns = fused.assigns || vertex.assigns;
      fused.chosen = fused.chosen || vertex.chosen;
      body.graph().outputs.push_back({in_body_[v], 0});
      leaving.push_back(v);
    }
    WEFT_ENSURE(!leaving.empty() && leaving.size() < 250);
    fused.output_count = static_cast<std::uint8_t>(leaving.size());
    fused.specs_more = static_cast<std::uint32_t>(graph().more_specs.size());
    graph().more_specs.insert(graph().more_specs.end(), more.begin(), more.end());
    fused.body = static_cast<std::int32_t>(graph().bodies.size());
    body.graph().leaf_count = static_cast<std::uint32_t>(edges_.size());
    graph().bodies.push_back(std::move(body).take());
    const VertexId id = builder_.add(std::move(fused), edges_);
    for (std::uint32_t o = 0; o < leaving.size(); ++o) replacement({leaving[o], 0}) = {id, o};
  }

  void enter(const InEdge& edge, VertexId reader, GraphBuilder& body) {
    if (unit_of(edge.source.vertex) == unit_of(reader)) return;
    const std::uint64_t key = key_of(edge);
    if (entering_.contains(key)) return;
    const Vertex& source = old_.vertices[edge.source.vertex];
    Vertex leaf{};
    leaf.op = source.op;
    leaf.attrs = source.attrs;
    leaf.device = source.device;
    leaf.ordinal = source.ordinal;
    leaf.weak = source.weak;
    leaf.dtype = old_.spec(edge.source).dtype;
    leaf.shape = old_.vertices[reader].shape;
    if (!is_argument(source)) {
      leaf.op = data_op();
      leaf.attrs = {};
      leaf.leaf = static_cast<std::int32_t>(edges_.size());
      edges_.push_back({replacement(edge.source), edge.map});
    }
    entering_.emplace(key, body.add(std::move(leaf), {}));
  }

  VertexId entered(const InEdge& edge) const { return entering_.at(key_of(edge)); }

  std::uint64_t key_of(const InEdge& edge) const {
    // However an argument is broadcast, it is the same number.
    const bool argument = is_argument(old_.vertices[edge.source.vertex]);
    return std::uint64_t(edge.source.vertex) << 33 | std::uint64_t(edge.source.output) << 32 |
           (argument ? 0 : edge.map);
  }

  static bool is_argument(const Vertex& v) { return info(v.op).is_leaf() && v.leaf < 0; }

  /// Why the group is no larger: what keeps it apart from point-wise work that it reads.
  std::string reason_of(VertexId g) const {
    const std::vector<VertexId>& members = groups_.members[g];
    std::string text = members.size() > 1
                           ? "fuses " + std::to_string(members.size()) + " ops"
                           : std::string(old_.reasons[old_.vertices[members[0]].reason]);
    if (members.size() > 1)
      for (const VertexId v : members)
        if (old_.vertices[v].chosen) {
          text += "; " + old_.reasons[old_.vertices[v].reason];
          break;
        }
    for (const VertexId v : members)
      for (const InEdge& edge : old_.inputs(v)) {
        const VertexId s = edge.source.vertex;
        if (groups_.of[s] == none || groups_.of[s] == g) continue;
        if (!text.empty()) text += "; ";
        return text + "apart from " + std::string(info(old_.vertices[s].op).name) + ": " +
               why_apart(s, v, edge);
      }
    return text.empty() ? "nothing point-wise beside it to fuse with" : text;
  }

  std::string why_apart(VertexId s, VertexId v, const InEdge& edge) const {
    const Vertex& source = old_.vertices[s];
    const Vertex& reader = old_.vertices[v];
    if (source.device != reader.device) return "on another device";
    if (edge.map != identity_map)
      return "read through a view by which its elements would be computed again, or by others too";
    if (groups_.level[s] != groups_.level[v]) return "a step that can not be fused lies between";
    return "one kernel would hold too much";
  }

  const Graph& old_;
  const Groups& groups_;
  GraphBuilder builder_;
  PerValue<Value> new_;
  std::vector<bool> leaves_group_;
  std::vector<InEdge> edges_;
  std::unordered_map<std::uint64_t, VertexId> entering_;
  std::unordered_map<VertexId, VertexId> in_body_;
};

}  // namespace

Graph build_fused(const Graph& graph, const Groups& groups) { return Builder(graph, groups).run(); }

}  // namespace weft::detail
