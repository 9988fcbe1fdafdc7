// Optimisers: what turns gradients into new parameters.
#pragma once

#include <utility>
#include <vector>

#include <weft/graph/tensor.h>

namespace weft::optim {

/// What all optimisers share. The learning rate is a 0-dim Variable on the first parameter's
/// device: changing it changes no graph. State follows its parameter's device and dtype.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Assigns every parameter that has a gradient its new value, then starts the work (except
  /// inside compile, where the trace goes on).
  void step(Where at = {});
  void zero_grad(Where at = {});
  double lr() const noexcept { return lr_value_; }
  /// ValueError for a negative one.
  void set_lr(double lr, Where at = {});
  const std::vector<Variable>& parameters() const noexcept { return parameters_; }

 protected:
  /// New values, all worked out before the first is assigned.
  using Updates = std::vector<std::pair<Variable, Tensor>>;

  /// ValueError for no parameters, an undefined one, or a negative rate. Repeated ones count once.
  Optimizer(const char* name, const std::vector<Variable>& parameters, double lr, Where at);
  /// The update of parameter `i`, which has a gradient: appends what changes. Nothing recorded here
  /// has history.
  virtual void update(std::size_t i, Updates& updates) = 0;
  /// The learning rate, for work in this dtype on this device.
  Tensor rate(DType dtype, Device device) const;
  /// State that starts at `value`, shaped, placed and typed as the parameter; not trained.
  static Variable state_like(const Variable& parameter, double value, Where at);
  /// Moves and casts state to where its parameter is now.
  static void follow(Variable& state, const Variable& parameter);

 private:
  void place_rate();

  std::vector<Variable> parameters_;
  Variable lr_;
  double lr_value_;
};

struct SGDOptions {
  double lr = 1e-3;
  double momentum = 0.0;
  double dampening = 0.0;
  double weight_decay = 0.0;
  bool nesterov = false;
};

/// Stochastic gradient descent with PyTorch's momentum (Sutskever et al., On the importance of
/// initialization and momentum in deep learning, 2013, but with the rate outside the buffer):
/// g += weight_decay·p; b = momentum·b + (1 - dampening)·g, the first b being g;
/// g = nesterov ? g + momentum·b : b; p -= lr·g.
class SGD : public Optimizer {
 public:
  /// ValueError for negative options, and for nesterov without momentum or with dampening.
  explicit SGD(const std::vector<Variable>& parameters, const SGDOptions& options = {},
               Where at = {});

 private:
  void update(std::size_t i, Updates& updates) override;
  Tensor momentum_update(std::size_t i, const Tensor& g, Updates& updates);

  SGDOptions options_;
  std::vector<Variable> momentum_;
  /// With dampening, how much of a gradient goes in: 1 the first time, then 1 - dampening. A
  /// Variable, so that the first step is the same graph as the others.
  std::vector<Variable> intake_;
};

}  // namespace weft::optim
