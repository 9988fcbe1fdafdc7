// Absolute errors that are right where a result nears 0 as a sum of greater terms: what
// codegen/kernels/README.md promises there.
#pragma once

#include <weft/graph/detail/ops.h>

namespace weft::testing {

inline double slack_of(detail::OpId op, DType dtype) {
  if (op == detail::OpId::logaddexp) return 0x1p-53;
  if (op == detail::OpId::lgamma && dtype == DType::f64) return 0x1p-53;
  return op == detail::OpId::digamma && dtype == DType::f64 ? 0x1p-52 : 0;
}

}  // namespace weft::testing
