// What ops along one axis share.
#pragma once

#include <utility>

#include "rules.h"

namespace weft::detail {

/// A 0-dim tensor as one of an axis, for ops that need one.
inline Tensor of_an_axis(const TensorArg& x, Where at) {
  return spec_of(x, "reshape").shape.empty() ? unsqueeze({tensor_of(x), at}, 0) : tensor_of(x);
}

/// The result with the shape of the argument that of_an_axis gave an axis.
inline Tensor shaped_as(const Tensor& result, const Shape& shape, Where at) {
  return shape.empty() ? reshape({result, at}, Dims(shape, at)) : result;
}
inline std::pair<Tensor, Tensor> shaped_as(const std::pair<Tensor, Tensor>& results,
                                           const Shape& shape, Where at) {
  return {shaped_as(results.first, shape, at), shaped_as(results.second, shape, at)};
}

}  // namespace weft::detail
