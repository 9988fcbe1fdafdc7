// The methods that Tensor and Variable share, of scans and orders.
#include "rules.h"

namespace weft {

using namespace detail;

// Members one by one, since others of the class are defined, and instantiated, elsewhere.
#define WEFT_METHOD_OF(result, call, ...)                                                          \
  template <class Self>                                                                            \
  result TensorMethods<Self>::__VA_ARGS__ {                                                        \
    return weft::call;                                                                             \
  }                                                                                                \
  template result TensorMethods<Tensor>::__VA_ARGS__;                                              \
  template result TensorMethods<Variable>::__VA_ARGS__;

using Tensors = std::pair<Tensor, Tensor>;

WEFT_METHOD_OF(Tensor, cumsum(self(at), axis), cumsum(std::int64_t axis, Where at) const)
WEFT_METHOD_OF(Tensor, cumprod(self(at), axis), cumprod(std::int64_t axis, Where at) const)
WEFT_METHOD_OF(Tensor, logcumsumexp(self(at), axis),
               logcumsumexp(std::int64_t axis, Where at) const)
WEFT_METHOD_OF(Tensors, cummax(self(at), axis), cummax(std::int64_t axis, Where at) const)
WEFT_METHOD_OF(Tensors, cummin(self(at), axis), cummin(std::int64_t axis, Where at) const)
WEFT_METHOD_OF(Tensors, sort(self(at), axis, descending),
               sort(std::int64_t axis, bool descending, Where at) const)
WEFT_METHOD_OF(Tensor, argsort(self(at), axis, descending),
               argsort(std::int64_t axis, bool descending, Where at) const)
WEFT_METHOD_OF(Tensor, msort(self(at)), msort(Where at) const)
WEFT_METHOD_OF(Tensors, kthvalue(self(at), k, axis, keep),
               kthvalue(std::int64_t k, std::int64_t axis, bool keep, Where at) const)
WEFT_METHOD_OF(Tensor, median(self(at)), median(Where at) const)
WEFT_METHOD_OF(Tensors, median(self(at), axis, keep),
               median(std::int64_t axis, bool keep, Where at) const)
WEFT_METHOD_OF(UniqueResult, unique(self(at)), unique(Where at) const)
WEFT_METHOD_OF(UniqueResult, unique(self(at), options),
               unique(const UniqueOptions& options, Where at) const)
WEFT_METHOD_OF(Tensor, bucketize(self(boundaries.at()), boundaries, right),
               bucketize(const TensorArg& boundaries, bool right) const)
WEFT_METHOD_OF(Tensor, isin(self(elements.at()), elements), isin(const TensorArg& elements) const)

}  // namespace weft
