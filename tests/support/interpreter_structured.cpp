// The interpreter's views, reductions, products, joins and indexing.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include <weft/graph/detail/ops.h>
#include <weft/graph/error.h>

#include "support/interpreter.h"
#include "support/interpreter_ops.h"

namespace weft::testing {
namespace {

using detail::OpId;

std::size_t axis_of(std::int64_t axis) { return static_cast<std::size_t>(axis); }

/// x + y, x · y: of integers modulo 2^64, of floats as long doubles.
struct Total {
  bool is_float;
  long double real;
  std::uint64_t integer;

  void add(const HostValue& x, std::int64_t i) {
    if (is_float)
      real += x.real(i);
    else
      integer += static_cast<std::uint64_t>(x.integer(i));
  }
  void multiply(const HostValue& x, std::int64_t i) {
    if (is_float)
      real *= x.real(i);
    else
      integer *= static_cast<std::uint64_t>(x.integer(i));
  }
  void add_product(const HostValue& x, std::int64_t i, const HostValue& y, std::int64_t j) {
    if (is_float)
      real += x.real(i) * y.real(j);
    else
      integer +=
          static_cast<std::uint64_t>(x.integer(i)) * static_cast<std::uint64_t>(y.integer(j));
  }
  void store(HostValue& out, std::int64_t i) const {
    if (is_float)
      out.set_real(i, real);
    else
      out.set_integer(i, static_cast<std::int64_t>(integer));
  }
};

Total total_of(const HostValue& x, int start) {
  return {is_floating(x.dtype), static_cast<long double>(start), static_cast<std::uint64_t>(start)};
}

// Reductions.

/// For each output, the offsets of the elements that it is made of, in row-major order.
std::vector<std::vector<std::int64_t>> groups(const Step& step) {
  const HostValue& x = step.in(0);
  Shape kept;
  for (std::size_t d = 0; d < x.shape.size(); ++d)
    kept.push_back((step.v(0) >> d & 1) != 0 ? 1 : x.shape[d]);
  std::vector<std::vector<std::int64_t>> result(static_cast<std::size_t>(kept.numel()));
  for (std::int64_t i = 0; i < x.numel(); ++i)
    result[static_cast<std::size_t>(broadcast_offset(kept, coordinates(x.shape, i)))].push_back(i);
  return result;
}

/// Position in the group of its first greatest, or least, where NaN is the more extreme.
std::size_t extreme(const HostValue& x, const std::vector<std::int64_t>& group, bool greatest) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < group.size(); ++k) {
    const long double a = x.real(group[k]), b = x.real(group[best]);
    if (std::isnan(b)) break;
    if (std::isnan(a) || (greatest ? a > b : a < b)) best = k;
  }
  return best;
}

void reduce(Step& step, std::int64_t i, const std::vector<std::int64_t>& group) {
  const OpId op = step.node.op;
  const HostValue& x = step.in(0);
  HostValue& out = step.out();
  const auto truth = [&](std::int64_t k) { return x.real(k) != 0; };
  Total total = total_of(x, op == OpId::prod ? 1 : 0);
  switch (op) {
    case OpId::sum:
      for (const std::int64_t k : group) total.add(x, k);
      return total.store(out, i);
    case OpId::prod:
      for (const std::int64_t k : group) total.multiply(x, k);
      return total.store(out, i);
    case OpId::any: return out.set_integer(i, std::any_of(group.begin(), group.end(), truth));
    case OpId::all: return out.set_integer(i, std::all_of(group.begin(), group.end(), truth));
    case OpId::amax:
    case OpId::amin: return out.copy_element(i, x, group.at(extreme(x, group, op == OpId::amax)));
    default:
      if (group.empty()) throw std::logic_error("argmax, argmin: of nothing");
      return out.set_integer(i, static_cast<std::int64_t>(extreme(x, group, op == OpId::argmax)));
  }
}

// Products.

void matmul(Step& step) {
  const HostValue& a = step.in(0);
  const HostValue& b = step.in(1);
  const Shape& shape = step.out().shape;
  const std::size_t rows = shape.size() - 2, columns = shape.size() - 1;
  const std::int64_t inner = a.shape.back();
  for (std::int64_t i = 0; i < step.out().numel(); ++i) {
    const Coordinates at = coordinates(shape, i);
    Total total = total_of(a, 0);
    for (std::int64_t k = 0; k < inner; ++k) {
      Coordinates at_a = at, at_b = at;
      at_a[columns] = k;
      at_b[rows] = k;
      total.add_product(a, broadcast_offset(a.shape, at_a), b, broadcast_offset(b.shape, at_b));
    }
    total.store(step.out(), i);
  }
}

// Joins and indexing.

void cat(Step& step) {
  const std::size_t axis = axis_of(step.v(0));
  std::int64_t start = 0;
  for (const HostValue* part : step.inputs) {
    for (std::int64_t i = 0; i < part->numel(); ++i) {
      Coordinates at = coordinates(part->shape, i);
      at[axis] += start;
      step.out().copy_element(offset(step.out().shape, at), *part, i);
    }
    start += part->shape[axis];
  }
}

void slice_update(Step& step) {
  const HostValue& y = step.in(1);
  step.out() = step.in(0);
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    Coordinates at = coordinates(y.shape, i);
    at[axis_of(step.v(0))] = step.v(2) + at[axis_of(step.v(0))] * step.v(1);
    step.out().copy_element(offset(step.out().shape, at), y, i);
  }
}

/// `at` with the index along the axis; IndexError where it is out of range.
Coordinates indexed(const Step& step, Coordinates at, const HostValue& index, std::int64_t i) {
  const std::size_t axis = axis_of(step.v(0));
  const std::int64_t position = index.integer(i);
  if (position < 0 || position >= step.in(0).shape[axis])
    throw IndexError("index " + std::to_string(position) + " is out of range", step.node.where());
  at[axis] = position;
  return at;
}

void gather(Step& step) {
  const HostValue& x = step.in(0);
  const HostValue& index = step.in(1);
  for (std::int64_t i = 0; i < index.numel(); ++i)
    step.out().copy_element(i, x,
                            offset(x.shape, indexed(step, coordinates(index.shape, i), index, i)));
}

void scatter_add(Step& step) {
  const HostValue& x = step.in(0);
  const HostValue& index = step.in(1);
  const HostValue& source = step.in(2);
  std::vector<Total> totals(static_cast<std::size_t>(x.numel()), total_of(x, 0));
  for (std::int64_t i = 0; i < x.numel(); ++i) totals[static_cast<std::size_t>(i)].add(x, i);
  for (std::int64_t i = 0; i < index.numel(); ++i) {
    const Coordinates at = coordinates(index.shape, i);
    const std::int64_t to = offset(x.shape, indexed(step, at, index, i));
    totals[static_cast<std::size_t>(to)].add(source, offset(source.shape, at));
  }
  step.out() = x;  // keeps the sign of a zero that nothing was added to
  for (std::int64_t i = 0; i < x.numel(); ++i)
    if (x.real(i) != totals[static_cast<std::size_t>(i)].real || !is_floating(x.dtype))
      totals[static_cast<std::size_t>(i)].store(step.out(), i);
}

void scatter(Step& step) {
  const HostValue& index = step.in(1);
  step.out() = step.in(0);
  for (std::int64_t i = 0; i < index.numel(); ++i) {  // row-major: ascending along any one axis
    const Coordinates at = coordinates(index.shape, i);
    step.out().copy_element(offset(step.out().shape, indexed(step, at, index, i)), step.in(2),
                            offset(step.in(2).shape, at));
  }
}

void topk(Step& step) {
  const HostValue& x = step.in(0);
  const std::size_t axis = axis_of(step.v(1));
  const std::int64_t count = step.v(0), extent = x.shape.empty() ? 1 : x.shape[axis];
  const bool greatest = step.v(2) != 0;
  Shape lines = step.out().shape;
  if (!lines.empty()) lines[axis] = 1;
  for (std::int64_t line = 0; line < lines.numel(); ++line) {
    Coordinates at = coordinates(lines, line);
    const auto along = [&](const Shape& shape, std::int64_t k) {
      if (!at.empty()) at[axis] = k;
      return offset(shape, at);
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(extent));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
      const long double a = x.real(along(x.shape, i)), b = x.real(along(x.shape, j));
      const bool less = !std::isnan(a) && (std::isnan(b) || a < b);
      const bool more = !std::isnan(b) && (std::isnan(a) || a > b);
      return greatest ? more : less;
    });
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t chosen = order.at(static_cast<std::size_t>(k));
      const std::int64_t from = along(x.shape, chosen), to = along(step.out().shape, k);
      step.out().copy_element(to, x, from);
      step.outputs.at(1).set_integer(to, chosen);
    }
  }
}

/// The input's coordinates of the output element at `at`.
Coordinates viewed(const Step& step, const Coordinates& at) {
  Coordinates source = at;
  if (step.node.op == OpId::permute)
    for (std::size_t d = 0; d < at.size(); ++d)
      source[axis_of(step.v(0) >> (8 * d) & 0xff)] = at[d];
  else
    source[axis_of(step.v(0))] = step.v(2) + at[axis_of(step.v(0))] * step.v(1);
  return source;
}

}  // namespace

bool interpret_view(Step& step) {
  const OpId op = step.node.op;
  HostValue& out = step.out();
  if (op == OpId::reshape || op == OpId::transfer || op == OpId::upload) {
    out.bytes = step.in(0).bytes;
    return true;
  }
  if (op != OpId::permute && op != OpId::expand && op != OpId::slice) return false;
  const HostValue& x = step.in(0);
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const Coordinates at = coordinates(out.shape, i);
    out.copy_element(i, x,
                     op == OpId::expand ? broadcast_offset(x.shape, at)
                                        : offset(x.shape, viewed(step, at)));
  }
  return true;
}

bool interpret_reduction(Step& step) {
  switch (step.node.op) {
    case OpId::sum:
    case OpId::prod:
    case OpId::amax:
    case OpId::amin:
    case OpId::any:
    case OpId::all:
    case OpId::argmax:
    case OpId::argmin: break;
    default: return false;
  }
  const auto elements = groups(step);
  for (std::int64_t i = 0; i < step.out().numel(); ++i)
    reduce(step, i, elements[static_cast<std::size_t>(i)]);
  return true;
}

bool interpret_join(Step& step) {
  switch (step.node.op) {
    case OpId::matmul: matmul(step); return true;
    case OpId::cat: cat(step); return true;
    case OpId::slice_update: slice_update(step); return true;
    case OpId::gather: gather(step); return true;
    case OpId::scatter_add: scatter_add(step); return true;
    case OpId::scatter: scatter(step); return true;
    case OpId::topk: topk(step); return true;
    default: return false;
  }
}

}  // namespace weft::testing
