// Derivatives that are too long for a row of the table of ops.
#pragma once

#include <weft/graph/tensor.h>

namespace weft::detail {

Tensor gelu_slope(const Tensor& x);
Tensor gelu_tanh_slope(const Tensor& x);
Tensor silu_slope(const Tensor& x);
Tensor mish_slope(const Tensor& x);
Tensor ndtr_slope(const Tensor& x);
Tensor trigamma_slope(const Tensor& x);

}  // namespace weft::detail
