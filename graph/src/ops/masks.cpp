// Indexing by tensors of positions and by masks. What a mask picks is known once it is evaluated.
#include "composite.h"

namespace weft {
namespace detail {
namespace {

constexpr Composite index_called{"index", "index", nullptr, true};

using Positions = std::vector<std::int64_t>;

/// Places in row-major order where the mask is true; waits for it.
Positions true_places(const TensorArg& mask) {
  const std::vector<unsigned char> bytes =
      tensor_of(mask).to(DType::u8, mask.at()).to_vector<unsigned char>(mask.at());
  Positions places;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i]) places.push_back(static_cast<std::int64_t>(i));
  return places;
}

/// As a tensor where an op on x runs.
Tensor tensor_like(const char* op, const TensorArg& x, const Positions& places,
                   const Shape& shape) {
  const Ref ref = x.ref();
  return from_vector(places, shape, {.device = common_device(op, {&ref, 1}, x.at())}, x.at());
}

void check_mask(const char* op, const TensorArg& x, const TensorArg& mask) {
  if (spec_of(mask, op).dtype != DType::bool_)
    fail<DTypeError>(x.at(), std::string(op) + ": the mask is no bool: " + describe(x.ref()) +
                                 ", mask " + describe(mask.ref()) + "; compare it, as mask != 0");
  const Ref given[] = {x.ref(), mask.ref()};
  common_device(op, given, x.at());
}

/// Row-major places in a shape, as coordinates along one of its axes.
Positions along_axis(const Positions& places, const Shape& shape, std::size_t axis) {
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  Positions result;
  for (const std::int64_t place : places) result.push_back(place / inner % shape[axis]);
  return result;
}

/// One axis of the data, and the positions of it that are picked.
struct AxisIndex {
  int axis;
  Tensor positions;
  bool is_in_range = false;
};

/// By tensors alone, each of an axis of its own, in ascending order.
class TensorIndex {
 public:
  TensorIndex(const TensorArg& x, std::vector<AxisIndex> indices)
      : at_(x.at()), data_(tensor_of(x)), indices_(std::move(indices)) {
    for (const AxisIndex& index : indices_)
      picks_ = broadcast_shapes("index", picks_, index.positions.shape(at_), at_);
  }

  Tensor run() {
    const int first = gather_axes();
    const Shape shape = data_.shape(at_);
    const int count = static_cast<int>(indices_.size());
    Shape merged, result;
    std::int64_t extent = 1;
    for (int i = 0; i < shape.ndim(); ++i) {
      const bool is_indexed = i >= first && i < first + count;
      if (is_indexed) extent *= shape[i];
      if (!is_indexed) merged.push_back(shape[i]);
      if (i == first)
        for (const std::int64_t n : picks_) result.push_back(n, at_);
      if (!is_indexed) result.push_back(shape[i], at_);
    }
    merged.insert(first, extent, at_);
    const Tensor lines = reshape({data_, at_}, Dims(merged, at_));
    const Tensor flat = reshape({places(shape, first), at_}, Dims(-1, at_));
    return reshape({index_select({lines, at_}, first, {flat, at_}), at_}, Dims(result, at_));
  }

 private:
  /// Makes the indexed axes neighbours, if they are not: then the first ones. Where they begin.
  int gather_axes() {
    const int first = indices_.front().axis, count = static_cast<int>(indices_.size());
    if (indices_.back().axis - first == count - 1) return first;
    Dims order(at_);
    std::int64_t mask = 0;
    for (const AxisIndex& index : indices_) {
      order.push_back(index.axis, at_);
      mask |= std::int64_t{1} << index.axis;
    }
    for (int i = 0; i < data_.ndim(at_); ++i)
      if (!(mask >> i & 1)) order.push_back(i, at_);
    data_ = permute({data_, at_}, order);
    return 0;
  }

  /// Row-major places within the indexed axes, each index checked against its own.
  Tensor places(const Shape& shape, int first) const {
    Tensor sum;
    std::int64_t stride = 1;
    for (std::size_t k = indices_.size(); k-- > 0;) {
      const std::int64_t extent = shape[static_cast<std::size_t>(first) + k];
      Tensor place = indices_[k].positions;
      if (!indices_[k].is_in_range) place = from_front({place, at_}, extent);
      if (indices_.size() > 1) {
        if (!indices_[k].is_in_range) place = take_checked(place, extent);
        place = mul({place, at_}, {stride, at_});
      }
      place = expand({place, at_}, Dims(picks_, at_));
      sum = sum.defined() ? add({sum, at_}, {place, at_}) : place;
      stride *= extent;
    }
    return sum;
  }

  /// The positions themselves, looked up, so that one out of range is found.
  Tensor take_checked(const Tensor& positions, std::int64_t extent) const {
    const Tensor all = counting("index", {data_, at_}, extent);
    const Tensor flat = reshape({positions, at_}, Dims(-1, at_));
    return reshape({gather({all, at_}, 0, {flat, at_}), at_}, Dims(positions.shape(at_), at_));
  }

  Where at_;
  Tensor data_;
  std::vector<AxisIndex> indices_;
  Shape picks_;
};

/// Axes that an index takes up.
int axes_of(const Index& index) {
  if (!index.tensor()) return 1;
  const Spec spec = spec_of(*index.tensor(), "index");
  return spec.dtype == DType::bool_ ? spec.shape.ndim() : 1;
}

void check_tensor(const TensorArg& x, const Shape& shape, int axis, const TensorArg& tensor) {
  const Spec spec = spec_of(tensor, "index");
  const Ref given[] = {x.ref(), tensor.ref()};
  common_device("index", given, x.at());
  if (spec.dtype != DType::bool_) return check_index("index", tensor, x.at());
  bool fits = !spec.shape.empty();
  for (int i = 0; i < spec.shape.ndim(); ++i) fits = fits && spec.shape[i] == shape[axis + i];
  if (!fits)
    fail<ShapeError>(x.at(), "index: the mask does not cover the axes from " +
                                 std::to_string(axis) + " on: " + describe(x.ref()) + ", mask " +
                                 describe(tensor.ref()) + "; give it their extents");
}

/// What is to be indexed by tensors once numbers and ranges have been applied.
std::vector<AxisIndex> tensor_indices(const TensorArg& x, std::span<const Index> indices) {
  std::vector<AxisIndex> result;
  int axis = 0;  // of the result of numbers and ranges
  for (const Index& index : indices) {
    if (!index.tensor()) {
      axis += index.is_position() ? 0 : 1;
      continue;
    }
    const TensorArg tensor(tensor_of(*index.tensor()), x.at());
    const Shape shape = spec_of(tensor, "index").shape;
    if (spec_of(tensor, "index").dtype == DType::bool_) {
      const Positions places = true_places(tensor);
      for (std::size_t i = 0; i < shape.size(); ++i)
        result.push_back({axis++,
                          tensor_like("index", x, along_axis(places, shape, i),
                                      Shape(static_cast<std::int64_t>(places.size()))),
                          true});
    } else {
      result.push_back({axis++, tensor_of(tensor)});
    }
  }
  return result;
}

}  // namespace

Tensor indexed(const TensorArg& x, std::span<const Index> indices) {
  const Within within(index_called);
  const Shape shape = spec_of(x, "index").shape;
  std::vector<Index> numbers;  // the tensors' axes whole
  bool has_tensor = false;
  int axis = 0;
  for (const Index& index : indices) axis += axes_of(index);
  if (axis > shape.ndim())
    fail<IndexError>(x.at(), "index: " + std::to_string(axis) + " indices for " +
                                 std::to_string(shape.ndim()) + " axes: " + describe(x.ref()) +
                                 "; give one for each axis, or fewer");
  axis = 0;
  for (const Index& index : indices) {
    const int axes = axes_of(index);
    if (index.tensor()) {
      has_tensor = true;
      check_tensor(x, shape, axis, *index.tensor());
      numbers.insert(numbers.end(), static_cast<std::size_t>(axes), Index(Slice{}));
    } else {
      numbers.push_back(index);
    }
    axis += axes;
  }
  const Tensor part = indexed_by_numbers(x, numbers);
  if (!has_tensor) return part;
  return TensorIndex({part, x.at()}, tensor_indices(x, indices)).run();
}

}  // namespace detail

using namespace detail;

Tensor masked_select(const TensorArg& x, const TensorArg& mask) {
  const Within within(composite<"masked_select">);
  const Where at = x.at();
  check_mask("masked_select", x, mask);
  const Shape shape = broadcast_shapes("masked_select", spec_of(x, "masked_select").shape,
                                       spec_of(mask, "masked_select").shape, at);
  const Dims all(shape, at);
  const Positions places = true_places({expand(mask, all), at});
  const Tensor index =
      tensor_like("masked_select", x, places, Shape(static_cast<std::int64_t>(places.size())));
  const Tensor flat = reshape({expand(x, all), at}, Dims(-1, at));
  return gather({flat, at}, 0, {index, at});
}

Tensor masked_scatter(const TensorArg& x, const TensorArg& mask, const TensorArg& source) {
  const Within within(composite<"masked_scatter">);
  const Where at = x.at();
  check_mask("masked_scatter", x, mask);
  const Spec spec = spec_of(x, "masked_scatter");
  if (spec_of(source, "masked_scatter").dtype != spec.dtype)
    fail<DTypeError>(at, "masked_scatter: dtypes differ: " + describe(x.ref()) + ", source " +
                             describe(source.ref()) + "; cast the source, as source.to(x.dtype())");
  const Positions places = true_places({broadcast_to(mask, Dims(spec.shape, at)), at});
  const auto count = static_cast<std::int64_t>(places.size());
  if (spec_of(source, "masked_scatter").shape.numel() < count)
    fail<ShapeError>(at, "masked_scatter: the mask is true at " + std::to_string(count) +
                             " places, the source has fewer elements: " + describe(x.ref()) +
                             ", source " + describe(source.ref()) + "; give as many or more");
  const Tensor index = tensor_like("masked_scatter", x, places, Shape(count));
  const Tensor values = slice({reshape(source, Dims(-1, at)), at}, 0, 0, count);
  const Tensor flat = scattered(OpId::scatter, "masked_scatter", {reshape(x, Dims(-1, at)), at}, 0,
                                {index, at}, {values, at});
  return reshape({flat, at}, Dims(spec.shape, at));
}

Tensor nonzero(const TensorArg& x) {
  const Where at = x.at();
  const Shape shape = spec_of(x, "nonzero").shape;
  const Positions places = true_places({ne(x, {0, at}), at});
  Positions rows;
  rows.reserve(places.size() * shape.size());
  std::vector<Positions> columns;
  for (std::size_t i = 0; i < shape.size(); ++i) columns.push_back(along_axis(places, shape, i));
  for (std::size_t n = 0; n < places.size(); ++n)
    for (const Positions& column : columns) rows.push_back(column[n]);
  return tensor_like("nonzero", x, rows, {static_cast<std::int64_t>(places.size()), shape.ndim()});
}

}  // namespace weft
