// Parameter types of the public functions: each converts in one step from what callers write, and
// carries the caller's line.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/graph/detail/ref.h>
#include <weft/graph/device.h>
#include <weft/graph/dtype.h>
#include <weft/graph/error.h>
#include <weft/graph/shape.h>

namespace weft {

class Tensor;
class Variable;

namespace detail {

/// No integer dtype has all of its values.
template <class T>
inline constexpr bool is_wide_unsigned = std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t);
inline constexpr std::uint64_t largest_i64 = ~std::uint64_t{0} >> 1;
[[noreturn]] void fail_wide_number(Where at);

}  // namespace detail

/// A tensor argument: from a Tensor or a Variable. Valid during the call alone; a Variable's value
/// of now is kept for as long, since a run that fails takes its value back at any time. A temporary
/// Tensor is used up: the program does not hold it any more, so `sum(square(x))` keeps no squares.
class TensorArg {
 public:
  TensorArg(const Tensor& tensor, Where at = {}) noexcept;
  TensorArg(Tensor&& tensor, Where at = {}) noexcept;
  TensorArg(const Variable& variable, Where at = {});
  detail::Ref ref() const noexcept { return ref_; }
  Where at() const noexcept { return at_; }

 private:
  friend class Operand;
  explicit TensorArg(Where at) noexcept : at_(at) {}
  detail::Ref ref_;
  detail::Hold held_;  // of a Variable, or a temporary
  Where at_;
};

/// A tensor or a C++ number. Numbers take part in promotion as PyTorch's Python numbers do.
class Operand : public TensorArg {
 public:
  enum class Number : std::uint8_t { none, boolean, integer, decimal };

  Operand(const Tensor& tensor, Where at = {}) noexcept : TensorArg(tensor, at) {}
  Operand(Tensor&& tensor, Where at = {}) noexcept : TensorArg(std::move(tensor), at) {}
  Operand(const Variable& variable, Where at = {}) : TensorArg(variable, at) {}
  Operand(const TensorArg& tensor) noexcept : TensorArg(tensor) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  Operand(T value, Where at = {}) noexcept(!detail::is_wide_unsigned<T>) : TensorArg(at) {
    if constexpr (detail::is_wide_unsigned<T>)
      if (value > detail::largest_i64) detail::fail_wide_number(at);
    if constexpr (std::is_floating_point_v<T>) {
      number_ = Number::decimal;
      decimal_ = static_cast<double>(value);
    } else {
      number_ = std::is_same_v<T, bool> ? Number::boolean : Number::integer;
      integer_ = static_cast<std::int64_t>(value);
    }
  }
  bool is_number() const noexcept { return number_ != Number::none; }
  Number number() const noexcept { return number_; }
  std::int64_t integer() const noexcept { return integer_; }
  double decimal() const noexcept { return decimal_; }
  /// The number, whichever kind it is, as a double.
  double value() const noexcept {
    return number_ == Number::decimal ? decimal_ : static_cast<double>(integer_);
  }

 private:
  Number number_ = Number::none;
  union {
    std::int64_t integer_ = 0;
    double decimal_;
  };
};

/// A tensor, a number or none, for bounds; integers stay exact. A std::optional<double> with a whole number
/// counts as that integer, as its type may say no more than that there can be none.
class OptionalOperand {
 public:
  OptionalOperand(std::nullopt_t) noexcept {}
  OptionalOperand(const Tensor& tensor, Where at = {}) : operand_(Operand(tensor, at)) {}
  OptionalOperand(const Variable& variable, Where at = {}) : operand_(Operand(variable, at)) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  OptionalOperand(T value, Where at = {}) : operand_(Operand(value, at)) {}
  template <class T>
    requires std::is_arithmetic_v<T>
  OptionalOperand(const std::optional<T>& value, Where at = {}) {
    if (!value) return;
    if constexpr (std::is_floating_point_v<T>)
      if (*value >= -0x1p63 && *value < 0x1p63 &&
          static_cast<T>(static_cast<std::int64_t>(*value)) == *value) {
        operand_.emplace(static_cast<std::int64_t>(*value), at);
        return;
      }
    operand_.emplace(*value, at);
  }
  const std::optional<Operand>& operand() const noexcept { return operand_; }

 private:
  std::optional<Operand> operand_;
};

/// For Tensor::index: an integer (removes the axis), slice(...) (keeps it), an i32 or i64 tensor of
/// positions, or a bool mask of one or more axes.
class Index {
 public:
  template <detail::Integer T>
  Index(T position) noexcept : position_(static_cast<std::int64_t>(position)), is_position_(true) {}
  Index(Slice range) noexcept : range_(range) {}
  Index(const Tensor& tensor, Where at = {}) noexcept : tensor_(TensorArg(tensor, at)) {}
  Index(Tensor&& tensor, Where at = {}) noexcept : tensor_(TensorArg(std::move(tensor), at)) {}
  Index(const Variable& variable, Where at = {}) : tensor_(TensorArg(variable, at)) {}
  bool is_position() const noexcept { return is_position_; }
  std::int64_t position() const noexcept { return position_; }
  const Slice& range() const noexcept { return range_; }
  const std::optional<TensorArg>& tensor() const noexcept { return tensor_; }

 private:
  Slice range_{};
  std::int64_t position_ = 0;
  bool is_position_ = false;
  std::optional<TensorArg> tensor_;
};

/// Several tensors: one, braces, or a vector of Tensors or Variables.
class TensorList {
 public:
  TensorList(const Tensor& tensor, Where at = {});
  TensorList(const Variable& variable, Where at = {});
  TensorList(std::initializer_list<TensorArg> tensors, Where at = {});
  TensorList(const std::vector<Tensor>& tensors, Where at = {});
  TensorList(const std::vector<Variable>& variables, Where at = {});
  const std::vector<TensorArg>& args() const noexcept { return args_; }
  std::size_t size() const noexcept { return args_.size(); }
  Where at() const noexcept { return at_; }

 private:
  std::vector<TensorArg> args_;
  Where at_;
};

/// Nested braces of numbers, for `tensor({{1, 2}, {3, 4}})`. Valid during the call alone.
class Nested {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  Nested(T value) noexcept : number_(value) {}
  Nested(std::initializer_list<Nested> list) noexcept
      : count_(list.size()), is_list_(true), number_(0) {
    // Not copied: the braces live to the end of the expression, and so long as the call.
    const Nested* begin = list.begin();
    first_ = begin;
  }
  bool is_list() const noexcept { return is_list_; }
  const Nested* begin() const noexcept { return first_; }
  const Nested* end() const noexcept { return first_ + count_; }
  std::size_t size() const noexcept { return count_; }

  struct Number {
    template <class T>
    Number(T value) noexcept {
      if constexpr (std::is_floating_point_v<T>) {
        kind = Operand::Number::decimal;
        decimal = static_cast<double>(value);
      } else {
        kind = std::is_same_v<T, bool> ? Operand::Number::boolean : Operand::Number::integer;
        if constexpr (detail::is_wide_unsigned<T>) is_too_large = value > detail::largest_i64;
        integer = static_cast<std::int64_t>(value);
        decimal = static_cast<double>(value);
      }
    }
    Operand::Number kind;
    bool is_too_large = false;  // for any integer dtype
    std::int64_t integer = 0;
    double decimal = 0;
  };
  const Number& number() const noexcept { return number_; }

 private:
  const Nested* first_ = nullptr;
  std::size_t count_ = 0;
  bool is_list_ = false;
  Number number_;
};

/// A device, or none given. From whatever a Device is made of; a malformed name gives the caller's
/// line, which a plain std::optional would hide.
class OptionalDevice : public std::optional<Device> {
 public:
  OptionalDevice() noexcept = default;
  OptionalDevice(std::nullopt_t) noexcept {}
  OptionalDevice(Device device) noexcept : std::optional<Device>(device) {}
  OptionalDevice(std::optional<Device> device) noexcept : std::optional<Device>(device) {}
  template <std::convertible_to<std::string_view> S>
  OptionalDevice(const S& text, Where at = {}) : std::optional<Device>(Device(text, at)) {}
};

/// How a new tensor is made. Without a dtype: the kind of the data decides, or the default float
/// dtype. Without a device: that of the enclosing `On`, or the cpu.
struct TensorOptions {
  std::optional<DType> dtype{};
  OptionalDevice device{};
};

/// `sum(x, 1, keepdim)`: reduced axes stay, with extent 1.
inline constexpr bool keepdim = true;

}  // namespace weft
