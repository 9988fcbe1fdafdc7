// Optimisers.
#include <weft/nn/optim.h>

#include <algorithm>
#include <string>

#include <weft/graph/evaluate.h>

#include "support.h"

namespace weft::optim {

using detail::fail;

namespace {

void check_not_negative(const char* name, const char* option, double value, Where at) {
  if (!(value >= 0))
    fail<ValueError>(at, std::string(name) + ": " + option + " is " + std::to_string(value) +
                             "; give one of 0 or more");
}

bool is_same(const Variable& a, const Variable& b) { return a.slot() == b.slot(); }

}  // namespace

Optimizer::Optimizer(const char* name, const std::vector<Variable>& parameters, double lr,
                     Where at) try
    : lr_value_(lr) {
  check_not_negative(name, "lr", lr, at);
  if (parameters.empty())
    fail<ValueError>(at, std::string(name) + ": no parameters; pass module.parameters() or "
                                             "Variables in braces");
  bool is_double = false;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (!parameters[i].defined())
      fail<ValueError>(at, std::string(name) + ": parameter " + std::to_string(i) +
                               " is undefined (default-constructed or moved from); pass Variables "
                               "with a value");
  for (const Variable& parameter : parameters) {
    is_double = is_double || parameter.dtype(at) == f64;
    const auto known = std::find_if(parameters_.begin(), parameters_.end(),
                                    [&](const Variable& p) { return is_same(p, parameter); });
    if (known == parameters_.end()) parameters_.push_back(parameter);
  }
  const detail::WhereItLives here;
  lr_ = Variable(full({}, {lr, at}, {.dtype = is_double ? f64 : f32,
                                     .device = parameters_[0].device()}), at);
  lr_.set_requires_grad(false);
} catch (const std::bad_alloc&) {
  detail::fail_memory(name, at);
}

Optimizer::~Optimizer() = default;

void Optimizer::place_rate() {
  const Device device = parameters_[0].device();
  if (lr_.device() != device) lr_.to(device);
  const bool is_double = std::any_of(parameters_.begin(), parameters_.end(),
                                     [](const Variable& p) { return p.dtype() == f64; });
  if (!is_double || lr_.dtype() == f64) return;
  lr_.to(f64);
  lr_.assign(lr_value_);  // the f32 one was rounded
}

void Optimizer::step(Where at) try {
  {
    const NoGrad off;
    const detail::WhereItLives here;
    const detail::LineOf line(at);
    place_rate();
    Updates updates;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (parameters_[i].grad(at).defined()) update(i, updates);
    for (auto& [variable, value] : updates) variable.assign({value, at});
  }
  if (!detail::ambient().tracing) flush(at);
} catch (const std::bad_alloc&) {
  detail::fail_memory("step", at);
}

void Optimizer::zero_grad(Where at) {
  for (Variable& parameter : parameters_) parameter.zero_grad(at);
}

void Optimizer::set_lr(double lr, Where at) {
  check_not_negative("set_lr", "lr", lr, at);
  const detail::WhereItLives here;
  lr_.assign({lr, at});
  lr_value_ = lr;
}

Tensor Optimizer::rate(DType dtype, Device device) const { return lr_.value().to(device, dtype); }

Variable Optimizer::state_like(const Variable& parameter, double value, Where at) {
  const detail::WhereItLives here;
  Variable state(full(parameter.shape(at), {value, at},
                      {.dtype = parameter.dtype(at), .device = parameter.device(at)}), at);
  state.set_requires_grad(false, at);
  return state;
}

void Optimizer::follow(Variable& state, const Variable& parameter) {
  if (state.device() != parameter.device()) state.to(parameter.device());
  if (state.dtype() != parameter.dtype()) state.to(parameter.dtype());
}

SGD::SGD(const std::vector<Variable>& parameters, const SGDOptions& options, Where at) try
    : Optimizer("SGD", parameters, options.lr, at), options_(options) {
  check_not_negative("SGD", "momentum", options.momentum, at);
  check_not_negative("SGD", "weight_decay", options.weight_decay, at);
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    fail<ValueError>(at, "SGD: nesterov with momentum " + std::to_string(options.momentum) +
                             " and dampening " + std::to_string(options.dampening) +
                             "; it needs a momentum above 0 and no dampening");
  if (options.momentum == 0) return;
  for (const Variable& parameter : this->parameters()) {
    momentum_.push_back(state_like(parameter, 0, at));
    if (options.dampening == 0) continue;
    intake_.emplace_back(full({}, {1.0, at}, {.dtype = parameter.dtype(at),
                                              .device = parameter.device(at)}), at);
    intake_.back().set_requires_grad(false, at);
  }
} catch (const std::bad_alloc&) {
  detail::fail_memory("SGD", at);
}

Tensor SGD::momentum_update(std::size_t i, const Tensor& g, Updates& updates) {
  const Variable& parameter = parameters()[i];
  Variable& buffer = momentum_[i];
  follow(buffer, parameter);
  Tensor taken = g;
  if (options_.dampening != 0) {
    follow(intake_[i], parameter);
    taken = g * intake_[i];
    updates.emplace_back(intake_[i], full({}, 1 - options_.dampening,
                                          {.dtype = parameter.dtype(),
                                           .device = parameter.device()}));
  }
  // A buffer of zeros makes the first step's buffer the gradient itself, as PyTorch's is.
  const Tensor next = buffer.value().to(g.dtype()) * options_.momentum + taken;
  updates.emplace_back(buffer, next.to(parameter.dtype()));
  return options_.nesterov ? g + next * options_.momentum : next;
}

void SGD::update(std::size_t i, Updates& updates) {
  const Variable& parameter = parameters()[i];
  const DType dtype = parameter.dtype(), wide = detail::widened(dtype);
  const Tensor p = parameter.value().to(wide);
  Tensor g = parameter.grad().to(parameter.device(), wide);
  if (options_.weight_decay != 0) g = g + p * options_.weight_decay;
  if (options_.momentum != 0) g = momentum_update(i, g, updates);
  updates.emplace_back(parameter, (p - g * rate(wide, parameter.device())).to(dtype));
}

}  // namespace weft::optim
