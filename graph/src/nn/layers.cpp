// Modules that come with weft.
#include <weft/nn/layers.h>

#include <cmath>
#include <string>

#include <weft/nn/functions.h>

#include "support.h"

namespace weft::nn {

using weft::detail::call_line;
using weft::detail::fail;

Linear::Linear(Dim in, Dim out, const LinearOptions& options, Where at) {
  if (in < 0 || out < 0)
    fail<ValueError>(at, "Linear: sizes " + std::to_string(in) + " and " + std::to_string(out) +
                             "; give sizes of 0 or more");
  const weft::detail::LineOf line(at);
  // PyTorch's kaiming_uniform with a = sqrt(5) comes to this bound for weight and bias alike.
  const double bound = in > 0 ? 1 / std::sqrt(static_cast<double>(in)) : 0;
  const TensorOptions placed{.dtype = options.dtype, .device = options.device};
  const auto uniform = [&](const Shape& shape) {
    const NoGrad off;
    return rand(shape, placed, at) * (2 * bound) - bound;
  };
  weight = register_parameter("weight", uniform({out, in}), at);
  if (options.bias) bias = register_parameter("bias", uniform({out}), at);
}

Tensor Linear::forward(const Tensor& x) const {
  const Where at = call_line();
  if (!bias.defined()) return linear({x, at}, {weight, at});
  return linear({x, at}, {weight, at}, {bias, at});
}

Linear Linear::clone(Where at) const {
  Linear copy;
  copy.weight = copy.register_parameter("weight", weight.value(at), at);
  copy.weight.set_requires_grad(weight.requires_grad(at), at);
  if (bias.defined()) {
    copy.bias = copy.register_parameter("bias", bias.value(at), at);
    copy.bias.set_requires_grad(bias.requires_grad(at), at);
  }
  copy.train(is_training());
  return copy;
}

Tensor ReLU::forward(const Tensor& x) const { return relu({x, call_line()}); }

Tensor Flatten::forward(const Tensor& x) const {
  return flatten({x, call_line()}, first_, last_);
}

Sequential::Sequential() : modules_(std::make_shared<std::vector<std::shared_ptr<Module>>>()) {}

Sequential& Sequential::push_back(std::shared_ptr<Module> module, Where at) {
  if (!module) fail<ValueError>(at, "Sequential: push_back of no module; give one that is not null");
  register_module(std::to_string(size()), static_cast<const Module&>(*module), at);
  modules_->push_back(std::move(module));
  return *this;
}

Module& Sequential::operator[](const Position& position) const {
  const auto count = static_cast<std::int64_t>(size());
  const std::int64_t i = position.value() < 0 ? position.value() + count : position.value();
  if (i < 0 || i >= count)
    fail<IndexError>(position.at(), "Sequential: position " + std::to_string(position.value()) +
                                        " of " + std::to_string(count) +
                                        " modules; give one below that, or negative from the end");
  return *(*modules_)[static_cast<std::size_t>(i)];
}

Tensor Sequential::forward(const Tensor& x) const {
  const Where at = call_line();
  Tensor value = x;
  for (const std::shared_ptr<Module>& module : *modules_) value = (*module)(value, at);
  return value;
}

}  // namespace weft::nn
