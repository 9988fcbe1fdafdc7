// The functions on tensors. Each records; none runs. A caller's mistake throws at the call, naming
// the op, its operands and what to do, and changes nothing.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

// ---- creation -----------------------------------------------------------------------------------

/// From numbers in nested braces: integers give i64, decimals the default float dtype, bools bool.
/// ShapeError where rows differ in length.
Tensor tensor(const Nested& data, const TensorOptions& options = {}, Where at = {});

namespace detail {
Tensor from_bytes(const void* data, std::int64_t count, DType dtype, const Shape& shape,
                  const TensorOptions& options, Where at);
Tensor borrowed(void* data, const Shape& shape, DType dtype, void (*release)(void* context),
                void* context, Where at);
}  // namespace detail

/// From host memory, copied at the call; the dtype is that of T unless the options give another.
/// ShapeError where the shape's element count is not the span's.
template <class T, std::size_t N>
Tensor from_span(std::span<T, N> data, const Shape& shape, const TensorOptions& options = {},
                 Where at = {}) {
  static_assert(detail::Element<T>, "from_span: no dtype holds this element type");
  return detail::from_bytes(data.data(), static_cast<std::int64_t>(data.size()),
                            detail::DTypeOf<std::remove_cv_t<T>>::value, shape, options, at);
}

template <class T>
Tensor from_vector(const std::vector<T>& data, const Shape& shape,
                   const TensorOptions& options = {}, Where at = {}) {
  static_assert(detail::Element<T>, "from_vector: no dtype holds this element type");
  static_assert(!std::is_same_v<T, bool>, "from_vector: std::vector<bool> has no contiguous data");
  return from_span(std::span<const T>(data), shape, options, at);
}
template <class T>
Tensor from_vector(const std::vector<T>& data, const TensorOptions& options = {}, Where at = {}) {
  return from_vector(data, Shape(static_cast<std::int64_t>(data.size())), options, at);
}

/// A cpu tensor over the caller's memory, not copied: `release(context)` is called when weft no
/// longer needs it. The memory must not change until then.
template <class T>
Tensor from_borrowed(T* data, const Shape& shape, void (*release)(void* context), void* context,
                     Where at = {}) {
  static_assert(detail::Element<T>, "from_borrowed: no dtype holds this element type");
  return detail::borrowed(data, shape, detail::DTypeOf<T>::value, release, context, at);
}

Tensor zeros(const Shape& shape, const TensorOptions& options = {}, Where at = {});
Tensor ones(const Shape& shape, const TensorOptions& options = {}, Where at = {});
/// The value's kind decides the dtype where the options do not, as in `tensor`. ValueError for a
/// number that an integer dtype does not hold: NaN, an infinity, one out of its range. Fractions are
/// cut off, and negative integers wrap in u8. A 0-dim tensor is cast.
Tensor full(const Shape& shape, const Operand& value, const TensorOptions& options = {});
Tensor zeros_like(const TensorArg& x, const TensorOptions& options = {});
Tensor ones_like(const TensorArg& x, const TensorOptions& options = {});
Tensor full_like(const TensorArg& x, const Operand& value, const TensorOptions& options = {});
/// start, start + step, ... below stop; integers give i64. ValueError for a step of 0 or of the
/// wrong sign.
Tensor arange(const Operand& stop, const TensorOptions& options = {});
Tensor arange(const Operand& start, const Operand& stop, const TensorOptions& options = {});
Tensor arange(const Operand& start, const Operand& stop, const Operand& step,
              const TensorOptions& options = {});
/// `count` values from start to stop, both included.
Tensor linspace(double start, double stop, std::int64_t count, const TensorOptions& options = {},
                Where at = {});
/// The identity matrix, n × m (m = n where not given).
Tensor eye(std::int64_t n, std::optional<std::int64_t> m = std::nullopt,
           const TensorOptions& options = {}, Where at = {});

// ---- point-wise ---------------------------------------------------------------------------------
// Operands broadcast, and promote as PyTorch's do; the formulas are in docs/ops.md.

#define WEFT_FUNCTION_1(name) Tensor name(const TensorArg& x);
#define WEFT_FUNCTION_2(name) Tensor name(const Operand& x, const Operand& y);
#define WEFT_FUNCTION_3(name) Tensor name(const TensorArg& x, const Operand& y, const Operand& z);
#define WEFT_OP_POINTWISE(name, arity, rule, ...) WEFT_FUNCTION_##rule(name, arity)
#define WEFT_FUNCTION_arithmetic(name, arity) WEFT_FUNCTION_##arity(name)
#define WEFT_FUNCTION_numeric(name, arity) WEFT_FUNCTION_##arity(name)
#define WEFT_FUNCTION_floating(name, arity) WEFT_FUNCTION_##arity(name)
#define WEFT_FUNCTION_integral(name, arity) WEFT_FUNCTION_##arity(name)
#define WEFT_FUNCTION_compare(name, arity) WEFT_FUNCTION_##arity(name)
#define WEFT_FUNCTION_predicate(name, arity) WEFT_FUNCTION_##arity(name)
#define WEFT_FUNCTION_select(name, arity) WEFT_FUNCTION_##arity(name)
#define WEFT_FUNCTION_given(name, arity)
#include <weft/graph/detail/ops.def>
#undef WEFT_FUNCTION_1
#undef WEFT_FUNCTION_2
#undef WEFT_FUNCTION_3
#undef WEFT_FUNCTION_arithmetic
#undef WEFT_FUNCTION_numeric
#undef WEFT_FUNCTION_floating
#undef WEFT_FUNCTION_integral
#undef WEFT_FUNCTION_compare
#undef WEFT_FUNCTION_predicate
#undef WEFT_FUNCTION_select
#undef WEFT_FUNCTION_given

/// x in another dtype: floats to integers truncate, NaN gives 0, out of range saturates.
Tensor cast(const TensorArg& x, DType dtype);
/// low where below, high where above: numbers, or tensors that broadcast; a bound of std::nullopt is
/// none. A NaN in x or in a bound stays. ValueError where both are none.
Tensor clamp(const TensorArg& x, const OptionalOperand& low,
             const OptionalOperand& high = std::nullopt);
/// x where above 0, else alpha * (e to the x, less 1). Clevert et al., 2015. DTypeError, as for those
/// below, where x is not floating.
Tensor elu(const TensorArg& x, double alpha = 1.0);
/// x where above 0, else x * slope.
Tensor leaky_relu(const TensorArg& x, double slope = 0.01);
/// x between 0 and 6; any dtype.
Tensor relu6(const TensorArg& x);
/// (x + 3) / 6, between 0 and 1.
Tensor hardsigmoid(const TensorArg& x);
/// x * hardsigmoid(x). Howard et al., Searching for MobileNetV3, 2019.
Tensor hardswish(const TensorArg& x);
/// value where the bool mask is true, else x. ValueError for a number that x's dtype does not hold,
/// as in `full`.
Tensor masked_fill(const TensorArg& x, const TensorArg& mask, const Operand& value);

Tensor operator+(const Operand& x, const Operand& y);
Tensor operator-(const Operand& x, const Operand& y);
Tensor operator*(const Operand& x, const Operand& y);
Tensor operator/(const Operand& x, const Operand& y);
Tensor operator%(const Operand& x, const Operand& y);
Tensor operator==(const Operand& x, const Operand& y);
Tensor operator!=(const Operand& x, const Operand& y);
Tensor operator<(const Operand& x, const Operand& y);
Tensor operator<=(const Operand& x, const Operand& y);
Tensor operator>(const Operand& x, const Operand& y);
Tensor operator>=(const Operand& x, const Operand& y);
Tensor operator&(const Operand& x, const Operand& y);
Tensor operator|(const Operand& x, const Operand& y);
Tensor operator^(const Operand& x, const Operand& y);
Tensor operator<<(const Operand& x, const Operand& y);
Tensor operator>>(const Operand& x, const Operand& y);
Tensor operator-(const TensorArg& x);
Tensor operator!(const TensorArg& x);
Tensor operator~(const TensorArg& x);
// They rebind the handle, or assign to the Variable: tensors are values.
Tensor& operator+=(Tensor& x, const Operand& y);
Tensor& operator-=(Tensor& x, const Operand& y);
Tensor& operator*=(Tensor& x, const Operand& y);
Tensor& operator/=(Tensor& x, const Operand& y);
Tensor& operator%=(Tensor& x, const Operand& y);
Tensor& operator&=(Tensor& x, const Operand& y);
Tensor& operator|=(Tensor& x, const Operand& y);
Tensor& operator^=(Tensor& x, const Operand& y);
Tensor& operator<<=(Tensor& x, const Operand& y);
Tensor& operator>>=(Tensor& x, const Operand& y);
Variable& operator+=(Variable& x, const Operand& y);
Variable& operator-=(Variable& x, const Operand& y);
Variable& operator*=(Variable& x, const Operand& y);
Variable& operator/=(Variable& x, const Operand& y);
Variable& operator%=(Variable& x, const Operand& y);
Variable& operator&=(Variable& x, const Operand& y);
Variable& operator|=(Variable& x, const Operand& y);
Variable& operator^=(Variable& x, const Operand& y);
Variable& operator<<=(Variable& x, const Operand& y);
Variable& operator>>=(Variable& x, const Operand& y);

/// Same shape and all elements equal; waits. Dtypes are promoted.
bool equal(const TensorArg& x, const TensorArg& y);
/// Same shape and |x − y| <= absolute + relative·|y| everywhere; NaN equals NaN only if asked for.
bool allclose(const TensorArg& x, const TensorArg& y, double relative = 1e-5,
              double absolute = 1e-8, bool equal_nan = false);

// ---- reductions: over the given axes, or all ------------------------------------------------------
// Of nothing: sum 0, prod 1, any false, all true, mean NaN, logsumexp -inf; the others throw
// ValueError unless the output is empty too. Of amax, amin, max and min, equal ones share the
// gradient evenly; where one is NaN it is NaN.

Tensor sum(const TensorArg& x, const Dims& axes = {}, bool keep = false);
/// Its gradient is the product over the element, and where the product is 0, not finite or
/// subnormal, that of those before the element times that of those behind it: wrong only where one
/// of these two leaves the range and their product does not.
Tensor prod(const TensorArg& x, const Dims& axes = {}, bool keep = false);
/// DTypeError for integers and bools, as their mean has no dtype of theirs.
Tensor mean(const TensorArg& x, const Dims& axes = {}, bool keep = false);
Tensor amax(const TensorArg& x, const Dims& axes = {}, bool keep = false);
Tensor amin(const TensorArg& x, const Dims& axes = {}, bool keep = false);
Tensor max(const TensorArg& x, const Dims& axes = {}, bool keep = false);
Tensor min(const TensorArg& x, const Dims& axes = {}, bool keep = false);
Tensor any(const TensorArg& x, const Dims& axes = {}, bool keep = false);
Tensor all(const TensorArg& x, const Dims& axes = {}, bool keep = false);
/// Along one axis, or over all elements in row-major order.
Tensor argmax(const TensorArg& x, const Dims& axis = {}, bool keep = false);
Tensor argmin(const TensorArg& x, const Dims& axis = {}, bool keep = false);
Tensor logsumexp(const TensorArg& x, const Dims& axes = {}, bool keep = false);

// ---- shape ----------------------------------------------------------------------------------------

/// One extent may be -1: what is left. ShapeError where the element counts differ.
Tensor reshape(const TensorArg& x, const Dims& shape);
Tensor flatten(const TensorArg& x, std::int64_t first = 0, std::int64_t last = -1);
Tensor transpose(const TensorArg& x, std::int64_t a, std::int64_t b);
Tensor permute(const TensorArg& x, const Dims& axes);
/// Without the given axes, or without all, of extent 1.
Tensor squeeze(const TensorArg& x, const Dims& axes = {});
Tensor unsqueeze(const TensorArg& x, std::int64_t axis);
/// Axes of extent 1 repeated, new leading ones added; -1 keeps an extent.
Tensor expand(const TensorArg& x, const Dims& shape);
Tensor broadcast_to(const TensorArg& x, const Dims& shape);
Tensor flip(const TensorArg& x, const Dims& axes);
/// Every step-th element of an axis from start to before stop; out-of-range bounds are clipped.
Tensor slice(const TensorArg& x, std::int64_t axis, Bound start, Bound stop = std::nullopt,
             std::int64_t step = 1);
/// One position of an axis, which goes; negative counts from the end. IndexError out of range.
Tensor select(const TensorArg& x, std::int64_t axis, std::int64_t position);
/// x with y written along an axis from start on, every step-th position.
Tensor slice_update(const TensorArg& x, std::int64_t axis, std::int64_t start, const TensorArg& y,
                    std::int64_t step = 1);
Tensor cat(const TensorList& tensors, std::int64_t axis = 0);
Tensor stack(const TensorList& tensors, std::int64_t axis = 0);
std::vector<Tensor> split(const TensorArg& x, const Sizes& sizes, std::int64_t axis = 0);
std::vector<Tensor> chunk(const TensorArg& x, std::int64_t chunks, std::int64_t axis = 0);

// ---- indexing, order, products -----------------------------------------------------------------------
// Indices are i32 or i64, not negative, on the device of the data. One out of range is found on
// the device: IndexError at the next wait or read.

Tensor gather(const TensorArg& x, std::int64_t axis, const TensorArg& index);
Tensor scatter_add(const TensorArg& x, std::int64_t axis, const TensorArg& index,
                   const TensorArg& source);
Tensor index_select(const TensorArg& x, std::int64_t axis, const TensorArg& index);
/// The k greatest (or least) along an axis, in order, equal ones by index: values and indices.
std::pair<Tensor, Tensor> topk(const TensorArg& x, std::int64_t k, std::int64_t axis = -1,
                               bool largest = true);
/// Matrix product as NumPy's: vectors, matrices, and batches that broadcast.
Tensor matmul(const TensorArg& a, const TensorArg& b);

// ---- random: the draw depends on the seed, the order of calls and the element's index ---------------

/// Seeds the program's generator and starts its call count again.
void manual_seed(std::uint64_t seed);

/// A random stream of its own: a seed and a count of calls.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) noexcept : seed_(seed) {}
  std::uint64_t seed() const noexcept { return seed_; }
  /// The number of the next call, which it uses up.
  std::uint64_t next() noexcept { return calls_++; }

 private:
  std::uint64_t seed_, calls_ = 0;
};

/// Uniform on [0, 1).
Tensor rand(const Shape& shape, const TensorOptions& options = {}, Where at = {});
Tensor rand(const Shape& shape, Generator& generator, const TensorOptions& options = {},
            Where at = {});
/// Standard normal.
Tensor randn(const Shape& shape, const TensorOptions& options = {}, Where at = {});
Tensor randn(const Shape& shape, Generator& generator, const TensorOptions& options = {},
             Where at = {});
/// Integers from low to before high; i64 unless the options say otherwise.
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape,
               const TensorOptions& options = {}, Where at = {});
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, Generator& generator,
               const TensorOptions& options = {}, Where at = {});
/// A permutation of 0 .. n-1, as i64.
Tensor randperm(std::int64_t n, const TensorOptions& options = {}, Where at = {});
Tensor randperm(std::int64_t n, Generator& generator, const TensorOptions& options = {},
                Where at = {});
/// 1 with probability p, else 0.
Tensor bernoulli(double p, const Shape& shape, const TensorOptions& options = {}, Where at = {});

// ---- Variables ------------------------------------------------------------------------------------------

/// A Variable that starts with this value.
Variable variable(const Tensor& initial, Where at = {});

}  // namespace weft

#include <weft/graph/activations.h>
#include <weft/graph/indexing.h>
#include <weft/graph/linear_algebra.h>
#include <weft/graph/shaping.h>
#include <weft/graph/sorting.h>
#include <weft/graph/statistics.h>
