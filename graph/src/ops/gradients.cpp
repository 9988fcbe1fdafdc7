// Gradients of the structured ops: leaves, views, reductions, products, moves. Joins and indexing
// stand in gradients_index.cpp. Each is made of ops that have gradients themselves.
#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>

#include "rules.h"

namespace weft::detail {

#define WEFT_OP_STRUCTURED(name, ...) void gradient_##name(GradientCall& call);
#include <weft/graph/detail/ops.def>

Tensor sum_to(const Tensor& g, const Shape& shape) {
  const Shape given = g.shape();
  if (given == shape) return g;
  const int added = given.ndim() - shape.ndim();
  WEFT_ENSURE(added >= 0);
  Dims axes;
  for (int i = 0; i < given.ndim(); ++i)
    if (i < added || (shape[i - added] == 1 && given[i] != 1)) axes.push_back(i);
  // Without an axis only extents of 1 lead the way; sum over no axes would be sum over all.
  const Tensor sums = axes.empty() ? g : sum(g, axes, keepdim);
  return reshape(sums, shape);
}

void gradient_variable(GradientCall&) {
  // Differentiation ends at a Variable: the assigned value is not reached.
}

// ---- views --------------------------------------------------------------------------------------

void gradient_reshape(GradientCall& call) {
  call.results[0] = reshape(call.cotangents[0], call.inputs[0].shape());
}

void gradient_permute(GradientCall& call) {
  Dims inverse(call.inputs[0].shape());
  for (int axis = 0; axis < inverse.ndim(); ++axis) {
    const auto from = call.attrs().v[0] >> (8 * axis) & 0xff;
    inverse[static_cast<std::size_t>(from)] = axis;
  }
  call.results[0] = permute(call.cotangents[0], inverse);
}

void gradient_expand(GradientCall& call) {
  call.results[0] = sum_to(call.cotangents[0], call.inputs[0].shape());
}

void gradient_slice(GradientCall& call) {
  const auto axis = static_cast<int>(call.attrs().v[0]);
  const std::int64_t extent = call.outputs[0].size(axis);
  std::int64_t step = call.attrs().v[1], start = call.attrs().v[2];
  Tensor g = call.cotangents[0];
  if (step < 0) {
    g = flip(g, axis);
    start += (extent - 1) * step;
    step = -step;
  }
  const Tensor& x = call.inputs[0];
  if (extent == x.size(axis))
    call.results[0] = g;
  else if (extent == 0)
    call.results[0] = zeros_like(x);
  else
    call.results[0] = slice_update(zeros_like(x), axis, start, g, step);
}

// ---- reductions

namespace {

bool is_reduced(const GradientCall& call, int axis) { return call.attrs().v[0] >> axis & 1; }

/// A reduction's result or cotangent with the reduced axes back, as extents of 1.
Tensor with_axes(const GradientCall& call, const Tensor& reduced) {
  Shape shape = call.inputs[0].shape();
  for (int axis = 0; axis < shape.ndim(); ++axis)
    if (is_reduced(call, axis)) shape[static_cast<std::size_t>(axis)] = 1;
  return reshape(reduced, shape);
}

Dims reduced_axes(const GradientCall& call) {
  Dims axes;
  for (int axis = 0; axis < call.inputs[0].ndim(); ++axis)
    if (is_reduced(call, axis)) axes.push_back(axis);
  return axes;
}

/// Of each element along an axis, the product of those before it.
Tensor product_before(const Tensor& x, std::int64_t axis) {
  const Tensor one = ones_like(slice(x, axis, 0, 1));
  return cat({one, slice(cumprod(x, axis), axis, 0, x.size(axis) - 1)}, axis);
}

/// Least number with all its digits.
double least_normal(DType dtype) noexcept {
  return dtype == DType::f16 ? 0x1p-14 : dtype == DType::f64 ? 0x1p-1022 : 0x1p-126;
}

/// Gradient of amax and amin: equal ones share the cotangent evenly (K9).
void gradient_extreme(GradientCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor chosen = x == with_axes(call, call.outputs[0]);
  const Tensor count = with_axes(call, sum(chosen, reduced_axes(call), keepdim)).to(x.dtype());
  const Tensor share = where(chosen, with_axes(call, call.cotangents[0]), 0);
  // Outside, so that a NaN result, which equals nothing, gives 0/0.
  call.results[0] = share / count;
}

}  // namespace

void gradient_sum(GradientCall& call) {
  call.results[0] = expand(with_axes(call, call.cotangents[0]), call.inputs[0].shape());
}

void gradient_prod(GradientCall& call) {
  // The product over the element, where the product is a number of full precision. Where it is 0,
  // that would be 0/0 and have wrong derivatives of its own; where it has left the range, the product
  // of the others may not have: there the product of all the others, whose parts could leave it where
  // the whole does not. For that the reduced axes go last and become one.
  const Tensor x = call.inputs[0].to(wide(call.inputs[0].dtype()));
  const Tensor g = with_axes(call, call.cotangents[0]);
  const int rank = x.ndim();
  Dims order, inverse(x.shape());
  Shape rows;
  std::int64_t n = 1;
  for (const bool reduced : {false, true})
    for (int axis = 0; axis < rank; ++axis) {
      if (is_reduced(call, axis) != reduced) continue;
      inverse[static_cast<std::size_t>(axis)] = order.ndim();
      order.push_back(axis);
      if (reduced)
        n *= x.size(axis);
      else
        rows.push_back(x.size(axis));
    }
  if (n <= 1 || x.numel() == 0) {
    call.results[0] = expand(g, x.shape());
    return;
  }
  const Tensor out = with_axes(call, call.outputs[0]).to(x.dtype());
  const Tensor divides = isfinite(out) & (abs(out) >= least_normal(call.inputs[0].dtype()));
  const Tensor quotient = where(divides, out, 1) / where(divides, x, 1);
  const Tensor moved_x = permute(where(divides, 1, x), order);
  const int last = rows.ndim();
  rows.push_back(n);
  const Tensor flat = reshape(moved_x, rows);
  const Tensor after = flip(product_before(flip(flat, last), last), last);
  const Tensor others = reshape(product_before(flat, last) * after, moved_x.shape());
  call.results[0] = g * where(divides, quotient, permute(others, inverse));
}

void gradient_amax(GradientCall& call) { gradient_extreme(call); }
void gradient_amin(GradientCall& call) { gradient_extreme(call); }

// ---- products

Tensor transposed(const Tensor& x) { return transpose(x, -1, -2); }

/// Whether it is a matrix, or matrices, recorded as another one with its axes exchanged.
bool is_transposed(const Tensor& x) {
  const Node* node = x.ref().node;
  if (node->op != OpId::permute) return false;
  const int last = 8 * (node->rank - 1);
  return (node->attrs.v[0] >> last & 0xff) == node->rank - 2 &&
         (node->attrs.v[0] >> (last - 8) & 0xff) == node->rank - 1;
}

/// A transposed operand's gradient is made as the transposition of a product: then the gradient of
/// what was transposed, as a linear layer's weight is, is that product and no copy in other order.
void gradient_matmul(GradientCall& call) {
  const Tensor &a = call.inputs[0], &b = call.inputs[1], &g = call.cotangents[0];
  if (call.needs[0])
    call.results[0] = sum_to(is_transposed(a) ? transposed(matmul(b, transposed(g)))
                                              : matmul(g, transposed(b)),
                             a.shape());
  if (call.needs[1])
    call.results[1] = sum_to(is_transposed(b) ? transposed(matmul(transposed(g), a))
                                              : matmul(transposed(a), g),
                             b.shape());
}

// ---- between devices

void gradient_transfer(GradientCall& call) {
  call.results[0] = call.cotangents[0].to(call.inputs[0].device());
}

void gradient_upload(GradientCall& call) { gradient_transfer(call); }

}  // namespace weft::detail
