// Sequences from nothing: arange, linspace, eye. An iota each, whose start and step are arguments.
#include <bit>
#include <cmath>
#include <limits>

#include "rules.h"

namespace weft {
namespace detail {

bool consistent_iota(std::span<const Spec> inputs, const Attrs&, std::span<const Spec> outputs) {
  return inputs.empty() && outputs.size() == 1 && outputs[0].shape.ndim() == 1 &&
         outputs[0].dtype != DType::bool_;
}

namespace {

Tensor iota(std::int64_t start, std::int64_t step, std::int64_t count, Device device, Where at) {
  Attrs attrs;
  attrs.v[0] = start;
  attrs.v[1] = step;
  return record_new(OpId::iota, attrs, {Shape(count), DType::i64}, device, at);
}

// Floats are computed as f64 and rounded once, as PyTorch does.
Tensor iota(double start, double step, std::int64_t count, Device device, Where at) {
  Attrs attrs;
  attrs.v[0] = std::bit_cast<std::int64_t>(start);
  attrs.v[1] = std::bit_cast<std::int64_t>(step);
  return record_new(OpId::iota, attrs, {Shape(count), DType::f64}, device, at);
}

Tensor cast_in_place(const Tensor& x, DType dtype, Where at) {
  const WithoutOn as_named;
  return cast({x, at}, dtype);
}

struct Range {
  const Operand& start;
  const Operand& stop;
  const Operand& step;
  std::string str() const {
    return "from " + describe(start) + " to " + describe(stop) + " by " + describe(step);
  }
};

[[noreturn]] void fail_sign(const Range& range, Where at) {
  fail<ValueError>(at, "arange: the step leads away from stop: " + range.str() +
                           "; turn its sign, or exchange start and stop");
}

[[noreturn]] void fail_count(const Range& range, Where at) {
  fail<ShapeError>(at, "arange: too many elements: " + range.str() + "; use a larger step");
}

std::int64_t integer_count(const Range& range, Where at) {
  const std::int64_t start = range.start.integer(), stop = range.stop.integer(),
                     step = range.step.integer();
  if (step > 0 ? stop < start : stop > start) fail_sign(range, at);
  if (start == stop) return 0;
  const auto distance = [](std::int64_t from, std::int64_t to) {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  };
  const std::uint64_t span = step > 0 ? distance(start, stop) : distance(stop, start);
  const std::uint64_t stride = step > 0 ? static_cast<std::uint64_t>(step) : distance(step, 0);
  const std::uint64_t count = (span - 1) / stride + 1;
  if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail_count(range, at);
  return static_cast<std::int64_t>(count);
}

std::int64_t decimal_count(const Range& range, Where at) {
  const double start = range.start.value(), stop = range.stop.value(), step = range.step.value();
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    fail<ValueError>(at, "arange: a bound or the step is not finite: " + range.str() +
                             "; give finite numbers");
  if (step > 0 ? stop < start : stop > start) fail_sign(range, at);
  const double count = std::ceil((stop - start) / step);
  if (!(count < 0x1p62)) fail_count(range, at);
  return static_cast<std::int64_t>(count);
}

DType dtype_for(const Range& range, const TensorOptions& options) {
  using Number = Operand::Number;
  const bool has_decimal = range.start.number() == Number::decimal ||
                           range.stop.number() == Number::decimal ||
                           range.step.number() == Number::decimal;
  return options.dtype.value_or(has_decimal ? default_dtype() : DType::i64);
}

Tensor arange_of(const Range& range, const TensorOptions& options, Where at) {
  for (const Operand* operand : {&range.start, &range.stop, &range.step})
    if (!operand->is_number())
      fail<ValueError>(at, "arange: a bound is a tensor: " + describe(*operand) +
                               "; give a number, as x.item<double>()");
  const DType dtype = dtype_for(range, options);
  if (dtype == DType::bool_)
    fail<DTypeError>(at, "arange: bool has no sequence: " + range.str() +
                             "; take an integer dtype and compare it");
  if (range.step.value() == 0)
    fail<ValueError>(at, "arange: the step is 0: " + range.str() + "; give one that leads to stop");
  const bool is_exact = dtype_for(range, {}) == DType::i64;
  const std::int64_t count = is_exact ? integer_count(range, at) : decimal_count(range, at);
  check_size("arange", Shape(count), dtype, at);
  if (!is_exact && !is_floating(dtype) && std::trunc(range.step.value()) == 0)
    fail<ValueError>(at, "arange: the step is 0 as " + name_str(dtype) + ": " + range.str() +
                             "; take a float dtype, or a whole step");
  const Device device = placement(options, Device::cpu(), at);
  if (is_floating(dtype))
    return cast_in_place(iota(range.start.value(), range.step.value(), count, device, at), dtype,
                         at);
  const auto whole = [is_exact](const Operand& x) {
    return is_exact ? x.integer() : static_cast<std::int64_t>(x.value());
  };
  return cast_in_place(iota(whole(range.start), whole(range.step), count, device, at), dtype, at);
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor arange(const Operand& stop, const TensorOptions& options) {
  return arange_of({Operand(0, stop.at()), stop, Operand(1, stop.at())}, options, stop.at());
}

Tensor arange(const Operand& start, const Operand& stop, const TensorOptions& options) {
  return arange_of({start, stop, Operand(1, start.at())}, options, start.at());
}

Tensor arange(const Operand& start, const Operand& stop, const Operand& step,
              const TensorOptions& options) {
  return arange_of({start, stop, step}, options, start.at());
}

Tensor linspace(double start, double stop, std::int64_t count, const TensorOptions& options,
                Where at) {
  const DType dtype = options.dtype.value_or(default_dtype());
  check_size("linspace", Shape(count), DType::f64, at);
  const Device device = placement(options, Device::cpu(), at);
  // From both ends to the middle, so that the sequence is symmetric and ends exactly at stop.
  // No value between two that are finite leaves the range, even where their distance does. Of two
  // values none is a step away from its end.
  const double parts = static_cast<double>(count - 1), distance = stop - start;
  const double step = count <= 2             ? 0
                      : std::isinf(distance) ? stop / parts - start / parts
                                             : distance / parts;
  const std::int64_t half = count > 1 ? count / 2 : count;
  const Tensor rising = iota(start, step, half, device, at);
  if (half == count) return cast_in_place(rising, dtype, at);
  const Tensor falling = iota(stop, -step, count - half, device, at);
  const WithoutOn as_named;
  return cast({cat({TensorArg(rising, at), {flip({falling, at}, 0), at}}), at}, dtype);
}

Tensor eye(std::int64_t n, std::optional<std::int64_t> m, const TensorOptions& options, Where at) {
  const Shape shape{n, m.value_or(n)};
  const DType dtype = options.dtype.value_or(default_dtype());
  check_size("eye", shape, dtype, at);
  const Device device = placement(options, Device::cpu(), at);
  const Tensor rows = iota(std::int64_t{0}, std::int64_t{1}, shape[0], device, at);
  const Tensor columns = iota(std::int64_t{0}, std::int64_t{1}, shape[1], device, at);
  const WithoutOn as_named;
  return cast({eq({unsqueeze({rows, at}, 1), at}, {columns, at}), at}, dtype);
}

}  // namespace weft
