// Canonicalise: views become index maps on edges, assignments and empty moves disappear.
//
// A view that is itself wanted stays as a vertex, and is put in order by a copy unless it reads its
// base without gaps: then the runtime may share the base's memory.
#include <algorithm>
#include <iterator>
#include <unordered_map>

#include <weft/graph/detail/passes.h>

namespace weft::detail {

namespace {

/// What stands for an old value: a new one, read through a map (absent: as it stands).
struct Replacement {
  Value value;
  std::uint32_t map = identity_map;
};

class Canonicaliser {
 public:
  explicit Canonicaliser(const Graph& old) : old_(old), builder_(old), new_(old) {}

  Graph run() {
    for (VertexId v = 0; v < old_.size(); ++v) visit(v);
    for (std::size_t i = 0; i < old_.outputs.size(); ++i) {
      const Value old = old_.outputs[i];
      const Replacement r = replacement(old);
      WEFT_ENSURE(r.map == identity_map);
      graph().outputs.push_back(r.value);
      const Keep keep = old_.vertices[old.vertex].keep[old.output];
      Keep& mine = graph().vertices[r.value.vertex].keep[r.value.output];
      if (mine != Keep::held) mine = keep;
    }
    for (const Assignment& old : old_.assignments)
      graph().assignments.push_back({replacement(old.value).value, old.replaced_leaf});
    return std::move(builder_).take();
  }

 private:
  Graph& graph() noexcept { return builder_.graph(); }
  Replacement& replacement(Value old) { return new_[old]; }

  void visit(VertexId v) {
    const Vertex& vertex = old_.vertices[v];
    const OpInfo& row = info(vertex.op);
    if (row.is_leaf() && vertex.in_count == 1) return visit_assignment(v);
    if (row.is_view()) return visit_view(v);
    if (row.gives_inputs) return give_inputs(v);
    if (is_empty_move(v)) return pass_through(v);
    edges_.clear();
    for (const InEdge& edge : old_.inputs(v)) edges_.push_back(read(edge, v, row));
    Vertex copy = vertex;
    std::fill(std::begin(copy.keep), std::end(copy.keep), Keep::no);
    const VertexId id = builder_.add(std::move(copy), edges_);
    for (std::uint32_t o = 0; o < vertex.output_count; ++o) replacement({v, o}) = {{id, o}};
    // An argument has no memory of its own: a wanted one is written out.
    if (row.is_leaf() && vertex.leaf < 0 && vertex.keep[0] != Keep::no)
      replacement({v, 0}) = copy_of(v, replacement({v, 0}), vertex.shape);
  }

  /// The edge as the new graph has it; point-wise operands are broadcast to the result's shape.
  InEdge read(const InEdge& edge, VertexId v, const OpInfo& row) {
    const Vertex& consumer = old_.vertices[v];
    const Replacement r = replacement(edge.source);
    if (!row.is_pointwise()) return {in_memory(v, r.value), r.map};
    IndexMap map = map_of(r);
    if (map.shape == consumer.shape) return {r.value, r.map};
    broadcast_map(map, consumer.shape);
    return {r.value, intern(std::move(map), r.value)};
  }

  IndexMap map_of(const Replacement& r) {
    return r.map == identity_map ? IndexMap::dense(graph().spec(r.value).shape)
                                 : graph().maps[r.map];
  }

  /// A map that changes nothing, not even the shape, is no map.
  std::uint32_t intern(IndexMap map, Value source) {
    const Shape shape = graph().spec(source).shape;
    if (map.shape == shape && map.is_identity(shape.numel())) return identity_map;
    return graph().add_map(std::move(map));
  }

  /// Point-wise work takes arguments as they are; other ops read memory.
  Value in_memory(VertexId v, Value value) {
    const Vertex& source = graph().vertices[value.vertex];
    if (!info(source.op).is_leaf() || source.leaf >= 0) return value;
    const auto it = written_.find(value.vertex);
    if (it != written_.end()) return it->second;
    const Value written = copy_of(v, {value}, source.shape).value;
    written_.emplace(value.vertex, written);
    return written;
  }

  /// A conversion or move that changes nothing: same dtype, same device.
  bool is_empty_move(VertexId v) const {
    const Vertex& vertex = old_.vertices[v];
    if (vertex.in_count != 1) return false;
    const OpInfo& row = info(vertex.op);
    const Vertex& source = old_.vertices[old_.inputs(v)[0].source.vertex];
    const bool moves = row.kind == OpKind::transfer || row.rule == DTypeRule::given;
    return moves && old_.spec(old_.inputs(v)[0].source).dtype == vertex.dtype &&
           source.device == vertex.device && vertex.device.kind() != DeviceKind::automatic;
  }

  void pass_through(VertexId v) {
    const Replacement r = replacement(old_.inputs(v)[0].source);
    replacement({v, 0}) = old_.vertices[v].keep[0] == Keep::no ? r : in_order(v, r);
  }

  void give_inputs(VertexId v) {
    for (std::uint32_t o = 0; o < old_.vertices[v].output_count; ++o) {
      const Replacement r = replacement(old_.inputs(v)[o].source);
      replacement({v, o}) = old_.vertices[v].keep[o] == Keep::no ? r : in_order(v, r);
    }
  }

  void visit_assignment(VertexId v) {
    // A Variable's new value has memory of its own, in order.
    const Replacement r = replacement(old_.inputs(v)[0].source);
    replacement({v, 0}) = in_order(v, r);
    Vertex& source = graph().vertices[replacement({v, 0}).value.vertex];
    if (old_.vertices[v].assigns && source.leaf < 0) source.assigns = true;
  }

  void visit_view(VertexId v) {
    const Vertex& vertex = old_.vertices[v];
    Replacement r = replacement(old_.inputs(v)[0].source);
    IndexMap map = map_of(r);
    const bool is_long = map.terms.size() >= most_offset_terms;
    if (is_long || !apply_view(map, vertex.op, vertex.attrs, vertex.shape)) {
      r = in_order(v, r, &map.shape);
      map = map_of(r);
      WEFT_ENSURE(apply_view(map, vertex.op, vertex.attrs, vertex.shape));
    }
    r.map = intern(std::move(map), r.value);
    replacement({v, 0}) = vertex.keep[0] == Keep::no ? r : in_order(v, r);
  }

  /// A value that can be read as it stands: itself, a range of memory that is already in order
  /// (a view vertex), or a copy.
  Replacement in_order(VertexId v, Replacement r, const Shape* shape = nullptr) {
    const Vertex& source = graph().vertices[r.value.vertex];
    const bool elsewhere = !shape && is_wanted_elsewhere(v, source);
    if (info(source.op).is_leaf() && source.leaf < 0) {
      const Replacement written = copy_of(v, r, map_of(r).shape);
      return elsewhere ? on_device_of(v, written) : written;  // a number is at home everywhere
    }
    if (elsewhere) return moved(v, r);
    if (r.map == identity_map) return r;
    const IndexMap& map = graph().maps[r.map];
    if (shape || !map.is_contiguous() || !shares_well(r.value)) return copy_of(v, r, map.shape);
    return add_reader(v, r, map.shape, view_op(),
                      "a contiguous part of a held value: shares its memory");
  }

  /// A view recorded for another device than its base's: On moves views, too.
  bool is_wanted_elsewhere(VertexId v, const Vertex& source) const {
    const Device device = old_.vertices[v].device;
    return device.kind() != DeviceKind::automatic && device != source.device;
  }

  Replacement moved(VertexId v, Replacement r) {
    const Shape shape = map_of(r).shape;
    return on_device_of(v, add_reader(v, r, shape, transfer_op(), "a view of another device's"));
  }

  Replacement on_device_of(VertexId v, Replacement r) {
    graph().vertices[r.value.vertex].device = old_.vertices[v].device;
    return r;
  }

  Replacement copy_of(VertexId v, Replacement r, const Shape& shape) {
    return add_reader(v, r, shape, copy_op(), "puts a view in order");
  }

  Replacement add_reader(VertexId v, Replacement r, Shape shape, OpId op, const char* reason) {
    Vertex vertex{};
    vertex.op = op;
    vertex.shape = shape;
    vertex.dtype = graph().spec(r.value).dtype;
    vertex.device = graph().vertices[r.value.vertex].device;
    vertex.ordinal = old_.vertices[v].ordinal;
    vertex.reason = graph().add_reason(reason);
    const InEdge edge{r.value, r.map};
    return {{builder_.add(std::move(vertex), {&edge, 1}), 0}};
  }

  /// Sharing keeps the whole base alive: worth it where the base stays anyway.
  bool shares_well(Value base) {
    const Vertex& vertex = graph().vertices[base.vertex];
    return vertex.leaf >= 0 && !vertex.weak;
  }

  const Graph& old_;
  GraphBuilder builder_;
  PerValue<Replacement> new_;
  std::vector<InEdge> edges_;
  std::unordered_map<VertexId, Value> written_;  // arguments that were put into memory
};

}  // namespace

Graph canonicalise(Graph&& graph, const PassContext&) { return Canonicaliser(graph).run(); }

}  // namespace weft::detail
