// Transfers: every edge between devices gets an explicit vertex, one for each value and
// destination. A value that comes back to where it was made is not moved at all.
#include <unordered_map>
#include <unordered_set>

#include <weft/graph/detail/passes.h>

namespace weft::detail {

namespace {

class Inserter {
 public:
  explicit Inserter(const Graph& old) : old_(old), builder_(old), new_(old) {}

  /// A round trip was not made: what would have begun it may have no reader.
  bool has_elided() const noexcept { return has_elided_; }

  Graph run() {
    graph().maps = old_.maps;
    find_moved_whole();
    for (VertexId v = 0; v < old_.size(); ++v) visit(v);
    for (const Value output : old_.outputs) graph().outputs.push_back(replacement(output));
    for (const Assignment& a : old_.assignments)
      graph().assignments.push_back({replacement(a.value), a.replaced_leaf});
    return std::move(builder_).take();
  }

 private:
  Graph& graph() noexcept { return builder_.graph(); }
  Value& replacement(Value old) { return new_[old]; }
  Device device_of(Value value) { return graph().vertices[value.vertex].device; }
  bool is_argument(Value value) {
    const Vertex& v = graph().vertices[value.vertex];
    return info(v.op).is_leaf() && v.leaf < 0;
  }

  bool reads_a_part(const InEdge& edge) const {
    return edge.map != identity_map &&
           old_.maps[edge.map].shape.numel() < old_.spec(edge.source).shape.numel();
  }

  /// Where a whole value goes, its parts are read too: nothing is moved twice.
  void find_moved_whole() {
    for (VertexId v = 0; v < old_.size(); ++v) {
      const Device device = old_.vertices[v].device;
      for (const InEdge& edge : old_.inputs(v))
        if (old_.vertices[edge.source.vertex].device != device && !reads_a_part(edge))
          moved_whole_.insert(key(edge.source, device));
    }
  }

  bool moves_a_part(const InEdge& edge, Device device) const {
    return reads_a_part(edge) && !moved_whole_.contains(key(edge.source, device));
  }

  void visit(VertexId v) {
    const Vertex& vertex = old_.vertices[v];
    if (info(vertex.op).kind == OpKind::transfer) return visit_transfer(v);
    edges_.clear();
    for (const InEdge& edge : old_.inputs(v)) {
      const InEdge mine{replacement(edge.source), edge.map};
      edges_.push_back(
          bring(mine, vertex.device, vertex.ordinal, moves_a_part(edge, vertex.device)));
    }
    const VertexId id = builder_.add(vertex, edges_);
    for (std::uint32_t o = 0; o < vertex.output_count; ++o) replacement({v, o}) = {id, o};
  }

  /// A move that the program wrote. What it gives is dense, in its own shape.
  void visit_transfer(VertexId v) {
    const Vertex& vertex = old_.vertices[v];
    const InEdge& edge = old_.inputs(v)[0];
    moving_host_data_ = vertex.op == upload_op();
    const InEdge arrived = bring({replacement(edge.source), edge.map}, vertex.device,
                                 vertex.ordinal, moves_a_part(edge, vertex.device));
    moving_host_data_ = false;
    if (arrived.map == identity_map && !is_argument(arrived.source)) {
      replacement({v, 0}) = arrived.source;
      Vertex& source = graph().vertices[arrived.source.vertex];
      Keep& keep = source.keep[arrived.source.output];
      if (keep != Keep::held) keep = vertex.keep[0] == Keep::no ? keep : vertex.keep[0];
      if (vertex.assigns && source.leaf < 0) source.assigns = true;
      return;
    }
    Vertex copy = vertex;
    copy.op = copy_op();
    copy.attrs = {};
    copy.reason = graph().add_reason("puts a moved view in order");
    replacement({v, 0}) = {builder_.add(std::move(copy), {&arrived, 1}), 0};
  }

  /// The edge as a consumer on `device` reads it; where only a part is wanted there, only that part
  /// is moved.
  InEdge bring(InEdge edge, Device device, std::uint32_t ordinal, bool part) {
    if (is_argument(edge.source) || device_of(edge.source) == device) return edge;
    if (const auto home = origins_.find(key(edge.source, device)); home != origins_.end()) {
      has_elided_ = true;
      return {home->second, edge.map};  // it was made there
    }
    if (part) edge = put_in_order(edge, ordinal);
    const auto [it, added] = moved_.try_emplace(key(edge.source, device));
    if (added) it->second = move(edge.source, device, ordinal);
    return {it->second, edge.map};
  }

  InEdge put_in_order(const InEdge& edge, std::uint32_t ordinal) {
    const auto [it, added] =
        ordered_.try_emplace(std::uint64_t(edge.source.vertex) << 33 |
                             std::uint64_t(edge.source.output) << 32 | edge.map);
    if (added) {
      Vertex copy{};
      copy.op = copy_op();
      copy.shape = graph().maps[edge.map].shape;
      copy.dtype = graph().spec(edge.source).dtype;
      copy.device = device_of(edge.source);
      copy.ordinal = ordinal;
      copy.reason = graph().add_reason("only this part of the value is moved");
      it->second = {builder_.add(std::move(copy), {&edge, 1}), 0};
    }
    return {it->second, identity_map};
  }

  Value move(Value source, Device device, std::uint32_t ordinal) {
    const Spec spec = graph().spec(source);
    const Device from = device_of(source);
    Vertex vertex{};
    const bool upload = from.is_cpu() && (spec.shape.ndim() == 0 || moving_host_data_);
    vertex.op = upload ? upload_op() : transfer_op();
    vertex.shape = spec.shape;
    vertex.dtype = spec.dtype;
    vertex.device = device;
    vertex.ordinal = ordinal;
    vertex.reason = graph().add_reason(
        upload ? "host data for " + device.str()
               : "made on " + from.str() + ", read on " + device.str());
    const InEdge edge{source, identity_map};
    const Value moved{builder_.add(std::move(vertex), {&edge, 1}), 0};
    origins_.emplace(key(moved, from), source);
    return moved;
  }

  static std::uint64_t key(Value value, Device device) noexcept {
    // Devices take 18 bits.
    return std::uint64_t(value.vertex) << 32 | std::uint64_t(value.output) << 18 | device.code();
  }

  const Graph& old_;
  GraphBuilder builder_;
  PerValue<Value> new_;
  std::vector<InEdge> edges_;
  std::unordered_map<std::uint64_t, Value> moved_;    // (value, destination) → there
  std::unordered_map<std::uint64_t, Value> origins_;  // (moved value, where it came from) → it
  std::unordered_map<std::uint64_t, Value> ordered_;  // (value, map) → its copy
  std::unordered_set<std::uint64_t> moved_whole_;     // (old value, destination)
  bool has_elided_ = false;
  bool moving_host_data_ = false;  // the move at hand is of data that the program made elsewhere
};

}  // namespace

Graph insert_transfers(Graph&& graph, const PassContext& context) {
  Inserter inserter(graph);
  Graph result = inserter.run();
  return inserter.has_elided() ? merge_common(std::move(result), context) : std::move(result);
}

}  // namespace weft::detail
