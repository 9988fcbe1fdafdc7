// Helpers for the tables that say what an op of the files is in the public API.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <variant>

#include "golden.h"

namespace golden {

inline const weft::Tensor& tensor_at(const Args& args, std::size_t i) {
  return std::get<weft::Tensor>(args.at(i));
}

inline std::vector<std::int64_t> int_list(const Attrs& attrs, const char* name) {
  return attrs.at(name).get<std::vector<std::int64_t>>();
}

/// The axes of "dim": an integer, a list, or null, which is all and empty here.
inline weft::Dims axes_of(const Attrs& attrs) {
  const Attrs dim = attrs.value("dim", Attrs());
  if (dim.is_null()) return {};
  if (dim.is_array()) return dim.get<std::vector<std::int64_t>>();
  return dim.get<std::int64_t>();
}

inline std::int64_t axis_of(const Attrs& attrs) { return attrs.at("dim").get<std::int64_t>(); }
inline bool keeps_axes(const Attrs& attrs) { return attrs.value("keepdim", false); }

template <class F>
Op unary(F f) {
  return [f](const Args& args, const Attrs&) -> Tensors { return {f(tensor_at(args, 0))}; };
}

/// Of two tensors, or a tensor and a number on either side.
template <class F>
Op binary(F f) {
  return [f](const Args& args, const Attrs&) -> Tensors {
    return std::visit(
        [&f](const auto& x, const auto& y) -> Tensors {
          constexpr bool is_tensor[] = {std::is_same_v<std::decay_t<decltype(x)>, weft::Tensor>,
                                        std::is_same_v<std::decay_t<decltype(y)>, weft::Tensor>};
          if constexpr (is_tensor[0] || is_tensor[1])
            return {f(x, y)};
          else
            throw std::runtime_error("two numbers and no tensor");
        },
        args.at(0), args.at(1));
  };
}

/// f(x, axes, keep)
template <class F>
Op reduction(F f) {
  return [f](const Args& args, const Attrs& attrs) -> Tensors {
    return {f(tensor_at(args, 0), axes_of(attrs), keeps_axes(attrs))};
  };
}

/// f(x, axis)
template <class F>
Op along_axis(F f) {
  return [f](const Args& args, const Attrs& attrs) -> Tensors {
    return {f(tensor_at(args, 0), axis_of(attrs))};
  };
}

}  // namespace golden

// Public functions are overload sets: a lambda makes one value of each.
#define GOLDEN_FUNCTION(name) [](const auto&... args) { return weft::name(args...); }
#define GOLDEN_UNARY(name)                                                                         \
  { #name, golden::unary(GOLDEN_FUNCTION(name)) }
#define GOLDEN_BINARY(name)                                                                        \
  { #name, golden::binary(GOLDEN_FUNCTION(name)) }
#define GOLDEN_REDUCTION(name)                                                                     \
  { #name, golden::reduction(GOLDEN_FUNCTION(name)) }
#define GOLDEN_ALONG_AXIS(name)                                                                    \
  { #name, golden::along_axis(GOLDEN_FUNCTION(name)) }
