// Module: parameters, buffers and other modules under names, and a forward pass.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/graph/tensor.h>
#include <weft/nn/state.h>

namespace weft::nn {

namespace detail {
struct ModuleState;
}

using NamedVariable = std::pair<std::string, Variable>;

/// Base of all modules. A module is a handle to shared state: a copy has the same parameters,
/// buffers, children and training flag. Children are registered by their state, so replacing a
/// member after registering it does not replace the child; assign to its Variables instead.
class Module {
 public:
  Module();
  Module(const Module&) = default;
  Module& operator=(const Module&) = default;
  virtual ~Module();

  // What a module computes: override one of them. A const one serves both; the defaults throw
  // UnsupportedError.
  virtual Tensor forward(const Tensor& x);
  virtual Tensor forward(const Tensor& x) const;
  virtual Tensor forward(const Tensor& x, const Tensor& y);
  virtual Tensor forward(const Tensor& x, const Tensor& y) const;
  virtual Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z);
  virtual Tensor forward(const Tensor& x, const Tensor& y, const Tensor& z) const;
  Tensor operator()(const Tensor& x, Where at = {});
  Tensor operator()(const Tensor& x, Where at = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& y, Where at = {});
  Tensor operator()(const Tensor& x, const Tensor& y, Where at = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where at = {});
  Tensor operator()(const Tensor& x, const Tensor& y, const Tensor& z, Where at = {}) const;

  // Registering. ValueError for a name that is empty, has a dot or is taken, for an undefined
  // Variable, and for a module inside itself. Each gives back what it registered.
  template <std::derived_from<Module> M>
  auto register_module(std::string_view name, const M& child, Where at = {}) {
    add_child(name, child, at);
    if constexpr (std::copy_constructible<M>) return child;
  }
  Variable register_parameter(std::string_view name, const Variable& parameter, Where at = {});
  Variable register_parameter(std::string_view name, const Tensor& initial, Where at = {});
  /// State that moves and is saved with the module, and is not trained.
  Variable register_buffer(std::string_view name, const Variable& buffer, Where at = {});
  Variable register_buffer(std::string_view name, const Tensor& initial, Where at = {});

  // This module's first, then those of its children in the order of registering, under names such
  // as "encoder.weight". One that is registered twice comes once.
  std::vector<Variable> parameters() const;
  std::vector<NamedVariable> named_parameters() const;
  std::vector<Variable> buffers() const;
  std::vector<NamedVariable> named_buffers() const;

  // In place, for all who hold the Variables. A dtype, which must be floating, goes to floating
  // parameters and buffers alone.
  void to(Device device, Where at = {});
  void to(DType dtype, Where at = {});
  void cuda(Where at = {});
  void cuda(int index, Where at = {});
  void cpu(Where at = {});

  /// Training or not, for it and all inside; `train(false)` before measuring.
  void train(bool on = true);
  bool is_training() const noexcept;
  void zero_grad(Where at = {});

  /// Current values of parameters and buffers, also of those registered twice.
  StateDict state_dict(Where at = {}) const;
  /// Assigns them, converted to device and dtype of what is there. ValueError listing all missing,
  /// unexpected and mis-shaped entries, and then nothing has changed.
  void load_state_dict(const StateDict& state, Where at = {});

 private:
  void add_child(std::string_view name, const Module& child, Where at);
  std::shared_ptr<detail::ModuleState> state_;
};

}  // namespace weft::nn
