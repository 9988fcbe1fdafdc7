// Named tensors in order: what a module saves and loads.
#pragma once

#include <concepts>
#include <initializer_list>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/graph/tensor.h>

namespace weft {

/// Names and tensors, in the order of adding; each name once. From and to any range of pairs: a
/// std::map, a vector of pairs, braces.
class StateDict {
 public:
  using value_type = std::pair<std::string, Tensor>;

  StateDict() = default;
  StateDict(std::initializer_list<value_type> entries) {
    for (const value_type& entry : entries) (*this)[entry.first] = entry.second;
  }
  template <std::ranges::input_range R>
    requires(!std::derived_from<std::remove_cvref_t<R>, StateDict> &&
             std::convertible_to<std::ranges::range_reference_t<R>, value_type>)
  StateDict(const R& entries) {
    for (const auto& entry : entries) (*this)[std::string(entry.first)] = entry.second;
  }
  operator std::map<std::string, Tensor>() const { return {entries_.begin(), entries_.end()}; }
  operator std::vector<value_type>() const { return entries_; }

  auto begin() const noexcept { return entries_.begin(); }
  auto end() const noexcept { return entries_.end(); }
  std::size_t size() const noexcept { return entries_.size(); }
  bool empty() const noexcept { return entries_.empty(); }
  bool contains(std::string_view name) const noexcept { return places_.contains(name); }
  /// ValueError where there is none of this name.
  const Tensor& at(std::string_view name, Where at = {}) const;
  /// The tensor of this name, undefined where it is new.
  Tensor& operator[](std::string_view name);

 private:
  std::vector<value_type> entries_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace weft
