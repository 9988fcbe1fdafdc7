// Checks and recording that the families of structured ops share.
#include "rules.h"

#include <cmath>
#include <limits>

#include <weft/graph/detail/evaluator.h>

namespace weft::detail {

Spec spec_of(const TensorArg& x, const char* op) {
  const Node* node = defined(x, op);
  return {node->shape(x.ref().output), node->dtype_of(x.ref().output)};
}

void check_size(const char* op, const Shape& shape, DType dtype, Where at) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      fail<ShapeError>(at, std::string(op) + ": an extent is negative: " + shape.str() +
                               "; extents are 0 or more");
    // Extents of 0 are passed over: a product of the others that overflows is a mistake as well.
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      fail<ShapeError>(at, std::string(op) + ": the size overflows 63 bits: " + name_str(dtype) +
                               shape.str() + "; use smaller extents");
  }
}

namespace {

[[noreturn]] void fail_extent(const char* op, const TensorArg& x, std::int64_t a, const char* sign,
                              std::int64_t b) {
  fail<ShapeError>(x.at(), std::string(op) + ": the size overflows 63 bits: an extent of " +
                               std::to_string(a) + sign + std::to_string(b) + " from " +
                               describe(x.ref()) + "; use smaller extents");
}

}  // namespace

std::int64_t sum_of_extents(const char* op, const TensorArg& x, std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) fail_extent(op, x, a, " + ", b);
  return sum;
}

std::int64_t product_of_extents(const char* op, const TensorArg& x, std::int64_t a,
                                std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) fail_extent(op, x, a, " * ", b);
  return product;
}

void check_number(const char* op, const Operand& number, DType dtype, Where at) {
  if (!is_integral(dtype)) return;
  const int bits = 8 * static_cast<int>(size_of(dtype));
  const bool is_signed = dtype != DType::u8;
  const std::int64_t greatest =
      std::numeric_limits<std::int64_t>::max() >> (is_signed ? 64 - bits : 63 - bits);
  const std::int64_t least = is_signed ? -greatest - 1 : 0;
  bool fits = false;
  if (number.number() == Operand::Number::decimal) {
    // The first beyond the range is a power of two, which a double holds, as the greatest of i64 is
    // not.
    fits = number.decimal() >= static_cast<double>(least) &&
           number.decimal() < std::ldexp(1.0, is_signed ? bits - 1 : bits);
  } else {
    fits = number.integer() <= greatest && number.integer() >= (is_signed ? least : -greatest);
  }
  if (!fits)
    fail<ValueError>(at, std::string(op) + ": " + describe(number) + " is none of " +
                             name_str(dtype) + ", which holds " + std::to_string(least) + " to " +
                             std::to_string(greatest) +
                             "; give one of these, or take a dtype that holds it");
}

Device placement(const TensorOptions& options, Device fallback, Where at) {
  if (!options.device) return ambient().on_set ? ambient().on : fallback;
  // As another tensor's that has no device yet: then neither has this one.
  if (options.device->kind() == DeviceKind::automatic) return *options.device;
  if (!options.device->is_cpu()) evaluator().require_device(*options.device, at);
  return *options.device;
}

Tensor record_one(OpId op, const char* name, const TensorArg& x, const Attrs& attrs,
                  const Spec& spec) {
  const Ref ref = x.ref();
  check_size(name, spec.shape, spec.dtype, x.at());
  return record_structured(op, {&ref, 1}, attrs, spec, common_device(name, {&ref, 1}, x.at()),
                           x.at());
}

Tensor record_new(OpId op, const Attrs& attrs, const Spec& spec, Device device, Where at) {
  const WithoutOn as_named;
  return record_structured(op, {}, attrs, spec, device, at);
}

std::string name_str(DType dtype) { return std::string(name_of(dtype)); }

std::string axes_str(const IntList& axes) {
  std::string text = axes.size() == 1 ? "axis " : "axes ";
  for (int i = 0; i < axes.ndim(); ++i) text += (i ? ", " : "") + std::to_string(axes[i]);
  return text;
}

}  // namespace weft::detail
