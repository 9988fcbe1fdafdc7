// How close a result must come to its golden value.
//
// - Integers, bools, shapes, dtypes, the places of NaN, and infinities: equal.
// - Comparisons, sign, rounding to integers, minimum and maximum, where, views, joins, gathers,
//   sorts, casts: equal, the sign of zero too.
// - f32 and f64 + - * / and sqrt (also square, x * x, and reciprocal, 1 / x): equal.
// - Other f32: 4 ulp, or 1e-6 of the largest term of the sum that makes the element. The terms
//   come from the inputs: |x| for sums, |x| / n for means, |a b| for products of matrices, and so
//   on (see largest_terms). A product is taken as a sum of one term, itself.
// - f64: 1e-12 of the value or, in a sum, of its largest term; 4 ulp, which is more only among
//   subnormals.
// - f16 and bf16: 1 ulp of the type.
// - Values and gradients of cases with a gradient, of second order, and of optimisers (all f64):
//   1e-12 of the largest magnitude in the golden tensor, since a gradient is a sum whose terms the
//   file does not show.
// - Where the rule is not "equal" and the element is no sum, a zero keeps its sign.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "golden.h"

namespace golden {

/// Distance in units of the last place of `dtype` between two finite values of that type; both
/// zeros are one place.
double ulp_distance(double a, double b, weft::DType dtype);

struct Tolerance {
  bool is_exact = false;  ///< same value, same sign of zero
  bool keeps_zero_sign = true;
  std::vector<double> terms;  ///< largest term per element; empty where the elements are no sums
};

Tolerance exact_tolerance();
/// Relative to the largest magnitude of the golden tensor.
Tolerance tensor_tolerance(const HostTensor& expected);
/// Of output `index` of the case.
Tolerance tolerance_of(const Case& given, std::size_t index);

/// Largest |term| of the sum behind each element of the case's first output; empty for ops whose
/// elements are no sums.
std::vector<double> largest_terms(const Case& given);

/// What is wrong with `actual`, first difference first; empty where it is within tolerance.
std::string mismatch(const HostTensor& expected, const HostTensor& actual,
                     const Tolerance& tolerance);

}  // namespace golden
