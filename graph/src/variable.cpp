// Variables: slots, their versions, assignment, moves and gradients.
#include <weft/graph/detail/variable.h>

#include <memory>
#include <string>

#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

#include "ops/rules.h"

namespace weft {

namespace detail {

void add_slot_owner(VariableSlot* slot) noexcept {
  slot->owners.fetch_add(1, std::memory_order_relaxed);
}

void drop_slot_owner(VariableSlot* slot) noexcept {
  if (slot->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  {
    Tensor value, grad;  // die after the lock is gone: they may end leaf nodes
    std::vector<IssuedVersion> versions;
    const std::lock_guard lock(slot->mutex);
    std::swap(value, slot->value);
    std::swap(versions, slot->versions);
    std::swap(grad, slot->grad);
  }
  drop_slot_holder(slot);
}

void add_slot_holder(VariableSlot* slot) noexcept {
  slot->holders.fetch_add(1, std::memory_order_relaxed);
}

void drop_slot_holder(VariableSlot* slot) noexcept {
  if (slot->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete slot;
}

namespace {

Spec spec_at(Ref ref) { return {ref.node->shape(ref.output), ref.node->dtype_of(ref.output)}; }

Tensor current_value(const VariableSlot& slot) {
  const std::lock_guard lock(slot.mutex);
  return slot.value;
}

VariableSlot* require_slot(const Variable& variable, const char* op, Where at) {
  if (!variable.defined())
    fail<ValueError>(at, std::string(op) +
                             ": the Variable is undefined (default-constructed or moved from); "
                             "make one with variable(tensor)");
  return variable.slot();
}

/// The gradient as the value now is: it may have moved since the graph was recorded.
Tensor as_value(const Tensor& grad, const Tensor& value, Where at) {
  const Device device = value.ref().node->device;
  const DType dtype = value.ref().node->dtype;
  return device.kind() == DeviceKind::automatic ? grad.to(dtype, at) : grad.to(device, dtype, at);
}

}  // namespace

void set_slot_value(VariableSlot& slot, const Tensor& value, Where at) {
  const Ref source = value.ref();
  if (source == current_value(slot).ref()) return;
  const Spec spec = spec_at(source);
  Tensor leaf = record_structured(OpId::variable, std::span(&source, 1), {}, spec,
                                  source.node->device, at);
  Node* node = leaf.ref().node;
  node->slot = &slot;
  add_slot_holder(&slot);
  // Differentiation ends here, whatever the assigned value has come from: once it is there, the
  // leaf lets go of it.
  node->history_released = true;
  const std::lock_guard lock(slot.mutex);
  node->requires_grad = slot.requires_grad && is_floating(spec.dtype);
  if (!slot.has_owner()) return;
  std::swap(slot.value, leaf);  // the old version dies after the lock is gone
  ++slot.version;
}

void accumulate_grad(VariableSlot& slot, const Tensor& grad, Where at) {
  const NoGrad off;
  const WithoutOn here;
  Tensor before, after;
  for (;;) {
    Tensor value;
    {
      const std::lock_guard lock(slot.mutex);
      if (!slot.has_owner()) return;
      value = slot.value;
      before = slot.grad;
    }
    after = as_value(grad, value, at);
    if (before.defined()) after = add({as_value(before, value, at), at}, {after, at});
    const std::lock_guard lock(slot.mutex);
    if (!slot.has_owner()) return;
    // Another thread's backward may have added its part meanwhile: then add to that.
    if (slot.grad.ref() != before.ref()) continue;
    std::swap(slot.grad, after);
    return;
  }
}

}  // namespace detail

using detail::require_slot;

Tensor::Tensor(const Variable& variable) {
  if (variable.defined()) *this = detail::current_value(*variable.slot());
}

Variable::Variable(const Tensor& initial, Where at) try {
  detail::defined({initial, at}, "variable");
  auto slot = std::make_unique<detail::VariableSlot>();
  slot->owners = slot->holders = 1;
  try {
    detail::set_slot_value(*slot, initial, at);
  } catch (...) {
    detail::drop_slot_owner(slot.release());
    throw;
  }
  slot_ = slot.release();
} catch (const std::bad_alloc&) {
  detail::fail_memory("variable", at);
}

Variable::Variable(const Variable& other) noexcept : slot_(other.slot_) {
  if (slot_) detail::add_slot_owner(slot_);
}

Variable::Variable(Variable&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

Variable& Variable::operator=(const Variable& other) & noexcept {
  Variable copy(other);
  std::swap(slot_, copy.slot_);
  return *this;
}

Variable& Variable::operator=(Variable&& other) & noexcept {
  Variable taken(std::move(other));
  std::swap(slot_, taken.slot_);
  return *this;
}

Variable::~Variable() {
  if (slot_) detail::drop_slot_owner(slot_);
}

Variable variable(const Tensor& initial, Where at) { return Variable(initial, at); }

Tensor Variable::value(Where at) const {
  return detail::current_value(*require_slot(*this, "value", at));
}

namespace {

/// What the Variable becomes: the operand, checked against what it holds now.
Tensor assignable(const Operand& value, const Tensor& current) {
  const detail::Ref now = current.ref();
  const detail::Spec spec = detail::spec_at(now);
  if (value.is_number())
    return full(spec.shape, value, {.dtype = spec.dtype, .device = now.node->device});
  detail::defined(value, "assign");
  const detail::Ref given = value.ref();
  const detail::Spec other = detail::spec_at(given);
  const std::string both = ": Variable " + detail::describe(now) + ", value " +
                           detail::describe(given);
  if (other.shape != spec.shape)
    detail::fail<ShapeError>(value.at(), "assign: the shapes differ" + both +
                                             "; reshape or expand the value, or make a new "
                                             "Variable");
  if (other.dtype != spec.dtype)
    detail::fail<DTypeError>(value.at(), "assign: the dtypes differ" + both +
                                             "; convert the value with .to(dtype), or the Variable "
                                             "with its own to(dtype)");
  const Tensor tensor = detail::tensor_of(value);
  if (given.node->device == now.node->device) return tensor;
  // The annotation asks for the transfer back, as for any op recorded inside it.
  // Nor has a value with no device yet been put elsewhere.
  if (detail::ambient().on_set || given.node->device.kind() == DeviceKind::automatic)
    return detail::moved(value, now.node->device);
  detail::fail<DeviceError>(value.at(), "assign: the Variable is on " + now.node->device.str() +
                                            ", the value on " + given.node->device.str() +
                                            "; move the value with .to(\"" +
                                            now.node->device.str() + "\"), or the Variable with "
                                            "its own to(device)");
}

}  // namespace

void Variable::assign(const Operand& value) {
  detail::VariableSlot* slot = require_slot(*this, "assign", value.at());
  const NoGrad off;
  const Tensor current = detail::current_value(*slot);
  detail::set_slot_value(*slot, assignable(value, current), value.at());
}

namespace {

Variable& compound(Tensor (*op)(const Operand&, const Operand&), const char* name, Variable& x,
                   const Operand& y) {
  const NoGrad off;
  const Tensor current = x.value(y.at());
  Tensor result = op({current, y.at()}, y);
  const DType from = result.dtype(), to = current.dtype();
  if (is_floating(from) > is_floating(to) || (to == DType::bool_ && from != to))
    detail::fail<DTypeError>(y.at(), std::string("operator") + name + ": the result, " +
                                         std::string(name_of(from)) + ", does not fit Variable " +
                                         detail::describe(current.ref()) +
                                         "; convert one of them with .to(dtype)");
  x.assign({result.to(to, y.at()), y.at()});
  return x;
}

}  // namespace

Variable& operator+=(Variable& x, const Operand& y) { return compound(add, "+=", x, y); }
Variable& operator-=(Variable& x, const Operand& y) { return compound(sub, "-=", x, y); }
Variable& operator*=(Variable& x, const Operand& y) { return compound(mul, "*=", x, y); }
Variable& operator/=(Variable& x, const Operand& y) { return compound(div, "/=", x, y); }
Variable& operator%=(Variable& x, const Operand& y) { return compound(remainder, "%=", x, y); }
Variable& operator&=(Variable& x, const Operand& y) { return compound(bitwise_and, "&=", x, y); }
Variable& operator|=(Variable& x, const Operand& y) { return compound(bitwise_or, "|=", x, y); }
Variable& operator^=(Variable& x, const Operand& y) { return compound(bitwise_xor, "^=", x, y); }
Variable& operator<<=(Variable& x, const Operand& y) { return compound(left_shift, "<<=", x, y); }
Variable& operator>>=(Variable& x, const Operand& y) { return compound(right_shift, ">>=", x, y); }

Tensor Variable::grad(Where at) const {
  const detail::VariableSlot* slot = require_slot(*this, "grad", at);
  const std::lock_guard lock(slot->mutex);
  return slot->grad;
}

void Variable::zero_grad(Where at) {
  detail::VariableSlot* slot = require_slot(*this, "zero_grad", at);
  Tensor old;  // dies after the lock is gone
  const std::lock_guard lock(slot->mutex);
  std::swap(old, slot->grad);
}

void Variable::set_grad(const Tensor& grad, Where at) {
  detail::VariableSlot* slot = require_slot(*this, "set_grad", at);
  if (grad.defined()) {
    const detail::Ref now = detail::current_value(*slot).ref(), given = grad.ref();
    const std::string both = ": Variable " + detail::describe(now) + ", gradient " +
                             detail::describe(given);
    const detail::Spec spec = detail::spec_at(now), other = detail::spec_at(given);
    if (spec.shape != other.shape)
      detail::fail<ShapeError>(at, "set_grad: the shapes differ" + both + "; reshape the gradient");
    if (spec.dtype != other.dtype)
      detail::fail<DTypeError>(at, "set_grad: the dtypes differ" + both +
                                       "; convert the gradient with .to(dtype)");
    if (now.node->device != given.node->device)
      detail::fail<DeviceError>(at, "set_grad: the devices differ: Variable on " +
                                        now.node->device.str() + ", gradient on " +
                                        given.node->device.str() + "; move it with .to(\"" +
                                        now.node->device.str() + "\")");
  }
  Tensor old = grad;
  const std::lock_guard lock(slot->mutex);
  std::swap(old, slot->grad);
}

Variable& Variable::set_requires_grad(bool wanted, Where at) {
  detail::VariableSlot* slot = require_slot(*this, "set_requires_grad", at);
  const std::lock_guard lock(slot->mutex);
  detail::Node* leaf = slot->value.ref().node;
  if (wanted && !is_floating(leaf->dtype))
    detail::fail<DTypeError>(at, "set_requires_grad: only floating Variables have gradients: " +
                                     detail::describe(slot->value.ref()) +
                                     "; convert it first with to(f32)");
  slot->requires_grad = wanted;
  // What was recorded before keeps what it was told then; later uses of the value see the change.
  leaf->requires_grad = wanted;
  return *this;
}

namespace {

/// In place for all holders: value and gradient become what `change` makes of them.
template <class Change>
void change_in_place(detail::VariableSlot& slot, Change change, Where at) {
  const NoGrad off;
  Tensor value, grad;
  {
    const std::lock_guard lock(slot.mutex);
    value = slot.value;
    grad = slot.grad;
  }
  const Tensor changed = change(value);
  Tensor changed_grad = grad.defined() && is_floating(changed.dtype(at)) ? change(grad) : Tensor();
  detail::set_slot_value(slot, changed, at);
  const std::lock_guard lock(slot.mutex);
  if (slot.has_owner()) std::swap(slot.grad, changed_grad);
}

}  // namespace

void Variable::to(Device device, Where at) {
  change_in_place(*require_slot(*this, "to", at),
                  [&](const Tensor& x) { return x.to(device, at); }, at);
}

void Variable::to(DType dtype, Where at) {
  change_in_place(*require_slot(*this, "to", at),
                  [&](const Tensor& x) { return x.to(dtype, at); }, at);
}

void Variable::cuda(Where at) { to(Device::cuda(weft::cuda::current_device()), at); }
void Variable::cpu(Where at) { to(Device::cpu(), at); }

}  // namespace weft
