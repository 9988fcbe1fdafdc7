// Checking op by op.
#include "oracle.h"

#include <cmath>
#include <limits>

#include <weft/graph/detail/ops.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/numerics.h>

#include "support/interpreter_ops.h"
#include "support/op_slack.h"
#include "support/op_table.h"

namespace weft::fuzz {

using detail::Node;
using detail::OpId;
using detail::Ref;
using testing::HostValue;
using testing::Step;
using testing::Tolerance;

void Oracle::hold(const std::vector<Tensor>& tensors) {
  std::vector<std::pair<Node*, std::size_t>> stack;
  for (const Tensor& tensor : tensors) stack.emplace_back(tensor.ref().node, 0);
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == 0 && place_.contains(node)) {
      stack.pop_back();
      continue;
    }
    const auto inputs = node->inputs();
    if (next < inputs.size()) {
      Node* input = inputs[next++].node();
      if (input && !place_.contains(input)) stack.emplace_back(input, 0);
      continue;
    }
    if (!place_.contains(node)) {
      Entry entry{detail::Handle(Ref{node, 0}), {}, {}};
      for (const detail::Edge edge : inputs)
        if (edge.node()) entry.inputs.push_back(edge.ref());
      place_.emplace(node, entries_.size());
      entries_.push_back(std::move(entry));
    }
    stack.pop_back();
  }
}

namespace {

std::uint32_t outputs_of(const Node& node) { return node.output_count == 2 ? 2 : 1; }

bool interpret_one(Step& step) {
  if (step.node.op == OpId::variable) {
    step.out() = step.in(0);
    return true;
  }
  return interpret_pointwise(step) || interpret_view(step) || interpret_reduction(step) ||
         interpret_join(step) || interpret_lines(step);
}

HostValue magnitudes(const HostValue& x) {
  HostValue result(f64, x.shape);
  for (std::int64_t i = 0; i < x.numel(); ++i) result.set_real(i, std::fabs(x.real(i)));
  return result;
}

/// Of a sum or product of floats: the greatest error of each element. Infinite where a part of it
/// may have left the range of what it is added up in: then the order of adding decides.
HostValue bound_of(const Step& step) {
  std::vector<HostValue> wide;
  std::int64_t count = 2;
  bool is_first = true;
  for (const HostValue* input : step.inputs) {
    wide.push_back(is_floating(input->dtype) ? magnitudes(*input) : *input);
    if (step.node.op != OpId::matmul || is_first) count += input->numel();
    is_first = false;
  }
  if (step.node.op == OpId::matmul) count = step.in(0).shape.back() + 2;
  Step sum{step.node, {}, {HostValue(f64, step.outputs[0].shape)}};
  for (const HostValue& value : wide) sum.inputs.push_back(&value);
  interpret_one(sum);
  HostValue bound = std::move(sum.outputs[0]);
  const DType dtype = step.outputs[0].dtype;
  const double unit = testing::unit_roundoff(dtype == f64 ? f64 : f32);
  const double each = unit * static_cast<double>(count) + 2 * testing::unit_roundoff(dtype);
  const double greatest = dtype == f64 ? 1e307 : 1e37;
  const double least = std::ldexp(1.0, dtype == f64 ? -1070 : dtype == f16 ? -24 : -130);
  for (std::int64_t i = 0; i < bound.numel(); ++i) {
    const long double size = bound.real(i);
    const bool fits = size < greatest && (dtype != f16 || size < 6e4);
    bound.set_real(i, fits ? size * each + least : std::numeric_limits<long double>::infinity());
  }
  return bound;
}

/// A product is right as far as neither it nor a part of it leaves the range.
bool has_wild_part(const HostValue& x) {
  long double high = 1, low = 1;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const long double size = std::fabs(x.real(i));
    if (!(size > 0 && std::isfinite(size))) return true;
    (size > 1 ? high : low) *= size;
  }
  return high > 1e4L || low < 1e-3L;
}

/// Exponent of the last bit that is set in any of them.
int last_bit(const HostValue& x) {
  int last = std::numeric_limits<int>::max();
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    int exponent = 0;
    long double digits = std::frexp(x.real(i), &exponent);
    if (digits == 0) continue;
    for (; digits != std::trunc(digits); --exponent) digits *= 2;
    last = std::min(last, exponent);
  }
  return last;
}

long double greatest(const HostValue& x) {
  long double most = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    if (!std::isfinite(x.real(i))) return std::numeric_limits<long double>::infinity();
    most = std::max(most, std::fabs(x.real(i)));
  }
  return most;
}

/// Whether no sum of products of these rounds.
bool adds_in_any_order(const HostValue& a, const HostValue& b, DType dtype) {
  const long double most = greatest(a) * greatest(b) * static_cast<long double>(a.numel());
  if (!std::isfinite(most)) return false;
  if (most == 0) return true;
  const int unit = last_bit(a) + last_bit(b);
  return std::log2(most) - unit <= (dtype == f64 ? 53 : 24) &&
         unit > (dtype == f64 ? -1000 : -120) &&
         std::log2(most) < (dtype == f64   ? 1000
                            : dtype == f16 ? 15
                                           : 120);
}

bool has_special(const std::vector<const HostValue*>& inputs) {
  for (const HostValue* x : inputs)
    for (std::int64_t i = 0; i < x->numel(); ++i)
      if (!std::isfinite(x->real(i))) return true;
  return false;
}

bool is_sum(OpId op) {
  return op == OpId::sum || op == OpId::prod || op == OpId::matmul || op == OpId::scatter_add ||
         op == OpId::cumsum || op == OpId::cumprod;
}

Tolerance tolerance_of(const Node& node) {
  const detail::OpInfo& row = detail::info(node.op);
  const bool is_half = node.dtype == f16 || node.dtype == bf16;
  if (row.is_pointwise())
    return {.ulp = row.ulp > 0 && is_half ? 1 : double(row.ulp),
            .absolute = testing::slack_of(node.op, node.dtype),
            .zero_sign = true};
  if (node.op == OpId::normal) return {.ulp = 4};
  // Errors of exponentials and logarithms near 1, along the pattern.
  if (node.op == OpId::logcumsumexp)
    return {.relative = 4 * testing::unit_roundoff(node.dtype),
            .absolute = 256 * testing::unit_roundoff(node.dtype == f64 ? f64 : f32)};
  const bool is_choice = node.op == OpId::amax || node.op == OpId::amin || node.op == OpId::topk;
  return {.zero_sign = !is_choice};
}

std::string text_of(const Node& node, const std::vector<const HostValue*>& inputs) {
  std::string text(detail::info(node.op).name);
  text += " to " + std::string(name_of(node.dtype)) + node.shape().str() + " on " +
          node.device.str() + " from";
  for (const HostValue* x : inputs) text += " " + std::string(name_of(x->dtype)) + x->shape.str();
  return text;
}

}  // namespace

void Oracle::read(Entry& entry) {
  Node* node = entry.handle.ref().node;
  if (node->op == OpId::scalar && node->weak_scalar) {
    entry.values = {testing::interpret(Tensor(entry.handle))};
    return;
  }
  for (std::uint32_t k = 0; k < outputs_of(*node); ++k) {
    entry.values.push_back(testing::evaluated(Tensor(detail::Handle(Ref{node, k}))));
    HostValue& value = entry.values.back();
    if (is_falsified && k == 0 && node->op == falsified_op && node->dtype == falsified_dtype &&
        value.numel() > 0)
      value.set_real(0, std::isfinite(value.real(0)) ? value.real(0) / 2 + 3 : 1);
  }
}

std::string Oracle::check(const Entry& entry) {
  const Node& node = *entry.handle.ref().node;
  const detail::OpInfo& row = detail::info(node.op);
  std::vector<HostValue> wanted;
  std::vector<const HostValue*> inputs;
  for (const Ref ref : entry.inputs)
    inputs.push_back(&entries_[place_.at(ref.node)].values.at(ref.output));
  if (row.is_random() || row.kind == detail::OpKind::generate) {
    wanted = {testing::interpret(Tensor(entry.handle))};
  } else {
    if (inputs.empty()) return "";
    Step step{node, inputs, {}};
    for (std::uint32_t k = 0; k < outputs_of(node); ++k)
      step.outputs.emplace_back(node.dtype_of(k), node.shape(k));
    if (!interpret_one(step)) return "no definition of " + std::string(row.name);
    wanted = step.outputs;
    if (is_sum(node.op) && is_floating(node.dtype)) {
      std::string why;
      if ((node.op == OpId::prod || node.op == OpId::cumprod) && has_wild_part(*inputs[0]))
        return "";
      // What infinities and NaN give does not depend on the order, but what an overflow gives does.
      const HostValue bound = bound_of(step);
      HostValue got = entry.values[0];
      for (std::int64_t i = 0; i < got.numel(); ++i)
        if (std::isinf(bound.real(i)) || (has_special(inputs) && !std::isfinite(bound.real(i))))
          got.copy_element(i, wanted[0], i);
      if (testing::within(got, wanted[0], bound, &why)) return "";
      return text_of(node, inputs) + ": " + why;
    }
  }
  for (std::uint32_t k = 0; k < wanted.size(); ++k) {
    std::string why;
    if (!testing::matches(entry.values[k], wanted[k], tolerance_of(node), &why))
      return text_of(node, inputs) + ": output " + std::to_string(k) + ": " + why;
  }
  return "";
}

void Oracle::read() {
  for (Entry& entry : entries_) {
    read(entry);
    const Node& node = *entry.handle.ref().node;
    for (const Ref ref : entry.inputs) entry.exact = entry.exact && is_exact(ref.node);
    if (detail::info(node.op).exactness != detail::Exactness::library || !entry.exact ||
        numerics() == Numerics::strict)
      continue;
    if (entry.inputs.empty() || !is_floating(node.dtype)) continue;
    const auto value = [&](std::size_t k) -> const HostValue& {
      return entries_[place_.at(entry.inputs.at(k).node)].values.at(entry.inputs[k].output);
    };
    entry.exact = adds_in_any_order(value(0), value(1), node.dtype);
  }
}

std::string Oracle::check() {
  for (const Entry& entry : entries_) {
    const std::string wrong = check(entry);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace weft::fuzz
