// Reverse-mode differentiation (Griewank and Walther, Evaluating Derivatives, 2nd ed., chapter 3):
// cotangents flow from the output through the recorded history, each node once, consumers first.
#include <weft/graph/autograd.h>

#include <array>
#include <unordered_map>

#include <weft/graph/detail/variable.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

#include "history.h"

namespace weft {

namespace detail {

namespace {

/// Gradients are recorded as the forward ops were placed, whatever guards stand around the call.
class GradientRecording {
 public:
  GradientRecording(bool differentiable, Where at) : line_(at), saved_(ambient()) {
    ambient().on_set = false;
    ambient().autocast = DType::f32;
    ambient().grad_enabled = ambient().grad_enabled && differentiable;
  }
  GradientRecording(const GradientRecording&) = delete;
  GradientRecording& operator=(const GradientRecording&) = delete;
  ~GradientRecording() { ambient() = saved_; }

  /// Where and under what name the gradient of `node` runs. Only where its inputs live elsewhere
  /// must the device be said: the gradient's operands would be a mix.
  void enter(const Node* node, std::span<const WalkedInput> inputs) {
    ambient().scope = scope_of(node);
    bool mixed = node->device.kind() == DeviceKind::automatic;
    if (info(node->op).kind != OpKind::transfer)
      for (const WalkedInput& input : inputs)
        mixed = mixed || input.ref.node->device != node->device;
    ambient().on = node->device;
    ambient().on_set = mixed;
  }
  void leave() noexcept {
    ambient().scope = saved_.scope;
    ambient().on_set = false;
  }

 private:
  /// What is recorded for a gradient belongs to the function that the forward op was recorded by,
  /// or to that op: where a forward op is not evaluated, its gradient finds the bad index.
  static const ScopeName* scope_of(const Node* node) {
    const bool looks = ambient().anomalies != Anomalies::none;
    const ScopeName* scope = node->scope;
    if (looks) scope = scope_of_gradient(scope, info(node->op).name.data(), node->where());
    if ((!scope || !scope->composite) && (looks || info(node->op).kind == OpKind::index))
      scope = scope_within(scope, as_composite(node->op));
    return scope;
  }

  LineOf line_;
  Ambient saved_;  // restored before the line
};

/// A gradient as its value is: summed over what was broadcast, in its dtype, on its device.
Tensor conform(const Tensor& gradient, Ref value, Where at) {
  const Ref given = gradient.ref();
  const Shape shape = value.node->shape(value.output);
  // A value with no device yet takes gradients from anywhere.
  const Device device = value.node->device.kind() == DeviceKind::automatic ? given.node->device
                                                                           : value.node->device;
  const bool fits = given.node->device == device &&
                    given.node->dtype_of(given.output) == value.node->dtype_of(value.output) &&
                    given.node->shape(given.output) == shape;
  if (fits) return gradient;
  Tensor result = gradient;
  if (result.shape(at) != shape) result = sum_to(result, shape);
  const DType dtype = value.node->dtype_of(value.output);
  return device.kind() == DeviceKind::automatic ? result.to(dtype, at)
                                                : result.to(device, dtype, at);
}

/// The cotangents that have arrived so far, by place in the history. Few nodes have more than one
/// output.
class Cotangents {
 public:
  explicit Cotangents(std::size_t nodes) : first_(nodes) {}
  Tensor& at(std::uint32_t index, std::uint32_t output) {
    return output ? more_[index][output - 1] : first_[index];
  }
  bool has(std::uint32_t index) const {
    return first_[index].defined() || more_.count(index) != 0;
  }
  void add_to(std::uint32_t index, Ref value, const Tensor& gradient, Where where) {
    const Tensor part = conform(gradient, value, where);
    Tensor& sum = at(index, value.output);
    sum = sum.defined() ? add({sum, where}, {part, where}) : part;
  }
  void drop(std::uint32_t index) {
    first_[index] = Tensor();
    more_.erase(index);
  }

 private:
  std::vector<Tensor> first_;
  std::unordered_map<std::uint32_t, std::array<Tensor, most_outputs - 1>> more_;
};

/// A target's place in the history: every version of a Variable, one place of any other value.
struct Place {
  std::uint32_t index;
  std::uint32_t output;
};

/// One pass over a history.
class Pass {
 public:
  Pass(const History& history, const std::vector<std::vector<Place>>& targets)
      : history_(history), cotangents_(history.size()), kinds_(history.size(), plain) {
    for (const auto& places : targets)
      for (const Place& place : places) kinds_[place.index] = target;
    for (std::uint32_t i = 0; i < history.size(); ++i)
      for (const WalkedInput& input : history.inputs(i))
        if (kinds_[i] == plain && input.index != not_walked && kinds_[input.index] != plain)
          kinds_[i] = leads;
  }

  void run(const Tensor& seed, std::uint32_t output, GradientRecording& recording, Where at) {
    const auto last = static_cast<std::uint32_t>(history_.size() - 1);
    cotangents_.at(last, output) = seed;
    for (std::uint32_t i = last + 1; i-- > 0;)
      if (kinds_[i] != plain && history_.is_open(i) && cotangents_.has(i))
        apply(i, recording, at);
  }

  Cotangents& cotangents() noexcept { return cotangents_; }

 private:
  enum Kind : std::uint8_t { plain, leads, target };

  void apply(std::uint32_t index, GradientRecording& recording, Where at) {
    const auto inputs = history_.inputs(index);
    if (!fill(index, inputs)) return;
    recording.enter(call_.node, inputs);
    info(call_.node->op).gradient(call_);
    recording.leave();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (call_.results[i].defined())
        cotangents_.add_to(inputs[i].index, inputs[i].ref, call_.results[i], at);
    // What a call still held would count as held by the program, and be kept.
    call_.inputs.clear();
    call_.outputs.clear();
    call_.cotangents.clear();
    call_.results.clear();
  }

  /// False where no target is upstream.
  bool fill(std::uint32_t index, std::span<const WalkedInput> inputs) {
    Node* node = call_.node = history_.node(index);
    const std::size_t count = inputs.size();
    bool any = false;
    call_.needs.assign(count, false);
    for (std::size_t i = 0; i < count; ++i)
      if (inputs[i].index != not_walked && kinds_[inputs[i].index] != plain)
        call_.needs[i] = any = true;
    if (!any) return false;
    call_.inputs.resize(count);
    for (std::size_t i = 0; i < count; ++i) call_.inputs[i] = Tensor(Handle(inputs[i].ref));
    call_.results.assign(count, Tensor());
    call_.outputs.resize(node->output_count);
    call_.cotangents.resize(node->output_count);
    for (std::uint32_t o = 0; o < node->output_count; ++o) {
      call_.outputs[o] = Tensor(Handle(Ref{node, o}));
      call_.cotangents[o] = cotangents_.at(index, o);
    }
    if (kinds_[index] != target) cotangents_.drop(index);
    return true;
  }

  const History& history_;
  Cotangents cotangents_;
  std::vector<Kind> kinds_;
  GradientCall call_{};
};

/// What flows into the output: the caller's cotangent, checked, or 1.
Tensor seed_of(const char* op, Ref output, const Tensor& cotangent, Where at) {
  const Shape shape = output.node->shape(output.output);
  const DType dtype = output.node->dtype_of(output.output);
  const std::string name(op);
  if (!is_floating(dtype))
    fail<DTypeError>(at, name + ": the output is " + describe(output) +
                             ": only floating values have gradients; convert it with .to(f32) "
                             "before it is computed");
  if (!cotangent.defined()) {
    if (shape.numel() != 1)
      fail<ValueError>(at, name + ": the output is " + describe(output) +
                               ", not one element; reduce it, as with sum(output), or pass a "
                               "cotangent of its shape");
    return full(shape, {1.0, at}, {.dtype = dtype, .device = output.node->device});
  }
  const Ref given = cotangent.ref();
  const std::string both = ": output " + describe(output) + ", cotangent " + describe(given);
  if (cotangent.shape(at) != shape)
    fail<ShapeError>(at, name + ": the cotangent's shape is not the output's" + both +
                             "; reshape or expand the cotangent");
  if (cotangent.dtype(at) != dtype)
    fail<DTypeError>(at, name + ": the cotangent's dtype is not the output's" + both +
                             "; convert it with .to(dtype)");
  const bool undecided = given.node->device.kind() == DeviceKind::automatic ||
                         output.node->device.kind() == DeviceKind::automatic;
  if (!undecided && given.node->device != output.node->device)
    fail<DeviceError>(at, name + ": the output is on " + output.node->device.str() +
                              ", the cotangent on " + given.node->device.str() +
                              "; move it with .to(\"" + output.node->device.str() + "\")");
  return cotangent;
}

/// The slot whose current value this is, else null.
VariableSlot* current_slot(const Node* node) {
  if (!node->slot) return nullptr;
  const std::lock_guard lock(node->slot->mutex);
  return node->slot->value.ref().node == node ? node->slot : nullptr;
}

using LeavesBySlot = std::unordered_map<const VariableSlot*, std::vector<Place>>;

/// The Variables' values in a history, each with all its versions.
LeavesBySlot leaves_of(const History& history) {
  LeavesBySlot leaves;
  for (std::uint32_t i = 0; i < history.size(); ++i)
    if (const VariableSlot* slot = history.node(i)->slot) leaves[slot].push_back({i, 0});
  return leaves;
}

[[noreturn]] void fail_unreachable(const History& history, std::size_t number, Ref target,
                                   Where at) {
  std::string message = "grad: target " + std::to_string(number + 1) + ", " + describe(target) +
                        ", does not lead to the output through differentiable ops";
  message += history.has_lost(target.node)
                 ? "; part of the output was evaluated without history: make the target a "
                   "Variable before it is used, or take the gradient before evaluating"
                 : "; use the target in what the output is computed from, not a detached or "
                   "assigned copy of it";
  fail<ValueError>(at, message);
}

/// Where each target stands in the history. A Variable stands for all its versions, as it does in
/// backward; a tensor for itself.
std::vector<std::vector<Place>> places_of(const History& history, const std::vector<Ref>& targets,
                                          Where at) {
  const LeavesBySlot leaves = leaves_of(history);
  std::vector<std::vector<Place>> places;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Ref target = targets[i];
    std::vector<Place> found;
    if (const VariableSlot* slot = current_slot(target.node)) {
      if (const auto it = leaves.find(slot); it != leaves.end()) found = it->second;
    } else if (const std::uint32_t index = history.find(target.node); index != not_walked) {
      found = {{index, target.output}};
    }
    // A plain tensor's uses leave no trace once they are evaluated: better no answer than a part.
    const bool may_be_lost = history.has_lost(target.node) && !target.node->requires_grad &&
                             target.node->state.load() != NodeState::pending;
    if (found.empty() || may_be_lost) fail_unreachable(history, i, target, at);
    places.push_back(std::move(found));
  }
  return places;
}

std::vector<Ref> checked_targets(const TensorList& targets, Where at) {
  std::vector<Ref> refs;
  for (const TensorArg& target : targets.args()) {
    const Node* node = defined(target, "grad");
    const Ref ref = target.ref();
    if (!is_floating(node->dtype_of(ref.output)))
      fail<DTypeError>(at, "grad: target " + std::to_string(refs.size() + 1) + " is " +
                               describe(ref) + ": only floating values have gradients; convert it "
                               "with .to(f32) before it is used");
    refs.push_back(ref);
  }
  return refs;
}

}  // namespace

std::vector<Tensor> gradients(const TensorArg& output, const TensorList& targets,
                              const Tensor& cotangent, Where at) try {
  defined(output, "grad");
  const Tensor held = Tensor(Handle(output.ref()));
  const WalkRequest request{output.ref(), checked_targets(targets, at), "grad", at};
  if (request.targets.empty()) return {};
  GradientRecording recording(true, at);
  const Tensor seed = seed_of("grad", request.output, cotangent, at);
  const History history(request);
  const auto places = places_of(history, request.targets, at);
  Pass pass(history, places);
  pass.run(seed, request.output.output, recording, at);

  std::vector<Tensor> results;
  for (std::size_t i = 0; i < places.size(); ++i) {
    Tensor sum;
    for (const Place& place : places[i]) {
      Tensor& part = pass.cotangents().at(place.index, place.output);
      if (!part.defined()) continue;
      const Tensor there = conform(part, request.targets[i], at);
      sum = sum.defined() ? add({sum, at}, {there, at}) : there;
    }
    // Reached, but only through outputs that the gradient does not flow back to.
    if (!sum.defined()) sum = zeros_like({Tensor(Handle(request.targets[i])), at});
    results.push_back(std::move(sum));
  }
  return results;
} catch (const std::bad_alloc&) {
  fail_memory("grad", at);
}

namespace {

void run_backward(const TensorArg& output, const Tensor& cotangent,
                  const BackwardOptions& options) try {
  const Where at = output.at();
  const Node* node = defined(output, "backward");
  const Tensor held = Tensor(Handle(output.ref()));
  GradientRecording recording(false, at);
  const Tensor seed = seed_of("backward", output.ref(), cotangent, at);
  if (!node->requires_grad)
    fail<ValueError>(at, "backward: the output, " + describe(output.ref()) +
                             ", has no history: it depends on no Variable that requires a "
                             "gradient, or was recorded under NoGrad or detached; make its inputs "
                             "Variables with variable(tensor)");
  const WalkRequest request{output.ref(), {}, "backward", at};
  History history(request);
  const LeavesBySlot leaves = leaves_of(history);
  std::vector<std::vector<Place>> places;
  for (const auto& [slot, versions] : leaves) places.push_back(versions);
  Pass pass(history, places);
  pass.run(seed, output.ref().output, recording, at);
  // In the order of the walk, not of the hash, so that equal programs record equal graphs.
  for (std::uint32_t i = 0; i < history.size(); ++i) {
    if (!history.node(i)->slot) continue;
    if (const Tensor& gradient = pass.cotangents().at(i, 0); gradient.defined())
      accumulate_grad(*history.node(i)->slot, gradient, at);
  }
  if (!options.retain_graph) history.release();
} catch (const std::bad_alloc&) {
  fail_memory("backward", output.at());
}

}  // namespace
}  // namespace detail

void backward(const TensorArg& output, const BackwardOptions& options) {
  detail::run_backward(output, Tensor(), options);
}

void backward(const TensorArg& output, const TensorArg& cotangent,
              const BackwardOptions& options) {
  detail::defined(cotangent, "backward");
  detail::run_backward(output, Tensor(detail::Handle(cotangent.ref())), options);
}

}  // namespace weft
