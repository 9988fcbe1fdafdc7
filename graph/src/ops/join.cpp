// Joins: several tensors into one.
#include "rules.h"

namespace weft {
namespace detail {

// ---- rules

bool consistent_cat(std::span<const Spec> inputs, const Attrs& attrs,
                    std::span<const Spec> outputs) {
  if (inputs.empty() || outputs.size() != 1) return false;
  const std::int64_t axis = attrs.v[0];
  Shape sum = inputs[0].shape;
  if (axis < 0 || axis >= sum.ndim()) return false;
  const auto along = static_cast<std::size_t>(axis);
  sum[along] = 0;
  for (const Spec& input : inputs) {
    if (input.dtype != outputs[0].dtype || input.shape.ndim() != sum.ndim()) return false;
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (i != along && input.shape[i] != sum[i]) return false;
    sum[along] += input.shape[along];
  }
  return outputs[0].shape == sum;
}

bool consistent_slice_update(std::span<const Spec> inputs, const Attrs& attrs,
                             std::span<const Spec> outputs) {
  if (inputs.size() != 2 || outputs.size() != 1 || inputs[0] != outputs[0]) return false;
  const Spec part[] = {inputs[1]};
  return attrs.v[1] > 0 && consistent_slice(inputs.first(1), attrs, part);
}

// ---- recording

namespace {

std::vector<Ref> refs_of(const char* op, const TensorList& tensors) {
  if (tensors.size() == 0)
    fail<ValueError>(tensors.at(), std::string(op) + ": no tensors to join; give at least one");
  std::vector<Ref> refs;
  for (const TensorArg& x : tensors.args()) {
    defined(x, op);
    refs.push_back(x.ref());
  }
  return refs;
}

DType common_dtype(const char* op, const TensorList& tensors) {
  DType common = spec_of(tensors.args()[0], op).dtype;
  for (const TensorArg& x : tensors.args())
    if (!promote(common, spec_of(x, op).dtype, common))
      fail<DTypeError>(tensors.at(), std::string(op) + ": no dtype holds " + name_str(common) +
                                         " and " + describe(x.ref()) + "; cast one, as x.to(i32)");
  return common;
}

[[noreturn]] void fail_join(const char* op, const std::string& what, const TensorArg& x,
                            const TensorArg& y, const std::string& remedy, Where at) {
  fail<ShapeError>(at, std::string(op) + ": " + what + ": " + describe(x.ref()) + ", " +
                           describe(y.ref()) + "; " + remedy);
}

/// PyTorch's exception of old: empty vectors join with anything.
bool is_empty_vector(const Shape& shape) { return shape.ndim() == 1 && shape[0] == 0; }

/// The tensors that take part: all but empty vectors, or the first where there are no others.
std::vector<TensorArg> participants(const TensorList& tensors) {
  std::vector<TensorArg> result;
  for (const TensorArg& x : tensors.args())
    if (!is_empty_vector(spec_of(x, "cat").shape)) result.push_back(x);
  if (result.empty()) result.push_back(tensors.args()[0]);
  return result;
}

/// The extents of all together; ShapeError where they differ off the axis.
Shape joined_shape(const std::vector<TensorArg>& parts, std::size_t axis, Where at) {
  const TensorArg& first = parts[0];
  Shape shape = spec_of(first, "cat").shape;
  shape[axis] = 0;
  for (const TensorArg& x : parts) {
    const Shape own = spec_of(x, "cat").shape;
    if (own.ndim() != shape.ndim())
      fail_join("cat", "numbers of axes differ", first, x, "unsqueeze or reshape one", at);
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (i != axis && own[i] != shape[i])
        fail_join("cat", "extents differ off axis " + std::to_string(axis), first, x,
                  "they may differ along the joined axis alone", at);
    shape[axis] = sum_of_extents("cat", {tensor_of(x), at}, shape[axis], own[axis]);
  }
  return shape;
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor cat(const TensorList& tensors, std::int64_t axis) {
  const Where at = tensors.at();
  const std::vector<Ref> refs = refs_of("cat", tensors);
  const Device device = common_device("cat", refs, at);
  const DType dtype = common_dtype("cat", tensors);
  const std::vector<TensorArg> parts = participants(tensors);
  const int rank = spec_of(parts[0], "cat").shape.ndim();
  for (const TensorArg& x : parts)
    if (spec_of(x, "cat").shape.empty())
      fail<ShapeError>(at, "cat: a 0-dim tensor has no axis to join along: " + describe(x.ref()) +
                               "; use stack");
  const int along = wrap_axis("cat", axis, rank, at);
  const Shape shape = joined_shape(parts, static_cast<std::size_t>(along), at);
  check_size("cat", shape, dtype, at);
  std::vector<Tensor> cast_parts;
  std::vector<Ref> inputs;
  for (const TensorArg& x : parts) {
    cast_parts.push_back(cast({tensor_of(x), at}, dtype));
    inputs.push_back(cast_parts.back().ref());
  }
  if (inputs.size() == 1) return cast_parts[0];
  Attrs attrs;
  attrs.v[0] = along;
  return record_structured(OpId::cat, inputs, attrs, {shape, dtype}, device, at);
}

Tensor stack(const TensorList& tensors, std::int64_t axis) {
  const Where at = tensors.at();
  const std::vector<Ref> refs = refs_of("stack", tensors);
  common_device("stack", refs, at);
  const DType dtype = common_dtype("stack", tensors);
  const TensorArg& first = tensors.args()[0];
  Shape shape = spec_of(first, "stack").shape;
  for (const TensorArg& x : tensors.args())
    if (spec_of(x, "stack").shape != shape)
      fail_join("stack", "shapes differ", first, x, "make them equal, or use cat", at);
  const int along = wrap_axis("stack", axis, shape.ndim() + 1, at);
  shape.insert(along, static_cast<std::int64_t>(tensors.size()), at);
  check_size("stack", shape, dtype, at);
  std::vector<Tensor> layers;
  for (const TensorArg& x : tensors.args()) layers.push_back(unsqueeze({tensor_of(x), at}, along));
  return cat({layers, at}, along);
}

Tensor slice_update(const TensorArg& x, std::int64_t axis, std::int64_t start, const TensorArg& y,
                    std::int64_t step) {
  const Where at = x.at();
  const Spec spec = spec_of(x, "slice_update"), part = spec_of(y, "slice_update");
  const auto operands = [&] { return describe(x.ref()) + ", " + describe(y.ref()); };
  if (spec.shape.empty())
    fail<IndexError>(at, "slice_update: a 0-dim tensor has no axis to write along: " + operands() +
                             "; use where, or y itself");
  const int along = wrap_axis("slice_update", axis, spec.shape.ndim(), at);
  const auto i = static_cast<std::size_t>(along);
  Shape off_axis = part.shape;
  if (off_axis.ndim() == spec.shape.ndim()) off_axis[i] = spec.shape[i];
  if (off_axis != spec.shape)
    fail<ShapeError>(at, "slice_update: extents differ off axis " + std::to_string(along) + ": " +
                             operands() + "; expand or reshape what is written");
  if (step <= 0)
    fail<ValueError>(at, "slice_update: the step is " + std::to_string(step) + ": " + operands() +
                             "; give one of 1 or more");
  const std::int64_t extent = spec.shape[i], count = part.shape[i];
  const std::int64_t from = start < 0 ? start + extent : start;
  const bool fits = from >= 0 && from <= extent &&
                    (count == 0 || (from < extent && count - 1 <= (extent - 1 - from) / step));
  if (!fits)
    fail<IndexError>(at, "slice_update: " + std::to_string(count) + " positions from " +
                             std::to_string(start) + " by " + std::to_string(step) +
                             " do not fit into axis " + std::to_string(along) + ": " + operands() +
                             "; start earlier, or write less");
  const Ref given[] = {x.ref(), y.ref()};
  const Device device = common_device("slice_update", given, at);
  const Tensor written = cast({tensor_of(y), at}, spec.dtype);
  const Ref inputs[] = {x.ref(), written.ref()};
  Attrs attrs;
  attrs.v[0] = along;
  attrs.v[1] = step;
  attrs.v[2] = from;
  return record_structured(OpId::slice_update, inputs, attrs, spec, device, at);
}

// ---- the reverse

std::vector<Tensor> split(const TensorArg& x, const Sizes& sizes, std::int64_t axis) {
  const Where at = x.at();
  const Shape shape = spec_of(x, "split").shape;
  const int along = wrap_axis("split", axis, shape.ndim(), at);
  const std::int64_t extent = shape.empty() ? 0 : shape[static_cast<std::size_t>(along)];
  const auto operands = [&] {
    return sizes.str() + " along axis " + std::to_string(along) + " of " + describe(x.ref());
  };
  if (shape.empty())
    fail<ShapeError>(at, "split: a 0-dim tensor has no axis to split: " + describe(x.ref()) +
                             "; reshape it to {1}");
  std::int64_t total = 0;
  bool is_valid = sizes.size() > 0;
  for (const std::int64_t size : sizes)
    is_valid = is_valid && size >= 0 && !__builtin_add_overflow(total, size, &total);
  const bool is_even = sizes.size() == 1;
  if (!is_valid || (is_even && sizes[0] == 0 && extent != 0))
    fail<ValueError>(at, "split: no sizes of parts: " + operands() +
                             "; give one size of 1 or more, or the size of each part");
  if (!is_even && total != extent)
    fail<ShapeError>(at, "split: the parts have " + std::to_string(total) +
                             " positions, the axis " + std::to_string(extent) + ": " + operands() +
                             "; give sizes whose sum is the extent");
  std::vector<Tensor> parts;
  const auto take = [&](std::int64_t start, std::int64_t stop) {
    parts.push_back(slice(x, along, start, stop));
  };
  std::int64_t start = 0;
  if (!is_even) {
    for (const std::int64_t size : sizes) {
      take(start, start + size);
      start += size;
    }
    return parts;
  }
  if (extent == 0) take(0, 0);
  for (; start < extent; start += sizes[0])
    take(start, sizes[0] < extent - start ? start + sizes[0] : extent);
  return parts;
}

std::vector<Tensor> chunk(const TensorArg& x, std::int64_t chunks, std::int64_t axis) {
  const Where at = x.at();
  const Shape shape = spec_of(x, "chunk").shape;
  if (chunks <= 0)
    fail<ValueError>(at, "chunk: " + std::to_string(chunks) + " chunks: " + describe(x.ref()) +
                             "; give 1 or more");
  if (shape.empty())
    fail<ShapeError>(at, "chunk: a 0-dim tensor has no axis to split: " + describe(x.ref()) +
                             "; reshape it to {1}");
  const int along = wrap_axis("chunk", axis, shape.ndim(), at);
  const std::int64_t extent = shape[static_cast<std::size_t>(along)];
  if (extent == 0)  // as PyTorch: that many empty ones
    return std::vector<Tensor>(static_cast<std::size_t>(chunks), tensor_of(x));
  return split(x, (extent - 1) / chunks + 1, along);
}

}  // namespace weft
