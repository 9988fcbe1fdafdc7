// Functions of the program on host memory as steps of a plan.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/shape.h>
#include <weft/graph/tensor.h>

namespace weft {

/// Thrown by what reads a value whose computation ended in an exception of the program's own
/// function; what() has its message, and std::rethrow_if_nested gives the exception itself.
class CallbackError : public Error {
 public:
  using Error::Error;
};

/// Shape and dtype of a value.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::f32;
};

namespace detail {
[[noreturn]] void fail_view(DType dtype, const char* asked);

template <class T>
constexpr bool is_stored_as(DType dtype) noexcept {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return std::is_same_v<T, std::uint16_t>;
    case DType::f32: return std::is_same_v<T, float>;
    case DType::f64: return std::is_same_v<T, double>;
    case DType::i8: return std::is_same_v<T, std::int8_t>;
    case DType::i32: return std::is_same_v<T, std::int32_t>;
    case DType::i64: return std::is_integral_v<T> && std::is_signed_v<T> && sizeof(T) == 8;
    case DType::u8: return std::is_same_v<T, std::uint8_t>;
    case DType::bool_: return std::is_same_v<T, bool> || std::is_same_v<T, std::uint8_t>;
  }
  return false;
}
}  // namespace detail

/// An operand in host memory, row-major without gaps. Valid during the call alone.
class HostInput {
 public:
  HostInput(TensorSpec spec, const void* data) noexcept : spec_(spec), data_(data) {}
  const Shape& shape() const noexcept { return spec_.shape; }
  DType dtype() const noexcept { return spec_.dtype; }
  const void* data() const noexcept { return data_; }
  /// The elements. T is the dtype's C++ type (std::uint16_t for halves): DTypeError for another.
  template <class T>
  std::span<const T> span() const {
    if (!detail::is_stored_as<T>(spec_.dtype)) detail::fail_view(spec_.dtype, "span");
    return {static_cast<const T*>(data_), static_cast<std::size_t>(spec_.shape.numel())};
  }

 private:
  TensorSpec spec_;
  const void* data_;
};

/// A result in host memory, to be written in full.
class HostOutput {
 public:
  HostOutput(TensorSpec spec, void* data) noexcept : spec_(spec), data_(data) {}
  const Shape& shape() const noexcept { return spec_.shape; }
  DType dtype() const noexcept { return spec_.dtype; }
  void* data() const noexcept { return data_; }
  template <class T>
  std::span<T> span() const {
    if (!detail::is_stored_as<T>(spec_.dtype)) detail::fail_view(spec_.dtype, "span");
    return {static_cast<T*>(data_), static_cast<std::size_t>(spec_.shape.numel())};
  }

 private:
  TensorSpec spec_;
  void* data_;
};

using HostFunction =
    std::function<void(std::span<const HostInput> inputs, std::span<const HostOutput> outputs)>;
/// Vector-Jacobian product of a call, recorded: one gradient for each input, or undefined ones.
using CallGradient = std::function<std::vector<Tensor>(const std::vector<Tensor>& inputs,
                                                       const std::vector<Tensor>& outputs,
                                                       const std::vector<Tensor>& cotangents)>;

struct HostCallbackOptions {
  /// For messages.
  std::string name = "host_callback";
  /// Where the results go; none: they stay on the cpu.
  OptionalDevice device{};
  /// Cotangents that nothing gave are zeros. None: the results are constants to differentiation.
  CallGradient gradient{};
};

/// Calls fn as a step of the plan, on the cpu's thread, when the results are needed: each recorded
/// call once, even where its arguments equal another's, unless nobody needs it: then never. Calls
/// that do not need each other's results run in no order that is to be relied on. Inputs come from
/// wherever they are, by transfers in the plan. What fn captures by reference must outlive the run.
/// fn may record ops (flush does nothing in it), but not evaluate, read or wait: UnsupportedError.
/// An exception from it fails the run: who reads what depends on it gets CallbackError with the name
/// and this line, and no Variable has changed. One to eight outputs (ValueError).
std::vector<Tensor> host_callback(HostFunction fn, const TensorList& inputs,
                                  const std::vector<TensorSpec>& outputs,
                                  const HostCallbackOptions& options = {});

}  // namespace weft
