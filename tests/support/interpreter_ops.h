// Parts of the reference interpreter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <weft/graph/detail/node.h>

#include "support/interpreter.h"

namespace weft::testing {

/// An op at work: its inputs' values, and its outputs as zeros of their specs.
struct Step {
  const detail::Node& node;
  std::vector<const HostValue*> inputs;
  std::vector<HostValue> outputs;
  std::int64_t v(int i) const noexcept { return node.attrs.v[i]; }
  const HostValue& in(std::size_t i) const { return *inputs.at(i); }
  HostValue& out() { return outputs[0]; }
};

// Each gives false where the op is of another family.
bool interpret_pointwise(Step& step);
bool interpret_view(Step& step);
bool interpret_reduction(Step& step);
bool interpret_join(Step& step);
bool interpret_lines(Step& step);
bool interpret_random(Step& step);

/// Position along each axis.
using Coordinates = std::vector<std::int64_t>;
/// Of element `i` of a row-major value.
Coordinates coordinates(const Shape& shape, std::int64_t i);
std::int64_t offset(const Shape& shape, const Coordinates& at);
/// Offset in a value that broadcasts to the shape that `at` is of.
std::int64_t broadcast_offset(const Shape& shape, const Coordinates& at);

}  // namespace weft::testing
