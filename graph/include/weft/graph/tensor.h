// Tensor: a handle to a recorded value.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/detail/ref.h>
#include <weft/graph/device.h>
#include <weft/graph/dtype.h>
#include <weft/graph/error.h>
#include <weft/graph/shape.h>

namespace weft {

struct UniqueOptions;
struct UniqueResult;

namespace detail {

struct VariableSlot;
class Handle;
/// Copies the elements to the host, row-major, in the tensor's own dtype; evaluates and waits.
void read_elements(Ref ref, void* destination, Where at);
/// Converts `count` elements between dtypes as a cast does.
void convert_elements(DType from, const void* source, DType to, void* destination,
                      std::int64_t count) noexcept;

template <class T>
std::vector<T> elements(std::size_t count, Where at) try {
  return std::vector<T>(count);
} catch (const std::bad_alloc&) {
  fail_memory("to_vector", at);
}

}  // namespace detail

struct PadOptions;

/// A position along the first axis, for `x[i]`; negative counts from the end.
class Position {
 public:
  template <detail::Integer T>
  Position(T value, Where at = {}) noexcept : value_(static_cast<std::int64_t>(value)), at_(at) {}
  std::int64_t value() const noexcept { return value_; }
  Where at() const noexcept { return at_; }

 private:
  std::int64_t value_;
  Where at_;
};

/// The methods that Tensor and Variable share. Each is the free function of the same name.
template <class Self>
class TensorMethods {
 public:
  // Known without evaluating. On an undefined tensor each throws ValueError.
  Shape shape(Where at = {}) const;
  int ndim(Where at = {}) const;
  std::int64_t numel(Where at = {}) const;
  std::int64_t size(std::int64_t axis, Where at = {}) const;
  DType dtype(Where at = {}) const;
  Device device(Where at = {}) const;
  bool requires_grad(Where at = {}) const;

  // Evaluation.
  /// The one element, cast to T; waits. ValueError where there is not exactly one.
  template <class T>
  T item(Where at = {}) const;
  /// All elements, row-major, cast to T; waits.
  template <class T>
  std::vector<T> to_vector(Where at = {}) const;
  /// True until the work that computes it has been issued.
  bool is_pending(Where at = {}) const;
  /// Evaluates it and waits until the value is there.
  void wait(Where at = {}) const;

  // Devices and dtypes. Already there: the same tensor, no node.
  Tensor to(Device device, Where at = {}) const;
  Tensor to(DType dtype, Where at = {}) const;
  Tensor to(Device device, DType dtype, Where at = {}) const;
  Tensor cpu(Where at = {}) const;
  Tensor cuda(Where at = {}) const;
  Tensor cuda(int index, Where at = {}) const;

  // Gradients.
  /// The same value, without history.
  Tensor detach(Where at = {}) const;
  /// Adds d self / d leaf to the `.grad` of every leaf Variable; self has one element.
  void backward(Where at = {}) const;
  /// The same with a cotangent of self's shape.
  void backward(const TensorArg& cotangent) const;

  // Views and indexing.
  Tensor operator[](const Position& position) const;
  /// Axis by axis from the first, as NumPy's: `x.index({0, slice(1, 3)})`. Tensors of positions,
  /// negative from the end, broadcast together, and their axes come in place of theirs, or first
  /// where theirs are not neighbours. A bool mask stands for its axes: `x.index({x > 0})`; it is
  /// evaluated, and waited for, at the call.
  Tensor index(std::initializer_list<Index> indices, Where at = {}) const;
  Tensor slice(std::int64_t axis, Bound start, Bound stop = std::nullopt, std::int64_t step = 1,
               Where at = {}) const;
  Tensor select(std::int64_t axis, std::int64_t position, Where at = {}) const;
  Tensor reshape(const Dims& shape) const;
  Tensor flatten(std::int64_t first = 0, std::int64_t last = -1, Where at = {}) const;
  Tensor transpose(std::int64_t a, std::int64_t b, Where at = {}) const;
  Tensor permute(const Dims& axes) const;
  Tensor squeeze(const Dims& axes = {}) const;
  Tensor unsqueeze(std::int64_t axis, Where at = {}) const;
  Tensor expand(const Dims& shape) const;
  Tensor broadcast_to(const Dims& shape) const;
  Tensor flip(const Dims& axes) const;

  // Reductions.
  Tensor sum(const Dims& axes = {}, bool keep = false) const;
  Tensor mean(const Dims& axes = {}, bool keep = false) const;
  Tensor prod(const Dims& axes = {}, bool keep = false) const;
  Tensor amax(const Dims& axes = {}, bool keep = false) const;
  Tensor amin(const Dims& axes = {}, bool keep = false) const;
  Tensor max(const Dims& axes = {}, bool keep = false) const;
  Tensor min(const Dims& axes = {}, bool keep = false) const;
  Tensor any(const Dims& axes = {}, bool keep = false) const;
  Tensor all(const Dims& axes = {}, bool keep = false) const;
  Tensor argmax(const Dims& axis = {}, bool keep = false) const;
  Tensor argmin(const Dims& axis = {}, bool keep = false) const;
  Tensor logsumexp(const Dims& axes = {}, bool keep = false) const;

  // Joins, products, rows.
  Tensor matmul(const TensorArg& other) const;
  Tensor gather(std::int64_t axis, const TensorArg& index) const;
  Tensor scatter_add(std::int64_t axis, const TensorArg& index, const TensorArg& source) const;
  std::pair<Tensor, Tensor> topk(std::int64_t k, std::int64_t axis = -1, bool largest = true,
                                 Where at = {}) const;
  Tensor softmax(std::int64_t axis, Where at = {}) const;
  Tensor log_softmax(std::int64_t axis, Where at = {}) const;
  Tensor elu(double alpha = 1.0, Where at = {}) const;
  Tensor leaky_relu(double slope = 0.01, Where at = {}) const;
  Tensor relu6(Where at = {}) const;
  Tensor hardsigmoid(Where at = {}) const;
  Tensor hardswish(Where at = {}) const;
  Tensor clamp(const OptionalOperand& low, const OptionalOperand& high = std::nullopt,
               Where at = {}) const;
  Tensor masked_fill(const TensorArg& mask, const Operand& value) const;

  // Scans, orders.
  Tensor cumsum(std::int64_t axis, Where at = {}) const;
  Tensor cumprod(std::int64_t axis, Where at = {}) const;
  Tensor logcumsumexp(std::int64_t axis, Where at = {}) const;
  std::pair<Tensor, Tensor> cummax(std::int64_t axis, Where at = {}) const;
  std::pair<Tensor, Tensor> cummin(std::int64_t axis, Where at = {}) const;
  std::pair<Tensor, Tensor> sort(std::int64_t axis = -1, bool descending = false,
                                 Where at = {}) const;
  Tensor argsort(std::int64_t axis = -1, bool descending = false, Where at = {}) const;
  Tensor msort(Where at = {}) const;
  std::pair<Tensor, Tensor> kthvalue(std::int64_t k, std::int64_t axis = -1, bool keep = false,
                                     Where at = {}) const;
  Tensor median(Where at = {}) const;
  std::pair<Tensor, Tensor> median(std::int64_t axis, bool keep = false, Where at = {}) const;
  UniqueResult unique(Where at = {}) const;
  UniqueResult unique(const UniqueOptions& options, Where at = {}) const;
  Tensor bucketize(const TensorArg& boundaries, bool right = false) const;
  Tensor isin(const TensorArg& elements) const;
  // Writing and picking at indices and by masks.
  Tensor scatter(std::int64_t axis, const TensorArg& index, const Operand& source) const;
  Tensor index_select(std::int64_t axis, const TensorArg& index) const;
  Tensor index_add(std::int64_t axis, const TensorArg& index, const TensorArg& source) const;
  Tensor index_copy(std::int64_t axis, const TensorArg& index, const TensorArg& source) const;
  Tensor index_fill(std::int64_t axis, const TensorArg& index, const Operand& value) const;
  Tensor take(const TensorArg& index) const;
  Tensor put(const TensorArg& index, const Operand& source, bool accumulate = false) const;
  Tensor masked_select(const TensorArg& mask) const;
  Tensor masked_scatter(const TensorArg& mask, const TensorArg& source) const;
  Tensor nonzero(Where at = {}) const;

  // Other arrangements.
  Tensor roll(const Dims& shifts, const Dims& axes = {}) const;
  Tensor repeat(const Dims& counts) const;
  Tensor tile(const Dims& counts) const;
  Tensor repeat_interleave(std::int64_t count, std::optional<std::int64_t> axis = std::nullopt,
                           Where at = {}) const;
  Tensor repeat_interleave(const TensorArg& counts,
                           std::optional<std::int64_t> axis = std::nullopt) const;
  Tensor pad(const Sizes& widths, const PadOptions& options, Where at = {}) const;
  Tensor pad(const Sizes& widths, Where at = {}) const;
  Tensor tril(std::int64_t diagonal = 0, Where at = {}) const;
  Tensor triu(std::int64_t diagonal = 0, Where at = {}) const;
  Tensor diagonal(std::int64_t offset = 0, std::int64_t axis1 = 0, std::int64_t axis2 = 1,
                  Where at = {}) const;
  Tensor diag(std::int64_t offset = 0, Where at = {}) const;
  Tensor diag_embed(std::int64_t offset = 0, std::int64_t axis1 = -2, std::int64_t axis2 = -1,
                    Where at = {}) const;
  Tensor movedim(const Dims& from, const Dims& to) const;
  Tensor swapaxes(std::int64_t a, std::int64_t b, Where at = {}) const;
  Tensor unflatten(std::int64_t axis, const Dims& sizes) const;
  Tensor narrow(std::int64_t axis, std::int64_t start, std::int64_t length, Where at = {}) const;
  Tensor rot90(std::int64_t k = 1, const Dims& axes = {0, 1}) const;
  std::vector<Tensor> unbind(std::int64_t axis = 0, Where at = {}) const;
  std::vector<Tensor> split(const Sizes& sizes, std::int64_t axis = 0, Where at = {}) const;
  std::vector<Tensor> chunk(std::int64_t chunks, std::int64_t axis = 0, Where at = {}) const;
  std::vector<Tensor> tensor_split(std::int64_t parts, std::int64_t axis = 0, Where at = {}) const;
  std::vector<Tensor> tensor_split(const Sizes& positions, std::int64_t axis = 0,
                                   Where at = {}) const;

  // Statistics.
  Tensor var(const Dims& axes = {}, bool keep = false, double correction = 1) const;
  Tensor stddev(const Dims& axes = {}, bool keep = false, double correction = 1) const;
  Tensor norm(const Dims& axes = {}, bool keep = false) const;
  Tensor count_nonzero(const Dims& axes = {}, bool keep = false) const;
  Tensor nansum(const Dims& axes = {}, bool keep = false) const;
  Tensor nanmean(const Dims& axes = {}, bool keep = false) const;

  // Products.
  Tensor dot(const TensorArg& other) const;
  Tensor outer(const TensorArg& other) const;
  Tensor mv(const TensorArg& other) const;
  Tensor mm(const TensorArg& other) const;
  Tensor bmm(const TensorArg& other) const;
  Tensor cross(const TensorArg& other, std::int64_t axis = -1) const;
  Tensor trace(Where at = {}) const;

#define WEFT_METHOD_1(name) Tensor name(Where at = {}) const;
#define WEFT_METHOD_2(name) Tensor name(const Operand& other) const;
#define WEFT_METHOD_3(name) Tensor name(const Operand& y, const Operand& z) const;
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
#undef WEFT_METHOD_1
#undef WEFT_METHOD_2
#undef WEFT_METHOD_3
#undef WEFT_METHOD_arithmetic
#undef WEFT_METHOD_numeric
#undef WEFT_METHOD_floating
#undef WEFT_METHOD_integral
#undef WEFT_METHOD_compare
#undef WEFT_METHOD_predicate
#undef WEFT_METHOD_select
#undef WEFT_METHOD_given

 private:
  TensorArg self(Where at) const { return {static_cast<const Self&>(*this), at}; }
};

/// A counted handle to a value that is, or will be, computed. Copying it copies no data; no
/// operation changes the value that another handle sees. A default one is undefined, and using it
/// throws ValueError.
class Tensor : public TensorMethods<Tensor> {
 public:
  Tensor() noexcept = default;
  Tensor(const Variable& variable);
  explicit Tensor(detail::Handle handle) noexcept : handle_(std::move(handle)) {}
  Tensor(const Tensor&) noexcept = default;
  Tensor(Tensor&&) noexcept = default;
  // Only lvalues can be assigned to: `x[0] = y` would change a temporary, and does not compile.
  Tensor& operator=(const Tensor&) & noexcept = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  ~Tensor() = default;

  bool defined() const noexcept { return static_cast<bool>(handle_); }
  detail::Ref ref() const noexcept { return handle_.ref(); }

 private:
  friend class TensorArg;
  detail::Handle handle_;
};

/// A named slot with a current value: a parameter, optimiser state, a learning rate. Copies share
/// the slot. Assigning gives it a new value, without history.
class Variable : public TensorMethods<Variable> {
 public:
  Variable() noexcept = default;
  /// A new slot that starts with this value and requires a gradient where the dtype is floating.
  explicit Variable(const Tensor& initial, Where at = {});
  Variable(const Variable& other) noexcept;
  Variable(Variable&& other) noexcept;
  /// Shares the other's slot.
  Variable& operator=(const Variable& other) & noexcept;
  Variable& operator=(Variable&& other) & noexcept;
  ~Variable();

  bool defined() const noexcept { return slot_ != nullptr; }
  /// The current value: the same node until the next assignment.
  Tensor value(Where at = {}) const;
  /// A new value, detached, of the same shape, dtype and device; ShapeError, DTypeError or
  /// DeviceError otherwise.
  void assign(const Operand& value);
  Variable& operator=(const Operand& value) & {
    assign(value);
    return *this;
  }

  /// The accumulated gradient; undefined where there is none.
  Tensor grad(Where at = {}) const;
  /// Forgets it.
  void zero_grad(Where at = {});
  /// Replaces it; undefined clears it.
  void set_grad(const Tensor& grad, Where at = {});
  /// Whether gradients are wanted. DTypeError for a dtype that is not floating.
  Variable& set_requires_grad(bool wanted, Where at = {});

  // In place, for all who hold it; gradients go along.
  void to(Device device, Where at = {});
  void to(DType dtype, Where at = {});
  void cuda(Where at = {});
  void cpu(Where at = {});

  detail::VariableSlot* slot() const noexcept { return slot_; }

 private:
  detail::VariableSlot* slot_ = nullptr;
};

/// PyTorch's format: 4 decimals, summarised past 1000 elements. Evaluates and waits.
std::ostream& operator<<(std::ostream& out, const TensorArg& tensor);

template <class Self>
template <class T>
T TensorMethods<Self>::item(Where at) const {
  static_assert(detail::Element<T>, "item<T>: T must be a type that a tensor can hold");
  const TensorArg arg = self(at);
  if (!arg.ref().node)
    detail::fail<ValueError>(at, "item: the tensor is undefined (default-constructed or moved "
                                 "from); give it a value first");
  if (numel(at) != 1)
    detail::fail<ValueError>(at, "item: the tensor has shape " + shape(at).str() +
                                     ", not one element; use to_vector, or index it first");
  std::int64_t raw = 0;  // wide enough for any element
  detail::read_elements(arg.ref(), &raw, at);
  T value{};
  detail::convert_elements(dtype(at), &raw, detail::DTypeOf<T>::value, &value, 1);
  return value;
}

template <class Self>
template <class T>
std::vector<T> TensorMethods<Self>::to_vector(Where at) const {
  static_assert(detail::Element<T>, "to_vector<T>: T must be a type that a tensor can hold");
  if constexpr (std::is_same_v<T, bool>) {  // its vector has no contiguous data to write to
    std::vector<bool> bits;
    for (unsigned char byte : to(bool_, at).template to_vector<unsigned char>(at))
      bits.push_back(byte != 0);
    return bits;
  } else {
  const TensorArg arg = self(at);
  const auto count = static_cast<std::size_t>(numel(at));
  const DType from = dtype(at);
  std::vector<T> result = detail::elements<T>(count, at);
  if (from == detail::DTypeOf<T>::value) {
    detail::read_elements(arg.ref(), result.data(), at);
    return result;
  }
  auto raw = detail::elements<unsigned char>(count * size_of(from), at);
  detail::read_elements(arg.ref(), raw.data(), at);
  detail::convert_elements(from, raw.data(), detail::DTypeOf<T>::value, result.data(),
                           static_cast<std::int64_t>(count));
  return result;
  }
}

}  // namespace weft
