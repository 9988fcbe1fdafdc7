// Reverse-mode differentiation: gradients are recorded as ordinary ops.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <new>
#include <optional>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

namespace detail {

/// d output / d each target, recorded; `cotangent` undefined means 1 for a one-element output.
/// ValueError where a target does not lead to the output, or its history is gone.
std::vector<Tensor> gradients(const TensorArg& output, const TensorList& targets,
                              const Tensor& cotangent, Where at);

template <class T>
concept TensorLike = std::same_as<T, Tensor> || std::same_as<T, Variable>;

}  // namespace detail

struct BackwardOptions {
  /// Keeps the history, so that backward may go through it again.
  bool retain_graph = false;
};

/// Adds the gradients of a one-element output to the `.grad` of every leaf Variable it depends on.
void backward(const TensorArg& output, const BackwardOptions& options = {});
/// The same with a cotangent of the output's shape.
void backward(const TensorArg& output, const TensorArg& cotangent,
              const BackwardOptions& options = {});

/// d output / d target: a tensor that may be differentiated again. A Variable stands for all its
/// versions, a tensor for itself. A tensor that no Variable leads to leaves no history once it has
/// been evaluated: where a use of it may have been lost so, ValueError.
template <detail::TensorLike T>
Tensor grad(const TensorArg& output, const T& target, const Tensor& cotangent = {}) {
  return detail::gradients(output, {TensorArg(target, output.at())}, cotangent, output.at())[0];
}
/// `auto [dw, db] = grad(loss, {w, b})`
template <detail::TensorLike T, std::size_t N>
std::array<Tensor, N> grad(const TensorArg& output, const T (&targets)[N],
                           const Tensor& cotangent = {}) try {
  std::vector<T> list(targets, targets + N);
  std::vector<Tensor> all = detail::gradients(output, list, cotangent, output.at());
  std::array<Tensor, N> result;
  for (std::size_t i = 0; i < N; ++i) result[i] = all[i];
  return result;
} catch (const std::bad_alloc&) {
  detail::fail_memory("grad", output.at());
}
template <detail::TensorLike T>
std::vector<Tensor> grad(const TensorArg& output, const std::vector<T>& targets,
                         const Tensor& cotangent = {}) {
  return detail::gradients(output, targets, cotangent, output.at());
}

}  // namespace weft
