// Row groups: fused point-wise vertices and reductions over the same rows become one vertex, which
// is carried out a few rows at a time, so that what lies between its members never leaves the
// caches. A softmax is one: its greatest elements, exponentials, sums and quotients.
//
// A group's prefix are leading axes that all its members have and that none mixes elements over:
// row i of each member's value, i an index over the prefix, is made of rows i of the others alone.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include <weft/graph/detail/passes.h>

#include "fuse_groups.h"

namespace weft::detail {

namespace {

constexpr VertexId none = ~VertexId{0};
constexpr std::size_t most_members = 24, most_outputs_of_group = 24;

std::int64_t bytes_of(const Spec& spec) {
  return spec.shape.numel() * static_cast<std::int64_t>(size_of(spec.dtype));
}

std::int64_t rows_of(const Shape& shape, int prefix) {
  std::int64_t rows = 1;
  for (int d = 0; d < prefix; ++d) rows *= shape[d];
  return rows;
}

/// How many leading axes of its result a vertex makes row by row; 0: it can be in no group.
int prefix_of(const Graph& graph, VertexId v) {
  const Vertex& vertex = graph.vertices[v];
  // The GPUs' kernels of one pass over rows are made otherwise.
  if (vertex.device.is_cuda() || vertex.shape.numel() == 0) return 0;
  if (vertex.op == fused_op())
    return vertex.fused_kind == FusedKind::pointwise ? vertex.shape.ndim() : 0;
  if (info(vertex.op).kind != OpKind::reduce) return 0;
  const Shape read = graph.map_of(graph.inputs(v)[0]).shape;
  if (read.numel() == 0) return 0;
  int prefix = 0;
  while (prefix < read.ndim() && !(vertex.attrs.v[0] >> prefix & 1)) ++prefix;
  return prefix;
}

/// Whether a reader's row i, over `prefix` axes, reads row i of the source alone.
bool keeps_rows(const Graph& graph, const InEdge& edge, int prefix) {
  const Shape source = graph.spec(edge.source).shape;
  if (source.ndim() < prefix) return false;
  if (edge.map == identity_map) return true;
  const IndexMap& map = graph.maps[edge.map];
  if (map.shape.ndim() < prefix || !map.terms.empty()) return false;
  std::int64_t stride = 1;
  for (int d = source.ndim(); d-- > prefix;) stride *= source[d];
  const std::int64_t row = stride;
  for (int d = prefix; d-- > 0; stride *= source[d])
    if (map.shape[d] != source[d] || (source[d] != 1 && map.strides[d] != stride)) return false;
  std::int64_t low = map.offset, high = map.offset;
  for (int d = prefix; d < map.shape.ndim(); ++d)
    (map.strides[d] < 0 ? low : high) += map.strides[d] * (map.shape[d] - 1);
  return low >= 0 && high < row;
}

// As in fusion, a level grows along every edge that no group can hold, so that a way out of a group
// of one level and back into it does not exist; and what is joined by other edges is cut in
// topological order, which leaves no two groups that need each other.
class Former {
 public:
  Former(const Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), prefix_(graph.size()), parent_(graph.size()) {}

  Groups run(std::vector<int>& prefixes) {
    connect();
    cut();
    Groups groups;
    groups.of.assign(graph_.size(), none);
    for (const Group& group : groups_) {
      if (!is_worth_it(group)) continue;
      for (const VertexId v : group.members)
        groups.of[v] = static_cast<VertexId>(groups.members.size());
      groups.members.push_back(group.members);
      prefixes.push_back(group.prefix);
    }
    return groups;
  }

 private:
  struct Group {
    int prefix = 0;
    std::int64_t bytes = 0;  // that its members make in all
    std::vector<VertexId> members;
  };

  VertexId find(VertexId v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }

  bool may_join(const InEdge& edge, VertexId reader) const {
    const VertexId s = edge.source.vertex;
    return prefix_[s] > 0 && prefix_[reader] > 0 &&
           graph_.vertices[s].device == graph_.vertices[reader].device &&
           keeps_rows(graph_, edge, 1);
  }

  void connect() {
    std::vector<std::uint32_t> level(graph_.size(), 0);
    for (VertexId v = 0; v < graph_.size(); ++v) {
      parent_[v] = v;
      prefix_[v] = prefix_of(graph_, v);
      for (const InEdge& edge : graph_.inputs(v)) {
        const VertexId s = edge.source.vertex;
        const bool leaf = info(graph_.vertices[s].op).is_leaf();
        level[v] = std::max(level[v], level[s] + (leaf || may_join(edge, v) ? 0 : 1));
      }
      for (const InEdge& edge : graph_.inputs(v))
        if (level[edge.source.vertex] == level[v] && may_join(edge, v))
          parent_[find(v)] = find(edge.source.vertex);
    }
  }

  void cut() {
    std::unordered_map<VertexId, std::size_t> open;  // component → its last group
    for (VertexId v = 0; v < graph_.size(); ++v) {
      if (prefix_[v] == 0) continue;
      const auto [it, is_new] = open.try_emplace(find(v), groups_.size());
      if (!is_new && take_in(groups_[it->second], v)) continue;
      it->second = groups_.size();
      groups_.push_back({prefix_[v], bytes_made(v), {v}});
    }
  }

  bool take_in(Group& group, VertexId v) const {
    if (group.members.size() == most_members) return false;
    const Shape& rows = graph_.vertices[group.members[0]].shape;
    int prefix = std::min(group.prefix, prefix_[v]);
    const Shape& shape = graph_.vertices[v].shape;
    for (int d = 0; d < prefix; ++d)
      if (shape[d] != rows[d]) prefix = d;
    const auto all_keep = [&] {
      for (const InEdge& edge : graph_.inputs(v))
        if (is_member(group, edge.source.vertex) && !keeps_rows(graph_, edge, prefix)) return false;
      for (const VertexId member : group.members)
        for (const InEdge& edge : graph_.inputs(member))
          if (is_member(group, edge.source.vertex) && !keeps_rows(graph_, edge, prefix))
            return false;
      return true;
    };
    while (prefix > 0 && !all_keep()) --prefix;
    const std::int64_t bytes = group.bytes + bytes_made(v);
    if (prefix == 0 || bytes / rows_of(rows, prefix) > options_.most_row_bytes) return false;
    group.prefix = prefix;
    group.bytes = bytes;
    group.members.push_back(v);
    return true;
  }

  static bool is_member(const Group& group, VertexId v) {
    return std::binary_search(group.members.begin(), group.members.end(), v);
  }

  std::int64_t bytes_made(VertexId v) const {
    std::int64_t bytes = 0;
    for (std::uint32_t o = 0; o < graph_.vertices[v].output_count; ++o)
      bytes += bytes_of(graph_.spec({v, o}));
    return bytes;
  }

  /// Small values stay in the caches between steps too.
  bool is_worth_it(const Group& group) const {
    if (group.members.size() < 2) return false;
    std::size_t outputs = 0;
    bool reduces = false;
    for (const VertexId v : group.members) {
      outputs += graph_.vertices[v].output_count;
      reduces = reduces || info(graph_.vertices[v].op).kind == OpKind::reduce;
    }
    return reduces && outputs <= most_outputs_of_group &&
           rows_of(graph_.vertices[group.members[0]].shape, group.prefix) > 1 &&
           group.bytes >= options_.least_row_group_bytes;
  }

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<int> prefix_;
  std::vector<VertexId> parent_;
  std::vector<Group> groups_;
};

class Builder {
 public:
  Builder(const Graph& old, const Groups& groups, const std::vector<int>& prefixes)
      : old_(old), groups_(groups), prefixes_(prefixes), builder_(old), new_(old), leaving_(old) {
    graph().maps = old.maps;
  }

  Graph run() {
    for (VertexId v = 0; v < old_.size(); ++v)
      for (const InEdge& edge : old_.inputs(v))
        if (unit_of(groups_, edge.source.vertex) != unit_of(groups_, v)) leaving_[edge.source] = 1;
    for (const Value output : old_.outputs) leaving_[output] = 1;
    for (const VertexId unit : order_units(old_, groups_)) {
      if (unit < old_.size())
        copy_vertex(unit);
      else
        add_group(unit - static_cast<VertexId>(old_.size()));
    }
    for (const Value output : old_.outputs) graph().outputs.push_back(new_[output]);
    for (const Assignment& a : old_.assignments)
      if (new_[a.value].vertex != no_vertex)
        graph().assignments.push_back({new_[a.value], a.replaced_leaf});
    return std::move(builder_).take();
  }

 private:
  Graph& graph() noexcept { return builder_.graph(); }

  void copy_vertex(VertexId v) {
    const Vertex& vertex = old_.vertices[v];
    edges_.clear();
    for (const InEdge& edge : old_.inputs(v)) edges_.push_back({new_[edge.source], edge.map});
    const VertexId id = builder_.add(vertex, edges_);
    for (std::uint32_t o = 0; o < vertex.output_count; ++o) new_[{v, o}] = {id, o};
  }

  /// A body's leaves stand for what the vertex reads, each through the map of its edge.
  void add_group(VertexId g) {
    const std::vector<VertexId>& members = groups_.members[g];
    GraphBuilder body(2 * members.size());
    edges_.clear();
    entered_.clear();
    for (const VertexId v : members)
      for (const InEdge& edge : old_.inputs(v))
        if (groups_.of[edge.source.vertex] != g) enter(edge, body);
    std::unordered_map<VertexId, VertexId> inside;
    for (const VertexId v : members) {
      std::vector<InEdge> inputs;
      for (const InEdge& edge : old_.inputs(v)) {
        if (groups_.of[edge.source.vertex] != g) {
          inputs.push_back({{entered(edge), 0}, identity_map});
          continue;
        }
        const std::uint32_t map =
            edge.map == identity_map ? identity_map : body.graph().add_map(old_.maps[edge.map]);
        inputs.push_back({{inside.at(edge.source.vertex), edge.source.output}, map});
      }
      Vertex member = old_.vertices[v];
      member.reason = 0;  // the group has one of its own
      if (member.body >= 0) {
        body.graph().bodies.push_back(graph().bodies[static_cast<std::size_t>(member.body)]);
        member.body = static_cast<std::int32_t>(body.graph().bodies.size()) - 1;
      }
      member.specs_more = static_cast<std::uint32_t>(body.graph().more_specs.size());
      for (std::uint32_t o = 1; o < member.output_count; ++o)
        body.graph().more_specs.push_back(old_.spec({v, o}));
      inside[v] = body.add(std::move(member), inputs);
    }
    finish_group(g, std::move(body), inside);
  }

  void enter(const InEdge& edge, GraphBuilder& body) {
    if (entered(edge) != no_vertex) return;
    const Vertex& source = old_.vertices[edge.source.vertex];
    Vertex leaf{};
    leaf.op = data_op();
    leaf.device = source.device;
    leaf.ordinal = source.ordinal;
    leaf.dtype = old_.spec(edge.source).dtype;
    leaf.shape = old_.map_of(edge).shape;
    leaf.leaf = static_cast<std::int32_t>(edges_.size());
    edges_.push_back({new_[edge.source], edge.map});
    entered_.emplace_back(edge, body.add(std::move(leaf), {}));
  }

  VertexId entered(const InEdge& edge) const {
    for (const auto& [known, leaf] : entered_)
      if (known.source == edge.source && known.map == edge.map) return leaf;
    return no_vertex;
  }

  void finish_group(VertexId g, GraphBuilder&& body,
                    const std::unordered_map<VertexId, VertexId>& inside) {
    const std::vector<VertexId>& members = groups_.members[g];
    const Vertex& last = old_.vertices[members.back()];
    Vertex joined{};
    joined.op = fused_op();
    joined.fused_kind = FusedKind::rows;
    joined.device = last.device;
    joined.ordinal = last.ordinal;
    joined.attrs.v[0] = prefixes_[g];
    std::vector<Value> leaving;
    for (const VertexId v : members) {
      joined.assigns = joined.assigns || old_.vertices[v].assigns;
      for (std::uint32_t o = 0; o < old_.vertices[v].output_count; ++o)
        if (leaving_[{v, o}]) leaving.push_back({v, o});
    }
    WEFT_ENSURE(!leaving.empty());
    joined.shape = old_.spec(leaving[0]).shape;
    joined.dtype = old_.spec(leaving[0]).dtype;
    joined.output_count = static_cast<std::uint8_t>(leaving.size());
    joined.specs_more = static_cast<std::uint32_t>(graph().more_specs.size());
    for (std::size_t o = 0; o < leaving.size(); ++o) {
      body.graph().outputs.push_back({inside.at(leaving[o].vertex), leaving[o].output});
      if (o > 0) graph().more_specs.push_back(old_.spec(leaving[o]));
    }
    const std::int64_t rows = rows_of(last.shape, prefixes_[g]);
    std::string reason = "one pass over " + std::to_string(rows) + " rows joins " +
                         std::to_string(members.size()) + " steps";
    for (const VertexId v : members)
      if (old_.vertices[v].chosen) {
        joined.chosen = true;
        reason += "; " + std::string(old_.reasons[old_.vertices[v].reason]);
        break;
      }
    joined.reason = graph().add_reason(std::move(reason));
    body.graph().leaf_count = static_cast<std::uint32_t>(edges_.size());
    joined.body = static_cast<std::int32_t>(graph().bodies.size());
    graph().bodies.push_back(std::move(body).take());
    const VertexId id = builder_.add(std::move(joined), edges_);
    for (std::uint32_t o = 0; o < leaving.size(); ++o) new_[leaving[o]] = {id, o};
  }

  const Graph& old_;
  const Groups& groups_;
  const std::vector<int>& prefixes_;
  GraphBuilder builder_;
  PerValue<Value> new_;
  PerValue<char> leaving_;
  std::vector<InEdge> edges_;
  std::vector<std::pair<InEdge, VertexId>> entered_;
};

}  // namespace

Graph join_rows(Graph&& graph, const PassContext& context) {
  if (!context.options.fuse) return std::move(graph);
  std::vector<int> prefixes;
  const Groups groups = Former(graph, context.options).run(prefixes);
  if (groups.members.empty()) return std::move(graph);
  return Builder(graph, groups, prefixes).run();
}

}  // namespace weft::detail
