// The invariants of a graph, stage by stage.
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/topological_sort.hpp>

#include <weft/graph/detail/passes.h>

namespace weft::detail {

namespace {

using Csr = boost::compressed_sparse_row_graph<boost::directedS>;

class Checker {
 public:
  Checker(const Graph& graph, Stage stage) : graph_(graph), stage_(stage) {}

  std::string run() {
    for (VertexId v = 0; v < graph_.size() && problem_.empty(); ++v) check(v);
    for (const Value output : graph_.outputs)
      if (output.vertex >= graph_.size() ||
          output.output >= graph_.vertices[output.vertex].output_count)
        note(0, "an output names no vertex");
    if (problem_.empty() && !is_acyclic()) problem_ = "the edges make a cycle";
    return problem_;
  }

 private:
  void note(VertexId v, const std::string& what) {
    if (!problem_.empty()) return;
    problem_ = "vertex " + std::to_string(v);
    if (v < graph_.size()) problem_ += " (" + std::string(info(graph_.vertices[v].op).name) + ")";
    problem_ += ": " + what;
  }

  static bool is_argument(const Vertex& v) { return info(v.op).is_leaf() && v.leaf < 0; }

  void check(VertexId v) {
    const Vertex& vertex = graph_.vertices[v];
    const OpInfo& row = info(vertex.op);
    if (vertex.in_begin + vertex.in_count > graph_.edges.size())
      return note(v, "its edges lie outside the graph");
    for (const InEdge& edge : graph_.inputs(v)) {
      if (edge.source.vertex >= v) return note(v, "reads a vertex that does not precede it");
      if (edge.source.output >= graph_.vertices[edge.source.vertex].output_count)
        return note(v, "reads an output that its source has not");
      if (edge.map != identity_map) check_map(v, edge);
      const bool takes_arguments = row.is_pointwise() || row.kind == OpKind::fused;
      if (stage_ >= Stage::canonical && !takes_arguments &&
          is_argument(graph_.vertices[edge.source.vertex]))
        return note(v, "reads an argument as if it were memory");
    }
    if (row.input_count >= 0 && !row.is_leaf() && vertex.in_count != std::uint32_t(row.input_count))
      return note(v, "has " + std::to_string(vertex.in_count) + " inputs");
    check_specs(v, row);
    check_stage(v, row);
    if (vertex.body >= 0) check_body(v);
  }

  void check_map(VertexId v, const InEdge& edge) {
    if (edge.map >= graph_.maps.size()) return note(v, "an edge has no such map");
    const IndexMap& map = graph_.maps[edge.map];
    if (map.shape.numel() == 0 || !map.terms.empty()) return;
    std::int64_t low = map.offset, high = map.offset;
    for (int d = 0; d < map.shape.ndim(); ++d)
      (map.strides[d] < 0 ? low : high) += map.strides[d] * (map.shape[d] - 1);
    if (low < 0 || high >= graph_.spec(edge.source).shape.numel())
      note(v, "an index map reaches outside its source");
  }

  void check_specs(VertexId v, const OpInfo& row) {
    const Vertex& vertex = graph_.vertices[v];
    std::vector<Spec> inputs, outputs;
    for (const InEdge& edge : graph_.inputs(v)) {
      inputs.push_back(graph_.spec(edge.source));
      if (edge.map != identity_map) inputs.back().shape = graph_.maps[edge.map].shape;
    }
    for (std::uint32_t o = 0; o < vertex.output_count; ++o) outputs.push_back(graph_.spec({v, o}));
    if (row.is_pointwise() && stage_ >= Stage::canonical) {
      for (const Spec& input : inputs)
        if (!(input.shape == vertex.shape)) return note(v, "an operand has another shape");
    } else if (row.is_view() && stage_ >= Stage::canonical) {
      if (!(inputs[0].shape == vertex.shape)) note(v, "a view's map has another shape");
    } else if (row.consistent && !row.is_leaf() && !row.consistent(inputs, vertex.attrs, outputs)) {
      note(v, "its outputs do not follow from its inputs");
    }
  }

  void check_stage(VertexId v, const OpInfo& row) {
    const Vertex& vertex = graph_.vertices[v];
    if (stage_ >= Stage::placed && vertex.device.kind() == DeviceKind::automatic)
      return note(v, "has no device");
    if (stage_ >= Stage::transferred)
      for (const InEdge& edge : graph_.inputs(v)) {
        const Vertex& source = graph_.vertices[edge.source.vertex];
        const bool crosses = source.device != vertex.device && !is_argument(source);
        if (crosses && row.kind != OpKind::transfer)
          return note(v, "reads a value of another device");
        if (row.kind == OpKind::transfer && !crosses) return note(v, "moves nothing");
      }
    if (stage_ >= Stage::fused && row.is_pointwise()) note(v, "is in no group");
  }

  void check_body(VertexId v) {
    const Vertex& vertex = graph_.vertices[v];
    const Graph& body = graph_.bodies[static_cast<std::size_t>(vertex.body)];
    const bool rows = vertex.fused_kind == FusedKind::rows;
    if (!rows && vertex.fused_kind != FusedKind::pointwise)
      return note(v, "is of a kind that no pass forms");
    std::uint32_t leaves = 0;
    for (VertexId b = 0; b < body.size(); ++b) {
      const Vertex& member = body.vertices[b];
      const OpInfo& row = info(member.op);
      if (rows)
        check_row_member(v, body, b);
      else if (!row.is_leaf() && !row.is_pointwise())
        return note(v, "its body is not point-wise");
      if (!row.is_leaf() && member.device != vertex.device)
        return note(v, "its body is on two devices");
      if (!rows && !(member.shape == vertex.shape) && !is_argument(member))
        return note(v, "its body has two shapes");
      leaves += member.leaf >= 0;
    }
    if (leaves != vertex.in_count) return note(v, "its body reads other than its inputs");
    if (body.outputs.size() != vertex.output_count) return note(v, "its body gives other outputs");
    const std::string inner = Checker(body, rows ? Stage::fused : Stage::canonical).run();
    if (!inner.empty()) note(v, "in its body: " + inner);
  }

  void check_row_member(VertexId v, const Graph& body, VertexId b) {
    const Vertex& member = body.vertices[b];
    const OpInfo& row = info(member.op);
    const std::int64_t prefix = graph_.vertices[v].attrs.v[0];
    if (row.is_leaf()) return;
    if (row.kind != OpKind::reduce && row.kind != OpKind::fused)
      return note(v, "a row group has other than point-wise work and reductions");
    if (row.kind == OpKind::reduce && member.attrs.v[0] & ((std::int64_t{1} << prefix) - 1))
      return note(v, "a row group reduces over its rows");
    const Shape& first = graph_.spec({v, 0}).shape;
    for (int d = 0; d < prefix; ++d)
      if (member.shape.ndim() < prefix || member.shape[d] != first[d])
        return note(v, "a row group has other rows");
  }

  bool is_acyclic() const {
    std::vector<std::pair<VertexId, VertexId>> links;
    links.reserve(graph_.edges.size());
    for (VertexId v = 0; v < graph_.size(); ++v)
      for (const InEdge& edge : graph_.inputs(v)) links.emplace_back(edge.source.vertex, v);
    const Csr csr(boost::edges_are_unsorted_multi_pass, links.begin(), links.end(), graph_.size());
    std::vector<VertexId> order;
    try {
      boost::topological_sort(csr, std::back_inserter(order));
    } catch (const boost::not_a_dag&) {
      return false;
    }
    return order.size() == graph_.size();
  }

  const Graph& graph_;
  Stage stage_;
  std::string problem_;
};

}  // namespace

std::string verify(const Graph& graph, Stage stage) { return Checker(graph, stage).run(); }

}  // namespace weft::detail
