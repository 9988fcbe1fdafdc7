// Functions of neural networks that have no state. Each is made of other recorded ops, and counts as
// one op where halves are concerned: computed in f32, rounded once at its end.
#pragma once

#include <cstdint>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

/// exp(x) over its sum along an axis, by way of the axis's maximum, so that nothing overflows.
/// DTypeError where x is not floating.
Tensor softmax(const TensorArg& x, std::int64_t axis);
/// Its logarithm, exact where softmax underflows.
Tensor log_softmax(const TensorArg& x, std::int64_t axis);

/// x [..., in] times the transpose of weight [out, in] (or [in]), plus bias [out].
Tensor linear(const TensorArg& x, const TensorArg& weight);
Tensor linear(const TensorArg& x, const TensorArg& weight, const TensorArg& bias);

/// What becomes of a loss of each element or row.
enum class Reduction : std::uint8_t { none, mean, sum };

struct CrossEntropyOptions {
  /// Of each class [C]; the mean is weighted too. Undefined: all 1.
  Tensor weight{};
  /// Rows with this label count for nothing.
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
  /// From 0 to 1: how much of a label is spread evenly over all classes (Szegedy et al., Rethinking
  /// the Inception architecture, 2016).
  double label_smoothing = 0.0;
};
/// Negative log likelihood of softmax(logits). logits [N, C, ...] or [C]; labels integers [N, ...]
/// or 0-dim, or the classes' probabilities in the shape and dtype of the logits. With all rows
/// ignored the sum is 0 and the mean NaN. A label out of range is found on the device: IndexError.
Tensor cross_entropy(const TensorArg& logits, const TensorArg& labels,
                     const CrossEntropyOptions& options = {});

struct NllLossOptions {
  Tensor weight{};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// The same of log-probabilities: cross_entropy(x, l) is nll_loss(log_softmax(x, 1), l).
Tensor nll_loss(const TensorArg& log_probabilities, const TensorArg& labels,
                const NllLossOptions& options = {});

struct MseLossOptions {
  Reduction reduction = Reduction::mean;
};
/// (x - y)²
Tensor mse_loss(const TensorArg& x, const TensorArg& y, const MseLossOptions& options = {});

struct L1LossOptions {
  Reduction reduction = Reduction::mean;
};
/// |x - y|
Tensor l1_loss(const TensorArg& x, const TensorArg& y, const L1LossOptions& options = {});

}  // namespace weft
