// Padding: joins of x and what stands beside it, one for each axis.
#include <algorithm>
#include <limits>

#include "composite.h"

namespace weft {
namespace detail {

Tensor padded(const TensorArg& x, int axis, std::int64_t before, std::int64_t after,
              const Tensor& value) {
  const Where at = x.at();
  Tensor core = tensor_of(x);
  if (before < 0 || after < 0) {
    const std::int64_t extent = core.size(axis, at);
    core = slice({core, at}, axis, before < 0 ? -before : 0, after < 0 ? extent + after : extent);
  }
  std::vector<Tensor> parts;
  const auto fill = [&](std::int64_t width) {
    Shape shape = core.shape(at);
    shape[static_cast<std::size_t>(axis)] = width;
    if (width > 0) parts.push_back(expand({value, at}, Dims(shape, at)));
  };
  fill(before);
  parts.push_back(core);
  fill(after);
  return cat({parts, at}, axis);
}

namespace {

struct Width {
  int axis;
  std::int64_t before, after;
};

std::string text_of(const TensorArg& x, const Sizes& widths) {
  return "widths " + widths.str() + " of " + describe(x.ref());
}

std::vector<Width> widths_of(const TensorArg& x, const Sizes& widths) {
  const int rank = spec_of(x, "pad").shape.ndim();
  const std::size_t pairs = widths.size() / 2;
  if (widths.size() % 2 != 0 || pairs > static_cast<std::size_t>(rank))
    fail<ShapeError>(x.at(), "pad: " + text_of(x, widths) +
                                 ": not two for each of some axes; give pairs, from the last axis");
  std::vector<Width> result;
  for (std::size_t i = 0; i < pairs; ++i)
    result.push_back({rank - 1 - static_cast<int>(i), widths[2 * i], widths[2 * i + 1]});
  return result;
}

/// The widest that an axis of this extent can give.
std::int64_t reach(PadMode mode, std::int64_t extent) {
  switch (mode) {
    case PadMode::reflect: return extent - 1;
    case PadMode::circular: return extent;
    default: return extent > 0 ? std::numeric_limits<std::int64_t>::max() : 0;
  }
}

void check_width(const TensorArg& x, const Sizes& widths, const Width& width, PadMode mode) {
  const Spec spec = spec_of(x, "pad");
  const std::int64_t extent = spec.shape[static_cast<std::size_t>(width.axis)];
  const std::int64_t wider = std::max(width.before, width.after);
  const std::string where = " axis " + std::to_string(width.axis) + ": " + text_of(x, widths);
  if (mode == PadMode::constant) {
    // No sum overflows, whatever the widths are.
    const auto cut = [extent](std::int64_t by) {
      return std::clamp(by, -extent - 1, std::int64_t{0});
    };
    if (extent + cut(width.before) + cut(width.after) < 0)
      fail<ShapeError>(x.at(), "pad: more is cropped than there is along" + where + "; crop less");
    return;
  }
  if (std::min(width.before, width.after) < 0)
    fail<ValueError>(x.at(), "pad: this mode does not crop" + where +
                                 "; slice it first, or use PadMode::constant");
  if (wider > 0 && wider > reach(mode, extent))
    fail<ShapeError>(x.at(), "pad: wider than the elements that there are along" + where +
                                 "; pad less, or in several steps");
}

/// What stands before and after along an axis, of x itself.
Tensor extended(const Tensor& x, const Width& width, PadMode mode, Where at) {
  const int axis = width.axis;
  const std::int64_t extent = x.size(axis, at);
  const auto part = [&](std::int64_t start, std::int64_t stop) {
    return slice({x, at}, axis, start, stop);
  };
  const auto mirror = [&](std::int64_t start, std::int64_t stop) {
    return flip({part(start, stop), at}, Dims(axis, at));
  };
  const auto edge = [&](std::int64_t position, std::int64_t count) {
    Shape shape = x.shape(at);
    shape[static_cast<std::size_t>(axis)] = count;
    return expand({part(position, position + 1), at}, Dims(shape, at));
  };
  std::vector<Tensor> parts{x};
  const auto [i, before, after] = width;
  if (before > 0)
    parts.insert(parts.begin(), mode == PadMode::reflect     ? mirror(1, before + 1)
                                : mode == PadMode::replicate ? edge(0, before)
                                                             : part(extent - before, extent));
  if (after > 0)
    parts.push_back(mode == PadMode::reflect     ? mirror(extent - 1 - after, extent - 1)
                    : mode == PadMode::replicate ? edge(extent - 1, after)
                                                 : part(0, after));
  return cat({parts, at}, axis);
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor pad(const TensorArg& x, const Sizes& widths, const PadOptions& options) {
  const Where at = x.at();
  const Spec spec = spec_of(x, "pad");
  const std::vector<Width> all = widths_of(x, widths);
  Shape result = spec.shape;
  for (const Width& width : all) {
    check_width(x, widths, width, options.mode);
    std::int64_t& extent = result[static_cast<std::size_t>(width.axis)];
    // Neither is far below 0, where one crops: no sum of them leaves the range at that end.
    if (__builtin_add_overflow(extent, std::max(width.before, width.after), &extent) ||
        __builtin_add_overflow(extent, std::min(width.before, width.after), &extent))
      fail<ShapeError>(at, "pad: the size overflows 63 bits: " + text_of(x, widths) + "; pad less");
  }
  check_size("pad", result, spec.dtype, at);
  if (options.value.operand() && options.mode != PadMode::constant)
    fail<ValueError>(at, "pad: a value is given, of which this mode takes none: " +
                             text_of(x, widths) + "; leave it out, or use PadMode::constant");
  const Operand filling = options.value.operand().value_or(Operand(0, at));
  Tensor value;
  if (options.mode == PadMode::constant) value = number_like("pad", x, filling);
  Tensor padded_x = tensor_of(x);
  for (const Width& width : all)
    padded_x = options.mode == PadMode::constant
                   ? padded({padded_x, at}, width.axis, width.before, width.after, value)
                   : extended(padded_x, width, options.mode, at);
  return padded_x;
}

}  // namespace weft
