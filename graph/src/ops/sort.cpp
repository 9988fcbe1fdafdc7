// Orders along an axis, and searches in them.
#include <weft/graph/custom_vjp.h>

#include "lines.h"

namespace weft {
namespace detail {

// ---- rules

bool consistent_sort(std::span<const Spec> inputs, const Attrs& attrs,
                     std::span<const Spec> outputs) {
  if (inputs.size() != 1 || outputs.size() != 2) return false;
  const Shape& shape = inputs[0].shape;
  return attrs.v[1] >= 0 && attrs.v[1] < shape.ndim() &&
         attrs.v[0] == shape[static_cast<std::size_t>(attrs.v[1])] && outputs[0] == inputs[0] &&
         outputs[1] == Spec{shape, DType::i64};
}

namespace {

/// Whether the shapes differ along the last axis at most.
bool are_lines_of(const Shape& a, const Shape& b) {
  if (a.empty() || a.ndim() != b.ndim()) return false;
  for (int i = 0; i + 1 < a.ndim(); ++i)
    if (a[i] != b[i]) return false;
  return true;
}

}  // namespace

bool consistent_searchsorted(std::span<const Spec> inputs, const Attrs&,
                             std::span<const Spec> outputs) {
  return inputs.size() == 2 && outputs.size() == 1 && inputs[0].dtype == inputs[1].dtype &&
         are_lines_of(inputs[0].shape, inputs[1].shape) &&
         outputs[0] == Spec{inputs[1].shape, DType::i64};
}

// ---- recording

namespace {

std::pair<Tensor, Tensor> sorted(const char* op, const TensorArg& x, std::int64_t axis,
                                 bool descending) {
  const Where at = x.at();
  const Spec spec = spec_of(x, op);
  const int along = wrap_axis(op, axis, spec.shape.ndim(), at);
  check_size(op, spec.shape, DType::i64, at);
  const Ref given = x.ref();
  const Device device = common_device(op, {&given, 1}, at);
  const Tensor data = of_an_axis(x, at);
  const Shape shape = data.shape(at);
  Attrs attrs;
  attrs.v[0] = shape[static_cast<std::size_t>(along)];
  attrs.v[1] = along;
  attrs.v[2] = descending;
  const Ref input = data.ref();
  return shaped_as(record_pair(OpId::sort, {&input, 1}, attrs, {shape, spec.dtype},
                               {shape, DType::i64}, device, at),
                   spec.shape, at);
}

std::int64_t extent_along(const Shape& shape, int axis) {
  return shape.empty() ? 1 : shape[static_cast<std::size_t>(axis)];
}

void refuse_bools(const char* op, const TensorArg& x) {
  if (spec_of(x, op).dtype == DType::bool_)
    fail<DTypeError>(x.at(), std::string(op) + ": bools are not counted so: " + describe(x.ref()) +
                                 "; cast it first, as x.to(u8)");
}

/// The k-th least, k from 1 on: values and indices with the axis at extent 1.
std::pair<Tensor, Tensor> kth(const TensorArg& x, std::int64_t k, int axis, Where at) {
  const auto [values, indices] = topk({tensor_of(x), at}, k, axis, false);
  if (values.ndim(at) == 0) return {values, indices};
  return {slice({values, at}, axis, k - 1, k), slice({indices, at}, axis, k - 1, k)};
}

std::pair<Tensor, Tensor> without(const std::pair<Tensor, Tensor>& results, int axis, Where at) {
  if (results.first.ndim(at) == 0) return results;
  return {squeeze({results.first, at}, axis), squeeze({results.second, at}, axis)};
}

/// Operands of one dtype and one device; the sorted ones first.
Tensor search(const char* op, const TensorArg& line, const TensorArg& values, bool right,
              Where at) {
  const Spec spec = spec_of(line, op), wanted = spec_of(values, op);
  if (spec.shape.ndim() != 1 && !are_lines_of(spec.shape, wanted.shape))
    fail<ShapeError>(at, std::string(op) +
                             ": the sorted tensor is no vector, and the values have not its "
                             "leading axes: " +
                             describe(line.ref()) + ", values " + describe(values.ref()) +
                             "; give a vector, or reshape and expand the values");
  DType dtype{};
  if (!promote(spec.dtype, wanted.dtype, dtype))
    fail<DTypeError>(at,
                     std::string(op) + ": the dtypes have none in common: " + describe(line.ref()) +
                         ", values " + describe(values.ref()) + "; cast one of them, as x.to(i32)");
  const Ref given[] = {line.ref(), values.ref()};
  const Device device = common_device(op, given, at);
  check_size(op, wanted.shape, DType::i64, at);
  const Tensor order = cast({tensor_of(line), at}, dtype);
  Tensor sought = cast({tensor_of(values), at}, dtype);
  if (spec.shape.ndim() == 1 && wanted.shape.ndim() != 1) sought = reshape({sought, at}, {-1});
  if (wanted.shape.numel() == 0)
    sought = reshape({sought, at}, Dims(spec.shape.ndim() == 1 ? Shape(0) : wanted.shape, at));
  Attrs attrs;
  attrs.v[0] = right;
  const Ref inputs[] = {order.ref(), sought.ref()};
  const Tensor result = record_structured(OpId::searchsorted, inputs, attrs,
                                          {sought.shape(at), DType::i64}, device, at);
  return reshape({result, at}, Dims(wanted.shape, at));
}

}  // namespace
}  // namespace detail

using namespace detail;

std::pair<Tensor, Tensor> sort(const TensorArg& x, std::int64_t axis, bool descending) {
  return sorted("sort", x, axis, descending);
}

Tensor argsort(const TensorArg& x, std::int64_t axis, bool descending) {
  return sorted("argsort", x, axis, descending).second;
}

Tensor msort(const TensorArg& x) { return sorted("msort", x, 0, false).first; }

std::pair<Tensor, Tensor> kthvalue(const TensorArg& x, std::int64_t k, std::int64_t axis,
                                   bool keep) {
  const Within within(composite<"kthvalue">);
  const Where at = x.at();
  const Shape shape = spec_of(x, "kthvalue").shape;
  const int along = wrap_axis("kthvalue", axis, shape.ndim(), at);
  const std::int64_t extent = extent_along(shape, along);
  if (k < 1 || k > extent)
    fail<ValueError>(at, "kthvalue: k is " + std::to_string(k) + ", the axis has " +
                             std::to_string(extent) + " positions: " + describe(x.ref()) +
                             "; give a k from 1 to that");
  refuse_bools("kthvalue", x);
  const auto results = kth(x, k, along, at);
  return keep ? results : without(results, along, at);
}

std::pair<Tensor, Tensor> median(const TensorArg& x, std::int64_t axis, bool keep) {
  const Within within(composite<"median">);
  const Where at = x.at();
  const Spec spec = spec_of(x, "median");
  const int along = wrap_axis("median", axis, spec.shape.ndim(), at);
  const std::int64_t extent = extent_along(spec.shape, along);
  if (extent == 0)
    fail<ValueError>(at, "median: no element to choose from: " + describe(x.ref()) +
                             "; take an axis that is not empty");
  refuse_bools("median", x);
  auto results = kth(x, (extent + 1) / 2, along, at);
  if (is_floating(spec.dtype) && !spec.shape.empty()) {
    // A NaN is no median of the others: it is the result, and the first one's index.
    const Tensor data = tensor_of(x);
    const Tensor has_nan = any({isnan({data, at}), at}, Dims(along, at), keepdim);
    const Tensor first = argmax({data, at}, Dims(along, at), keepdim);
    results.second = where({has_nan, at}, {first, at}, {results.second, at});
    results.first = gather({data, at}, along, {results.second, at});
  }
  return keep ? results : without(results, along, at);
}

Tensor median(const TensorArg& x) {
  const Where at = x.at();
  if (spec_of(x, "median").shape.numel() == 0)
    fail<ValueError>(at, "median: no element to choose from: " + describe(x.ref()) +
                             "; there is no median of nothing");
  refuse_bools("median", x);
  const auto among = [](const Tensor& values) { return median(reshape(values, {-1}), 0).first; };
  const Within within(composite<"median">);
  const LineOf line(at);
  if (!is_floating(spec_of(x, "median").dtype)) return among(tensor_of(x));
  static const CustomVjp median_of_all(
      [among](const std::vector<Tensor>& in) {
        const Tensor value = among(in[0]);
        return VjpResult({value}, {in[0], value});
      },
      [](const std::vector<Tensor>& residuals, const std::vector<Tensor>& g) {
        const Tensor &data = residuals[0], &value = residuals[1];
        const Tensor chosen = (data == value) | (isnan(data) & isnan(value));
        const Tensor share = g[0].to(wide(data.dtype())) / sum(chosen);
        return std::vector<Tensor>{where(chosen, share.to(data.dtype()), 0)};
      },
      {.name = "median"}, at);
  return median_of_all(TensorList({x}, at))[0];
}

Tensor searchsorted(const TensorArg& line, const TensorArg& values, bool right) {
  if (spec_of(line, "searchsorted").shape.empty())
    fail<ShapeError>(line.at(), "searchsorted: the sorted tensor has no axis: " +
                                    describe(line.ref()) + "; give a vector");
  return search("searchsorted", line, values, right, line.at());
}

Tensor bucketize(const TensorArg& x, const TensorArg& boundaries, bool right) {
  if (spec_of(boundaries, "bucketize").shape.ndim() != 1)
    fail<ShapeError>(x.at(), "bucketize: the boundaries are no vector: " + describe(x.ref()) +
                                 ", boundaries " + describe(boundaries.ref()) +
                                 "; flatten them, or use searchsorted");
  return search("bucketize", boundaries, x, right, x.at());
}

Tensor isin(const TensorArg& x, const TensorArg& elements) {
  const Within within(composite<"isin">);
  const Where at = x.at();
  const Shape shape = spec_of(x, "isin").shape;
  const std::int64_t count = spec_of(elements, "isin").shape.numel();
  if (count == 0 || shape.numel() == 0) {
    const Ref given[] = {x.ref(), elements.ref()};
    common_device("isin", given, at);
    return zeros_like({tensor_of(x), at}, {.dtype = DType::bool_});
  }
  const Tensor data = tensor_of(x);
  const Tensor set = sorted("isin", {reshape({tensor_of(elements), at}, {-1}), at}, 0, false).first;
  const Tensor place = search("isin", {set, at}, {data, at}, false, at);
  const Tensor nearest = reshape({minimum({place, at}, {count - 1, at}), at}, {-1});
  const Tensor found = gather({set, at}, 0, {nearest, at});
  return eq({reshape({found, at}, Dims(shape, at)), at}, {data, at});
}

}  // namespace weft
