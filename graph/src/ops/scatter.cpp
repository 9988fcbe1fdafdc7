// Writing at indices, and picking and writing by positions of an axis or of all elements.
#include "composite.h"

namespace weft {
namespace detail {
namespace {

constexpr Composite take_called{"take", "index", "elements", true};
constexpr Composite put_called{"put", "index", "elements", true};

/// A number, or a 0-dim tensor, of x's dtype in this shape.
Tensor repeated(const char* op, const TensorArg& x, const Operand& value, const Shape& shape) {
  const Where at = x.at();
  const DType dtype = spec_of(x, op).dtype;
  if (value.is_number()) return expand({number_like(op, x, value), at}, Dims(shape, at));
  if (!spec_of(value, op).shape.empty())
    fail<ShapeError>(at, std::string(op) + ": the value has axes: " + describe(value.ref()) +
                             "; give a number or a 0-dim tensor");
  return expand({cast(value, dtype), at}, Dims(shape, at));
}

/// An index of positions along an axis, in the shape of what is at them.
Tensor spread(const char* op, const TensorArg& x, int axis, const TensorArg& index) {
  const Where at = x.at();
  const Spec spec = spec_of(x, op), picks = spec_of(index, op);
  check_index(op, index, at);
  if (picks.shape.ndim() > 1)
    fail<ShapeError>(
        at, std::string(op) + ": takes an axis's positions by a vector: " + describe(x.ref()) +
                ", index " + describe(index.ref()) + "; flatten the index, or use scatter");
  Shape column, shape = spec.shape;
  for (std::size_t i = 0; i < shape.size(); ++i) column.push_back(1);
  if (shape.empty()) return reshape(index, Dims(shape, at));
  const auto along = static_cast<std::size_t>(axis);
  shape[along] = column[along] = picks.shape.numel();
  return expand({reshape(index, Dims(column, at)), at}, Dims(shape, at));
}

/// The source of positions along an axis; ShapeError where it has other extents than they.
void check_source(const char* op, const TensorArg& x, const Tensor& places, const TensorArg& index,
                  const TensorArg& source) {
  if (spec_of(source, op).shape != places.shape(x.at()))
    fail<ShapeError>(x.at(), std::string(op) + ": the source is not " + places.shape(x.at()).str() +
                                 ", as its places are: " + describe(x.ref()) + ", index " +
                                 describe(index.ref()) + ", source " + describe(source.ref()) +
                                 "; give a position of the source for each index");
}

Tensor moved_in(OpId op, const Composite& called, const TensorArg& x, std::int64_t axis,
                const TensorArg& index, const TensorArg& source) {
  const Within within(called);
  const char* name = called.name;
  const int along = wrap_axis(name, axis, spec_of(x, name).shape.ndim(), x.at());
  const Tensor places = spread(name, x, along, index);
  check_source(name, x, places, index, source);
  return scattered(op, name, x, along, {places, x.at()}, source);
}

}  // namespace

Tensor from_front(const TensorArg& index, std::int64_t extent) {
  const Where at = index.at();
  const Tensor i = tensor_of(index);
  const Tensor is_counted_back =
      logical_and({lt({i, at}, {0, at}), at}, {ge({i, at}, {-extent, at}), at});
  return where({is_counted_back, at}, {add({i, at}, {extent, at}), at}, {i, at});
}

}  // namespace detail

using namespace detail;

Tensor scatter(const TensorArg& x, std::int64_t axis, const TensorArg& index,
               const Operand& source) {
  if (!source.is_number()) return scattered(OpId::scatter, "scatter", x, axis, index, source);
  spec_of(x, "scatter");
  const Tensor same = repeated("scatter", x, source, spec_of(index, "scatter").shape);
  return scattered(OpId::scatter, "scatter", x, axis, index, {same, x.at()});
}

Tensor index_add(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                 const TensorArg& source) {
  return moved_in(OpId::scatter_add, composite<"index_add">, x, axis, index, source);
}

Tensor index_copy(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                  const TensorArg& source) {
  return moved_in(OpId::scatter, composite<"index_copy">, x, axis, index, source);
}

Tensor index_fill(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                  const Operand& value) {
  const Within within(composite<"index_fill">);
  const int along = wrap_axis("index_fill", axis, spec_of(x, "index_fill").shape.ndim(), x.at());
  const Tensor places = spread("index_fill", x, along, index);
  const Tensor same = repeated("index_fill", x, value, places.shape(x.at()));
  return scattered(OpId::scatter, "index_fill", x, along, {places, x.at()}, {same, x.at()});
}

Tensor take(const TensorArg& x, const TensorArg& index) {
  const Within within(take_called);
  const Where at = x.at();
  const Spec spec = spec_of(x, "take"), picks = spec_of(index, "take");
  check_index("take", index, at);
  const Ref given[] = {x.ref(), index.ref()};
  common_device("take", given, at);
  check_size("take", picks.shape, spec.dtype, at);
  const Tensor places = from_front({reshape(index, Dims(-1, at)), at}, spec.shape.numel());
  const Tensor flat = reshape(x, Dims(-1, at));
  return reshape({gather({flat, at}, 0, {places, at}), at}, Dims(picks.shape, at));
}

Tensor put(const TensorArg& x, const TensorArg& index, const Operand& source, bool accumulate) {
  const Within within(put_called);
  const Where at = x.at();
  const Spec spec = spec_of(x, "put"), picks = spec_of(index, "put");
  check_index("put", index, at);
  Tensor values;
  if (source.is_number()) {
    values = repeated("put", x, source, Shape(picks.shape.numel()));
  } else if (spec_of(source, "put").shape.numel() != picks.shape.numel()) {
    fail<ShapeError>(at, "put: the index and the source differ in length: index " +
                             describe(index.ref()) + ", source " + describe(source.ref()) +
                             "; give an element of the source for each index");
  } else {
    values = reshape(source, Dims(-1, at));
  }
  const Tensor places = from_front({reshape(index, Dims(-1, at)), at}, spec.shape.numel());
  const Tensor flat = scattered(accumulate ? OpId::scatter_add : OpId::scatter, "put",
                                {reshape(x, Dims(-1, at)), at}, 0, {places, at}, {values, at});
  return reshape({flat, at}, Dims(spec.shape, at));
}

}  // namespace weft
