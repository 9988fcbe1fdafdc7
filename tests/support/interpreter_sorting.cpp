// The interpreter's scans, orders and searches.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <weft/graph/detail/ops.h>

#include "support/interpreter.h"
#include "support/interpreter_ops.h"

namespace weft::testing {
namespace {

using detail::OpId;

/// Calls visit(offsets) for each line along an axis: the offsets of its elements, in order.
template <class Visit>
void for_each_line(const Shape& shape, std::int64_t axis, const Visit& visit) {
  const auto along = static_cast<std::size_t>(axis);
  Shape lines = shape;
  lines[along] = 1;
  for (std::int64_t line = 0; line < lines.numel(); ++line) {
    Coordinates at = coordinates(lines, line);
    std::vector<std::int64_t> offsets;
    for (at[along] = 0; at[along] < shape[along]; ++at[along]) offsets.push_back(offset(shape, at));
    visit(offsets);
  }
}

/// log(e^a + e^b)
long double log_sum(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  if (a == b && std::isinf(a)) return a;
  return std::max(a, b) + std::log1p(std::exp(std::min(a, b) - std::max(a, b)));
}

void total(Step& step, const std::vector<std::int64_t>& line) {
  const HostValue& x = step.in(0);
  const OpId op = step.node.op;
  const bool multiplies = op == OpId::cumprod;
  long double real = multiplies ? 1 : op == OpId::cumsum ? 0 : -INFINITY;
  std::uint64_t integer = multiplies ? 1 : 0;
  for (const std::int64_t i : line) {
    if (!is_floating(x.dtype)) {
      const auto next = static_cast<std::uint64_t>(x.integer(i));
      integer = multiplies ? integer * next : integer + next;
      step.out().set_integer(i, static_cast<std::int64_t>(integer));
      continue;
    }
    real = multiplies           ? real * x.real(i)
           : op == OpId::cumsum ? real + x.real(i)
                                : log_sum(real, x.real(i));
    step.out().set_real(i, real);
  }
}

void extreme(Step& step, const std::vector<std::int64_t>& line) {
  const HostValue& x = step.in(0);
  std::size_t best = 0;
  for (std::size_t k = 0; k < line.size(); ++k) {
    const long double a = x.real(line[k]), b = x.real(line[best]);
    const bool is_as_great = step.node.op == OpId::cummax ? a >= b : a <= b;
    if (std::isnan(a) || (!std::isnan(b) && is_as_great)) best = k;
    step.out().copy_element(line[k], x, line[best]);
    step.outputs.at(1).set_integer(line[k], static_cast<std::int64_t>(best));
  }
}

/// Whether a stands before b in ascending order, where NaN is last.
bool is_before(long double a, long double b) { return !std::isnan(a) && (std::isnan(b) || a < b); }

void sort(Step& step, const std::vector<std::int64_t>& line) {
  const HostValue& x = step.in(0);
  std::vector<std::size_t> order(line.size());
  std::iota(order.begin(), order.end(), 0);
  const bool descends = step.v(2) != 0;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const long double a = x.real(line[i]), b = x.real(line[j]);
    return descends ? is_before(b, a) : is_before(a, b);
  });
  for (std::size_t k = 0; k < line.size(); ++k) {
    step.out().copy_element(line[k], x, line[order[k]]);
    step.outputs.at(1).set_integer(line[k], static_cast<std::int64_t>(order[k]));
  }
}

// By bisection, as a count would differ from it in lines that do not ascend.
void search(Step& step) {
  const HostValue& lines = step.in(0);
  const HostValue& values = step.in(1);
  const std::int64_t extent = lines.shape.back();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const std::int64_t line = i / values.shape.back() * extent;
    std::int64_t begin = 0, end = extent;
    while (begin != end) {
      const std::int64_t middle = (begin + end) / 2;
      const long double here = lines.real(line + middle), sought = values.real(i);
      const bool is_left = step.v(0) != 0 ? !is_before(sought, here) : is_before(here, sought);
      (is_left ? begin : end) = is_left ? middle + 1 : middle;
    }
    step.out().set_integer(i, begin);
  }
}

}  // namespace

bool interpret_lines(Step& step) {
  const auto each = [&](std::int64_t axis, void (*line)(Step&, const std::vector<std::int64_t>&)) {
    for_each_line(step.in(0).shape, axis,
                  [&](const std::vector<std::int64_t>& offsets) { line(step, offsets); });
    return true;
  };
  switch (step.node.op) {
    case OpId::cumsum:
    case OpId::cumprod:
    case OpId::logcumsumexp: return each(step.v(0), total);
    case OpId::cummax:
    case OpId::cummin: return each(step.v(0), extreme);
    case OpId::sort: return each(step.v(1), sort);
    case OpId::searchsorted: search(step); return true;
    default: return false;
  }
}

}  // namespace weft::testing
