// Activations with options. The plain ones, as gelu(x) and softplus(x), come from the table of ops.
#pragma once

#include <string_view>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

/// x P(X <= x) of the standard normal distribution (Hendrycks and Gimpel, Gaussian error linear
/// units, 2016): exact for "none", by way of tanh for "tanh". ValueError for other names.
Tensor gelu(const TensorArg& x, std::string_view approximate);

/// log(1 + exp(beta x)) / beta, and x where beta x is above the threshold (Dugas et al., 2000).
/// ValueError for a beta of 0 or one that is not finite.
Tensor softplus(const TensorArg& x, double beta, double threshold = 20.0);

}  // namespace weft
