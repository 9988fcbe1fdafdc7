// The interpreter's walk over recorded nodes, and values that exist before it starts.
#include "support/interpreter.h"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <unordered_map>

#include <weft/graph/detail/node.h>
#include <weft/graph/tensor.h>

#include "support/interpreter_ops.h"

namespace weft::testing {
namespace {

using detail::Node;
using detail::OpId;
using detail::Ref;

constexpr int least_inputs[] = {
#define WEFT_OP_POINTWISE(name, arity, ...) arity,
#define WEFT_OP_STRUCTURED(name, kind, inputs, ...) inputs,
#include <weft/graph/detail/ops.def>
    0};

HostValue read_back(Ref ref) {
  HostValue value(ref.node->dtype_of(ref.output), ref.node->shape(ref.output));
  std::vector<unsigned char> raw(value.bytes.size() + 8);
  detail::read_elements(ref, raw.data(), {});
  value.bytes.assign(raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(value.bytes.size()));
  return value;
}

/// What the program gave, or what is left of a node that no longer knows its inputs.
bool is_given(const Node& node) {
  if (node.op == OpId::data) return true;
  if (least_inputs[static_cast<int>(node.op)] == 0) return false;
  const auto inputs = node.inputs();
  return inputs.empty() || inputs[0].node() == nullptr;
}

HostValue given(Node* node, std::uint32_t output) {
  const bool is_host_data =
      node->op == OpId::data && node->storage.buffer && node->storage.buffer->device().is_cpu();
  if (!is_host_data) return read_back({node, output});
  HostValue value(node->dtype, node->shape());
  if (!value.bytes.empty())
    std::memcpy(value.bytes.data(), reinterpret_cast<const void*>(node->storage.address()),
                value.bytes.size());
  return value;
}

bool interpret_constant(Step& step) {
  HostValue& out = step.out();
  if (step.node.op == OpId::variable) {
    out = step.in(0);
    return true;
  }
  if (step.node.op != OpId::scalar && step.node.op != OpId::iota) return false;
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    if (is_floating(out.dtype)) {
      const auto start = std::bit_cast<double>(step.v(0)),
                 stride = std::bit_cast<double>(step.v(1));
      out.set_real(i,
                   step.node.op == OpId::scalar ? start : start + static_cast<double>(i) * stride);
    } else {
      const auto distance = static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step.v(1));
      const auto start = static_cast<std::uint64_t>(step.v(0));
      out.set_integer(
          i, static_cast<std::int64_t>(step.node.op == OpId::scalar ? start : start + distance));
    }
  }
  return true;
}

using Values = std::unordered_map<const Node*, std::vector<HostValue>>;

std::vector<HostValue> compute(Node* node, const Values& values) {
  std::vector<HostValue> outputs;
  const std::uint32_t count = node->output_count == 2 ? 2 : 1;
  for (std::uint32_t k = 0; k < count; ++k)
    outputs.push_back(is_given(*node) ? given(node, k)
                                      : HostValue(node->dtype_of(k), node->shape(k)));
  if (is_given(*node)) return outputs;
  Step step{*node, {}, std::move(outputs)};
  for (const detail::Edge edge : node->inputs())
    step.inputs.push_back(&values.at(edge.node()).at(edge.output()));
  if (!interpret_constant(step) && !interpret_pointwise(step) && !interpret_view(step) &&
      !interpret_reduction(step) && !interpret_join(step) && !interpret_lines(step) &&
      !interpret_random(step))
    throw std::logic_error("interpreter: no definition of op " +
                           std::to_string(static_cast<int>(node->op)));
  return std::move(step.outputs);
}

}  // namespace

std::vector<HostValue> interpret(const std::vector<Tensor>& roots) {
  Values values;
  std::vector<Node*> stack;
  for (const Tensor& root : roots) stack.push_back(root.ref().node);
  while (!stack.empty()) {
    Node* node = stack.back();
    if (values.contains(node)) {
      stack.pop_back();
      continue;
    }
    const std::size_t before = stack.size();
    if (!is_given(*node))
      for (const detail::Edge edge : node->inputs())
        if (!values.contains(edge.node())) stack.push_back(edge.node());
    if (stack.size() != before) continue;
    values.emplace(node, compute(node, values));
    stack.pop_back();
  }
  std::vector<HostValue> results;
  for (const Tensor& root : roots)
    results.push_back(values.at(root.ref().node).at(root.ref().output));
  return results;
}

HostValue interpret(const Tensor& root) { return interpret(std::vector<Tensor>{root}).front(); }

HostValue evaluated(const Tensor& tensor) { return read_back(tensor.ref()); }

}  // namespace weft::testing
