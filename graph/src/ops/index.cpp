// Indexing by tensors, order, and the selections made of point-wise ops.
#include <cmath>

#include "index.h"
#include "rules.h"

namespace weft {
namespace detail {

// ---- rules

namespace {

bool is_index(DType dtype) noexcept { return dtype == DType::i32 || dtype == DType::i64; }

/// Whether `inner` fits into `outer`, axis by axis, but for one.
bool fits_but(const Shape& inner, const Shape& outer, std::int64_t axis) {
  if (inner.ndim() != outer.ndim()) return false;
  for (int i = 0; i < inner.ndim(); ++i)
    if (i != axis && inner[static_cast<std::size_t>(i)] > outer[static_cast<std::size_t>(i)])
      return false;
  return true;
}

bool is_axis(std::int64_t axis, const Shape& shape) { return axis >= 0 && axis < shape.ndim(); }

}  // namespace

bool consistent_gather(std::span<const Spec> inputs, const Attrs& attrs,
                       std::span<const Spec> outputs) {
  if (inputs.size() != 2 || outputs.size() != 1) return false;
  return is_axis(attrs.v[0], inputs[0].shape) && is_index(inputs[1].dtype) &&
         fits_but(inputs[1].shape, inputs[0].shape, attrs.v[0]) &&
         outputs[0] == Spec{inputs[1].shape, inputs[0].dtype};
}

bool consistent_scatter_add(std::span<const Spec> inputs, const Attrs& attrs,
                            std::span<const Spec> outputs) {
  if (inputs.size() != 3 || outputs.size() != 1) return false;
  return is_axis(attrs.v[0], inputs[0].shape) && is_index(inputs[1].dtype) &&
         fits_but(inputs[1].shape, inputs[0].shape, attrs.v[0]) &&
         inputs[2] == Spec{inputs[1].shape, inputs[0].dtype} && outputs[0] == inputs[0];
}

bool consistent_scatter(std::span<const Spec> inputs, const Attrs& attrs,
                        std::span<const Spec> outputs) {
  return consistent_scatter_add(inputs, attrs, outputs);
}

bool consistent_topk(std::span<const Spec> inputs, const Attrs& attrs,
                     std::span<const Spec> outputs) {
  if (inputs.size() != 1 || outputs.size() != 2 || !is_axis(attrs.v[1], inputs[0].shape))
    return false;
  Shape shape = inputs[0].shape;
  std::int64_t& extent = shape[static_cast<std::size_t>(attrs.v[1])];
  if (attrs.v[0] < 0 || attrs.v[0] > extent) return false;
  extent = attrs.v[0];
  return outputs[0] == Spec{shape, inputs[0].dtype} && outputs[1] == Spec{shape, DType::i64};
}

// ---- recording

void check_index(const char* op, const TensorArg& index, Where at) {
  if (!is_index(spec_of(index, op).dtype))
    fail<DTypeError>(at, std::string(op) + ": the index is no integer: " + describe(index.ref()) +
                             "; cast it, as index.to(i64)");
}

namespace {

/// Axis and shapes of an index that picks along it; ShapeError where it does not fit.
int picked_axis(const char* op, const TensorArg& x, std::int64_t axis, const TensorArg& index) {
  const Where at = x.at();
  const Shape shape = spec_of(x, op).shape;
  check_index(op, index, at);
  const int along = wrap_axis(op, axis, shape.ndim(), at);
  const Shape picks = spec_of(index, op).shape;
  if (picks.ndim() != shape.ndim())
    fail<ShapeError>(at, std::string(op) + ": the index has " + std::to_string(picks.ndim()) +
                             " axes, the data " + std::to_string(shape.ndim()) + ": " +
                             describe(x.ref()) + ", index " + describe(index.ref()) +
                             "; unsqueeze and expand the index");
  if (!fits_but(picks, shape, along))
    fail<ShapeError>(at, std::string(op) + ": the index is larger off axis " +
                             std::to_string(along) + ": " + describe(x.ref()) + ", index " +
                             describe(index.ref()) + "; slice it to the data's extents");
  return along;
}

/// A 0-dim tensor as one of an axis, for ops that need one.
Tensor with_axis(const TensorArg& x, Where at) {
  return spec_of(x, "reshape").shape.empty() ? unsqueeze({tensor_of(x), at}, 0) : tensor_of(x);
}

Attrs along(int axis) {
  Attrs attrs;
  attrs.v[0] = axis;
  return attrs;
}

}  // namespace

Operand number_as(const char* op, const Operand& value, DType dtype, Where at) {
  check_number(op, value, dtype, at);
  if (dtype == DType::bool_) return Operand(value.value() != 0, at);
  if (!is_integral(dtype) || value.number() != Operand::Number::decimal) return value;
  return Operand(static_cast<std::int64_t>(value.decimal()), at);
}

Tensor scattered(OpId op, const char* name, const TensorArg& x, std::int64_t axis,
                 const TensorArg& index, const TensorArg& source) {
  const Where at = x.at();
  const Spec spec = spec_of(x, name), from = spec_of(source, name);
  const int picked = picked_axis(name, x, axis, index);
  const Shape picks = spec_of(index, name).shape;
  if (from.dtype != spec.dtype)
    fail<DTypeError>(at, std::string(name) + ": dtypes differ: " + describe(x.ref()) + ", source " +
                             describe(source.ref()) + "; cast the source, as source.to(x.dtype())");
  if (!fits_but(picks, from.shape, -1))
    fail<ShapeError>(at, std::string(name) + ": the index is larger than the source: index " +
                             describe(index.ref()) + ", source " + describe(source.ref()) +
                             "; slice the index, or expand the source");
  const Ref given[] = {x.ref(), index.ref(), source.ref()};
  const Device device = common_device(name, given, at);
  Tensor moved = with_axis(source, at);
  const Tensor data = with_axis(x, at), places = with_axis(index, at);
  for (int i = 0; i < picks.ndim(); ++i)
    moved = slice({moved, at}, i, 0, picks[static_cast<std::size_t>(i)]);
  const Ref inputs[] = {data.ref(), places.ref(), moved.ref()};
  const Tensor result = record_structured(op, inputs, along(picked), {data.shape(at), spec.dtype},
                                          device, at);
  return reshape({result, at}, Dims(spec.shape, at));
}

namespace {

/// Least and greatest value of an integer dtype.
std::pair<std::int64_t, std::int64_t> range_of(DType dtype) noexcept {
  if (dtype == DType::u8) return {0, 255};
  const int bits = 8 * static_cast<int>(size_of(dtype));
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max() >> (64 - bits);
  return {-greatest - 1, greatest};
}

/// By comparison, so that a value at the bound keeps its gradient and a NaN stays.
Tensor bounded(const Tensor& x, Operand bound, bool is_low, Where at) {
  if (!bound.is_number()) {
    const Tensor limit{Handle(bound.ref())};
    const Tensor outside = is_low ? lt({x, at}, bound) : gt({x, at}, bound);
    return where(bitwise_or({outside, at}, {isnan({limit, at}), at}), bound, {x, at});
  }
  const DType dtype = x.dtype(at);
  if (bound.number() == Operand::Number::decimal && std::isnan(bound.decimal()))
    return maximum({x, at}, bound);
  // A bound that the dtype does not have would wrap.
  if (is_integral(dtype) && bound.number() == Operand::Number::integer) {
    const auto [least, greatest] = range_of(dtype);
    if (is_low ? bound.integer() <= least : bound.integer() >= greatest) return x;
    bound = Operand(std::clamp(bound.integer(), least, greatest), at);
  }
  return where({is_low ? lt({x, at}, bound) : gt({x, at}, bound), at}, bound, {x, at});
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor gather(const TensorArg& x, std::int64_t axis, const TensorArg& index) {
  const Where at = x.at();
  const Spec spec = spec_of(x, "gather");
  const int picked = picked_axis("gather", x, axis, index);
  const Ref given[] = {x.ref(), index.ref()};
  const Device device = common_device("gather", given, at);
  const Shape picks = spec_of(index, "gather").shape;
  check_size("gather", picks, spec.dtype, at);
  const Tensor data = with_axis(x, at), places = with_axis(index, at);
  const Ref inputs[] = {data.ref(), places.ref()};
  const Tensor result = record_structured(OpId::gather, inputs, along(picked),
                                          {places.shape(at), spec.dtype}, device, at);
  return reshape({result, at}, Dims(picks, at));
}

Tensor scatter_add(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                   const TensorArg& source) {
  return scattered(OpId::scatter_add, "scatter_add", x, axis, index, source);
}

Tensor index_select(const TensorArg& x, std::int64_t axis, const TensorArg& index) {
  const Within within(composite<"index_select">);
  const Where at = x.at();
  const Spec spec = spec_of(x, "index_select"), picks = spec_of(index, "index_select");
  check_index("index_select", index, at);
  if (spec.shape.empty() || picks.shape.ndim() > 1)
    fail<ShapeError>(at,
                     "index_select: takes an axis's positions by a vector: " + describe(x.ref()) +
                         ", index " + describe(index.ref()) + "; flatten the index, or use gather");
  const auto picked =
      static_cast<std::size_t>(wrap_axis("index_select", axis, spec.shape.ndim(), at));
  const Ref given[] = {x.ref(), index.ref()};
  common_device("index_select", given, at);
  Shape column, shape = spec.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) column.push_back(1);
  shape[picked] = column[picked] = picks.shape.numel();
  check_size("index_select", shape, spec.dtype, at);
  const Tensor places = reshape({tensor_of(index), at}, Dims(column, at));
  return gather(x, static_cast<std::int64_t>(picked), {expand({places, at}, Dims(shape, at)), at});
}

std::pair<Tensor, Tensor> topk(const TensorArg& x, std::int64_t k, std::int64_t axis,
                               bool largest) {
  const Where at = x.at();
  const Spec spec = spec_of(x, "topk");
  const int sorted = wrap_axis("topk", axis, spec.shape.ndim(), at);
  const std::int64_t extent = spec.shape.empty() ? 1 : spec.shape[static_cast<std::size_t>(sorted)];
  if (k < 0 || k > extent)
    fail<ValueError>(at, "topk: k is " + std::to_string(k) + ", the axis has " +
                             std::to_string(extent) + " positions: " + describe(x.ref()) +
                             "; give a k from 0 to that");
  if (spec.dtype == DType::bool_)
    fail<DTypeError>(at, "topk: bools have no order: " + describe(x.ref()) +
                             "; cast it first, as x.to(u8)");
  const Ref given = x.ref();
  const Device device = common_device("topk", {&given, 1}, at);
  const Tensor data = with_axis(x, at);
  Shape shape = data.shape(at);
  shape[static_cast<std::size_t>(sorted)] = k;
  Attrs attrs;
  attrs.v[0] = k;
  attrs.v[1] = sorted;
  attrs.v[2] = largest;
  const Ref input = data.ref();
  auto [values, indices] = record_pair(OpId::topk, {&input, 1}, attrs, {shape, spec.dtype},
                                       {shape, DType::i64}, device, at);
  if (!spec.shape.empty() || k == 0) return {values, indices};
  const Dims none(at);
  return {reshape({values, at}, none), reshape({indices, at}, none)};
}

Tensor masked_fill(const TensorArg& x, const TensorArg& mask, const Operand& value) {
  const Within within(composite<"masked_fill">);
  const Where at = x.at();
  const Spec spec = spec_of(x, "masked_fill"), chosen = spec_of(mask, "masked_fill");
  if (chosen.dtype != DType::bool_)
    fail<DTypeError>(at, "masked_fill: the mask is no bool: " + describe(x.ref()) + ", mask " +
                             describe(mask.ref()) + "; compare it, as mask != 0");
  broadcast_shapes("masked_fill", spec.shape, chosen.shape, at);
  const Ref given[] = {x.ref(), mask.ref(), value.is_number() ? x.ref() : value.ref()};
  if (!value.is_number() && !spec_of(value, "masked_fill").shape.empty())
    fail<ShapeError>(at, "masked_fill: the value has axes: " + describe(value.ref()) +
                             "; give a number or a 0-dim tensor, or use where");
  common_device("masked_fill", given, at);
  if (value.is_number()) return where(mask, number_as("masked_fill", value, spec.dtype, at), x);
  return where(mask, {cast(value, spec.dtype), at}, x);
}

Tensor clamp(const TensorArg& x, const OptionalOperand& low, const OptionalOperand& high) {
  const Within within(composite<"clamp">);
  const Where at = x.at();
  defined(x, "clamp");
  if (!low.operand() && !high.operand())
    fail<ValueError>(at,
                     "clamp: no bound is given: " + describe(x.ref()) + "; give low, high or both");
  Tensor result = tensor_of(x);
  if (low.operand()) result = bounded(result, *low.operand(), true, at);
  if (high.operand()) result = bounded(result, *high.operand(), false, at);
  return result;
}

}  // namespace weft
