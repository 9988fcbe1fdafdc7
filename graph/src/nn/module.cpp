// Modules: registration, naming, moving, saving and loading.
#include <weft/nn/module.h>

#include <algorithm>
#include <unordered_set>

#include "support.h"

namespace weft {

const Tensor& StateDict::at(std::string_view name, Where at) const {
  const auto it = places_.find(name);
  if (it == places_.end())
    detail::fail<ValueError>(at, "state: there is no \"" + std::string(name) + "\" among its " +
                                     std::to_string(size()) + " entries; contains(name) tells");
  return entries_[it->second].second;
}

Tensor& StateDict::operator[](std::string_view name) {
  const auto [it, added] = places_.try_emplace(std::string(name), entries_.size());
  if (added) entries_.emplace_back(it->first, Tensor());
  return entries_[it->second].second;
}

namespace detail {

namespace {
thread_local const Where* current_call = nullptr;
}

Where call_line(Where here) noexcept { return current_call ? *current_call : here; }
CallLine::CallLine(Where at) noexcept : at_(at), previous_(current_call) { current_call = &at_; }
CallLine::~CallLine() { current_call = previous_; }

}  // namespace detail

namespace nn {

using weft::detail::CallLine;
using weft::detail::fail;

namespace detail {

struct ModuleState {
  std::vector<NamedVariable> parameters, buffers;
  std::vector<std::pair<std::string, std::shared_ptr<ModuleState>>> children;
  bool is_training = true;
};

}  // namespace detail

namespace {

using detail::ModuleState;

/// Calls f(state, prefix) for a module and all inside it: itself, then child after child.
template <class State, class F>
void visit(State& root, F f) {
  std::vector<std::pair<State*, std::string>> stack{{&root, std::string()}};
  while (!stack.empty()) {
    const auto [state, prefix] = std::move(stack.back());
    stack.pop_back();
    f(*state, prefix);
    for (std::size_t i = state->children.size(); i-- > 0;)
      stack.emplace_back(state->children[i].second.get(),
                         prefix + state->children[i].first + ".");
  }
}

enum class Repeats : bool { once, all };

void collect(const ModuleState& root, std::vector<NamedVariable> ModuleState::* list,
             Repeats repeats, std::vector<NamedVariable>& result) {
  std::unordered_set<const void*> seen;
  visit(root, [&](const ModuleState& state, const std::string& prefix) {
    for (const auto& [name, variable] : state.*list)
      if (repeats == Repeats::all || seen.insert(variable.slot()).second)
        result.emplace_back(prefix + name, variable);
  });
}

std::vector<NamedVariable> named(const ModuleState& root,
                                 std::vector<NamedVariable> ModuleState::* list) {
  std::vector<NamedVariable> result;
  collect(root, list, Repeats::once, result);
  return result;
}

std::vector<NamedVariable> all_state(const ModuleState& root, Repeats repeats) {
  std::vector<NamedVariable> result;
  collect(root, &ModuleState::parameters, repeats, result);
  collect(root, &ModuleState::buffers, repeats, result);
  return result;
}

std::vector<Variable> without_names(const std::vector<NamedVariable>& named) {
  std::vector<Variable> result;
  for (const auto& entry : named) result.push_back(entry.second);
  return result;
}

void check_name(const char* op, const ModuleState& state, std::string_view name, Where at) {
  const std::string quoted = std::string(op) + ": \"" + std::string(name) + "\"";
  if (name.empty() || name.find('.') != std::string_view::npos)
    fail<ValueError>(at, quoted + " is no name; give one that is not empty and has no dot");
  const auto is_same = [name](const auto& entry) { return entry.first == name; };
  const auto has = [&](const auto& list) { return std::any_of(list.begin(), list.end(), is_same); };
  if (has(state.parameters) || has(state.buffers) || has(state.children))
    fail<ValueError>(at, quoted + " is taken; give another name");
}

void check_defined(const char* op, const Variable& variable, Where at) {
  if (!variable.defined())
    fail<ValueError>(at, std::string(op) + ": the Variable is undefined (default-constructed or "
                                           "moved from); make one with variable(tensor)");
}

[[noreturn]] void fail_forward(const char* tensors) {
  fail<UnsupportedError>(weft::detail::call_line(),
                         std::string("module: this one has no forward of ") + tensors +
                             "; override it (a const one, where the module is const), or call the "
                             "module with the tensors that it takes");
}

}  // namespace

Module::Module() : state_(std::make_shared<ModuleState>()) {}
Module::~Module() = default;

Tensor Module::forward(const Tensor& x) { return std::as_const(*this).forward(x); }
Tensor Module::forward(const Tensor&) const { fail_forward("one tensor"); }
Tensor Module::forward(const Tensor& x, const Tensor& y) {
  return std::as_const(*this).forward(x, y);
}
Tensor Module::forward(const Tensor&, const Tensor&) const { fail_forward("two tensors"); }
Tensor Module::forward(const Tensor& x, const Tensor& y, const Tensor& z) {
  return std::as_const(*this).forward(x, y, z);
}
Tensor Module::forward(const Tensor&, const Tensor&, const Tensor&) const {
  fail_forward("three tensors");
}

Tensor Module::operator()(const Tensor& x, Where at) {
  const CallLine line(at);
  return forward(x);
}
Tensor Module::operator()(const Tensor& x, Where at) const {
  const CallLine line(at);
  return forward(x);
}
Tensor Module::operator()(const Tensor& x, const Tensor& y, Where at) {
  const CallLine line(at);
  return forward(x, y);
}
Tensor Module::operator()(const Tensor& x, const Tensor& y, Where at) const {
  const CallLine line(at);
  return forward(x, y);
}
Tensor Module::operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where at) {
  const CallLine line(at);
  return forward(x, y, z);
}
Tensor Module::operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where at) const {
  const CallLine line(at);
  return forward(x, y, z);
}

void Module::add_child(std::string_view name, const Module& child, Where at) {
  check_name("register_module", *state_, name, at);
  visit(*child.state_, [&](const ModuleState& inside, const std::string&) {
    if (&inside == state_.get())
      fail<ValueError>(at, "register_module: \"" + std::string(name) +
                               "\" is or contains the module that it is registered in; a module "
                               "cannot be inside itself, register a clone");
  });
  state_->children.emplace_back(name, child.state_);
}

Variable Module::register_parameter(std::string_view name, const Variable& parameter, Where at) {
  check_name("register_parameter", *state_, name, at);
  check_defined("register_parameter", parameter, at);
  state_->parameters.emplace_back(name, parameter);
  return parameter;
}

Variable Module::register_parameter(std::string_view name, const Tensor& initial, Where at) {
  return register_parameter(name, Variable(initial, at), at);
}

Variable Module::register_buffer(std::string_view name, const Variable& buffer, Where at) {
  check_name("register_buffer", *state_, name, at);
  check_defined("register_buffer", buffer, at);
  Variable kept = buffer;
  kept.set_requires_grad(false, at);
  state_->buffers.emplace_back(name, kept);
  return kept;
}

Variable Module::register_buffer(std::string_view name, const Tensor& initial, Where at) {
  return register_buffer(name, Variable(initial, at), at);
}

std::vector<NamedVariable> Module::named_parameters() const {
  return named(*state_, &ModuleState::parameters);
}
std::vector<Variable> Module::parameters() const { return without_names(named_parameters()); }
std::vector<NamedVariable> Module::named_buffers() const {
  return named(*state_, &ModuleState::buffers);
}
std::vector<Variable> Module::buffers() const { return without_names(named_buffers()); }

void Module::to(Device device, Where at) {
  for (auto& [name, variable] : all_state(*state_, Repeats::once)) variable.to(device, at);
}

void Module::to(DType dtype, Where at) {
  if (!is_floating(dtype))
    fail<DTypeError>(at, "to: a module cannot be " + std::string(name_of(dtype)) +
                             "; give a floating dtype: f16, bf16, f32 or f64");
  for (auto& [name, variable] : all_state(*state_, Repeats::once))
    if (is_floating(variable.dtype(at))) variable.to(dtype, at);
}

void Module::cuda(Where at) { cuda(weft::cuda::current_device(), at); }
void Module::cuda(int index, Where at) { to(Device::cuda(index), at); }
void Module::cpu(Where at) { to(Device::cpu(), at); }

void Module::train(bool on) {
  visit(*state_, [on](ModuleState& state, const std::string&) { state.is_training = on; });
}

bool Module::is_training() const noexcept { return state_->is_training; }

void Module::zero_grad(Where at) {
  for (auto& [name, variable] : named_parameters()) variable.zero_grad(at);
}

StateDict Module::state_dict(Where at) const {
  StateDict result;
  for (const auto& [name, variable] : all_state(*state_, Repeats::all))
    result[name] = variable.value(at);
  return result;
}

namespace {

/// What is wrong with `state` as new values of these; empty if nothing is.
std::string misfits(const std::vector<NamedVariable>& own, const StateDict& state, Where at) {
  std::string missing, unexpected, shapes;
  std::unordered_set<std::string> names;
  for (const auto& [name, variable] : own) {
    names.insert(name);
    if (!state.contains(name)) {
      missing += "\n  missing: " + name;
      continue;
    }
    const Tensor& given = state.at(name);
    if (!given.defined())
      shapes += "\n  undefined: " + name;
    else if (given.shape() != variable.shape(at))
      shapes += "\n  shape: " + name + " is " + variable.shape(at).str() + " here, " +
                given.shape().str() + " there";
  }
  for (const auto& [name, tensor] : state)
    if (!names.count(name)) unexpected += "\n  unexpected: " + name;
  return missing + unexpected + shapes;
}

}  // namespace

void Module::load_state_dict(const StateDict& state, Where at) {
  std::vector<NamedVariable> own = all_state(*state_, Repeats::all);
  if (const std::string wrong = misfits(own, state, at); !wrong.empty())
    fail<ValueError>(at, "load_state_dict: the state does not fit the module, and nothing was "
                         "loaded; give what state_dict() of a module like it gives:" + wrong);
  const NoGrad off;
  const weft::detail::WhereItLives here;
  const weft::detail::LineOf line(at);
  std::vector<Tensor> values;
  for (const auto& [name, variable] : own)
    values.push_back(state.at(name).to(variable.device(), variable.dtype(), at));
  for (std::size_t i = 0; i < own.size(); ++i) own[i].second.assign({values[i], at});
}

}  // namespace nn
}  // namespace weft
