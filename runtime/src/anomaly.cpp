// Looking for the op that makes NaN: what is pending is computed value by value, each looked at.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <weft/graph/detail/record.h>
#include <weft/graph/scope.h>

#include "engine.h"

namespace weft::detail {
namespace {

const char* kind_of(double x, Anomalies wanted) {
  if (std::isnan(x)) return "NaN";
  return std::isinf(x) && wanted == Anomalies::nan_and_infinity ? "an infinity" : nullptr;
}

template <class T>
T element(const char* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof value, sizeof value);
  return value;
}

/// A half's kind by its bits: above the exponent's mask is NaN.
double half_kind(std::uint16_t bits, std::uint16_t exponent) {
  const std::uint16_t magnitude = bits & 0x7fff;
  return magnitude > exponent ? std::nan("") : magnitude == exponent ? HUGE_VAL : 0.0;
}

double value_of(DType dtype, const char* bytes, std::size_t i) {
  switch (dtype) {
    case DType::f16: return half_kind(element<std::uint16_t>(bytes, i), 0x7c00);
    case DType::bf16: return half_kind(element<std::uint16_t>(bytes, i), 0x7f80);
    case DType::f32: return static_cast<double>(element<float>(bytes, i));
    default: return element<double>(bytes, i);
  }
}

std::string place_text(const Shape& shape, std::size_t i) {
  if (shape.ndim() == 0) return "";
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.ndim()));
  auto rest = static_cast<std::int64_t>(i);
  for (int d = shape.ndim(); d-- > 0;) {
    index[static_cast<std::size_t>(d)] = rest % shape[d];
    rest /= shape[d];
  }
  std::string text = " at [";
  for (std::size_t d = 0; d < index.size(); ++d) text += (d ? ", " : "") + std::to_string(index[d]);
  return text + "]";
}

/// "NaN at [0, 3]", of an issued floating value; "" where there is none.
std::string anomaly_in(Evaluator& engine, Ref ref, Anomalies wanted, Where at) {
  const DType dtype = ref.node->dtype_of(ref.output);
  if (!is_floating(dtype)) return "";
  const Shape shape = ref.node->shape(ref.output);
  const auto count = static_cast<std::size_t>(shape.numel());
  std::vector<char> bytes(count * size_of(dtype));
  engine.read(ref, bytes.data(), at);
  for (std::size_t i = 0; i < count; ++i)
    if (const char* kind = kind_of(value_of(dtype, bytes.data(), i), wanted))
      return kind + place_text(shape, i);
  return "";
}

std::string place_of_node(const Node* node) {
  return std::string(node->file) + ":" + std::to_string(node->line);
}

/// One op, before it is computed and lets go of its inputs.
struct Watched {
  explicit Watched(Node* of) : node(Ref{of, 0}) {
    for (const Edge edge : of->inputs()) inputs.emplace_back(edge.ref());
  }
  Handle node;
  std::vector<Handle> inputs;
};

std::string operands_text(Evaluator& engine, const Watched& op, Anomalies wanted, Where at) {
  std::string text, origins;
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    const Ref ref = op.inputs[i].ref();
    text += (i ? ", " : "; operands: ") + describe(ref);
    if (ref.node->state.load(std::memory_order_acquire) != NodeState::issued) continue;
    const std::string found = anomaly_in(engine, ref, wanted, at);
    if (found.empty()) continue;
    origins += "; operand " + std::to_string(i + 1) + " had " + found +
               " already: it came in with the " +
               (info(ref.node->op).is_leaf() ? "data of the leaf made at "
                                             : "value computed before, recorded at ") +
               place_of_node(ref.node);
  }
  return text + origins;
}

/// The op whose gradient it is, as errors call it.
std::string forward_name(const ScopeName& scope) {
  const std::string op = scope.forward_op;
  return scope.composite && scope.composite->name != op
             ? std::string(scope.composite->name) + " (" + op + ")"
             : op;
}

[[noreturn]] void fail_anomaly(Evaluator& engine, const Watched& op, std::uint32_t output,
                               const std::string& found, Anomalies wanted, Where at) {
  const Node* node = op.node.ref().node;
  const ScopeName* scope = node->scope;
  const bool is_gradient = scope && scope->forward_op;
  const ScopeName plain{scope ? scope->text : ""};
  std::string text = called(node->op, is_gradient ? &plain : scope);
  text += is_gradient ? ": its part of a gradient, " : ": its value, ";
  text += describe({op.node.ref().node, output}) + ", has " + found;
  if (is_gradient)
    text += "; it belongs to the gradient of " + forward_name(*scope) + ", recorded at " +
            scope->forward_at.file() + ":" + std::to_string(scope->forward_at.line());
  fail<ValueError>(node->where(), text + operands_text(engine, op, wanted, at) +
                                      ". Found by DetectAnomaly, as the first");
}

/// What the capture computes, in its order; what gives Variables new values, and what needs those,
/// last, so that nothing has changed when an op before is faulty.
std::vector<Handle> ordered_nodes(const Capture& capture) {
  std::vector<Handle> first, last;
  std::vector<bool> is_late(capture.nodes.size(), false);
  for (std::size_t i = 0; i < capture.nodes.size(); ++i) {
    Node* node = capture.nodes[i];
    if (node->state.load(std::memory_order_acquire) != NodeState::pending || node->weak_scalar)
      continue;
    is_late[i] = node->slot != nullptr;
    for (const Edge edge : node->inputs()) is_late[i] = is_late[i] || is_late[edge.node()->ordinal];
    (is_late[i] ? last : first).emplace_back(Ref{node, 0});
  }
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

}  // namespace

void Engine::evaluate_checked(std::span<const Ref> roots, Where at) {
  struct Looking {
    bool& on;
    explicit Looking(bool& flag) noexcept : on(flag) { on = true; }
    ~Looking() { on = false; }
  };
  const Anomalies wanted = ambient().anomalies;
  capture_nodes(roots, capture_);
  std::vector<Handle> nodes = ordered_nodes(capture_);
  const Looking looking(looks_for_anomalies_);
  for (Handle& handle : nodes) {
    const Ref ref = handle.ref();
    const Watched op(ref.node);
    if (ref.node->state.load(std::memory_order_acquire) == NodeState::pending)
      evaluate({&ref, 1}, at);
    wait(ref.node, at);
    for (std::uint32_t o = 0; o < ref.node->output_count; ++o)
      if (const std::string found = anomaly_in(*this, {ref.node, o}, wanted, at); !found.empty())
        fail_anomaly(*this, op, o, found, wanted, at);
    handle = Handle();
  }
  evaluate(roots, at);
}

}  // namespace weft::detail
