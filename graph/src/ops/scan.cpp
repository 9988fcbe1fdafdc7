// Scans: of all elements along an axis up to each.
#include "lines.h"

namespace weft {
namespace detail {

// ---- rules

namespace {

DType sum_dtype(DType dtype) noexcept { return is_floating(dtype) ? dtype : DType::i64; }

bool is_along_axis(std::span<const Spec> inputs, const Attrs& attrs) {
  return inputs.size() == 1 && attrs.v[0] >= 0 && attrs.v[0] < inputs[0].shape.ndim();
}

bool consistent_total(std::span<const Spec> inputs, const Attrs& attrs,
                      std::span<const Spec> outputs) {
  return is_along_axis(inputs, attrs) && outputs.size() == 1 &&
         outputs[0] == Spec{inputs[0].shape, sum_dtype(inputs[0].dtype)};
}

bool consistent_extreme(std::span<const Spec> inputs, const Attrs& attrs,
                        std::span<const Spec> outputs) {
  return is_along_axis(inputs, attrs) && outputs.size() == 2 && outputs[0] == inputs[0] &&
         outputs[1] == Spec{inputs[0].shape, DType::i64};
}

}  // namespace

bool consistent_cumsum(std::span<const Spec> inputs, const Attrs& attrs,
                       std::span<const Spec> outputs) {
  return consistent_total(inputs, attrs, outputs);
}
bool consistent_cumprod(std::span<const Spec> inputs, const Attrs& attrs,
                        std::span<const Spec> outputs) {
  return consistent_total(inputs, attrs, outputs);
}
bool consistent_logcumsumexp(std::span<const Spec> inputs, const Attrs& attrs,
                             std::span<const Spec> outputs) {
  return consistent_total(inputs, attrs, outputs) && is_floating(inputs[0].dtype);
}
bool consistent_cummax(std::span<const Spec> inputs, const Attrs& attrs,
                       std::span<const Spec> outputs) {
  return consistent_extreme(inputs, attrs, outputs);
}
bool consistent_cummin(std::span<const Spec> inputs, const Attrs& attrs,
                       std::span<const Spec> outputs) {
  return consistent_extreme(inputs, attrs, outputs);
}

// ---- recording

namespace {

/// The checked axis, and where the op runs.
struct Line {
  Line(const char* op, const TensorArg& x, std::int64_t axis)
      : spec(spec_of(x, op)), at(x.at()), device(Device::cpu()) {
    attrs.v[0] = wrap_axis(op, axis, spec.shape.ndim(), at);
    const Ref given = x.ref();
    device = common_device(op, {&given, 1}, at);
  }
  Spec spec;
  Where at;
  Attrs attrs;
  Device device;
};

Tensor total(OpId op, const TensorArg& x, std::int64_t axis) {
  const char* name = info(op).name.data();
  const Line line(name, x, axis);
  check_size(name, line.spec.shape, sum_dtype(line.spec.dtype), line.at);
  const Tensor data = of_an_axis(x, line.at);
  const Ref input = data.ref();
  const Spec made{data.shape(line.at), sum_dtype(line.spec.dtype)};
  return shaped_as(record_structured(op, {&input, 1}, line.attrs, made, line.device, line.at),
                   line.spec.shape, line.at);
}

std::pair<Tensor, Tensor> extreme(OpId op, const TensorArg& x, std::int64_t axis) {
  const char* name = info(op).name.data();
  const Line line(name, x, axis);
  check_size(name, line.spec.shape, DType::i64, line.at);
  const Tensor data = of_an_axis(x, line.at);
  const Ref input = data.ref();
  const Shape shape = data.shape(line.at);
  return shaped_as(record_pair(op, {&input, 1}, line.attrs, {shape, line.spec.dtype},
                               {shape, DType::i64}, line.device, line.at),
                   line.spec.shape, line.at);
}

}  // namespace
}  // namespace detail

using namespace detail;

Tensor cumsum(const TensorArg& x, std::int64_t axis) { return total(OpId::cumsum, x, axis); }
Tensor cumprod(const TensorArg& x, std::int64_t axis) { return total(OpId::cumprod, x, axis); }

Tensor logcumsumexp(const TensorArg& x, std::int64_t axis) {
  const DType dtype = spec_of(x, "logcumsumexp").dtype;
  if (is_floating(dtype)) return total(OpId::logcumsumexp, x, axis);
  const Line checked("logcumsumexp", x, axis);
  return total(OpId::logcumsumexp, {cast(x, default_dtype()), checked.at}, axis);
}

std::pair<Tensor, Tensor> cummax(const TensorArg& x, std::int64_t axis) {
  return extreme(OpId::cummax, x, axis);
}
std::pair<Tensor, Tensor> cummin(const TensorArg& x, std::int64_t axis) {
  return extreme(OpId::cummin, x, axis);
}

}  // namespace weft
