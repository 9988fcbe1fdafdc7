// Casts, moves between devices, and comparisons that read their result.
#include <weft/graph/detail/evaluator.h>

#include "rules.h"

namespace weft {
namespace detail {

Tensor moved(const TensorArg& x, Device device) {
  const Spec spec = spec_of(x, "to");
  if (x.ref().node->device == device) return tensor_of(x);
  if (!device.is_cpu()) evaluator().require_device(device, x.at());
  const WithoutOn as_named;
  const Ref ref = x.ref();
  return record_structured(OpId::transfer, {&ref, 1}, {}, spec, device, x.at());
}

Tensor moved(const TensorArg& x, Device device, DType dtype) {
  const Where at = x.at();
  const bool is_narrower = size_of(dtype) < size_of(spec_of(x, "to").dtype);
  if (!device.is_cpu()) evaluator().require_device(device, at);
  const WithoutOn as_named;
  // The cast goes where it leaves fewer bytes to move.
  if (is_narrower) return moved({cast(x, dtype), at}, device);
  return cast({moved(x, device), at}, dtype);
}

namespace {

bool is_true(const Tensor& x, Where at) { return x.item<bool>(at); }

}  // namespace
}  // namespace detail

using namespace detail;

Tensor cast(const TensorArg& x, DType dtype) {
  defined(x, "to");
  return record_cast(x.ref(), dtype, x.at());
}

bool equal(const TensorArg& x, const TensorArg& y) {
  const Where at = x.at();
  const Ref given[] = {x.ref(), y.ref()};
  if (spec_of(x, "equal").shape != spec_of(y, "equal").shape) return false;
  common_device("equal", given, at);
  return is_true(all({eq(x, y), at}), at);
}

bool allclose(const TensorArg& x, const TensorArg& y, double relative, double absolute,
              bool equal_nan) {
  const Where at = x.at();
  const Ref given[] = {x.ref(), y.ref()};
  if (!(relative >= 0 && absolute >= 0))
    fail<ValueError>(at, "allclose: a tolerance is negative or NaN: relative " +
                             std::to_string(relative) + ", absolute " + std::to_string(absolute) +
                             "; give 0 or more");
  if (spec_of(x, "allclose").shape != spec_of(y, "allclose").shape) return false;
  common_device("allclose", given, at);
  // In f64, where integers and narrow floats differ and are scaled without rounding.
  const NoGrad no_history;
  const Tensor a = cast(x, DType::f64), b = cast(y, DType::f64);
  const Tensor distance = abs({sub({a, at}, {b, at}), at});
  const Tensor scaled = mul({abs({b, at}), at}, {relative, at});
  const Tensor near = le({distance, at}, {add({scaled, at}, {absolute, at}), at});
  Tensor close = logical_and({near, at}, {isfinite({distance, at}), at});
  close = logical_or({close, at}, {eq({a, at}, {b, at}), at});
  if (equal_nan) {
    const Tensor both = logical_and({isnan({a, at}), at}, {isnan({b, at}), at});
    close = logical_or({close, at}, {both, at});
  }
  return is_true(all({close, at}), at);
}

}  // namespace weft
