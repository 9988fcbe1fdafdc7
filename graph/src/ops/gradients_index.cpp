// Gradients of joins, of indexing and of topk.
#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>

#include "rules.h"

namespace weft::detail {

#define WEFT_OP_STRUCTURED(name, ...) void gradient_##name(GradientCall& call);
#include <weft/graph/detail/ops.def>

void gradient_cat(GradientCall& call) {
  const std::int64_t axis = call.attrs().v[0];
  std::int64_t start = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::int64_t stop = start + call.inputs[i].size(axis);
    if (call.needs[i]) call.results[i] = slice(call.cotangents[0], axis, start, stop);
    start = stop;
  }
}

void gradient_slice_update(GradientCall& call) {
  const std::int64_t axis = call.attrs().v[0], step = call.attrs().v[1], start = call.attrs().v[2];
  const Tensor &y = call.inputs[1], &g = call.cotangents[0];
  const std::int64_t extent = y.size(axis);
  if (call.needs[0])
    call.results[0] = extent == 0 ? g : slice_update(g, axis, start, zeros_like(y), step);
  if (call.needs[1])
    call.results[1] = extent == 0
                          ? zeros_like(y)
                          : slice(g, axis, start, start + (extent - 1) * step + 1, step);
}

void gradient_gather(GradientCall& call) {
  if (call.needs[0])
    call.results[0] = scatter_add(zeros_like(call.inputs[0]), call.attrs().v[0], call.inputs[1],
                                  call.cotangents[0]);
}

void gradient_scatter_add(GradientCall& call) {
  const Tensor& g = call.cotangents[0];
  if (call.needs[0]) call.results[0] = g;
  if (call.needs[2]) call.results[2] = gather(g, call.attrs().v[0], call.inputs[1]);
}

void gradient_scatter(GradientCall& call) {
  const Tensor &x = call.inputs[0], &index = call.inputs[1], &g = call.cotangents[0];
  const std::int64_t axis = call.attrs().v[0];
  if (call.needs[0]) call.results[0] = scatter(g, axis, index, 0);
  if (!call.needs[2]) return;
  // Of those that go to one place, the one that stays has the gradient: each looks up who did.
  Shape line;
  for (int i = 0; i < index.ndim(); ++i) line.push_back(i == axis ? index.size(axis) : 1);
  const Tensor number = expand(
      reshape(arange(index.size(axis), {.device = call.node->device}), Dims(line)), Dims(index.shape()));
  const Tensor last = scatter(zeros_like(x, {.dtype = DType::i64}), axis, index, number);
  call.results[2] =
      where(gather(last, axis, index) == number, gather(g, axis, index), 0);
}

void gradient_topk(GradientCall& call) {
  // The indices have no derivative, so their cotangent counts for nothing.
  if (call.needs[0] && call.cotangents[0].defined())
    call.results[0] = scatter_add(zeros_like(call.inputs[0]), call.attrs().v[1], call.outputs[1],
                                  call.cotangents[0]);
}

}  // namespace weft::detail
