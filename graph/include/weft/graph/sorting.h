// Scans and orders along an axis, and what is made of them: medians, sets, searches, counts.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

// ---- scans: of all elements along an axis up to each
// ------------------------------------------------- IndexError for an axis that is not there. Of a
// 0-dim tensor: itself. Floats are added up by one pattern that depends on the axis's extent alone,
// halves as f32, rounded once for each result.

/// Sums; integers and bools give i64 and wrap.
Tensor cumsum(const TensorArg& x, std::int64_t axis);
/// Products; integers and bools give i64 and wrap. Partial products of the pattern are products of
/// neighbours that need not begin at the first element: where one of these leaves the range, a
/// result is infinite, 0 or NaN even if no product from the first element on is, as with 100 factors
/// of 1/2 before 200 of 2 in f32. The gradient has the same limit.
Tensor cumprod(const TensorArg& x, std::int64_t axis);
/// log of the sums of e to the x, without leaving the range; integers and bools as the default
/// float dtype.
Tensor logcumsumexp(const TensorArg& x, std::int64_t axis);
/// Greatest so far, and its index as i64: of equal ones the last. From a NaN on: NaN, and the
/// index of the last NaN.
std::pair<Tensor, Tensor> cummax(const TensorArg& x, std::int64_t axis);
/// Least so far, as cummax.
std::pair<Tensor, Tensor> cummin(const TensorArg& x, std::int64_t axis);

// ---- orders
// ---------------------------------------------------------------------------------------------
// Stable: equal elements stay in their order, -0 and 0 are equal, false is before true. NaN is
// greatest: last ascending, first descending.

/// Values in order along an axis, and their indices as i64. Of a 0-dim tensor: itself, and 0.
std::pair<Tensor, Tensor> sort(const TensorArg& x, std::int64_t axis = -1, bool descending = false);
/// The indices alone.
Tensor argsort(const TensorArg& x, std::int64_t axis = -1, bool descending = false);
/// The values along the first axis alone.
Tensor msort(const TensorArg& x);
/// The k-th least along an axis, k from 1 on, and its index, of equal ones in the order of sort.
/// ValueError where the axis has no k-th, DTypeError for bools.
std::pair<Tensor, Tensor> kthvalue(const TensorArg& x, std::int64_t k, std::int64_t axis = -1,
                                   bool keep = false);
/// Of all elements; of an even number the lesser of the two in the middle; NaN if any is. Of
/// nothing ValueError, of bools DTypeError. Elements equal to it share the gradient evenly.
Tensor median(const TensorArg& x);
/// The same along an axis, and its index, of equal ones one in the order of sort, which has the
/// gradient; of a NaN the first one's.
std::pair<Tensor, Tensor> median(const TensorArg& x, std::int64_t axis, bool keep = false);

// ---- searches
// -------------------------------------------------------------------------------------------

/// For each value the number of elements of `sorted`, which ascends along its last axis, that are
/// less (`right`: not greater), as i64: where it would be inserted. NaN is greatest. `sorted` is a
/// vector for all values, or has their leading axes: ShapeError otherwise. Dtypes are promoted. In
/// what does not ascend the result is some index up to the extent.
Tensor searchsorted(const TensorArg& sorted, const TensorArg& values, bool right = false);
/// The same with the operands the other way round, over one vector of boundaries.
Tensor bucketize(const TensorArg& x, const TensorArg& boundaries, bool right = false);
/// Whether each element of x is among the elements, whatever their shape. NaN is not. Dtypes are
/// promoted.
Tensor isin(const TensorArg& x, const TensorArg& elements);

// ---- sets and counts: their sizes depend on the data, so that each but histogram evaluates x and
// waits ---

struct UniqueOptions {
  bool return_inverse = false;
  bool return_counts = false;
};
struct UniqueResult {
  Tensor values;   ///< ascending, a vector
  Tensor inverse;  ///< of x's shape, i64: where in `values` each element is; undefined unless asked
  Tensor counts;   ///< i64: how often each occurs; undefined unless asked for
};
/// The different elements of x. Each NaN is one of its own; 0 stands for -0 too, or -0 for 0,
/// whichever is first.
UniqueResult unique(const TensorArg& x, const UniqueOptions& options = {});

struct BincountOptions {
  Tensor weights{};            ///< of x's shape: summed in place of counted
  std::int64_t minlength = 0;  ///< of the result
};
/// How often each of 0, 1, ... up to the greatest occurs in a vector of integers, as i64; of
/// weights the sums, in index order, f32 as f32 and others as f64. ValueError for negative
/// elements, DTypeError for floats and bools, ShapeError for more axes than one.
Tensor bincount(const TensorArg& x, const BincountOptions& options = {});

struct HistogramOptions {
  std::optional<double> low{}, high{};  ///< of the range; both or none: then that of x, which waits
  Tensor weights{};                     ///< of x's shape: summed in place of counted
};
/// How many elements of x lie in each of `bins` parts of [low, high], all of one width, each
/// without its upper end but the last; and the bins + 1 edges. Elements outside, and NaN, do not
/// count. Counts are i64, or sums of weights in their dtype; edges f32 of halves and f32, f64 of
/// other x. A range of one number grows by 0.5 on both sides. ValueError for no bins, or a range
/// that is reversed or not finite.
std::pair<Tensor, Tensor> histogram(const TensorArg& x, std::int64_t bins,
                                    const HistogramOptions& options = {});

}  // namespace weft
