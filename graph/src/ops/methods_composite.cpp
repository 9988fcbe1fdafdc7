// The methods that are functions composed of others: each is the free function of the same name.
#include "composite.h"

namespace weft {

using namespace detail;

#define WEFT_METHOD(result, ...)                                                                   \
  template result TensorMethods<Tensor>::__VA_ARGS__;                                              \
  template result TensorMethods<Variable>::__VA_ARGS__;

// ---- writing and picking at indices

#define WEFT_METHOD_AT(name, Source)                                                               \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(std::int64_t axis, const TensorArg& index,                      \
                                   const Source& source) const {                                   \
    return weft::name(self(index.at()), axis, index, source);                                      \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(std::int64_t, const TensorArg&, const Source&) const)
WEFT_METHOD_AT(scatter, Operand)
WEFT_METHOD_AT(index_add, TensorArg)
WEFT_METHOD_AT(index_copy, TensorArg)
WEFT_METHOD_AT(index_fill, Operand)
#undef WEFT_METHOD_AT

template <class Self>
Tensor TensorMethods<Self>::index_select(std::int64_t axis, const TensorArg& index) const {
  return weft::index_select(self(index.at()), axis, index);
}
WEFT_METHOD(Tensor, index_select(std::int64_t, const TensorArg&) const)

#define WEFT_METHOD_OF_TENSOR(name)                                                                \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(const TensorArg& other) const {                                 \
    return weft::name(self(other.at()), other);                                                    \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(const TensorArg&) const)
WEFT_METHOD_OF_TENSOR(take)
WEFT_METHOD_OF_TENSOR(masked_select)
WEFT_METHOD_OF_TENSOR(dot)
WEFT_METHOD_OF_TENSOR(outer)
WEFT_METHOD_OF_TENSOR(mv)
WEFT_METHOD_OF_TENSOR(mm)
WEFT_METHOD_OF_TENSOR(bmm)
#undef WEFT_METHOD_OF_TENSOR

template <class Self>
Tensor TensorMethods<Self>::put(const TensorArg& index, const Operand& source,
                                bool accumulate) const {
  return weft::put(self(index.at()), index, source, accumulate);
}
WEFT_METHOD(Tensor, put(const TensorArg&, const Operand&, bool) const)

template <class Self>
Tensor TensorMethods<Self>::masked_scatter(const TensorArg& mask, const TensorArg& source) const {
  return weft::masked_scatter(self(mask.at()), mask, source);
}
WEFT_METHOD(Tensor, masked_scatter(const TensorArg&, const TensorArg&) const)

template <class Self>
Tensor TensorMethods<Self>::nonzero(Where at) const {
  return weft::nonzero(self(at));
}
WEFT_METHOD(Tensor, nonzero(Where) const)

// ---- other arrangements

template <class Self>
Tensor TensorMethods<Self>::roll(const Dims& shifts, const Dims& axes) const {
  return weft::roll(self(shifts.at()), shifts, axes);
}
WEFT_METHOD(Tensor, roll(const Dims&, const Dims&) const)

template <class Self>
Tensor TensorMethods<Self>::repeat(const Dims& counts) const {
  return weft::repeat(self(counts.at()), counts);
}
WEFT_METHOD(Tensor, repeat(const Dims&) const)

template <class Self>
Tensor TensorMethods<Self>::tile(const Dims& counts) const {
  return weft::tile(self(counts.at()), counts);
}
WEFT_METHOD(Tensor, tile(const Dims&) const)

template <class Self>
Tensor TensorMethods<Self>::repeat_interleave(std::int64_t count, std::optional<std::int64_t> axis,
                                              Where at) const {
  return weft::repeat_interleave(self(at), count, axis);
}
WEFT_METHOD(Tensor, repeat_interleave(std::int64_t, std::optional<std::int64_t>, Where) const)

template <class Self>
Tensor TensorMethods<Self>::repeat_interleave(const TensorArg& counts,
                                              std::optional<std::int64_t> axis) const {
  return weft::repeat_interleave(self(counts.at()), counts, axis);
}
WEFT_METHOD(Tensor, repeat_interleave(const TensorArg&, std::optional<std::int64_t>) const)

template <class Self>
Tensor TensorMethods<Self>::pad(const Sizes& widths, const PadOptions& options, Where at) const {
  return weft::pad(self(at), widths, options);
}
WEFT_METHOD(Tensor, pad(const Sizes&, const PadOptions&, Where) const)

template <class Self>
Tensor TensorMethods<Self>::pad(const Sizes& widths, Where at) const {
  return weft::pad(self(at), widths);
}
WEFT_METHOD(Tensor, pad(const Sizes&, Where) const)

template <class Self>
Tensor TensorMethods<Self>::tril(std::int64_t diagonal, Where at) const {
  return weft::tril(self(at), diagonal);
}
WEFT_METHOD(Tensor, tril(std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::triu(std::int64_t diagonal, Where at) const {
  return weft::triu(self(at), diagonal);
}
WEFT_METHOD(Tensor, triu(std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::diagonal(std::int64_t offset, std::int64_t axis1, std::int64_t axis2,
                                     Where at) const {
  return weft::diagonal(self(at), offset, axis1, axis2);
}
WEFT_METHOD(Tensor, diagonal(std::int64_t, std::int64_t, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::diag(std::int64_t offset, Where at) const {
  return weft::diag(self(at), offset);
}
WEFT_METHOD(Tensor, diag(std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::diag_embed(std::int64_t offset, std::int64_t axis1, std::int64_t axis2,
                                       Where at) const {
  return weft::diag_embed(self(at), offset, axis1, axis2);
}
WEFT_METHOD(Tensor, diag_embed(std::int64_t, std::int64_t, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::movedim(const Dims& from, const Dims& to) const {
  return weft::movedim(self(from.at()), from, to);
}
WEFT_METHOD(Tensor, movedim(const Dims&, const Dims&) const)

template <class Self>
Tensor TensorMethods<Self>::swapaxes(std::int64_t a, std::int64_t b, Where at) const {
  return weft::swapaxes(self(at), a, b);
}
WEFT_METHOD(Tensor, swapaxes(std::int64_t, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::unflatten(std::int64_t axis, const Dims& sizes) const {
  return weft::unflatten(self(sizes.at()), axis, sizes);
}
WEFT_METHOD(Tensor, unflatten(std::int64_t, const Dims&) const)

template <class Self>
Tensor TensorMethods<Self>::narrow(std::int64_t axis, std::int64_t start, std::int64_t length,
                                   Where at) const {
  return weft::narrow(self(at), axis, start, length);
}
WEFT_METHOD(Tensor, narrow(std::int64_t, std::int64_t, std::int64_t, Where) const)

template <class Self>
Tensor TensorMethods<Self>::rot90(std::int64_t k, const Dims& axes) const {
  return weft::rot90(self(axes.at()), k, axes);
}
WEFT_METHOD(Tensor, rot90(std::int64_t, const Dims&) const)

// ---- in parts

template <class Self>
std::vector<Tensor> TensorMethods<Self>::unbind(std::int64_t axis, Where at) const {
  return weft::unbind(self(at), axis);
}
WEFT_METHOD(std::vector<Tensor>, unbind(std::int64_t, Where) const)

template <class Self>
std::vector<Tensor> TensorMethods<Self>::split(const Sizes& sizes, std::int64_t axis,
                                               Where at) const {
  return weft::split(self(at), sizes, axis);
}
WEFT_METHOD(std::vector<Tensor>, split(const Sizes&, std::int64_t, Where) const)

template <class Self>
std::vector<Tensor> TensorMethods<Self>::chunk(std::int64_t chunks, std::int64_t axis,
                                               Where at) const {
  return weft::chunk(self(at), chunks, axis);
}
WEFT_METHOD(std::vector<Tensor>, chunk(std::int64_t, std::int64_t, Where) const)

template <class Self>
std::vector<Tensor> TensorMethods<Self>::tensor_split(std::int64_t parts, std::int64_t axis,
                                                      Where at) const {
  return weft::tensor_split(self(at), parts, axis);
}
WEFT_METHOD(std::vector<Tensor>, tensor_split(std::int64_t, std::int64_t, Where) const)

template <class Self>
std::vector<Tensor> TensorMethods<Self>::tensor_split(const Sizes& positions, std::int64_t axis,
                                                      Where at) const {
  return weft::tensor_split(self(at), positions, axis);
}
WEFT_METHOD(std::vector<Tensor>, tensor_split(const Sizes&, std::int64_t, Where) const)

// ---- statistics

#define WEFT_SPREAD(name)                                                                          \
  template <class Self>                                                                            \
  Tensor TensorMethods<Self>::name(const Dims& axes, bool keep, double correction) const {         \
    return weft::name(self(axes.at()), axes, keep, correction);                                    \
  }                                                                                                \
  WEFT_METHOD(Tensor, name(const Dims&, bool, double) const)
WEFT_SPREAD(var)
WEFT_SPREAD(stddev)
#undef WEFT_SPREAD

// ---- products

template <class Self>
Tensor TensorMethods<Self>::cross(const TensorArg& other, std::int64_t axis) const {
  return weft::cross(self(other.at()), other, axis);
}
WEFT_METHOD(Tensor, cross(const TensorArg&, std::int64_t) const)

template <class Self>
Tensor TensorMethods<Self>::trace(Where at) const {
  return weft::trace(self(at));
}
WEFT_METHOD(Tensor, trace(Where) const)

}  // namespace weft
