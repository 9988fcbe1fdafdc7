// Spread, norms and counts: two passes, from the mean, never E[x²] − E[x]².
#include <cmath>

#include "composite.h"
#include "reduce.h"

namespace weft {
namespace detail {
namespace {

void check_floating(const char* op, const TensorArg& x) {
  if (!is_floating(spec_of(x, op).dtype))
    fail<DTypeError>(x.at(), std::string(op) + ": integers and bools have none of their dtype: " +
                                 describe(x.ref()) + "; cast it first, as x.to(f32)");
}

std::int64_t count_along(const char* op, const TensorArg& x, const Dims& axes) {
  const std::int64_t mask = axes_mask(op, x, axes);
  const Shape shape = spec_of(x, op).shape;
  std::int64_t count = 1;
  for (int i = 0; i < shape.ndim(); ++i)
    if (mask >> i & 1) count *= shape[i];
  return count;
}

/// What the sum of squares is divided by.
Operand divisor(const char* op, const TensorArg& x, std::int64_t count, double correction) {
  if (!std::isfinite(correction))
    fail<ValueError>(x.at(), std::string(op) +
                                 ": the correction is not finite: " + std::to_string(correction) +
                                 " for " + describe(x.ref()) + "; give 1 or 0");
  return {std::max(0.0, static_cast<double>(count) - correction), x.at()};
}

Tensor variance(const char* op, const TensorArg& x, const Dims& axes, bool keep,
                double correction) {
  const Where at = x.at();
  check_floating(op, x);
  const std::int64_t count = count_along(op, x, axes);
  const Operand by = divisor(op, x, count, correction);
  const Tensor wide_x = cast(x, wide(spec_of(x, op).dtype));
  const Tensor mean = div({sum({wide_x, at}, axes, keepdim), at}, {count, at});
  const Tensor distance = sub({wide_x, at}, {mean, at});
  return div({sum({square({distance, at}), at}, axes, keep), at}, by);
}

/// Square root whose gradient at 0 is 0.
Tensor root(const Tensor& x, Where at) {
  const Tensor is_zero = eq({x, at}, {0, at});
  const Tensor positive = where({is_zero, at}, {1, at}, {x, at});
  return where({is_zero, at}, {0, at}, {sqrt({positive, at}), at});
}

Tensor without_nan(const TensorArg& x) {
  if (!is_floating(spec_of(x, "nansum").dtype)) return tensor_of(x);
  const Where at = x.at();
  return where({isnan(x), at}, {0, at}, x);
}

/// Rows less their means, of a matrix or of a vector as its only row.
Tensor centred_rows(const char* op, const TensorArg& x) {
  const Where at = x.at();
  const Spec spec = spec_of(x, op);
  check_floating(op, x);
  if (spec.shape.ndim() > 2)
    fail<ShapeError>(at, std::string(op) + ": takes a matrix, a row for each variable: " +
                             describe(x.ref()) + "; reshape it");
  const Tensor rows = cast({atleast_2d(x), at}, wide(spec.dtype));
  const Tensor total = sum({rows, at}, Dims(1, at), keepdim);
  return sub({rows, at}, {div({total, at}, {rows.size(1, at), at}), at});
}

Tensor covariance(const char* op, const TensorArg& x, double correction) {
  const Where at = x.at();
  const Tensor rows = centred_rows(op, x);
  const Operand by = divisor(op, x, rows.size(1, at), correction);
  return div({matmul({rows, at}, {transpose({rows, at}, 0, 1), at}), at}, by);
}

/// A result of one variable has no axes.
Tensor without_single(const Tensor& x, const TensorArg& given, Where at) {
  const Spec spec = spec_of(given, "cov");
  const Tensor narrow_x = cast({x, at}, spec.dtype);
  return spec.shape.ndim() < 2 ? reshape({narrow_x, at}, Dims(at)) : narrow_x;
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor var(const TensorArg& x, const Dims& axes, bool keep, double correction) {
  const Within within(composite<"var">);
  const Tensor wide_var = variance("var", x, axes, keep, correction);
  return cast({wide_var, x.at()}, spec_of(x, "var").dtype);
}

Tensor stddev(const TensorArg& x, const Dims& axes, bool keep, double correction) {
  const Within within(composite<"stddev">);
  const Tensor wide_var = variance("stddev", x, axes, keep, correction);
  return cast({root(wide_var, x.at()), x.at()}, spec_of(x, "stddev").dtype);
}

Tensor norm(const TensorArg& x, const Dims& axes, bool keep) {
  const Within within(composite<"norm">);
  const Where at = x.at();
  check_floating("norm", x);
  const DType dtype = spec_of(x, "norm").dtype;
  axes_mask("norm", x, axes);
  const Tensor squares = square({cast(x, wide(dtype)), at});
  return cast({root(sum({squares, at}, axes, keep), at), at}, dtype);
}

Tensor count_nonzero(const TensorArg& x, const Dims& axes, bool keep) {
  const Within within(composite<"count_nonzero">);
  axes_mask("count_nonzero", x, axes);
  return sum({ne(x, {0, x.at()}), x.at()}, axes, keep);
}

Tensor nansum(const TensorArg& x, const Dims& axes, bool keep) {
  const Within within(composite<"nansum">);
  axes_mask("nansum", x, axes);
  return sum({without_nan(x), x.at()}, axes, keep);
}

Tensor nanmean(const TensorArg& x, const Dims& axes, bool keep) {
  const Within within(composite<"nanmean">);
  const Where at = x.at();
  check_floating("nanmean", x);
  axes_mask("nanmean", x, axes);
  const DType dtype = spec_of(x, "nanmean").dtype;
  const Tensor wide_x = cast(x, wide(dtype));
  const Tensor count = sum({logical_not({isnan(x), at}), at}, axes, keep);
  const Tensor total = sum({without_nan({wide_x, at}), at}, axes, keep);
  return cast({div({total, at}, {cast({count, at}, wide(dtype)), at}), at}, dtype);
}

Tensor cov(const TensorArg& x, double correction) {
  const Within within(composite<"cov">);
  return without_single(covariance("cov", x, correction), x, x.at());
}

Tensor corrcoef(const TensorArg& x) {
  const Within within(composite<"corrcoef">);
  const Where at = x.at();
  const Tensor c = covariance("corrcoef", x, 1);
  const Tensor spread = sqrt({diagonal({c, at}), at});
  const Tensor by_rows = div({c, at}, {unsqueeze({spread, at}, 1), at});
  const Tensor scaled = div({by_rows, at}, {spread, at});
  return without_single(clamp({scaled, at}, -1, 1), x, at);
}

}  // namespace weft
