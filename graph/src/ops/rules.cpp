// Checks and recording that the families of structured ops share.
#include "rules.h"

#include <limits>

#include <weft/graph/detail/evaluator.h>

namespace weft::detail {

Spec spec_of(const TensorArg& x, const char* op) {
  const Node* node = defined(x, op);
  return {node->shape(x.ref().output), node->dtype_of(x.ref().output)};
}

void check_size(const char* op, const Shape& shape, DType dtype, Where at) {
  constexpr std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  std::int64_t bytes = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t extent : shape) {
    if (extent < 0)
      fail<ShapeError>(at, std::string(op) + ": an extent is negative: " + shape.str() +
                               "; extents are 0 or more");
    // Extents of 0 are passed over: a product of the others that overflows is a mistake as well.
    if (extent > 0 && bytes > greatest / extent)
      fail<ShapeError>(at, std::string(op) + ": the size overflows 63 bits: " + name_str(dtype) +
                               shape.str() + "; use smaller extents");
    if (extent > 0) bytes *= extent;
  }
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
