// Index maps: same elements, read in another order. One that changes nothing records nothing.
#include <limits>

#include "composite.h"
#include "reduce.h"
#include "rules.h"

namespace weft {
namespace detail {

// ---- rules

bool consistent_reshape(std::span<const Spec> inputs, const Attrs&, std::span<const Spec> outputs) {
  return inputs.size() == 1 && outputs.size() == 1 && inputs[0].dtype == outputs[0].dtype &&
         inputs[0].shape.numel() == outputs[0].shape.numel();
}

namespace {

std::int64_t axis_at(std::int64_t packed, int i) noexcept { return packed >> (8 * i) & 0xff; }

Shape permuted_shape(const Shape& shape, std::int64_t packed) {
  Shape result;
  for (int i = 0; i < shape.ndim(); ++i)
    result.push_back(shape[static_cast<std::size_t>(axis_at(packed, i))]);
  return result;
}

}  // namespace

bool consistent_permute(std::span<const Spec> inputs, const Attrs& attrs,
                        std::span<const Spec> outputs) {
  if (inputs.size() != 1 || outputs.size() != 1 || inputs[0].dtype != outputs[0].dtype)
    return false;
  const int rank = inputs[0].shape.ndim();
  unsigned seen = 0;
  for (int i = 0; i < rank; ++i) {
    if (axis_at(attrs.v[0], i) >= rank) return false;
    seen |= 1u << axis_at(attrs.v[0], i);
  }
  return seen == (1u << rank) - 1 &&
         outputs[0].shape == permuted_shape(inputs[0].shape, attrs.v[0]);
}

bool consistent_expand(std::span<const Spec> inputs, const Attrs&, std::span<const Spec> outputs) {
  if (inputs.size() != 1 || outputs.size() != 1 || inputs[0].dtype != outputs[0].dtype)
    return false;
  const Shape& from = inputs[0].shape;
  const Shape& to = outputs[0].shape;
  if (from.ndim() > to.ndim()) return false;
  const std::size_t lead = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != to[lead + i]) return false;
  return true;
}

bool consistent_slice(std::span<const Spec> inputs, const Attrs& attrs,
                      std::span<const Spec> outputs) {
  if (inputs.size() != 1 || outputs.size() != 1 || inputs[0].dtype != outputs[0].dtype)
    return false;
  const Shape& from = inputs[0].shape;
  Shape to = outputs[0].shape;
  const std::int64_t axis = attrs.v[0], step = attrs.v[1];
  if (from.ndim() != to.ndim() || axis < 0 || axis >= from.ndim() || step == 0) return false;
  const auto i = static_cast<std::size_t>(axis);
  const std::int64_t count = to[i], stride = step < 0 ? -step : step;
  to[i] = from[i];
  return to == from && (count == 0 || (count > 0 && (count - 1) <= (from[i] - 1) / stride));
}

// ---- recording

namespace {

Tensor record_reshape(const char* op, const TensorArg& x, const Shape& shape) {
  const Spec spec = spec_of(x, op);
  if (shape == spec.shape) return tensor_of(x);
  return record_one(OpId::reshape, op, x, {}, {shape, spec.dtype});
}

Tensor record_permute(const char* op, const TensorArg& x, const IntList& axes) {
  const Spec spec = spec_of(x, op);
  Attrs attrs;
  bool is_changed = false;
  for (int i = 0; i < axes.ndim(); ++i) {
    const std::int64_t axis = axes[static_cast<std::size_t>(i)];
    attrs.v[0] |= axis << (8 * i);
    is_changed |= axis != i;
  }
  if (!is_changed) return tensor_of(x);
  return record_one(OpId::permute, op, x, attrs,
                    {permuted_shape(spec.shape, attrs.v[0]), spec.dtype});
}

Tensor record_slice(const char* op, const TensorArg& x, int axis, std::int64_t start,
                    std::int64_t count, std::int64_t step) {
  Spec spec = spec_of(x, op);
  std::int64_t& extent = spec.shape[static_cast<std::size_t>(axis)];
  if (count == extent && (step == 1 || count <= 1)) return tensor_of(x);
  extent = count;
  Attrs attrs;
  attrs.v[0] = axis;
  attrs.v[1] = step;
  attrs.v[2] = start;
  return record_one(OpId::slice, op, x, attrs, spec);
}

Tensor record_select(const char* op, const TensorArg& x, int axis, std::int64_t position) {
  Shape shape = spec_of(x, op).shape;
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  if (position < -extent || position >= extent)
    fail<IndexError>(x.at(), std::string(op) + ": position " + std::to_string(position) +
                                 " is outside axis " + std::to_string(axis) + " of " +
                                 describe(x.ref()) + "; give one from " + std::to_string(-extent) +
                                 " to " + std::to_string(extent - 1));
  const std::int64_t start = position < 0 ? position + extent : position;
  const Tensor row = record_slice(op, x, axis, start, 1, 1);
  shape.erase(axis);
  return record_reshape(op, {row, x.at()}, shape);
}

/// An axis that the tensor must have: a 0-dim one has none.
int real_axis(const char* op, const TensorArg& x, std::int64_t axis) {
  const int rank = spec_of(x, op).shape.ndim();
  if (rank == 0)
    fail<IndexError>(x.at(), std::string(op) + ": a 0-dim tensor has no axis to take from: " +
                                 describe(x.ref()) + "; use it as it is, or reshape it to {1}");
  return wrap_axis(op, axis, rank, x.at());
}

std::int64_t clipped(const std::optional<std::int64_t>& bound, std::int64_t none,
                     std::int64_t extent) {
  if (!bound) return none;
  const std::int64_t from_front = *bound < 0 ? *bound + extent : *bound;
  return from_front < 0 ? 0 : from_front > extent ? extent : from_front;
}

Tensor sliced(const TensorArg& x, std::int64_t axis, const Slice& range) {
  const int i = real_axis("slice", x, axis);
  if (range.step <= 0)
    fail<ValueError>(x.at(), "slice: the step is " + std::to_string(range.step) + ": " +
                                 describe(x.ref()) +
                                 "; give one of 1 or more, and flip for the "
                                 "other direction");
  const std::int64_t extent = spec_of(x, "slice").shape[static_cast<std::size_t>(i)];
  const std::int64_t start = clipped(range.start, 0, extent);
  const std::int64_t stop = clipped(range.stop, extent, extent);
  const std::int64_t count = stop > start ? (stop - start - 1) / range.step + 1 : 0;
  return record_slice("slice", x, i, count ? start : 0, count, range.step);
}

/// The shape asked for, with -1 replaced by what is left.
Shape resolved(const TensorArg& x, const Shape& from, const Dims& asked) {
  std::int64_t known = 1;
  int open = -1;
  for (int i = 0; i < asked.ndim(); ++i) {
    const std::int64_t extent = asked[static_cast<std::size_t>(i)];
    if (extent < -1 || (extent == -1 && open >= 0))
      fail<ShapeError>(x.at(), "reshape: " + Shape(asked).str() + " is no shape: " +
                                   describe(x.ref()) + "; one extent may be -1, none less");
    if (extent == -1)
      open = i;
    else if (__builtin_mul_overflow(known, extent, &known))
      known = -1;  // fits no tensor
  }
  Shape shape(asked);
  const std::int64_t count = from.numel();
  if (open >= 0 && known > 0 && count % known == 0)
    shape[static_cast<std::size_t>(open)] = count / known;
  else if (open >= 0 || known != count)
    fail<ShapeError>(x.at(), "reshape: " + std::to_string(count) + " elements do not fill " +
                                 Shape(asked).str() + ": " + describe(x.ref()) +
                                 "; give a shape of that many elements");
  return shape;
}

}  // namespace

Tensor indexed_by_numbers(const TensorArg& x, std::span<const Index> indices) {
  const Where at = x.at();
  const Shape shape = spec_of(x, "index").shape;
  if (static_cast<int>(indices.size()) > shape.ndim())
    fail<IndexError>(at, "index: " + std::to_string(indices.size()) + " indices for " +
                             std::to_string(shape.ndim()) + " axes: " + describe(x.ref()) +
                             "; give one for each axis, or fewer");
  for (int i = 0; i < static_cast<int>(indices.size()); ++i) {  // all, before the first records
    const Index& index = indices[static_cast<std::size_t>(i)];
    const std::int64_t extent = shape[static_cast<std::size_t>(i)];
    if (index.is_position() && (index.position() < -extent || index.position() >= extent))
      record_select("index", x, i, index.position());
    if (!index.is_position() && index.range().step <= 0) sliced(x, i, index.range());
  }
  Tensor result = tensor_of(x);
  int axis = 0;
  for (const Index& index : indices) {
    result = index.is_position() ? record_select("index", {result, at}, axis, index.position())
                                 : sliced({result, at}, axis, index.range());
    if (!index.is_position()) ++axis;
  }
  return result;
}

}  // namespace detail

using namespace detail;

Tensor reshape(const TensorArg& x, const Dims& shape) {
  return record_reshape("reshape", x, resolved(x, spec_of(x, "reshape").shape, shape));
}

Tensor flatten(const TensorArg& x, std::int64_t first, std::int64_t last) {
  const Shape shape = spec_of(x, "flatten").shape;
  const int from = wrap_axis("flatten", first, shape.ndim(), x.at());
  const int to = wrap_axis("flatten", last, shape.ndim(), x.at());
  if (from > to)
    fail<ValueError>(x.at(), "flatten: the first axis is after the last: " + std::to_string(first) +
                                 ", " + std::to_string(last) + " of " + describe(x.ref()) +
                                 "; exchange them");
  Shape result;
  std::int64_t merged = 1;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (i < from || i > to)
      result.push_back(shape[static_cast<std::size_t>(i)]);
    else
      merged *= shape[static_cast<std::size_t>(i)];
    if (i == to) result.push_back(merged);
  }
  return record_reshape("flatten", x, shape.empty() ? Shape{1} : result);
}

Tensor transpose(const TensorArg& x, std::int64_t a, std::int64_t b) {
  const int rank = spec_of(x, "transpose").shape.ndim();
  const auto i = static_cast<std::size_t>(wrap_axis("transpose", a, rank, x.at()));
  const auto j = static_cast<std::size_t>(wrap_axis("transpose", b, rank, x.at()));
  IntList axes;
  for (int k = 0; k < rank; ++k) axes.push_back(k);
  if (rank > 0) std::swap(axes[i], axes[j]);
  return record_permute("transpose", x, axes);
}

Tensor permute(const TensorArg& x, const Dims& axes) {
  const int rank = spec_of(x, "permute").shape.ndim();
  if (axes.ndim() != rank)
    fail<ShapeError>(x.at(), "permute: " + std::to_string(axes.ndim()) + " axes for a tensor of " +
                                 std::to_string(rank) + ": " + describe(x.ref()) +
                                 "; name each of its axes once");
  axes_mask("permute", x, axes);
  IntList order;
  for (const std::int64_t axis : axes) order.push_back(wrap_axis("permute", axis, rank, x.at()));
  return record_permute("permute", x, order);
}

Tensor squeeze(const TensorArg& x, const Dims& axes) {
  const Shape shape = spec_of(x, "squeeze").shape;
  const std::int64_t mask = axes_mask("squeeze", x, axes);
  Shape result;
  for (int i = 0; i < shape.ndim(); ++i) {
    const std::int64_t extent = shape[static_cast<std::size_t>(i)];
    if (extent != 1 || !(mask >> i & 1)) result.push_back(extent);
  }
  return record_reshape("squeeze", x, result);
}

Tensor unsqueeze(const TensorArg& x, std::int64_t axis) {
  Shape shape = spec_of(x, "unsqueeze").shape;
  shape.insert(wrap_axis("unsqueeze", axis, shape.ndim() + 1, x.at()), 1, x.at());
  return record_reshape("unsqueeze", x, shape);
}

namespace {

Tensor expanded(const char* op, const TensorArg& x, const Dims& asked) {
  const Spec spec = spec_of(x, op);
  const int lead = asked.ndim() - spec.shape.ndim();
  Shape shape(asked);
  bool fits = lead >= 0;
  for (int i = 0; fits && i < asked.ndim(); ++i) {
    std::int64_t& extent = shape[static_cast<std::size_t>(i)];
    const std::int64_t own = i < lead ? 1 : spec.shape[static_cast<std::size_t>(i - lead)];
    if (extent == -1 && i >= lead) extent = own;
    fits = extent >= 0 && (own == 1 || own == extent);
  }
  if (!fits)
    fail<ShapeError>(x.at(), std::string(op) + ": " + describe(x.ref()) + " does not expand to " +
                                 Shape(asked).str() +
                                 "; only axes of extent 1 repeat, new ones come first, and -1 "
                                 "keeps an extent");
  if (shape == spec.shape) return tensor_of(x);
  return record_one(OpId::expand, op, x, {}, {shape, spec.dtype});
}

}  // namespace

Tensor expand(const TensorArg& x, const Dims& shape) { return expanded("expand", x, shape); }

Tensor broadcast_to(const TensorArg& x, const Dims& shape) {
  return expanded("broadcast_to", x, shape);
}

Tensor flip(const TensorArg& x, const Dims& axes) {
  const Shape shape = spec_of(x, "flip").shape;
  const std::int64_t mask = axes.empty() ? 0 : axes_mask("flip", x, axes);
  Tensor result = tensor_of(x);
  for (int i = 0; i < shape.ndim(); ++i) {
    const std::int64_t extent = shape[static_cast<std::size_t>(i)];
    if (mask >> i & 1 && extent > 1)
      result = record_slice("flip", {result, x.at()}, i, extent - 1, extent, -1);
  }
  return result;
}

Tensor slice(const TensorArg& x, std::int64_t axis, Bound start, Bound stop, std::int64_t step) {
  return sliced(x, axis, {start.value(), stop.value(), step});
}

Tensor select(const TensorArg& x, std::int64_t axis, std::int64_t position) {
  return record_select("select", x, real_axis("select", x, axis), position);
}

}  // namespace weft
