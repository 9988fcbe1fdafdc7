// Optimisers: six steps on sum((w a - b)^2), w after each and the loss before it.
#include "ops.h"

namespace golden {
namespace {

template <class MakeOptimiser>
Tensors descend(const Args& args, MakeOptimiser make) {
  weft::Variable w(tensor_at(args, 0));
  auto optimiser = make({w});
  Tensors values, losses;
  for (int step = 0; step < 6; ++step) {
    optimiser.zero_grad();
    const weft::Tensor loss =
        weft::sum(weft::square(weft::matmul(w, tensor_at(args, 1)) - tensor_at(args, 2)));
    loss.backward();
    losses.push_back(loss.detach());
    optimiser.step();
    values.push_back(w.value().detach());
  }
  return {weft::stack(values, 0), weft::stack(losses, 0)};
}

Tensors sgd(const Args& args, const Attrs& attrs) {
  weft::optim::SGDOptions options;
  options.lr = attrs.at("lr").get<double>();
  options.momentum = attrs.value("momentum", 0.0);
  options.dampening = attrs.value("dampening", 0.0);
  options.weight_decay = attrs.value("weight_decay", 0.0);
  options.nesterov = attrs.value("nesterov", false);
  return descend(args, [&](const std::vector<weft::Variable>& parameters) {
    return weft::optim::SGD(parameters, options);
  });
}

}  // namespace

void add_optim(Registry& ops) { ops.emplace("sgd", sgd); }

}  // namespace golden
