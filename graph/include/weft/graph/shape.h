// Shapes, axis lists and slice bounds: small classes that convert from what callers write.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include <weft/graph/error.h>

namespace weft {

/// Most axes a tensor may have.
inline constexpr int max_rank = 8;

namespace detail {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <class R>
concept IntegerRange = std::ranges::input_range<R> &&
                       Integer<std::remove_cvref_t<std::ranges::range_reference_t<R>>>;

[[noreturn]] void fail_rank(std::size_t rank, Where at);

}  // namespace detail

/// One extent or axis. From any integer, so that braces of size_t do not narrow.
class Dim {
 public:
  template <detail::Integer T>
  constexpr Dim(T value) noexcept : value_(static_cast<std::int64_t>(value)) {}
  constexpr operator std::int64_t() const noexcept { return value_; }

 private:
  std::int64_t value_;
};

/// Up to max_rank integers, kept in place: the base of Shape and Dims.
class IntList {
 public:
  constexpr IntList() noexcept = default;
  constexpr int ndim() const noexcept { return size_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  constexpr std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  constexpr const std::int64_t* begin() const noexcept { return values_.data(); }
  constexpr const std::int64_t* end() const noexcept { return values_.data() + size_; }
  constexpr std::int64_t back() const noexcept { return values_[size_ - 1]; }
  void push_back(std::int64_t value, Where at = {}) {
    if (size_ == max_rank) detail::fail_rank(size_ + 1u, at);
    values_[size_++] = value;
  }
  void insert(int position, std::int64_t value, Where at = {});
  void erase(int position) noexcept;
  friend constexpr bool operator==(const IntList& a, const IntList& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

 protected:
  template <class Range>
  void fill(const Range& range, Where at) {
    for (auto&& value : range) push_back(static_cast<std::int64_t>(value), at);
  }

 private:
  std::array<std::int64_t, max_rank> values_{};
  std::uint8_t size_ = 0;
};

/// Extents of a tensor, outermost first; `{}` is a 0-dim tensor. From an integer, braces of
/// integers, or any range of integers. More than max_rank of them throws ShapeError.
class Shape : public IntList {
 public:
  Shape() noexcept = default;
  template <detail::Integer T>
  Shape(T extent, Where at = {}) {
    push_back(static_cast<std::int64_t>(extent), at);
  }
  Shape(std::initializer_list<Dim> extents, Where at = {}) { fill(extents, at); }
  template <detail::IntegerRange R>
    requires(!std::derived_from<std::remove_cvref_t<R>, IntList>)
  Shape(const R& extents, Where at = {}) {
    fill(extents, at);
  }
  Shape(const IntList& list) noexcept : IntList(list) {}

  /// Product of the extents; 1 for a 0-dim tensor.
  constexpr std::int64_t numel() const noexcept {
    std::int64_t n = 1;
    for (std::int64_t extent : *this) n *= extent;
    return n;
  }
  /// "[2,3]"
  std::string str() const;
};

/// Axes, or any other list of integers; as Shape, but its numbers may be negative. Keeps the line
/// of the call that it was made in.
class Dims : public IntList {
 public:
  Dims(Where at = {}) noexcept : at_(at) {}
  template <detail::Integer T>
  Dims(T axis, Where at = {}) : at_(at) {
    push_back(static_cast<std::int64_t>(axis), at);
  }
  Dims(std::initializer_list<Dim> axes, Where at = {}) : at_(at) { fill(axes, at); }
  template <detail::IntegerRange R>
    requires(!std::derived_from<std::remove_cvref_t<R>, Dims>)
  Dims(const R& axes, Where at = {}) : at_(at) {
    fill(axes, at);
  }
  Where at() const noexcept { return at_; }

 private:
  Where at_;
};

/// Any number of extents, for `split`: from an integer, braces, or a range of integers.
class Sizes {
 public:
  template <detail::Integer T>
  Sizes(T size) : values_{static_cast<std::int64_t>(size)} {}
  Sizes(std::initializer_list<Dim> sizes) : values_(sizes.begin(), sizes.end()) {}
  template <detail::IntegerRange R>
  Sizes(const R& sizes) {
    for (auto&& size : sizes) values_.push_back(static_cast<std::int64_t>(size));
  }
  std::size_t size() const noexcept { return values_.size(); }
  std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  auto begin() const noexcept { return values_.begin(); }
  auto end() const noexcept { return values_.end(); }
  /// "[2,3]"
  std::string str() const;

 private:
  std::vector<std::int64_t> values_;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// One axis's part of an index: an element, a range with a step, or all of it.
struct Slice {
  std::optional<std::int64_t> start{}, stop{};
  std::int64_t step = 1;
};

/// Start or stop of a slice: an integer, or nothing for the end of the axis.
class Bound {
 public:
  constexpr Bound(std::nullopt_t) noexcept {}
  template <detail::Integer T>
  constexpr Bound(T value) noexcept : value_(static_cast<std::int64_t>(value)) {}
  constexpr const std::optional<std::int64_t>& value() const noexcept { return value_; }

 private:
  std::optional<std::int64_t> value_;
};

inline Slice slice() noexcept { return {}; }
inline Slice slice(Bound start, Bound stop, std::int64_t step = 1) noexcept {
  return {start.value(), stop.value(), step};
}

namespace detail {

/// Axis counted from the front; IndexError naming op and rank where it is out of range.
int wrap_axis(const char* op, std::int64_t axis, int rank, Where at);

}  // namespace detail
}  // namespace weft
