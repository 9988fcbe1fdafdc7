// Reductions, and the composites made of them.
#include "reduce.h"

#include <limits>

#include "rules.h"

namespace weft {
namespace detail {

// ---- rules

Shape reduced_shape(const Shape& shape, std::int64_t mask, bool keep) {
  Shape result;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (!(mask >> i & 1))
      result.push_back(shape[i]);
    else if (keep)
      result.push_back(1);
  }
  return result;
}

namespace {

DType same_dtype(DType dtype) noexcept { return dtype; }
DType sum_dtype(DType dtype) noexcept { return is_floating(dtype) ? dtype : DType::i64; }
// PyTorch's, which keeps u8 as the bool of old.
DType truth_dtype(DType dtype) noexcept { return dtype == DType::u8 ? dtype : DType::bool_; }
DType index_dtype(DType) noexcept { return DType::i64; }

bool consistent_reduce(std::span<const Spec> inputs, const Attrs& attrs,
                       std::span<const Spec> outputs, DType (*dtype)(DType)) {
  if (inputs.size() != 1 || outputs.size() != 1 || attrs.v[0] >> inputs[0].shape.ndim() != 0)
    return false;
  return outputs[0].dtype == dtype(inputs[0].dtype) &&
         outputs[0].shape == reduced_shape(inputs[0].shape, attrs.v[0], attrs.v[1] != 0);
}

}  // namespace

#define WEFT_REDUCE_RULE(name, dtype)                                                              \
  bool consistent_##name(std::span<const Spec> inputs, const Attrs& attrs,                         \
                         std::span<const Spec> outputs) {                                          \
    return consistent_reduce(inputs, attrs, outputs, dtype);                                       \
  }
WEFT_REDUCE_RULE(sum, sum_dtype)
WEFT_REDUCE_RULE(prod, sum_dtype)
WEFT_REDUCE_RULE(amax, same_dtype)
WEFT_REDUCE_RULE(amin, same_dtype)
WEFT_REDUCE_RULE(any, truth_dtype)
WEFT_REDUCE_RULE(all, truth_dtype)
WEFT_REDUCE_RULE(argmax, index_dtype)
WEFT_REDUCE_RULE(argmin, index_dtype)
#undef WEFT_REDUCE_RULE

// ---- recording

std::int64_t axes_mask(const char* op, const TensorArg& x, const Dims& axes) {
  const int rank = spec_of(x, op).shape.ndim();
  std::int64_t mask = 0;
  for (const std::int64_t axis : axes) {
    const std::int64_t bit = std::int64_t{1} << wrap_axis(op, axis, rank, x.at());
    if (mask & bit)
      fail<ValueError>(x.at(), std::string(op) + ": axis " + std::to_string(axis) +
                                   " is given twice: " + describe(x.ref()) + "; name each once");
    mask |= bit;
  }
  const std::int64_t every = (std::int64_t{1} << rank) - 1;
  return axes.empty() ? every : mask & every;  // axis 0 of a 0-dim tensor is none
}

namespace {

std::int64_t reduced_count(const Shape& shape, std::int64_t mask) {
  std::int64_t count = 1;
  for (int i = 0; i < shape.ndim(); ++i)
    if (mask >> i & 1) count *= shape[i];
  return count;
}

Tensor record_reduce(OpId op, const char* name, const TensorArg& x, std::int64_t mask, bool keep,
                     DType (*dtype)(DType)) {
  const Spec spec = spec_of(x, name);
  Attrs attrs;
  attrs.v[0] = mask;
  attrs.v[1] = keep;
  return record_one(op, name, x, attrs, {reduced_shape(spec.shape, mask, keep), dtype(spec.dtype)});
}

/// For those that pick an element: there must be one, unless there is no output either.
Tensor record_pick(OpId op, const char* name, const TensorArg& x, std::int64_t mask, bool keep,
                   DType (*dtype)(DType)) {
  const Shape shape = spec_of(x, name).shape;
  if (reduced_count(shape, mask) == 0 && reduced_shape(shape, mask, false).numel() != 0)
    fail<ValueError>(x.at(), std::string(name) +
                                 ": no element to choose from: " + describe(x.ref()) +
                                 "; reduce an axis that is not empty, or append a bound first");
  return record_reduce(op, name, x, mask, keep, dtype);
}

Tensor record_arg(OpId op, const char* name, const TensorArg& x, const Dims& axis, bool keep) {
  if (axis.size() > 1)
    fail<ValueError>(x.at(), std::string(name) + ": several axes are given: " + axes_str(axis) +
                                 " of " + describe(x.ref()) + "; give one, or none for all");
  if (spec_of(x, name).dtype == DType::bool_)
    fail<DTypeError>(x.at(), std::string(name) + ": bools have no order: " + describe(x.ref()) +
                                 "; cast it first, as x.to(u8)");
  return record_pick(op, name, x, axes_mask(name, x, axis), keep, index_dtype);
}

/// The greatest along the axes, as a constant to differentiation, 0 where it is infinite: what
/// exponentials are shifted by. Exact for gradients of all orders, as any shift gives the value.
Tensor shift_for_exp(const TensorArg& x, std::int64_t mask) {
  const NoGrad constant_shift;
  const Where at = x.at();
  const Tensor greatest = record_reduce(OpId::amax, "amax", x, mask, true, same_dtype);
  return where({isinf({greatest, at}), at}, {0, at}, {greatest, at});
}

}  // namespace

Tensor softmax_of(const TensorArg& x, std::int64_t axis, bool is_log) {
  const Within within(is_log ? composite<"log_softmax"> : composite<"softmax">);
  const char* op = is_log ? "log_softmax" : "softmax";
  const Where at = x.at();
  const Spec spec = spec_of(x, op);
  if (!is_floating(spec.dtype))
    fail<DTypeError>(at, std::string(op) + ": integers and bools have no such function: " +
                             describe(x.ref()) + "; cast it first, as x.to(f32)");
  const std::int64_t mask = axes_mask(op, x, Dims(axis, at));
  if (spec.shape.numel() == 0) return tensor_of(x);
  const Tensor wide_x = cast(x, wide(spec.dtype));
  Tensor greatest;
  {
    const NoGrad constant_shift;
    greatest = record_reduce(OpId::amax, "amax", {wide_x, at}, mask, true, same_dtype);
  }
  const Tensor shifted = sub({wide_x, at}, {greatest, at});
  const Tensor power = exp({shifted, at});
  const Tensor total = record_reduce(OpId::sum, "sum", {power, at}, mask, true, sum_dtype);
  const Tensor result =
      is_log ? sub({shifted, at}, {log({total, at}), at}) : div({power, at}, {total, at});
  return cast({result, at}, spec.dtype);
}

}  // namespace detail

using namespace detail;

Tensor sum(const TensorArg& x, const Dims& axes, bool keep) {
  return record_reduce(OpId::sum, "sum", x, axes_mask("sum", x, axes), keep, sum_dtype);
}
Tensor prod(const TensorArg& x, const Dims& axes, bool keep) {
  return record_reduce(OpId::prod, "prod", x, axes_mask("prod", x, axes), keep, sum_dtype);
}
Tensor any(const TensorArg& x, const Dims& axes, bool keep) {
  return record_reduce(OpId::any, "any", x, axes_mask("any", x, axes), keep, truth_dtype);
}
Tensor all(const TensorArg& x, const Dims& axes, bool keep) {
  return record_reduce(OpId::all, "all", x, axes_mask("all", x, axes), keep, truth_dtype);
}
Tensor amax(const TensorArg& x, const Dims& axes, bool keep) {
  return record_pick(OpId::amax, "amax", x, axes_mask("amax", x, axes), keep, same_dtype);
}
Tensor amin(const TensorArg& x, const Dims& axes, bool keep) {
  return record_pick(OpId::amin, "amin", x, axes_mask("amin", x, axes), keep, same_dtype);
}
Tensor max(const TensorArg& x, const Dims& axes, bool keep) {
  return record_pick(OpId::amax, "max", x, axes_mask("max", x, axes), keep, same_dtype);
}
Tensor min(const TensorArg& x, const Dims& axes, bool keep) {
  return record_pick(OpId::amin, "min", x, axes_mask("min", x, axes), keep, same_dtype);
}
Tensor argmax(const TensorArg& x, const Dims& axis, bool keep) {
  return record_arg(OpId::argmax, "argmax", x, axis, keep);
}
Tensor argmin(const TensorArg& x, const Dims& axis, bool keep) {
  return record_arg(OpId::argmin, "argmin", x, axis, keep);
}

Tensor mean(const TensorArg& x, const Dims& axes, bool keep) {
  const Within within(composite<"mean">);
  const Where at = x.at();
  const Spec spec = spec_of(x, "mean");
  if (!is_floating(spec.dtype))
    fail<DTypeError>(at, "mean: integers and bools have no mean of their dtype: " +
                             describe(x.ref()) + "; cast it first, as x.to(f32)");
  const std::int64_t mask = axes_mask("mean", x, axes);
  const Tensor wide_x = cast(x, wide(spec.dtype));
  const Tensor total = record_reduce(OpId::sum, "sum", {wide_x, at}, mask, keep, sum_dtype);
  const std::int64_t count = reduced_count(spec.shape, mask);
  return cast({div({total, at}, {count, at}), at}, spec.dtype);
}

Tensor logsumexp(const TensorArg& x, const Dims& axes, bool keep) {
  const Within within(composite<"logsumexp">);
  const Where at = x.at();
  const Spec spec = spec_of(x, "logsumexp");
  const std::int64_t mask = axes_mask("logsumexp", x, axes);
  const DType dtype = is_floating(spec.dtype) ? spec.dtype : default_dtype();
  Tensor terms = cast(x, wide(dtype));
  Tensor shift;
  if (spec.shape.numel() != 0) {  // of nothing: the log of an empty sum
    shift = shift_for_exp({terms, at}, mask);
    terms = sub({terms, at}, {shift, at});
  }
  const Tensor power = exp({terms, at});
  Tensor result = log({record_reduce(OpId::sum, "sum", {power, at}, mask, keep, sum_dtype), at});
  if (shift.defined()) {
    const Dims shape(reduced_shape(spec.shape, mask, keep), at);
    result = add({result, at}, {reshape({shift, at}, shape), at});
  }
  return cast({result, at}, dtype);
}

}  // namespace weft
