// Groups from the table of ops.
#include "codegen/pointwise_groups.h"

#include <algorithm>

#include <weft/graph/detail/record.h>
#include <weft/weft.h>

#include "support/op_table.h"

namespace weft::testing {
namespace {

using detail::InEdge;
using detail::Node;
using detail::Vertex;
using detail::VertexId;

/// The body of a group from recorded values.
class BodyOf {
 public:
  void input(const Node* node) {
    const VertexId v = add(OpId::data, node->dtype, {});
    graph_.vertices[v].leaf = static_cast<std::int32_t>(graph_.leaf_count++);
    nodes_.push_back(node);
  }
  void output(const Node* node) { graph_.outputs.push_back({vertex(node), 0}); }
  std::shared_ptr<const detail::Program> program() const {
    return std::make_shared<const detail::Program>(detail::lower(graph_));
  }

 private:
  VertexId add(OpId op, DType dtype, const std::vector<VertexId>& sources) {
    Vertex vertex{};
    vertex.op = op;
    vertex.dtype = dtype;
    vertex.in_begin = static_cast<std::uint32_t>(graph_.edges.size());
    vertex.in_count = static_cast<std::uint32_t>(sources.size());
    for (const VertexId source : sources)
      graph_.edges.push_back({{source, 0}, detail::identity_map});
    graph_.vertices.push_back(vertex);
    return static_cast<VertexId>(graph_.vertices.size() - 1);
  }
  /// An input, or a point-wise op over such: promotion has recorded casts.
  VertexId vertex(const Node* node) {
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (nodes_[k] == node) return static_cast<VertexId>(k);
    std::vector<VertexId> sources;
    for (const detail::Edge edge : node->inputs()) sources.push_back(vertex(edge.node()));
    return add(node->op, node->dtype, sources);
  }

  detail::Graph graph_;
  std::vector<const Node*> nodes_;  // of the inputs
};

bool is_legal(const PointwiseRow& row, DType dtype) {
  const DTypes legal = legal_dtypes(row.rule);
  return row.rule != DTypeRule::given &&
         std::find(legal.begin(), legal.end(), dtype) != legal.end();
}

/// Special numbers, then drawn ones: both operands have as many.
HostValue operand_value(DType dtype, int k, int arity) {
  const HostValue special = special_pairs(dtype, std::min(k, 1), std::min(arity, 2));
  const HostValue common = drawn(dtype, {200}, -50, 50, static_cast<unsigned>(k) + 5, false);
  const HostValue small = drawn(dtype, {200}, -2, 4, static_cast<unsigned>(k) + 9, false);
  HostValue all(dtype, Shape(special.numel() + 400));
  for (std::int64_t i = 0; i < special.numel(); ++i) all.copy_element(i, special, i);
  for (std::int64_t i = 0; i < 200; ++i) {
    all.copy_element(special.numel() + i, common, i);
    all.copy_element(special.numel() + 200 + i, small, i);
  }
  return all;
}

struct Wanted {
  std::string op;
  Tensor result;
  double ulp;
};

/// All ops of so many operands that the dtype has.
std::vector<Wanted> results_of(int arity, DType dtype, const std::vector<Tensor>& operands) {
  std::vector<Wanted> all;
  for (const PointwiseRow& row : pointwise_rows()) {
    if (row.arity != arity || !is_legal(row, dtype)) continue;
    const Tensor result =
        detail::record_pointwise(row.op, std::vector<Operand>(operands.begin(), operands.end()));
    const bool is_half = result.dtype() == f16 || result.dtype() == bf16;
    all.push_back({row.name, result, row.ulp > 0 && is_half ? 1 : row.ulp});
  }
  if (arity == 1)
    for (const DType to : all_dtypes())
      if (to != dtype)
        all.push_back({"cast to " + std::string(name_of(to)), cast(operands[0], to), 0});
  return all;
}

/// Those, in groups that fit into a kernel's parameters.
void add_groups(int arity, DType dtype, std::vector<PointwiseGroup>& groups) {
  constexpr std::size_t most_results = 20;
  std::vector<HostValue> inputs;
  std::vector<Tensor> tensors;
  const std::int64_t count = operand_value(dtype, 0, arity).numel();
  for (int k = 0; k < arity; ++k) {
    inputs.push_back(arity == 3 && k == 0 ? drawn(bool_, {count}, 0, 1, 77)
                                          : operand_value(dtype, k, arity));
    tensors.push_back(tensor_of(inputs.back()));
  }
  const std::vector<Wanted> all = results_of(arity, dtype, tensors);
  for (std::size_t begin = 0; begin < all.size(); begin += most_results) {
    PointwiseGroup group;
    group.what = std::to_string(arity) + " operands of " + std::string(name_of(dtype));
    group.inputs = inputs;
    BodyOf body;
    for (const Tensor& tensor : tensors) body.input(tensor.ref().node);
    for (std::size_t i = begin; i < std::min(all.size(), begin + most_results); ++i) {
      body.output(all[i].result.ref().node);
      group.results.push_back({all[i].op, interpret(all[i].result), all[i].ulp});
    }
    group.program = body.program();
    groups.push_back(std::move(group));
  }
}

}  // namespace

std::vector<PointwiseGroup> pointwise_groups() {
  std::vector<PointwiseGroup> groups;
  for (const DType dtype : all_dtypes())
    for (const int arity : {1, 2, 3}) add_groups(arity, dtype, groups);
  return groups;
}

std::vector<std::string> pointwise_names() {
  std::vector<std::string> names;
  for (const PointwiseRow& row : pointwise_rows())
    if (row.rule != DTypeRule::given) names.push_back(row.name);
  return names;
}

}  // namespace weft::testing
