// The methods that Tensor and Variable share: each is the free function of the same name.
#include <weft/graph/detail/evaluator.h>

#include "reduce.h"
#include "rules.h"

namespace weft {

using namespace detail;

// Members one by one, since others of the class are defined, and instantiated, elsewhere.
#define WEFT_METHOD(result, ...)                                                                   \
  template result TensorMethods<Tensor>::__VA_ARGS__;                                              \
  template result TensorMethods<Variable>::__VA_ARGS__;

// ---- known without evaluating

template <class Self>
Shape TensorMethods<Self>::shape(Where at) const {
  return spec_of(self(at), "shape").shape;
}
WEFT_METHOD(Shape, shape(Where) const)

template <class Self>
int TensorMethods<Self>::ndim(Where at) const {
  return spec_of(self(at), "ndim").shape.ndim();
}
WEFT_METHOD(int, ndim(Where) const)

template <class Self>
std::int64_t TensorMethods<Self>::numel(Where at) const {
  return spec_of(self(at), "numel").shape.numel();
}
WEFT_METHOD(std::int64_t, numel(Where) const)

template <class Self>
std::int64_t TensorMethods<Self>::size(std::int64_t axis, Where at) const {
  const Shape shape = spec_of(self(at), "size").shape;
  if (shape.empty())
    fail<IndexError>(at, "size: a 0-dim tensor has no axis " + std::to_string(axis) +
                             "; its element count is numel()");
  return shape[static_cast<std::size_t>(wrap_axis("size", axis, shape.ndim(), at))];
}
WEFT_METHOD(std::int64_t, size(std::int64_t, Where) const)

template <class Self>
DType TensorMethods<Self>::dtype(Where at) const {
  return spec_of(self(at), "dtype").dtype;
}
WEFT_METHOD(DType, dtype(Where) const)

template <class Self>
Device TensorMethods<Self>::device(Where at) const {
  Node* node = defined(self(at), "device");
  if (node->device.kind() != DeviceKind::automatic) return node->device;
  return evaluator().place(node, at);
}
WEFT_METHOD(Device, device(Where) const)

// ---- evaluation

template <class Self>
bool TensorMethods<Self>::is_pending(Where at) const {
  return defined(self(at), "is_pending")->state.load(std::memory_order_acquire) ==
         NodeState::pending;
}
WEFT_METHOD(bool, is_pending(Where) const)

template <class Self>
void TensorMethods<Self>::wait(Where at) const {
  const TensorArg x = self(at);
  Node* node = defined(x, "wait");
  if (ambient().tracing)
    fail<TraceError>(at, "wait: a compiled function is being traced, and nothing runs in it: " +
                             describe(x.ref()) + "; wait for what it returns");
  const Ref ref = x.ref();
  if (is_pending(at)) evaluator().evaluate({&ref, 1}, at);
  evaluator().wait(node, at);
}
WEFT_METHOD(void, wait(Where) const)

// ---- devices and dtypes

template <class Self>
Tensor TensorMethods<Self>::to(Device device, Where at) const {
  return moved(self(at), device);
}
WEFT_METHOD(Tensor, to(Device, Where) const)

template <class Self>
Tensor TensorMethods<Self>::to(DType dtype, Where at) const {
  return cast(self(at), dtype);
}
WEFT_METHOD(Tensor, to(DType, Where) const)

template <class Self>
Tensor TensorMethods<Self>::to(Device device, DType dtype, Where at) const {
  return moved(self(at), device, dtype);
}
WEFT_METHOD(Tensor, to(Device, DType, Where) const)

template <class Self>
Tensor TensorMethods<Self>::cpu(Where at) const {
  return moved(self(at), Device::cpu());
}
WEFT_METHOD(Tensor, cpu(Where) const)

template <class Self>
Tensor TensorMethods<Self>::cuda(Where at) const {
  return moved(self(at), Device::cuda(weft::cuda::current_device()));
}
WEFT_METHOD(Tensor, cuda(Where) const)

template <class Self>
Tensor TensorMethods<Self>::cuda(int index, Where at) const {
  return moved(self(at), Device::cuda(index));
}
WEFT_METHOD(Tensor, cuda(int, Where) const)

// ---- views and indexing

template <class Self>
Tensor TensorMethods<Self>::operator[](const Position& position) const {
  return weft::select(self(position.at()), 0, position.value());
}
WEFT_METHOD(Tensor, operator[](const Position&) const)

template <class Self>
Tensor TensorMethods<Self>::index(std::initializer_list<Index> indices, Where at) const {
  return indexed(self(at), {indices.begin(), indices.size()});
}
WEFT_METHOD(Tensor, index(std::initializer_list<Index>, Where) const)

template <class Self>
Tensor TensorMethods<Self>::slice(std::int64_t axis, Bound start, Bound stop, std::int64_t step,
                                  Where at) const {
  return weft::slice(self(at), axis, start, stop, step);
}
WEFT_METHOD(Tensor, slice(std::int64_t, Bound, Bound, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::select(std::int64_t axis, std::int64_t position, Where at) const {
  return weft::select(self(at), axis, position);
}
WEFT_METHOD(Tensor, select(std::int64_t, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::flatten(std::int64_t first, std::int64_t last, Where at) const {
  return weft::flatten(self(at), first, last);
}
WEFT_METHOD(Tensor, flatten(std::int64_t, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::transpose(std::int64_t a, std::int64_t b, Where at) const {
  return weft::transpose(self(at), a, b);
}
WEFT_METHOD(Tensor, transpose(std::int64_t, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::unsqueeze(std::int64_t axis, Where at) const {
  return weft::unsqueeze(self(at), axis);
}
WEFT_METHOD(Tensor, unsqueeze(std::int64_t, Where) const)

#define WEFT_METHOD_OF_DIMS(name)                                                                  \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(const Dims& dims) const {                                       \
    return weft::name(self(dims.at()), dims);                                                      \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(const Dims&) const)
WEFT_METHOD_OF_DIMS(reshape)
WEFT_METHOD_OF_DIMS(permute)
WEFT_METHOD_OF_DIMS(squeeze)
WEFT_METHOD_OF_DIMS(expand)
WEFT_METHOD_OF_DIMS(broadcast_to)
WEFT_METHOD_OF_DIMS(flip)
#undef WEFT_METHOD_OF_DIMS

// ---- reductions

#define WEFT_REDUCTION(name)                                                                       \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(const Dims& axes, bool keep) const {                            \
    return weft::name(self(axes.at()), axes, keep);                                                \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(const Dims&, bool) const)
WEFT_REDUCTION(sum)
WEFT_REDUCTION(mean)
WEFT_REDUCTION(prod)
WEFT_REDUCTION(amax)
WEFT_REDUCTION(amin)
WEFT_REDUCTION(max)
WEFT_REDUCTION(min)
WEFT_REDUCTION(norm)
WEFT_REDUCTION(count_nonzero)
WEFT_REDUCTION(nansum)
WEFT_REDUCTION(nanmean)
WEFT_REDUCTION(any)
WEFT_REDUCTION(all)
WEFT_REDUCTION(argmax)
WEFT_REDUCTION(argmin)
WEFT_REDUCTION(logsumexp)
#undef WEFT_REDUCTION

// ---- joins, products, rows

template <class Self>
Tensor TensorMethods<Self>::matmul(const TensorArg& other) const {
  return weft::matmul(self(other.at()), other);
}
WEFT_METHOD(Tensor, matmul(const TensorArg&) const)

template <class Self>
Tensor TensorMethods<Self>::gather(std::int64_t axis, const TensorArg& index) const {
  return weft::gather(self(index.at()), axis, index);
}
WEFT_METHOD(Tensor, gather(std::int64_t, const TensorArg&) const)

template <class Self>
Tensor TensorMethods<Self>::scatter_add(std::int64_t axis, const TensorArg& index,
                                        const TensorArg& source) const {
  return weft::scatter_add(self(index.at()), axis, index, source);
}
WEFT_METHOD(Tensor, scatter_add(std::int64_t, const TensorArg&, const TensorArg&) const)

template <class Self>
std::pair<Tensor, Tensor> TensorMethods<Self>::topk(std::int64_t k, std::int64_t axis, bool largest,
                                                    Where at) const {
  return weft::topk(self(at), k, axis, largest);
}
template std::pair<Tensor, Tensor> TensorMethods<Tensor>::topk(std::int64_t, std::int64_t, bool,
                                                               Where) const;
template std::pair<Tensor, Tensor> TensorMethods<Variable>::topk(std::int64_t, std::int64_t, bool,
                                                                 Where) const;

template <class Self>
Tensor TensorMethods<Self>::softmax(std::int64_t axis, Where at) const {
  return softmax_of(self(at), axis, false);
}
WEFT_METHOD(Tensor, softmax(std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::log_softmax(std::int64_t axis, Where at) const {
  return softmax_of(self(at), axis, true);
}
WEFT_METHOD(Tensor, log_softmax(std::int64_t, Where) const)

#define WEFT_ACTIVATION(name)                                                                      \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(Where at) const {                                               \
    return weft::name(self(at));                                                                   \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(Where) const)
WEFT_ACTIVATION(relu6)
WEFT_ACTIVATION(hardsigmoid)
WEFT_ACTIVATION(hardswish)
#undef WEFT_ACTIVATION
#define WEFT_ACTIVATION(name)                                                                      \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(double parameter, Where at) const {                             \
    return weft::name(self(at), parameter);                                                        \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(double, Where) const)
WEFT_ACTIVATION(elu)
WEFT_ACTIVATION(leaky_relu)
#undef WEFT_ACTIVATION

template <class Self>
Tensor TensorMethods<Self>::clamp(const OptionalOperand& low, const OptionalOperand& high,
                                  Where at) const {
  return weft::clamp(self(at), low, high);
}
WEFT_METHOD(Tensor, clamp(const OptionalOperand&, const OptionalOperand&, Where) const)

template <class Self>
Tensor TensorMethods<Self>::masked_fill(const TensorArg& mask, const Operand& value) const {
  return weft::masked_fill(self(mask.at()), mask, value);
}
WEFT_METHOD(Tensor, masked_fill(const TensorArg&, const Operand&) const)

// ---- point-wise, from the table of ops

#define WEFT_METHOD_1(name)                                                                        \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(Where at) const {                                               \
    return weft::name(self(at));                                                                   \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(Where) const)
#define WEFT_METHOD_2(name)                                                                        \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(const Operand& other) const {                                   \
    return weft::name(self(other.at()), other);                                                    \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(const Operand&) const)
#define WEFT_METHOD_3(name)                                                                        \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(const Operand& y, const Operand& z) const {                     \
    return weft::name(self(y.at()), y, z);                                                         \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(const Operand&, const Operand&) const)
#define WEFT_OP_POINTWISE(name, arity, rule, ...) WEFT_METHOD_##rule(name, arity)
#define WEFT_METHOD_arithmetic(name, arity) WEFT_METHOD_##arity(name)
#define WEFT_METHOD_numeric(name, arity) WEFT_METHOD_##arity(name)
#define WEFT_METHOD_floating(name, arity) WEFT_METHOD_##arity(name)
#define WEFT_METHOD_integral(name, arity) WEFT_METHOD_##arity(name)
#define WEFT_METHOD_compare(name, arity) WEFT_METHOD_##arity(name)
#define WEFT_METHOD_predicate(name, arity) WEFT_METHOD_##arity(name)
#define WEFT_METHOD_select(name, arity)
#define WEFT_METHOD_given(name, arity)
#include <weft/graph/detail/ops.def>

}  // namespace weft
