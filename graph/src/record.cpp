// Recording: dtype promotion, broadcasting, placement, and the node itself.
#include <weft/graph/detail/record.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include <weft/graph/detail/evaluator.h>
#include <weft/graph/scope.h>

#include "ops/rules.h"
#include "pending.h"

namespace weft::detail {

namespace {

bool takes_gradient(const OpInfo& op, DType result, std::span<const Ref> inputs) noexcept {
  if (!op.gradient || !is_floating(result) || !ambient().grad_enabled) return false;
  for (const Ref input : inputs)
    if (input.node->requires_grad) return true;
  return false;
}

void set_shape(Node* node, const Shape& shape) noexcept {
  node->rank = static_cast<std::uint8_t>(shape.ndim());
  for (int i = 0; i < shape.ndim(); ++i) node->dims[i] = shape[i];
}

bool is_zero_dim_on_cpu(const Node* node, std::uint32_t output) noexcept {
  return node->device.is_cpu() && (output ? node->shape(output).ndim() : node->rank) == 0;
}

[[noreturn]] void fail_mix(const char* op, std::size_t wrong, Device device, Device expected,
                           Where at) {
  fail<DeviceError>(at, std::string(op) + ": argument " + std::to_string(wrong + 1) + " is on " +
                            device.str() + ", the others are on " + expected.str() +
                            "; move it with .to(\"" + expected.str() +
                            "\"), or record the op inside On(device)");
}

}  // namespace

std::recursive_mutex& engine_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

Node* defined(const TensorArg& x, const char* op) {
  if (!x.ref().node) [[unlikely]]
    fail<ValueError>(x.at(), std::string(op) +
                                 ": the tensor is undefined (default-constructed or moved from); "
                                 "give it a value first");
  return x.ref().node;
}

std::string describe(Ref ref) {
  std::string text(name_of(ref.node->dtype_of(ref.output)));
  text += ref.node->shape(ref.output).str();
  if (!ref.node->device.is_cpu()) text += " on " + ref.node->device.str();
  return text;
}

std::string describe(const Operand& operand) {
  if (!operand.is_number()) return describe(operand.ref());
  std::ostringstream text;
  if (operand.number() == Operand::Number::decimal)
    text << "the number " << operand.decimal();
  else if (operand.number() == Operand::Number::boolean)
    text << (operand.integer() ? "true" : "false");
  else
    text << "the number " << operand.integer();
  return text.str();
}

Shape broadcast_shapes(const char* op, const Shape& a, const Shape& b, Where at) {
  if (a == b) return a;
  const int rank = std::max(a.ndim(), b.ndim());
  Shape result;
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.ndim()), ib = i - (rank - b.ndim());
    const std::int64_t ea = ia < 0 ? 1 : a[ia], eb = ib < 0 ? 1 : b[ib];
    if (ea != eb && ea != 1 && eb != 1)
      fail<ShapeError>(at, std::string(op) + ": shapes " + a.str() + " and " + b.str() +
                               " do not broadcast: extents " + std::to_string(ea) + " and " +
                               std::to_string(eb) +
                               " are neither equal nor 1; reshape or expand one of them");
    result.push_back(ea == 1 ? eb : ea);
  }
  return result;
}

Device common_device(const char* op, std::span<const Ref> inputs, Where at) {
  if (ambient().on_set) return ambient().on;
  if (inputs.empty()) return Device::cpu();
  Device device = inputs[0].node->device;
  bool follows = is_zero_dim_on_cpu(inputs[0].node, inputs[0].output);
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Device other = inputs[i].node->device;
    if (other == device) {
      follows = follows && is_zero_dim_on_cpu(inputs[i].node, inputs[i].output);
      continue;
    }
    if (other.kind() == DeviceKind::automatic || device.kind() == DeviceKind::automatic) {
      device = Device(DeviceKind::automatic, 0);
      continue;
    }
    // A 0-dim value of the cpu goes along with tensors of an accelerator: an upload in the plan.
    if (is_zero_dim_on_cpu(inputs[i].node, inputs[i].output) && !device.is_cpu()) continue;
    if (follows) {
      device = other;
      follows = false;
      continue;
    }
    fail_mix(op, i, other, device, at);
  }
  return device;
}

Tensor record_structured(OpId op, std::span<const Ref> inputs, const Attrs& attrs,
                         const Spec& spec, Device device, Where at) {
  flush_if_full(op, at);
  Node* node = new_node(op, static_cast<std::uint32_t>(inputs.size()), at);
  node->dtype = spec.dtype;
  node->device = device;
  node->attrs = attrs;
  set_shape(node, spec.shape);
  for (std::uint32_t i = 0; i < inputs.size(); ++i) set_input(node, i, inputs[i]);
  node->requires_grad = takes_gradient(info(op), spec.dtype, inputs);
  return Tensor(Handle::adopt({node, 0}));
}

std::pair<Tensor, Tensor> record_pair(OpId op, std::span<const Ref> inputs, const Attrs& attrs,
                                      const Spec& first, const Spec& second, Device device,
                                      Where at) try {
  auto extra = std::make_unique<NodeExtra>();
  extra->specs[0] = second;
  Tensor a = record_structured(op, inputs, attrs, first, device, at);
  Node* node = a.ref().node;
  node->output_count = 2;
  node->extra = extra.release();
  return {a, Tensor(Handle(Ref{node, 1}))};
} catch (const std::bad_alloc&) {
  fail_memory(info(op).name.data(), at);
}

std::vector<Tensor> record_call(OpId op, std::span<const Ref> inputs, const Attrs& attrs,
                                std::span<const Spec> outputs, Device device,
                                std::shared_ptr<const NodePayload> payload, Where at) try {
  auto extra = std::make_unique<NodeExtra>();
  std::copy(outputs.begin() + 1, outputs.end(), extra->specs);
  extra->payload = std::move(payload);
  std::vector<Tensor> tensors{record_structured(op, inputs, attrs, outputs[0], device, at)};
  Node* node = tensors[0].ref().node;
  node->output_count = static_cast<std::uint8_t>(outputs.size());
  node->extra = extra.release();
  for (std::uint32_t o = 0; o < outputs.size(); ++o) {
    node->requires_grad =
        node->requires_grad || takes_gradient(info(op), outputs[o].dtype, inputs);
    if (o > 0) tensors.emplace_back(Handle(Ref{node, o}));
  }
  return tensors;
} catch (const std::bad_alloc&) {
  fail_memory(info(op).name.data(), at);
}

Tensor record_number(const Operand& number, DType dtype, Device device) {
  Node* node = new_node(OpId::scalar, 0, number.at());
  node->dtype = dtype;
  node->device = device;
  node->weak_scalar = true;
  if (is_floating(dtype))
    node->attrs.v[0] = std::bit_cast<std::int64_t>(number.value());
  else if (number.number() == Operand::Number::decimal)
    node->attrs.v[0] = static_cast<std::int64_t>(number.decimal());
  else
    node->attrs.v[0] = dtype == DType::bool_ ? number.integer() != 0 : number.integer();
  return Tensor(Handle::adopt({node, 0}));
}

Tensor record_cast(Ref x, DType dtype, Where at) {
  if (x.node->dtype_of(x.output) == dtype) return Tensor(Handle(x));
  if (size_of(dtype) > size_of(x.node->dtype_of(x.output)))
    check_size("cast", x.node->shape(x.output), dtype, at);
  const Device device = ambient().on_set ? ambient().on : x.node->device;
  return record_structured(OpId::cast, std::span(&x, 1), {}, {x.node->shape(x.output), dtype},
                           device, at);
}

namespace {

/// What promotion knows of the operands so far: the strongest dtype of each rank of claim.
struct Promotion {
  DType with_axes{}, zero_dim{}, number{};
  bool has_axes = false, has_zero_dim = false, has_number = false;
};

int category(DType dtype) noexcept {
  return is_floating(dtype) ? 2 : is_integral(dtype) ? 1 : 0;
}

bool merge(DType& into, bool& has, DType dtype) noexcept {
  if (!has) {
    into = dtype;
    has = true;
    return true;
  }
  return into == dtype || promote(into, dtype, into);
}

DType number_dtype(const Operand& operand) noexcept {
  switch (operand.number()) {
    case Operand::Number::decimal: return default_dtype();
    case Operand::Number::integer: return DType::i64;
    default: return DType::bool_;
  }
}

/// As PyTorch's result type: values without axes, then C++ numbers, count only where their
/// category (bool, integer, float) is above that of the others.
bool result_type(std::span<const Operand> operands, DType& result) {
  Promotion p;
  for (const Operand& operand : operands) {
    if (operand.is_number()) {
      if (!merge(p.number, p.has_number, number_dtype(operand))) return false;
      continue;
    }
    const Node* node = operand.ref().node;
    const DType dtype = node->dtype_of(operand.ref().output);
    const bool axes = operand.ref().output ? node->shape(operand.ref().output).ndim() > 0
                                           : node->rank > 0;
    if (!(axes ? merge(p.with_axes, p.has_axes, dtype)
               : merge(p.zero_dim, p.has_zero_dim, dtype)))
      return false;
  }
  bool has = p.has_axes;
  result = p.with_axes;
  const auto weigh = [&](DType dtype, bool present) {
    if (!present) return true;
    if (!has) {
      result = dtype;
      has = true;
      return true;
    }
    return category(dtype) <= category(result) || promote(result, dtype, result);
  };
  return weigh(p.zero_dim, p.has_zero_dim) && weigh(p.number, p.has_number);
}

[[noreturn]] void fail_dtype(const OpInfo& op, std::span<const Operand> operands,
                             const std::string& what) {
  std::string message(op.name);
  message += ": " + what + ":";
  for (std::size_t i = 0; i < operands.size(); ++i)
    message += (i ? ", " : " ") + describe(operands[i]);
  fail<DTypeError>(operands[0].at(), message + "; convert with .to(dtype)");
}

struct PointwiseTypes {
  DType operand, result;
};

PointwiseTypes pointwise_types(const OpInfo& op, std::span<const Operand> operands) {
  DType common{};
  const bool selects = op.rule == DTypeRule::select;
  if (selects && operands[0].ref().node->dtype_of(operands[0].ref().output) != DType::bool_)
    fail_dtype(op, operands, "the condition must be bool");
  if (!result_type(selects ? operands.subspan(1) : operands, common))
    fail_dtype(op, operands, "these dtypes have no common one");
  switch (op.rule) {
    case DTypeRule::numeric:
      if (common == DType::bool_) fail_dtype(op, operands, "not defined for bool");
      break;
    case DTypeRule::integral:
      if (is_floating(common)) fail_dtype(op, operands, "defined for integers and bools alone");
      break;
    case DTypeRule::floating:
      if (!is_floating(common)) common = default_dtype();
      break;
    case DTypeRule::compare:
    case DTypeRule::predicate: return {common, DType::bool_};
    default: break;
  }
  return {common, common};
}

/// Whether operands that all have this dtype give a result of it, without conversions.
bool keeps_dtype(DTypeRule rule, DType dtype) noexcept {
  return rule == DTypeRule::arithmetic ||
         (is_floating(dtype) && (rule == DTypeRule::floating || rule == DTypeRule::numeric));
}

constexpr std::size_t most_operands = 3;

bool same_shape(Ref a, Ref b) noexcept {
  if (a.output || b.output) return a.node->shape(a.output) == b.node->shape(b.output);
  if (a.node->rank != b.node->rank) return false;
  for (int d = 0; d < a.node->rank; ++d)
    if (a.node->dims[d] != b.node->dims[d]) return false;
  return true;
}

Shape broadcast_all(const char* op, std::span<const Ref> tensors, Where at) {
  Shape shape = tensors[0].node->shape(tensors[0].output);
  for (const Ref ref : tensors.subspan(1))
    shape = broadcast_shapes(op, shape, ref.node->shape(ref.output), at);
  return shape;
}

void copy_shape(Node* node, Ref from) noexcept {
  if (from.output) return set_shape(node, from.node->shape(from.output));
  node->rank = from.node->rank;
  std::memcpy(node->dims, from.node->dims, sizeof node->dims);  // all: a fixed size takes no call
}

}  // namespace

Tensor record_pointwise(OpId op, std::span<const Operand> operands) {
  const OpInfo& row = info(op);
  const Where at = operands[0].at();
  flush_if_full(op, at);
  Ref tensors[most_operands];
  std::size_t tensor_count = 0;
  bool same_dtype = true, one_shape = true;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    Node* node = defined(operand, row.name.data());
    const Ref ref = operand.ref();
    if (tensor_count) {
      one_shape = one_shape && same_shape(ref, tensors[0]);
      same_dtype = same_dtype && node->dtype_of(ref.output) ==
                                     tensors[0].node->dtype_of(tensors[0].output);
    }
    tensors[tensor_count++] = ref;
  }
  if (tensor_count == 0)
    fail<ValueError>(at, std::string(row.name) +
                             ": no operand is a tensor; make one with tensor(...)");
  Shape shape;
  if (!one_shape) shape = broadcast_all(row.name.data(), {tensors, tensor_count}, at);
  const DType first_dtype = tensors[0].node->dtype_of(tensors[0].output);
  const PointwiseTypes types =
      same_dtype && tensor_count == operands.size() && keeps_dtype(row.rule, first_dtype)
          ? PointwiseTypes{first_dtype, first_dtype}
          : pointwise_types(row, operands);
  if (!one_shape) check_size(row.name.data(), shape, types.result, at);
  // All bits of a bool are one: flipping them is its negation.
  if (row.rule == DTypeRule::integral && operands.size() == 1 && types.operand == DType::bool_ &&
      !registered(op))
    return record_pointwise(OpId::logical_not, operands);
  const Device device = common_device(row.name.data(), {tensors, tensor_count}, at);

  // A number that is picked is data; one that is computed with wraps, as values do.
  if (row.rule == DTypeRule::select)
    for (const Operand& operand : operands)
      if (operand.is_number()) check_number(row.name.data(), operand, types.operand, at);

  // Conversions and numbers are recorded first; they live until the node counts its edges.
  Tensor made[most_operands];
  Ref inputs[most_operands];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    if (operand.is_number()) {
      made[i] = record_number(operand, types.operand, device);
      inputs[i] = made[i].ref();
      continue;
    }
    inputs[i] = operand.ref();
    if (row.rule == DTypeRule::select && i == 0) continue;
    if (inputs[i].node->dtype_of(inputs[i].output) == types.operand) continue;
    made[i] = record_cast(inputs[i], types.operand, at);
    inputs[i] = made[i].ref();
  }
  Node* node = new_node(op, static_cast<std::uint32_t>(operands.size()), at);
  node->dtype = types.result;
  node->device = device;
  if (one_shape)
    copy_shape(node, tensors[0]);
  else
    set_shape(node, shape);
  for (std::uint32_t i = 0; i < operands.size(); ++i) set_input(node, i, inputs[i]);
  node->requires_grad = takes_gradient(row, types.result, {inputs, operands.size()});
  return Tensor(Handle::adopt({node, 0}));
}

}  // namespace weft::detail
