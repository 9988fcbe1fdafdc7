// Losses.
#include <weft/nn/functions.h>

#include <weft/graph/scope.h>

#include "support.h"

namespace weft {

using detail::Composite;
using detail::composite;
using detail::describe;
using detail::fail;
using detail::LineOf;
using detail::Within;
using detail::as_tensor;

namespace {

/// Labels as classes along an axis of the scores, and how much each row counts.
struct Rows {
  int axis;       // of the classes
  Tensor index;   // a valid class everywhere, in the shape of the labels
  Tensor counts;  // bool: not ignored
  Tensor weight;  // of each row, 0 where ignored; undefined: all that count are 1
};

constexpr Composite cross_entropy_called{"cross_entropy", "label", "classes"};
constexpr Composite nll_loss_called{"nll_loss", "label", "classes"};

Tensor along_classes(const Tensor& scores, const Rows& rows) {
  return squeeze(gather(scores, rows.axis, unsqueeze(rows.index, rows.axis)), rows.axis);
}

Rows rows_of(const char* op, const Tensor& scores, const Tensor& labels, const Tensor& weight,
             std::int64_t ignore_index, Where at) {
  if (scores.ndim() == 0)
    fail<ShapeError>(at, std::string(op) + ": the scores have no axis of classes: " +
                             describe(scores) + "; give [N, C] or [C]");
  const int axis = scores.ndim() == 1 ? 0 : 1;
  Shape expected = scores.shape();
  expected.erase(axis);
  if (labels.shape() != expected)
    fail<ShapeError>(at, std::string(op) + ": the labels are " + describe(labels) +
                             ", the scores " + describe(scores) + "; give labels of shape " +
                             expected.str());
  if (labels.dtype() != i64 && labels.dtype() != i32)
    fail<DTypeError>(at, std::string(op) + ": the labels are " + describe(labels) +
                             ", not class numbers; convert them with .to(i64)");
  Rows rows{axis, {}, labels != ignore_index, {}};
  rows.index = where(rows.counts, labels, 0);
  if (!weight.defined()) return rows;
  const std::int64_t classes = scores.size(axis);
  if (weight.shape() != Shape(classes))
    fail<ShapeError>(at, std::string(op) + ": the weight is " + describe(weight) + ", and there " +
                             "are " + std::to_string(classes) + " classes; give a weight for each");
  const Tensor each = reshape(index_select(weight, 0, flatten(rows.index)), expected);
  rows.weight = where(rows.counts, each.to(scores.dtype()), 0);
  return rows;
}

/// A loss of each row, reduced; the mean is over the rows that count.
Tensor reduced(const Tensor& losses, const Rows& rows, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  if (reduction == Reduction::sum) return sum(losses);
  return sum(losses) / sum(rows.weight.defined() ? rows.weight : rows.counts);
}

Tensor negative_likelihood(const Tensor& logs, const Rows& rows) {
  const Tensor picked = where(rows.counts, -along_classes(logs, rows), 0);
  return rows.weight.defined() ? picked * rows.weight : picked;
}

/// Of labels that are probabilities of each class.
Tensor soft_cross_entropy(const Tensor& logs, const Tensor& given,
                          const CrossEntropyOptions& options, Where at) {
  const int axis = logs.ndim() == 1 ? 0 : 1;
  Tensor target = given.to(logs.dtype());
  if (options.label_smoothing > 0)
    target = target * (1 - options.label_smoothing) +
             options.label_smoothing / static_cast<double>(logs.size(axis));
  Tensor terms = logs * target;
  if (options.weight.defined()) {
    Shape shape = logs.shape();
    for (int i = 0; i < shape.ndim(); ++i)
      if (i != axis) shape[static_cast<std::size_t>(i)] = 1;
    if (options.weight.shape() != Shape(logs.size(axis)))
      fail<ShapeError>(at, "cross_entropy: the weight is " + describe(options.weight) +
                               ", and there are " + std::to_string(logs.size(axis)) +
                               " classes; give a weight for each");
    terms = terms * reshape(options.weight.to(logs.dtype()), shape);
  }
  const Tensor losses = -sum(terms, axis);
  if (options.reduction == Reduction::none) return losses;
  return options.reduction == Reduction::sum ? sum(losses) : mean(losses);
}

}  // namespace

Tensor cross_entropy(const TensorArg& logits, const TensorArg& labels,
                     const CrossEntropyOptions& options) {
  const Where at = logits.at();
  const LineOf line(at);
  const Within within(cross_entropy_called);
  const Tensor given = detail::floating_of("cross_entropy", logits), target = as_tensor(labels);
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    fail<ValueError>(at, "cross_entropy: label_smoothing is " + std::to_string(smoothing) +
                             "; give one from 0 to 1");
  const Tensor wide = given.to(detail::widened(given.dtype()));
  const bool is_soft = is_floating(target.dtype(at)) && target.shape() == given.shape();
  if (is_soft && given.ndim() > 0) {
    detail::same_device("cross_entropy", {given, target, options.weight}, at);
    return soft_cross_entropy(log_softmax(wide, given.ndim() == 1 ? 0 : 1), target, options, at)
        .to(given.dtype());
  }
  detail::same_device("cross_entropy", {given, target, options.weight}, at);
  const Rows rows = rows_of("cross_entropy", wide, target, options.weight, options.ignore_index, at);
  const Tensor logs = log_softmax(wide, rows.axis);
  Tensor loss = reduced(negative_likelihood(logs, rows), rows, options.reduction);
  if (smoothing > 0) {
    Tensor all = logs;
    if (options.weight.defined()) {
      Shape shape(wide.size(rows.axis));
      for (int i = rows.axis + 1; i < wide.ndim(); ++i) shape.push_back(1);
      all = logs * reshape(options.weight.to(wide.dtype()), shape);
    }
    const Tensor spread = where(rows.counts, -sum(all, rows.axis), 0);
    const double share = smoothing / static_cast<double>(wide.size(rows.axis));
    loss = loss * (1 - smoothing) + reduced(spread, rows, options.reduction) * share;
  }
  return loss.to(given.dtype());
}

Tensor nll_loss(const TensorArg& log_probabilities, const TensorArg& labels,
                const NllLossOptions& options) {
  const Where at = log_probabilities.at();
  const LineOf line(at);
  const Within within(nll_loss_called);
  const Tensor given = detail::floating_of("nll_loss", log_probabilities);
  as_tensor(labels).dtype(at);
  const Tensor wide = given.to(detail::widened(given.dtype()));
  detail::same_device("nll_loss", {given, as_tensor(labels), options.weight}, at);
  const Rows rows = rows_of("nll_loss", wide, as_tensor(labels), options.weight,
                            options.ignore_index, at);
  return reduced(negative_likelihood(wide, rows), rows, options.reduction).to(given.dtype());
}

namespace {

/// Of two operands that broadcast: f of their difference, reduced.
template <class F>
Tensor difference_loss(const Composite& called, const TensorArg& x, const TensorArg& y,
                       Reduction reduction, F f) {
  const LineOf line(x.at());
  const Within within(called);
  const char* op = called.name;
  const Tensor a = as_tensor(x), b = as_tensor(y);
  detail::defined(x, op);
  detail::defined(y, op);
  detail::same_device(op, {a, b}, x.at());
  detail::broadcast_shapes(op, a.shape(), b.shape(), x.at());
  DType common{};
  const bool have = promote(a.dtype(x.at()), b.dtype(y.at()), common);
  const bool narrow = have && detail::is_half(common);
  const Tensor difference = narrow ? sub({a.to(f32), x.at()}, b.to(f32)) : sub(x, y);
  const Tensor losses = f(difference);
  const Tensor result = reduction == Reduction::none  ? losses
                        : reduction == Reduction::sum ? sum(losses)
                                                      : mean({losses, x.at()});
  return narrow ? result.to(common) : result;
}

}  // namespace

Tensor mse_loss(const TensorArg& x, const TensorArg& y, const MseLossOptions& options) {
  return difference_loss(composite<"mse_loss">, x, y, options.reduction,
                         [](const Tensor& d) { return square(d); });
}

Tensor l1_loss(const TensorArg& x, const TensorArg& y, const L1LossOptions& options) {
  return difference_loss(composite<"l1_loss">, x, y, options.reduction,
                         [](const Tensor& d) { return abs(d); });
}

}  // namespace weft
