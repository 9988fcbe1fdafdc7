// Composites with a gradient of their own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

/// What a forward function gives: its results, and what its backward function will need.
struct VjpResult {
  std::vector<Tensor> outputs;
  std::vector<Tensor> residuals{};
  VjpResult(Tensor output) { outputs.push_back(std::move(output)); }
  VjpResult(std::vector<Tensor> results, std::vector<Tensor> kept = {})
      : outputs(std::move(results)), residuals(std::move(kept)) {}
};

struct VjpOptions {
  /// For messages.
  std::string name = "custom_vjp";
  /// backward gets undefined tensors as cotangents of outputs that nothing depends on; else zeros.
  bool undefined_cotangents = false;
};

/// A function of tensors whose gradient is that of `backward`. Any number of calls, on any threads
/// where its two functions allow it.
class CustomVjp {
 public:
  using Forward = std::function<VjpResult(const std::vector<Tensor>& inputs)>;
  using Backward = std::function<std::vector<Tensor>(const std::vector<Tensor>& residuals,
                                                     const std::vector<Tensor>& cotangents)>;
  CustomVjp(Forward forward, Backward backward, VjpOptions options, Where at);
  /// One to eight outputs. ValueError where forward gives none, too many or an undefined one;
  /// DeviceError where they are on several devices.
  std::vector<Tensor> operator()(const TensorList& inputs) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// As JAX's custom_vjp and PyTorch's autograd.Function: calls run `forward`, and differentiation
/// runs `backward` in place of going through what forward recorded. backward is given the residuals
/// and one cotangent for each output, and gives one gradient for each input: of its shape and dtype
/// (ShapeError, DTypeError; ValueError for another count), or undefined for none. Second
/// derivatives go through what backward records, and through residuals as forward recorded them.
/// Variables and tensors that forward uses without being given them get no gradient.
CustomVjp custom_vjp(CustomVjp::Forward forward, CustomVjp::Backward backward,
                     VjpOptions options = {}, Where at = {});

}  // namespace weft
