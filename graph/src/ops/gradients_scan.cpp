// Gradients of scans and of orders.
#include <limits>

#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>

#include "rules.h"

namespace weft::detail {

#define WEFT_OP_STRUCTURED(name, ...) void gradient_##name(GradientCall& call);
#include <weft/graph/detail/ops.def>

namespace {

/// What stands `places` further along the axis, and `fill` where nothing does.
Tensor ahead(const Tensor& x, std::int64_t axis, std::int64_t places, double fill) {
  const std::int64_t n = x.size(axis);
  const Tensor gap = full_like(slice(x, axis, 0, places), fill);
  return cat({slice(x, axis, places, n), gap}, axis);
}

/// Each element's cotangent goes to where it was taken from.
void gradient_taken(GradientCall& call, std::int64_t axis) {
  // The indices have no derivative, so their cotangent counts for nothing.
  if (call.needs[0] && call.cotangents[0].defined())
    call.results[0] =
        scatter_add(zeros_like(call.inputs[0]), axis, call.outputs[1], call.cotangents[0]);
}

/// Σ over k >= i of e^(x_i - out_k) a_k, for a >= 0, by logs: neither leaves the range early.
Tensor shares(const Tensor& x, const Tensor& out, const Tensor& a, std::int64_t axis) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor counts = (a > 0) & (out != -infinity);
  const Tensor parts = where(counts, log(where(a > 0, a, 1)) - where(counts, out, 0), -infinity);
  return exp(flip(logcumsumexp(flip(parts, axis), axis), axis) + x);
}

}  // namespace

void gradient_cumsum(GradientCall& call) {
  const std::int64_t axis = call.attrs().v[0];
  call.results[0] = flip(cumsum(flip(call.cotangents[0], axis), axis), axis);
}

void gradient_cumprod(GradientCall& call) {
  // Not Σ g out / x: that is 0/0 at a zero. With before_i the product of what stands before i,
  // the gradient is before_i r_i, where r_i = g_i + x_(i+1) r_(i+1): a recurrence, solved by
  // doubling (Kogge and Stone, IEEE Trans. Computers, 1973), of products and sums alone.
  const std::int64_t axis = call.attrs().v[0];
  const DType dtype = wide(call.inputs[0].dtype());
  const Tensor x = call.inputs[0].to(dtype);
  const std::int64_t n = x.size(axis);
  Tensor r = call.cotangents[0].to(dtype);
  if (n <= 1 || x.numel() == 0) {
    call.results[0] = call.cotangents[0];
    return;
  }
  Tensor factor = ahead(x, axis, 1, 0);
  for (std::int64_t places = 1; places < n; places *= 2) {
    r = r + factor * ahead(r, axis, places, 0);
    if (2 * places < n) factor = factor * ahead(factor, axis, places, 0);
  }
  const Tensor one = ones_like(slice(x, axis, 0, 1));
  const Tensor before = cat({one, slice(cumprod(x, axis), axis, 0, n - 1)}, axis);
  call.results[0] = (before * r).to(call.inputs[0].dtype());
}

void gradient_logcumsumexp(GradientCall& call) {
  const std::int64_t axis = call.attrs().v[0];
  const DType dtype = wide(call.inputs[0].dtype());
  const Tensor x = call.inputs[0].to(dtype), out = call.outputs[0].to(dtype);
  const Tensor g = call.cotangents[0].to(dtype);
  const Tensor result = shares(x, out, g, axis) - shares(x, out, -g, axis);
  call.results[0] = result.to(call.inputs[0].dtype());
}

void gradient_cummax(GradientCall& call) { gradient_taken(call, call.attrs().v[0]); }
void gradient_cummin(GradientCall& call) { gradient_taken(call, call.attrs().v[0]); }
void gradient_sort(GradientCall& call) { gradient_taken(call, call.attrs().v[1]); }

}  // namespace weft::detail
