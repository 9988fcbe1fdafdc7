// The gradient methods of Tensor and Variable.
#include <weft/graph/autograd.h>
#include <weft/graph/detail/record.h>
#include <weft/graph/tensor.h>

namespace weft {

namespace detail {

namespace {

/// A view of all of x that ends differentiation: no copy, and nothing is evaluated.
Tensor detached(const TensorArg& x) {
  const Node* node = defined(x, "detach");
  const Ref ref = x.ref();
  const Tensor view = record_structured(OpId::reshape, std::span(&ref, 1), {},
                                        {node->shape(ref.output), node->dtype_of(ref.output)},
                                        node->device, x.at());
  view.ref().node->requires_grad = false;
  // What tells it from a value without Variables upstream, which grad() may still go through.
  view.ref().node->history_released = true;
  return view;
}

}  // namespace
}  // namespace detail

template <class Self>
bool TensorMethods<Self>::requires_grad(Where at) const {
  return detail::defined(self(at), "requires_grad")->requires_grad;
}

template <class Self>
Tensor TensorMethods<Self>::detach(Where at) const {
  return detail::detached(self(at));
}

template <class Self>
void TensorMethods<Self>::backward(Where at) const {
  weft::backward(self(at));
}

template <class Self>
void TensorMethods<Self>::backward(const TensorArg& cotangent) const {
  weft::backward(self(cotangent.at()), cotangent);
}

#define WEFT_GRADIENT_METHODS(Self)                                  \
  template bool TensorMethods<Self>::requires_grad(Where) const;    \
  template Tensor TensorMethods<Self>::detach(Where) const;         \
  template void TensorMethods<Self>::backward(Where) const;         \
  template void TensorMethods<Self>::backward(const TensorArg&) const;
WEFT_GRADIENT_METHODS(Tensor)
WEFT_GRADIENT_METHODS(Variable)

}  // namespace weft
