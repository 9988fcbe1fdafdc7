// Fusion of point-wise work: groups with one iteration space, several inputs and outputs, whose
// broadcasts, casts and views are done inside.
//
// Two vertices may share a group when they have the same shape, device and *level*. A level counts
// the steps that must lie between: it grows along every edge that can not be fused. A path from a
// group through an outside vertex back into it would cross such an edge, so groups of one level are
// convex, and a cut of one in topological order stays so.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <weft/graph/detail/passes.h>

#include "fuse_groups.h"

namespace weft::detail {

namespace {

constexpr VertexId no_group = ~VertexId{0};

class Grouper {
 public:
  Grouper(const Graph& graph, const PlanOptions& options)
      : graph_(graph), options_(options), level_(graph.size(), 0), parent_(graph.size()) {}

  Groups run() {
    find_levels();
    raise_levels();
    connect();
    return cut();
  }

 private:
  bool fusible(const InEdge& edge, VertexId consumer) const {
    const Vertex& c = graph_.vertices[consumer];
    const Vertex& s = graph_.vertices[edge.source.vertex];
    return options_.fuse && info(c.op).is_pointwise() && info(s.op).is_pointwise() &&
           edge.map == identity_map && s.device == c.device && s.shape == c.shape;
  }

  void find_levels() {
    for (VertexId v = 0; v < graph_.size(); ++v)
      for (const InEdge& edge : graph_.inputs(v)) {
        const bool leaf = info(graph_.vertices[edge.source.vertex].op).is_leaf();
        const std::uint32_t step = leaf || fusible(edge, v) ? 0 : 1;
        level_[v] = std::max(level_[v], level_[edge.source.vertex] + step);
      }
  }

  /// A vertex computed earlier than its readers need it moves up to the first of them, unless it
  /// would leave a producer behind that it could have been fused with.
  void raise_levels() {
    std::vector<std::uint32_t> latest(graph_.size(), ~0u), uses(graph_.size(), 0);
    for (const InEdge& edge : graph_.edges) ++uses[edge.source.vertex];
    for (VertexId v = static_cast<VertexId>(graph_.size()); v-- > 0;) {
      if (latest[v] != ~0u && latest[v] > level_[v] && may_rise(v, uses)) level_[v] = latest[v];
      for (const InEdge& edge : graph_.inputs(v)) {
        const std::uint32_t step = fusible(edge, v) ? 0 : 1;
        const std::uint32_t bound = level_[v] < step ? 0 : level_[v] - step;
        latest[edge.source.vertex] = std::min(latest[edge.source.vertex], bound);
      }
    }
  }

  bool may_rise(VertexId v, const std::vector<std::uint32_t>& uses) const {
    if (!info(graph_.vertices[v].op).is_pointwise()) return false;
    for (const InEdge& edge : graph_.inputs(v))
      if (fusible(edge, v) && uses[edge.source.vertex] > 1) return false;
    return true;
  }

  VertexId find(VertexId v) {
    while (parent_[v] != v) v = parent_[v] = parent_[parent_[v]];
    return v;
  }

  void join(VertexId a, VertexId b) {
    a = find(a);
    b = find(b);
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  }

  bool same_space(VertexId a, VertexId b) const {
    const Vertex& x = graph_.vertices[a];
    const Vertex& y = graph_.vertices[b];
    return level_[a] == level_[b] && x.device == y.device && x.shape == y.shape;
  }

  /// Members are joined where one reads the other, or both read the same value: not for being alike
  /// alone, as that would only lengthen lifetimes.
  void connect() {
    std::iota(parent_.begin(), parent_.end(), VertexId{0});
    if (!options_.fuse) return;
    std::vector<VertexId> last_reader(graph_.size(), no_vertex);
    for (VertexId v = 0; v < graph_.size(); ++v) {
      if (!info(graph_.vertices[v].op).is_pointwise()) continue;
      for (const InEdge& edge : graph_.inputs(v)) {
        const VertexId s = edge.source.vertex;
        if (fusible(edge, v) && level_[s] == level_[v]) join(s, v);
        if (is_argument(s)) continue;
        if (last_reader[s] != no_vertex && same_space(last_reader[s], v)) join(last_reader[s], v);
        last_reader[s] = v;
      }
    }
  }

  bool is_argument(VertexId v) const {
    return info(graph_.vertices[v].op).is_leaf() && graph_.vertices[v].leaf < 0;
  }

  struct Open {
    VertexId group = no_group;
    std::uint32_t ops = 0, outputs = 0;
    std::vector<std::uint64_t> inputs;
    std::vector<VertexId> arguments;
  };

  /// Components become groups, cut in topological order where they grow past what one kernel holds.
  Groups cut() {
    Groups groups;
    groups.of.assign(graph_.size(), no_group);
    const std::vector<bool> leaving = find_leaving();
    std::unordered_map<VertexId, Open> open;
    for (VertexId v = 0; v < graph_.size(); ++v) {
      if (!info(graph_.vertices[v].op).is_pointwise()) continue;
      Open& mine = open[find(v)];
      note_inputs(mine, v, groups);
      if (mine.group != no_group && is_full(mine)) {
        mine = {};
        note_inputs(mine, v, groups);
      }
      if (mine.group == no_group) {
        mine.group = static_cast<VertexId>(groups.members.size());
        groups.members.emplace_back();
      }
      ++mine.ops;
      mine.outputs += leaving[v];
      groups.of[v] = mine.group;
      groups.members[mine.group].push_back(v);
    }
    groups.level = std::move(level_);
    return groups;
  }

  /// Values that something outside their component reads, or that are wanted.
  std::vector<bool> find_leaving() {
    std::vector<bool> leaving(graph_.size(), false);
    for (VertexId v = 0; v < graph_.size(); ++v)
      for (const InEdge& edge : graph_.inputs(v))
        if (find(edge.source.vertex) != find(v)) leaving[edge.source.vertex] = true;
    for (const Value output : graph_.outputs) leaving[output.vertex] = true;
    return leaving;
  }

  void note_inputs(Open& open, VertexId v, const Groups& groups) {
    for (const InEdge& edge : graph_.inputs(v)) {
      const VertexId s = edge.source.vertex;
      if (is_argument(s))
        note(open.arguments, s);
      else if (open.group == no_group || groups.of[s] != open.group)
        note(open.inputs, std::uint64_t(s) << 32 | edge.map);
    }
  }

  template <class Key>
  static void note(std::vector<Key>& keys, Key key) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }

  bool is_full(const Open& open) const {
    return open.ops >= options_.most_group_ops || open.outputs >= options_.most_group_outputs ||
           open.inputs.size() > options_.most_group_inputs ||
           open.arguments.size() > options_.most_group_arguments;
  }

  const Graph& graph_;
  const PlanOptions& options_;
  std::vector<std::uint32_t> level_;
  std::vector<VertexId> parent_;
};

}  // namespace

Graph fuse(Graph&& graph, const PassContext& context) {
  if (context.options.fuse) absorb_views(graph);
  const Groups groups = Grouper(graph, context.options).run();
  return build_fused(graph, groups);
}

}  // namespace weft::detail
