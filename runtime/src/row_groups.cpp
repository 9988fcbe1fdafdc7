// Row groups as steps: members in order, their values, and how many rows are taken together.
#include <algorithm>

#include "schedule.h"

namespace weft::detail {

namespace {

std::int64_t bytes_of(const Spec& spec) {
  return spec.shape.numel() * static_cast<std::int64_t>(size_of(spec.dtype));
}

/// As many rows as the bytes hold: whole later axes of the prefix where one index of an earlier one
/// has fewer.
void choose_block(RowGroup& group, const Shape& rows, std::int64_t block_bytes) {
  std::int64_t bytes = 0;
  for (const RowValue& value : group.values) bytes += bytes_of(value.spec);
  const int prefix = rows.ndim();
  const std::int64_t wanted =
      std::max<std::int64_t>(1, block_bytes / std::max<std::int64_t>(1, bytes / rows.numel()));
  group.axis = prefix - 1;
  std::int64_t inner = 1;  // rows of one index of the axis
  while (group.axis > 0 && inner * rows[group.axis] < wanted) inner *= rows[group.axis--];
  group.block = std::clamp<std::int64_t>(wanted / inner, 1, rows[group.axis]);
  for (int d = 0; d <= group.axis; ++d) group.shape.push_back(rows[d]);
}

}  // namespace

std::shared_ptr<const RowGroup> row_group_of(const Graph& graph, const Vertex& vertex,
                                             std::int64_t block_bytes) {
  const Graph& body = graph.bodies[static_cast<std::size_t>(vertex.body)];
  auto group = std::make_shared<RowGroup>();
  PerValue<std::uint32_t> number(body);  // of a leaf: the step's input
  for (VertexId v = 0; v < body.size(); ++v) {
    const Vertex& member = body.vertices[v];
    if (info(member.op).is_leaf()) {
      number[{v, 0}] = static_cast<std::uint32_t>(member.leaf);
      continue;
    }
    RowMember made{};
    made.step.kind = StepKind::kernel;
    made.step.op = member.op;
    made.step.attrs = member.attrs;
    made.step.device = member.device;
    if (member.body >= 0)
      made.step.program = std::make_shared<const Program>(
          lower(body.bodies[static_cast<std::size_t>(member.body)]));
    for (const InEdge& edge : body.inputs(v))
      made.inputs.push_back({info(body.vertices[edge.source.vertex].op).is_leaf(),
                             number[edge.source], body.spec(edge.source).dtype, body.map_of(edge)});
    for (std::uint32_t o = 0; o < member.output_count; ++o) {
      number[{v, o}] = static_cast<std::uint32_t>(group->values.size());
      made.values.push_back(number[{v, o}]);
      group->values.push_back({body.spec({v, o}), -1});
    }
    group->members.push_back(std::move(made));
  }
  for (std::size_t o = 0; o < body.outputs.size(); ++o)
    group->values[number[body.outputs[o]]].output = static_cast<std::int32_t>(o);
  Shape rows;
  for (int d = 0; d < vertex.attrs.v[0]; ++d) rows.push_back(vertex.shape[d]);
  choose_block(*group, rows, block_bytes);
  return group;
}

}  // namespace weft::detail
