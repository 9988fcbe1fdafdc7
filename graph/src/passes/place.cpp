// Placement: every vertex gets a device, and a reason where the planner chose it.
#include <weft/graph/detail/passes.h>

namespace weft::detail {

Device follow_data(const Graph& graph, VertexId vertex, const CostTable&, std::string& reason) {
  Device device = Device::cpu();
  std::int64_t most = -1;
  for (const InEdge& edge : graph.inputs(vertex)) {
    const Vertex& source = graph.vertices[edge.source.vertex];
    // A number is at home everywhere.
    if (info(source.op).is_leaf() && source.leaf < 0) continue;
    const Spec spec = graph.spec(edge.source);
    const std::int64_t bytes =
        spec.shape.numel() * static_cast<std::int64_t>(size_of(spec.dtype));
    if (bytes > most) {
      most = bytes;
      device = source.device;
    }
  }
  reason = most < 0 ? "placed on the cpu: nothing says where"
                    : "placed on " + device.str() + ": its largest input, " +
                          std::to_string(most) + " bytes, is there";
  return device;
}

Graph place(Graph&& graph, const PassContext& context) {
  for (VertexId v = 0; v < graph.size(); ++v) {
    Vertex& vertex = graph.vertices[v];
    if (vertex.device.kind() != DeviceKind::automatic) continue;
    std::string reason;
    const PlacementPolicy policy = context.placement ? context.placement : follow_data;
    vertex.device = policy(graph, v, context.costs, reason);
    vertex.reason = graph.add_reason(std::move(reason));
  }
  return std::move(graph);
}

}  // namespace weft::detail
