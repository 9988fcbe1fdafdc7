// Spread, norms and counts.
#pragma once

#include <cstdint>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

// Over the given axes, or all. DTypeError for integers and bools where the result is no count or
// sum. Halves are computed as f32 and rounded once.

/// Sum of the squared distances from the mean, over n - correction: 1 for the estimate from a
/// sample (Bessel), 0 for the variance of the values themselves. NaN or infinite where
/// n <= correction; infinite too where the sum of x, or of the squares, is beyond the dtype (f32 for
/// halves).
Tensor var(const TensorArg& x, const Dims& axes = {}, bool keep = false, double correction = 1);
/// Its square root; where it is 0, its gradient is 0.
Tensor stddev(const TensorArg& x, const Dims& axes = {}, bool keep = false, double correction = 1);
/// The 2-norm: square root of the sum of squares; where it is 0, its gradient is 0.
Tensor norm(const TensorArg& x, const Dims& axes = {}, bool keep = false);
/// How many are not 0, as i64.
Tensor count_nonzero(const TensorArg& x, const Dims& axes = {}, bool keep = false);
/// Sum and mean of those that are not NaN.
Tensor nansum(const TensorArg& x, const Dims& axes = {}, bool keep = false);
Tensor nanmean(const TensorArg& x, const Dims& axes = {}, bool keep = false);
/// Covariances of the rows of a matrix, over columns - correction; of a vector its variance.
Tensor cov(const TensorArg& x, double correction = 1);
/// Pearson's coefficients of the rows of a matrix, from -1 to 1.
Tensor corrcoef(const TensorArg& x);

}  // namespace weft
