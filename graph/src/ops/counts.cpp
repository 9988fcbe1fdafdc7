// Sets and counts: composites whose sizes depend on the data.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rules.h"

namespace weft {
namespace detail {
namespace {

/// A weight for each element of x: ShapeError, DeviceError otherwise.
void check_weights(const char* op, const TensorArg& x, const Tensor& weights) {
  const Where at = x.at();
  const Shape shape = spec_of({weights, at}, op).shape;
  if (shape != spec_of(x, op).shape)
    fail<ShapeError>(
        at, std::string(op) + ": the weights have another shape: " + describe(x.ref()) +
                ", weights " + describe(weights.ref()) + "; give a weight for each element");
  const Ref given[] = {x.ref(), weights.ref()};
  common_device(op, given, at);
}

/// How often each of 0 .. length-1 is in a vector of i64, or the sums of weights.
Tensor totals(const Tensor& places, std::int64_t length, const Tensor& weights, Where at) {
  const Tensor each = weights.defined() ? weights : ones_like({places, at});
  const Tensor none =
      zeros(Shape(length), {.dtype = each.dtype(at), .device = places.device(at)}, at);
  return scatter_add({none, at}, 0, {places, at}, {each, at});
}

struct Range {
  double low, high;
};

Range range_of(const TensorArg& x, const Tensor& values, const HistogramOptions& options) {
  const Where at = x.at();
  if (options.low.has_value() != options.high.has_value())
    fail<ValueError>(at, "histogram: one end of the range is missing: " + describe(x.ref()) +
                             "; give low and high, or neither");
  Range range{0, 1};
  if (options.low) {
    range = {*options.low, *options.high};
  } else if (values.numel(at) > 0) {
    const Tensor least = amin({values, at}), greatest = amax({values, at});
    range = {least.item<double>(at), greatest.item<double>(at)};
  }
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low > range.high)
    fail<ValueError>(at, "histogram: the range is no interval: " + std::to_string(range.low) +
                             " to " + std::to_string(range.high) + " for " + describe(x.ref()) +
                             "; give a low that is at most high, both finite");
  if (range.low == range.high) range = {range.low - 0.5, range.high + 0.5};
  return range;
}

}  // namespace
}  // namespace detail

using namespace detail;

UniqueResult unique(const TensorArg& x, const UniqueOptions& options) {
  const Within within(composite<"unique">);
  const Where at = x.at();
  const Shape shape = spec_of(x, "unique").shape;
  const std::int64_t n = shape.numel();
  const Tensor flat = reshape(x, {-1});
  UniqueResult result;
  if (n == 0) {
    result.values = reshape({flat, at}, {0});
    const Tensor none = zeros_like({flat, at}, {.dtype = DType::i64});
    if (options.return_inverse) result.inverse = reshape({none, at}, Dims(shape, at));
    if (options.return_counts) result.counts = reshape({none, at}, {0});
    return result;
  }
  const auto [ordered, order] = sort({flat, at}, 0);
  const Tensor start = zeros_like({slice({order, at}, 0, 0, 1), at});
  const Tensor differs =
      ne({slice({ordered, at}, 0, 1), at}, {slice({ordered, at}, 0, 0, n - 1), at});
  const Tensor steps = cat({TensorArg(start, at), TensorArg(cast({differs, at}, DType::i64), at)});
  const Tensor place = cumsum({steps, at}, 0);
  const std::int64_t count = select({place, at}, 0, n - 1).item<std::int64_t>(at) + 1;
  const Tensor numbers = arange({count, at}, {.device = place.device(at)});
  const Tensor first = searchsorted({place, at}, {numbers, at});
  result.values = gather({ordered, at}, 0, {first, at});
  if (options.return_inverse) {
    const Tensor inverse = scatter_add({zeros_like({place, at}), at}, 0, {order, at}, {place, at});
    result.inverse = reshape({inverse, at}, Dims(shape, at));
  }
  if (options.return_counts) {
    const Tensor end = add({start, at}, {n, at});
    const Tensor next = cat({TensorArg(slice({first, at}, 0, 1), at), TensorArg(end, at)});
    result.counts = sub({next, at}, {first, at});
  }
  return result;
}

Tensor bincount(const TensorArg& x, const BincountOptions& options) {
  const Within within(composite<"bincount">);
  const Where at = x.at();
  const Spec spec = spec_of(x, "bincount");
  if (!is_integral(spec.dtype))
    fail<DTypeError>(at, "bincount: only integers are counted: " + describe(x.ref()) +
                             "; cast it, as x.to(i64)");
  if (spec.shape.ndim() != 1)
    fail<ShapeError>(at, "bincount: takes a vector: " + describe(x.ref()) + "; flatten it");
  if (options.minlength < 0)
    fail<ValueError>(at, "bincount: minlength is " + std::to_string(options.minlength) +
                             "; give 0 or more");
  Tensor weights = options.weights;
  if (weights.defined()) {
    check_weights("bincount", x, weights);
    if (weights.dtype(at) != DType::f32) weights = cast({weights, at}, DType::f64);
  }
  const Tensor places = cast({tensor_of(x), at}, DType::i64);
  std::int64_t length = options.minlength;
  if (spec.shape[0] > 0) {
    const Tensor ends =
        stack({TensorArg(amin({places, at}), at), TensorArg(amax({places, at}), at)});
    const std::vector<std::int64_t> range = ends.to_vector<std::int64_t>(at);
    if (range[0] < 0)
      fail<ValueError>(at, "bincount: an element is negative: " + std::to_string(range[0]) +
                               " in " + describe(x.ref()) + "; take those from 0 on alone");
    check_size("bincount", Shape(range[1]), DType::i64, at);
    length = std::max(length, range[1] + 1);
  }
  return totals(places, length, weights, at);
}

std::pair<Tensor, Tensor> histogram(const TensorArg& x, std::int64_t bins,
                                    const HistogramOptions& options) {
  const Within within(composite<"histogram">);
  const Where at = x.at();
  const DType dtype = spec_of(x, "histogram").dtype;
  if (bins < 1)
    fail<ValueError>(at, "histogram: the number of bins is " + std::to_string(bins) +
                             "; give 1 or more");
  check_size("histogram", Shape(bins), DType::f64, at);
  Tensor weights = options.weights;
  if (weights.defined()) {
    check_weights("histogram", x, weights);
    weights = reshape({weights, at}, {-1});
    if (weights.dtype(at) == DType::bool_) weights = cast({weights, at}, DType::i64);
  }
  const DType exact = is_floating(dtype) ? wide(dtype) : DType::f64;
  const Tensor values = reshape({cast({tensor_of(x), at}, exact), at}, {-1});
  const Range range = range_of(x, values, options);
  const Tensor edges =
      linspace(range.low, range.high, bins + 1, {.dtype = exact, .device = values.device(at)}, at);
  // By search among the edges that are returned, so that counts and edges never disagree.
  const Tensor above = searchsorted({edges, at}, {values, at}, true);
  const Tensor place = minimum({sub({above, at}, {1, at}), at}, {bins - 1, at});
  const Tensor is_inside = logical_and({ge({values, at}, {range.low, at}), at},
                                       {le({values, at}, {range.high, at}), at});
  // Whatever is outside goes to a bin behind the others.
  const Tensor bin = where({is_inside, at}, {place, at}, {bins, at});
  return {slice({totals(bin, bins + 1, weights, at), at}, 0, 0, bins), edges};
}

}  // namespace weft
