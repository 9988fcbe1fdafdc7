// The same elements moved, repeated, split and joined: functions over views and joins.
#include <algorithm>
#include <new>

#include "composite.h"
#include "reduce.h"

namespace weft {
namespace detail {

Tensor counting(const char* op, const TensorArg& x, std::int64_t count, std::int64_t start) {
  const Ref ref = x.ref();
  return arange(Operand(start, x.at()), Operand(start + count, x.at()),
                {.device = common_device(op, {&ref, 1}, x.at())});
}

int axis_of(const char* op, const TensorArg& x, std::int64_t axis) {
  const int rank = spec_of(x, op).shape.ndim();
  if (rank == 0)
    fail<IndexError>(x.at(), std::string(op) + ": a 0-dim tensor has no axis " +
                                 std::to_string(axis) + ": " + describe(x.ref()) +
                                 "; reshape it to {1}");
  return wrap_axis(op, axis, rank, x.at());
}

Tensor number_like(const char* op, const TensorArg& x, const Operand& value) {
  const Where at = x.at();
  const DType dtype = spec_of(x, op).dtype;
  const Ref ref = x.ref();
  if (!value.is_number()) {
    if (spec_of(value, op).shape.ndim() != 0)
      fail<ShapeError>(at, std::string(op) + ": the value is no 0-dim tensor: " +
                               describe(value.ref()) + "; give one, or a number");
    const Ref both[] = {ref, value.ref()};
    common_device(op, both, at);
    return cast({tensor_of(value), at}, dtype);
  }
  return full(Shape(), number_as(op, value, dtype, at),
              {.dtype = dtype, .device = common_device(op, {&ref, 1}, at)});
}

Tensor zero_but(const Tensor& mask, const TensorArg& x) {
  const Where at = x.at();
  const Operand zero = number_as("where", Operand(0, at), spec_of(x, "where").dtype, at);
  return where({mask, at}, x, zero);
}

DType promoted(const char* op, const TensorArg& a, const TensorArg& b) {
  DType common = spec_of(a, op).dtype;
  if (!promote(common, spec_of(b, op).dtype, common))
    fail<DTypeError>(a.at(), std::string(op) + ": no dtype holds both: " + describe(a.ref()) +
                                 ", " + describe(b.ref()) + "; cast one, as x.to(i32)");
  return common;
}

namespace {

Tensor rolled(const Tensor& x, int axis, std::int64_t shift, Where at) {
  const std::int64_t extent = x.size(axis, at);
  if (extent < 2) return x;
  const std::int64_t start = shift % extent + (shift % extent < 0 ? extent : 0);
  if (start == 0) return x;
  const Tensor end = slice({x, at}, axis, extent - start, extent);
  return cat({TensorArg(end, at), {slice({x, at}, axis, 0, extent - start), at}}, axis);
}

/// Of counts, one for each axis of x: all at once where the axes suffice, else one after the other.
Tensor repeated_axes(const Tensor& x, const IntList& counts, Where at) {
  const Shape shape = x.shape(at);
  std::vector<std::int64_t> single, many;
  Shape result;
  for (int i = 0; i < shape.ndim(); ++i) {
    const bool is_split = counts[i] != 1 && shape[i] != 1;
    if (is_split) single.push_back(1);
    if (is_split) many.push_back(counts[i]);
    single.push_back(shape[i]);
    many.push_back(is_split ? shape[i] : counts[i] * shape[i]);
    result.push_back(counts[i] * shape[i]);
  }
  if (single.size() <= max_rank) {
    const Tensor split = reshape({x, at}, Dims(single, at));
    return reshape({expand({split, at}, Dims(many, at)), at}, Dims(result, at));
  }
  Tensor part = x;
  for (int i = 0; i < shape.ndim(); ++i)
    if (counts[i] != 1) {
      Shape merged{1, 1, 1};
      const Shape now = part.shape(at);
      for (int k = 0; k < now.ndim(); ++k) merged[k < i ? 0 : k == i ? 1 : 2] *= now[k];
      const Tensor lines = reshape({part, at}, Dims(merged, at));
      Shape next = now;
      next[i] *= counts[i];
      part = reshape({repeated_axes(lines, Shape{1, counts[i], 1}, at), at}, Dims(next, at));
    }
  return part;
}

Tensor repeated(const char* op, const TensorArg& x, const Dims& counts) {
  const Where at = x.at();
  const Spec spec = spec_of(x, op);
  const int lead = counts.ndim() - spec.shape.ndim();
  Shape shape;
  for (int i = 0; i < lead; ++i) shape.push_back(1);
  for (const std::int64_t extent : spec.shape) shape.push_back(extent);
  IntList each;
  for (int i = lead; i < 0; ++i) each.push_back(1);
  for (const std::int64_t count : counts) each.push_back(count);
  Shape result = shape;
  for (int i = 0; i < shape.ndim(); ++i) {
    if (each[i] < 0)
      fail<ValueError>(at, std::string(op) + ": a count is negative: " + Shape(counts).str() +
                               " of " + describe(x.ref()) + "; give 0 or more");
    result[i] = product_of_extents(op, x, shape[i], each[i]);
  }
  check_size(op, result, spec.dtype, at);
  return repeated_axes(reshape(x, Dims(shape, at)), each, at);
}

/// The same at least so many axes.
std::vector<Tensor> at_least(const char* op, const TensorList& tensors,
                             Tensor (*widen)(const TensorArg&)) {
  std::vector<Tensor> result;
  for (const TensorArg& x : tensors.args()) {
    defined(x, op);
    result.push_back(widen({tensor_of(x), tensors.at()}));
  }
  if (result.empty())
    fail<ValueError>(tensors.at(), std::string(op) + ": no tensors to join; give at least one");
  return result;
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor roll(const TensorArg& x, const Dims& shifts, const Dims& axes) {
  const Where at = x.at();
  const Shape shape = spec_of(x, "roll").shape;
  if (axes.empty() ? shifts.size() != 1 : shifts.size() != axes.size())
    fail<ValueError>(at, "roll: " + std::to_string(shifts.size()) + " shifts for " +
                             std::to_string(axes.size()) + " axes: " + describe(x.ref()) +
                             "; give a shift for each axis, or one shift and no axis");
  if (shape.empty()) {
    for (const std::int64_t axis : axes) wrap_axis("roll", axis, 0, at);
    return tensor_of(x);
  }
  if (axes.empty()) {
    const Tensor line = rolled(reshape(x, Dims(-1, at)), 0, shifts[0], at);
    return reshape({line, at}, Dims(shape, at));
  }
  IntList along;
  for (const std::int64_t axis : axes) along.push_back(axis_of("roll", x, axis));
  Tensor result = tensor_of(x);
  for (std::size_t i = 0; i < along.size(); ++i)
    result = rolled(result, static_cast<int>(along[i]), shifts[i], at);
  return result;
}

Tensor repeat(const TensorArg& x, const Dims& counts) {
  if (counts.ndim() < spec_of(x, "repeat").shape.ndim())
    fail<ShapeError>(x.at(), "repeat: " + std::to_string(counts.ndim()) + " counts for " +
                                 describe(x.ref()) + "; give one for each axis, or use tile");
  return repeated("repeat", x, counts);
}

Tensor tile(const TensorArg& x, const Dims& counts) { return repeated("tile", x, counts); }

Tensor repeat_interleave(const TensorArg& x, std::int64_t count, std::optional<std::int64_t> axis) {
  const Where at = x.at();
  const Spec spec = spec_of(x, "repeat_interleave");
  if (count < 0)
    fail<ValueError>(at, "repeat_interleave: the count is " + std::to_string(count) + ": " +
                             describe(x.ref()) + "; give 0 or more");
  const Tensor data = axis ? tensor_of(x) : reshape(x, Dims(-1, at));
  const int along = axis ? axis_of("repeat_interleave", x, *axis) : 0;
  Shape merged{1, 1, 1, 1}, result = data.shape(at);
  for (int i = 0; i < result.ndim(); ++i) merged[i < along ? 0 : i == along ? 1 : 3] *= result[i];
  Shape many = merged;
  many[2] = count;
  result[along] = product_of_extents("repeat_interleave", x, result[along], count);
  check_size("repeat_interleave", result, spec.dtype, at);
  const Tensor lines = reshape({data, at}, Dims(merged, at));
  return reshape({expand({lines, at}, Dims(many, at)), at}, Dims(result, at));
}

Tensor repeat_interleave(const TensorArg& x, const TensorArg& counts,
                         std::optional<std::int64_t> axis) {
  const Where at = x.at();
  const Spec given = spec_of(counts, "repeat_interleave");
  check_index("repeat_interleave", counts, at);
  const Tensor data = axis ? tensor_of(x) : reshape(x, Dims(-1, at));
  const int along = axis ? axis_of("repeat_interleave", x, *axis) : 0;
  const std::int64_t extent = data.size(along, at);
  if (given.shape.ndim() > 1 || (given.shape.numel() != 1 && given.shape.numel() != extent))
    fail<ShapeError>(
        at, "repeat_interleave: the counts do not suit the axis: " + describe(x.ref()) +
                ", counts " + describe(counts.ref()) + "; give one, or " + std::to_string(extent));
  const Ref refs[] = {x.ref(), counts.ref()};
  const Device device = common_device("repeat_interleave", refs, at);
  const std::vector<std::int64_t> each = tensor_of(counts).to_vector<std::int64_t>(at);
  if (std::ranges::any_of(each, [](std::int64_t n) { return n < 0; }))
    fail<ValueError>(at, "repeat_interleave: a count is negative: counts " +
                             describe(counts.ref()) + "; give 0 or more");
  Shape grown = data.shape(at);
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < extent; ++i) {
    const std::int64_t more = each[each.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    if (__builtin_add_overflow(total, more, &total))
      fail<ShapeError>(at,
                       "repeat_interleave: the counts add up to more than 63 bits hold: counts " +
                           describe(counts.ref()) + "; give smaller ones");
  }
  grown[static_cast<std::size_t>(along)] = total;
  check_size("repeat_interleave", grown, DType::i64, at);
  check_size("repeat_interleave", Shape(total), DType::i64, at);
  std::vector<std::int64_t> places;
  try {
    places.reserve(static_cast<std::size_t>(total));
  } catch (const std::bad_alloc&) {
    fail_memory("repeat_interleave", at);
  }
  for (std::int64_t i = 0; i < extent; ++i)
    places.insert(
        places.end(),
        static_cast<std::size_t>(each[each.size() == 1 ? 0 : static_cast<std::size_t>(i)]), i);
  const Tensor index = from_vector(places, {.device = device}, at);
  return index_select({data, at}, along, {index, at});
}

Tensor movedim(const TensorArg& x, const Dims& from, const Dims& to) {
  const Where at = x.at();
  const int rank = spec_of(x, "movedim").shape.ndim();
  if (from.size() != to.size())
    fail<ValueError>(at, "movedim: " + std::to_string(from.size()) + " axes to " +
                             std::to_string(to.size()) + " positions: " + describe(x.ref()) +
                             "; give a position for each axis");
  if (from.empty()) return tensor_of(x);
  const std::int64_t moved = axes_mask("movedim", x, from);
  axes_mask("movedim", x, to);
  std::vector<int> order(static_cast<std::size_t>(rank), -1);
  for (std::size_t i = 0; i < from.size() && rank > 0; ++i)
    order[static_cast<std::size_t>(axis_of("movedim", x, to[i]))] = axis_of("movedim", x, from[i]);
  int next = 0;
  for (int& axis : order) {
    while (axis < 0 && (moved >> next & 1)) ++next;
    if (axis < 0) axis = next++;
  }
  return permute(x, Dims(order, at));
}

Tensor swapaxes(const TensorArg& x, std::int64_t a, std::int64_t b) { return transpose(x, a, b); }

Tensor unflatten(const TensorArg& x, std::int64_t axis, const Dims& sizes) {
  const Where at = x.at();
  const Shape shape = spec_of(x, "unflatten").shape;
  const int along = axis_of("unflatten", x, axis);
  const std::int64_t extent = shape[along];
  std::int64_t known = 1;
  int open = 0;
  bool fits = !sizes.empty();
  for (const std::int64_t size : sizes) {
    open += size == -1;
    fits = fits && size >= -1;
    if (size >= 0) fits = fits && !__builtin_mul_overflow(known, size, &known);
  }
  fits = fits && (open == 0 ? known == extent : open == 1 && known > 0 && extent % known == 0);
  if (!fits)
    fail<ShapeError>(at, "unflatten: " + Shape(sizes).str() + " does not fill axis " +
                             std::to_string(along) + " of " + describe(x.ref()) +
                             "; give extents whose product is that of the axis, one may be -1");
  Dims result(at);
  for (int i = 0; i < shape.ndim(); ++i) {
    if (i != along) result.push_back(shape[i], at);
    if (i == along)
      for (const std::int64_t size : sizes) result.push_back(size < 0 ? extent / known : size, at);
  }
  return reshape(x, result);
}

std::vector<Tensor> unbind(const TensorArg& x, std::int64_t axis) {
  const int along = axis_of("unbind", x, axis);
  const std::int64_t extent = spec_of(x, "unbind").shape[static_cast<std::size_t>(along)];
  std::vector<Tensor> parts;
  for (std::int64_t i = 0; i < extent; ++i) parts.push_back(select(x, along, i));
  return parts;
}

Tensor narrow(const TensorArg& x, std::int64_t axis, std::int64_t start, std::int64_t length) {
  const int along = axis_of("narrow", x, axis);
  const std::int64_t extent = spec_of(x, "narrow").shape[static_cast<std::size_t>(along)];
  const std::int64_t from = start < 0 ? start + extent : start;
  if (length < 0 || from < 0 || from > extent || length > extent - from)
    fail<IndexError>(x.at(), "narrow: " + std::to_string(length) + " positions from " +
                                 std::to_string(start) + " do not lie within axis " +
                                 std::to_string(along) + " of " + describe(x.ref()) +
                                 "; start earlier, or take fewer");
  return slice(x, along, from, from + length);
}

Tensor rot90(const TensorArg& x, std::int64_t k, const Dims& axes) {
  const Where at = x.at();
  const int rank = spec_of(x, "rot90").shape.ndim();
  if (axes.size() != 2 || rank < 2)
    fail<ShapeError>(at, "rot90: turns in two axes: " + axes_str(axes) + " of " +
                             describe(x.ref()) + "; give two, of a tensor that has them");
  axes_mask("rot90", x, axes);
  const std::int64_t a = axes[0], b = axes[1];
  switch ((k % 4 + 4) % 4) {
    case 1: return transpose({flip(x, Dims(b, at)), at}, a, b);
    case 2: return flip(x, axes);
    case 3: return flip({transpose(x, a, b), at}, Dims(b, at));
    default: return tensor_of(x);
  }
}

std::vector<Tensor> tensor_split(const TensorArg& x, std::int64_t parts, std::int64_t axis) {
  const int along = axis_of("tensor_split", x, axis);
  const std::int64_t extent = spec_of(x, "tensor_split").shape[static_cast<std::size_t>(along)];
  constexpr std::int64_t most_empty = 1 << 20;  // parts beyond the elements are empty
  if (parts < 1 || parts - extent > most_empty)
    fail<ValueError>(x.at(), "tensor_split: " + std::to_string(parts) + " parts: " +
                                 describe(x.ref()) + "; give from 1 to the axis's extent");
  std::vector<Tensor> result;
  std::int64_t start = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t stop = start + extent / parts + (i < extent % parts ? 1 : 0);
    result.push_back(slice(x, along, start, stop));
    start = stop;
  }
  return result;
}

std::vector<Tensor> tensor_split(const TensorArg& x, const Sizes& positions, std::int64_t axis) {
  const int along = axis_of("tensor_split", x, axis);
  std::vector<Tensor> result;
  Bound start = 0;
  for (const std::int64_t stop : positions) {
    result.push_back(slice(x, along, start, stop));
    start = stop;
  }
  result.push_back(slice(x, along, start));
  return result;
}

std::vector<Tensor> meshgrid(const TensorList& tensors, std::string_view indexing) {
  const Where at = tensors.at();
  if (tensors.size() == 0)
    fail<ValueError>(at, "meshgrid: no tensors to span a grid; give at least one");
  if (indexing != "ij" && indexing != "xy")
    fail<ValueError>(at, "meshgrid: no indexing is called \"" + std::string(indexing) +
                             "\"; give \"ij\" or \"xy\"");
  Shape grid;
  for (const TensorArg& x : tensors.args()) {
    const Shape shape = spec_of(x, "meshgrid").shape;
    if (shape.ndim() > 1)
      fail<ShapeError>(at, "meshgrid: an axis of the grid is no vector: " + describe(x.ref()) +
                               "; flatten it");
    grid.push_back(shape.numel(), at);
  }
  std::vector<Tensor> result;
  for (int i = 0; i < grid.ndim(); ++i) {
    Shape line;
    for (int k = 0; k < grid.ndim(); ++k) line.push_back(k == i ? grid[k] : 1);
    const TensorArg x(tensor_of(tensors.args()[static_cast<std::size_t>(i)]), at);
    Tensor coordinates = expand({reshape(x, Dims(line, at)), at}, Dims(grid, at));
    if (indexing == "xy" && grid.ndim() > 1) coordinates = transpose({coordinates, at}, 0, 1);
    result.push_back(coordinates);
  }
  return result;
}

Tensor atleast_1d(const TensorArg& x) {
  return spec_of(x, "atleast_1d").shape.empty() ? reshape(x, Dims(1, x.at())) : tensor_of(x);
}

Tensor atleast_2d(const TensorArg& x) {
  const Shape shape = spec_of(x, "atleast_2d").shape;
  return shape.ndim() < 2 ? reshape(x, Dims({1, shape.numel()}, x.at())) : tensor_of(x);
}

Tensor atleast_3d(const TensorArg& x) {
  const Shape shape = spec_of(x, "atleast_3d").shape;
  if (shape.ndim() < 2) return reshape(x, Dims({1, shape.numel(), 1}, x.at()));
  return shape.ndim() == 2 ? unsqueeze(x, 2) : tensor_of(x);
}

Tensor hstack(const TensorList& tensors) {
  const std::vector<Tensor> parts = at_least("hstack", tensors, atleast_1d);
  return cat({parts, tensors.at()}, parts[0].ndim(tensors.at()) == 1 ? 0 : 1);
}

Tensor vstack(const TensorList& tensors) {
  return cat({at_least("vstack", tensors, atleast_2d), tensors.at()}, 0);
}

Tensor dstack(const TensorList& tensors) {
  return cat({at_least("dstack", tensors, atleast_3d), tensors.at()}, 2);
}

Tensor column_stack(const TensorList& tensors) {
  const auto column = [](const TensorArg& x) {
    const Shape shape = spec_of(x, "column_stack").shape;
    return shape.ndim() < 2 ? reshape(x, Dims({shape.numel(), 1}, x.at())) : tensor_of(x);
  };
  return cat({at_least("column_stack", tensors, column), tensors.at()}, 1);
}

}  // namespace weft
