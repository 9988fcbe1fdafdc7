// Counting roles in captured and planned graphs.
#include "coverage.h"

#include <cstdio>

namespace weft::fuzz {

using detail::Graph;
using detail::OpId;
using detail::OpKind;
using detail::VertexId;

const char* name_of(Role role) noexcept {
  constexpr const char* names[] = {"first", "inner", "last", "alone", "feeds", "fed"};
  return names[static_cast<int>(role)];
}

namespace {

std::vector<DType> dtypes_of(OpId op) {
  const detail::OpInfo& row = detail::info(op);
  if (row.rule == detail::DTypeRule::floating) return {f16, bf16, f32, f64};
  if (op == OpId::bitwise_not) return {i8, i32, i64, u8};  // of a bool it is logical_not
  return testing::legal_dtypes(op);
}

std::vector<Role> roles_of(OpId op) {
  const detail::OpInfo& row = detail::info(op);
  if (row.is_pointwise()) return {Role::first, Role::inner, Role::last, Role::alone};
  if (op == OpId::variable) return {Role::alone, Role::fed};  // then its value is a leaf
  if (op == OpId::upload) return {Role::alone, Role::feeds};  // of host data
  switch (row.kind) {
    case OpKind::leaf:
    case OpKind::generate:
    case OpKind::random: return {Role::alone, Role::feeds};
    default: return {Role::alone, Role::feeds, Role::fed};
  }
}

/// The dtype that an op is counted in: of its operand, or its own where it has none.
DType counted_dtype(const Graph& graph, VertexId v) {
  const auto inputs = graph.inputs(v);
  if (inputs.empty()) return graph.vertices[v].dtype;
  const bool selects = detail::info(graph.vertices[v].op).rule == detail::DTypeRule::select;
  return graph.spec(inputs[selects ? 1 : 0].source).dtype;
}

}  // namespace

const std::vector<Cell>& all_cells() {
  static const std::vector<Cell> cells = [] {
    std::vector<Cell> all;
    for (const testing::NamedOp& op : testing::all_ops())
      for (const DType dtype : dtypes_of(op.op))
        for (const Role role : roles_of(op.op)) all.push_back({op.op, dtype, role});
    return all;
  }();
  return cells;
}

void RoleCoverage::count_groups(const Graph& planned) {
  for (const Graph& body : planned.bodies) {
    count_groups(body);  // of a row group's members
    std::vector<bool> feeds(body.size(), false);
    for (VertexId v = 0; v < body.size(); ++v)
      for (const detail::InEdge& edge : body.inputs(v)) feeds[edge.source.vertex] = true;
    for (VertexId v = 0; v < body.size(); ++v) {
      if (!detail::info(body.vertices[v].op).is_pointwise()) continue;
      bool fed = false;
      for (const detail::InEdge& edge : body.inputs(v))
        fed = fed || detail::info(body.vertices[edge.source.vertex].op).is_pointwise();
      const Role role =
          fed ? (feeds[v] ? Role::inner : Role::last) : (feeds[v] ? Role::first : Role::alone);
      ++times_[{body.vertices[v].op, counted_dtype(body, v), role}];
    }
  }
}

void RoleCoverage::count_recorded(const Graph& captured) {
  const auto is_pointwise = [&](VertexId v) {
    return detail::info(captured.vertices[v].op).is_pointwise();
  };
  std::vector<bool> feeds(captured.size(), false);
  for (VertexId v = 0; v < captured.size(); ++v)
    for (const detail::InEdge& edge : captured.inputs(v))
      if (is_pointwise(v)) feeds[edge.source.vertex] = true;
  for (VertexId v = 0; v < captured.size(); ++v) {
    if (is_pointwise(v)) continue;
    bool fed = false;
    for (const detail::InEdge& edge : captured.inputs(v))
      fed = fed || is_pointwise(edge.source.vertex);
    const OpId op = captured.vertices[v].op;
    const DType dtype = counted_dtype(captured, v);
    if (fed) ++times_[{op, dtype, Role::fed}];
    if (feeds[v]) ++times_[{op, dtype, Role::feeds}];
    if (!fed && !feeds[v]) ++times_[{op, dtype, Role::alone}];
  }
}

std::string RoleCoverage::table() const {
  std::string text;
  char part[64];
  for (const testing::NamedOp& op : testing::all_ops()) {
    std::snprintf(part, sizeof part, "%-13s", op.name);
    text += part;
    for (const Role role : roles_of(op.op)) {
      text += std::string("  ") + name_of(role);
      for (const DType dtype : dtypes_of(op.op)) {
        const auto it = times_.find({op.op, dtype, role});
        text += " " + std::to_string(it == times_.end() ? 0 : it->second);
      }
    }
    text += "\n";
  }
  return text;
}

std::string RoleCoverage::missing() const {
  std::string text;
  for (const Cell& cell : all_cells()) {
    if (times_.contains(cell)) continue;
    text += std::string(detail::info(cell.op).name) + " in " +
            std::string(weft::name_of(cell.dtype)) + " " + name_of(cell.role) + "\n";
  }
  return text;
}

}  // namespace weft::fuzz
