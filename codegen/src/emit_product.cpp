// Kernels of matrix products.
#include <algorithm>
#include <cstdlib>

#include "structured.h"

namespace weft::detail {
namespace {

constexpr std::int64_t fewest_large = 128, wanted_tiles = 256, least_part = 256;
constexpr std::int64_t fewest_multiplications = 32 * 32 * 32;

class ProductEmitter {
 public:
  ProductEmitter(const KernelStep& step, const GpuFacts& gpu)
      : step_(step), a_(step.inputs[0]), b_(step.inputs[1]), c_(step.outputs[0]) {
    const int rank = c_.rank;
    m_ = c_.shape[rank - 2];
    n_ = c_.shape[rank - 1];
    k_ = a_.shape[rank - 1];
    for (int d = 0; d < rank - 2; ++d) batch_.add(c_.shape[d], {a_.strides[d], b_.strides[d]});
    count_ = batch_.numel();
    batch_.collapse();
    order_ = product_order(compute_class(c_.dtype), m_, n_, k_, count_);
    const std::int64_t room = c_.numel() * order_.parts;
    narrow_ = is_narrow(gpu, {room, a_span() + batch_.reach(0), b_span() + batch_.reach(1), k_,
                              tiles(m_) * tiles(n_) * order_.parts * count_});
  }

  KernelSequence run() const {
    KernelSequence sequence;
    sequence.launches.push_back(tiles_launch());
    if (order_.parts > 1) {
      sequence.launches.push_back(join());
      sequence.workspace_bytes =
          aligned(static_cast<std::size_t>(c_.numel() * order_.parts) * size_of(sum_dtype()));
    }
    if (k_ > 0 && is_floating(c_.dtype)) sequence.product = shape();
    return sequence;
  }

 private:
  ProductShape shape() const {
    ProductShape shape;
    shape.dtype = c_.dtype;
    shape.m = m_;
    shape.n = n_;
    shape.k = k_;
    shape.a_row = stride(a_, 2);
    shape.a_column = stride(a_, 1);
    shape.b_row = stride(b_, 2);
    shape.b_column = stride(b_, 1);
    shape.batch_rank = batch_.rank;
    for (int d = 0; d < batch_.rank; ++d) {
      shape.batch[d] = batch_.extents[d];
      shape.a_batch[d] = batch_.strides[0][d];
      shape.b_batch[d] = batch_.strides[1][d];
    }
    return shape;
  }

  std::int64_t extent() const { return 16 * order_.each; }
  std::int64_t tiles(std::int64_t size) const { return ceil_div(size, extent()); }
  DType sum_dtype() const { return storage_of(compute_class(c_.dtype)); }
  std::int64_t stride(const KernelOperand& x, int from_last) const {
    return x.strides[x.rank - from_last];
  }
  std::int64_t a_span() const {
    return std::abs(stride(a_, 2)) * m_ + std::abs(stride(a_, 1)) * k_;
  }
  std::int64_t b_span() const {
    return std::abs(stride(b_, 2)) * k_ + std::abs(stride(b_, 1)) * n_;
  }

  KernelLaunch tiles_launch() const {
    LaunchBuilder builder(step_);
    builder.input(0).input(1);
    if (order_.parts > 1)
      builder.workspace(0);
    else
      builder.output(0);
    builder.constant(m_).constant(n_).constant(k_);
    builder.constant(stride(a_, 2)).constant(stride(a_, 1));
    builder.constant(stride(b_, 2)).constant(stride(b_, 1));
    builder.constant(tiles(m_)).constant(tiles(n_)).constant(order_.parts).constant(order_.part);
    builder.constant(count_).space(batch_, narrow_);
    const bool a_by_k = std::abs(stride(a_, 1)) <= std::abs(stride(a_, 2));
    const bool b_by_k = std::abs(stride(b_, 2)) < std::abs(stride(b_, 1));
    const DType target = order_.parts > 1 ? sum_dtype() : c_.dtype;
    return builder.launch(instance("wf_product", tag_of(c_.dtype), tag_of(target), order_.each,
                                   order_.depth, a_by_k ? "true" : "false",
                                   b_by_k ? "true" : "false", batch_.rank, index_type(narrow_)),
                          tiles(m_) * tiles(n_) * order_.parts * count_, 256, 1,
                          order_.each == 8 ? 2 : 1);
  }

  KernelLaunch join() const {
    LaunchBuilder builder(step_);
    builder.workspace(0).output(0).constant(c_.numel()).constant(order_.parts);
    return builder.launch(instance("wf_product_join", tag_of(sum_dtype()) + "::value",
                                   tag_of(c_.dtype), index_type(narrow_)),
                          ceil_div(c_.numel(), 256), 256);
  }

  const KernelStep& step_;
  const KernelOperand &a_, &b_, &c_;
  std::int64_t m_ = 1, n_ = 1, k_ = 1, count_ = 1;
  ProductOrder order_{};
  IndexSpace batch_{2};
  bool narrow_ = false;
};

}  // namespace

ProductOrder product_order(ComputeClass compute, std::int64_t m, std::int64_t n, std::int64_t k,
                           std::int64_t batch_count) noexcept {
  const auto tiles = [&](std::int64_t each) {
    return ceil_div(m, 16 * each) * ceil_div(n, 16 * each) * batch_count;
  };
  ProductOrder order{};
  order.each = compute == ComputeClass::f32 && tiles(8) >= fewest_large ? 8 : 4;
  if (order.each == 4 && std::min(m, n) <= 32) order.each = 2;
  order.depth = 64 / order.each;
  // Small tiles wait for memory: more of them at once.
  const std::int64_t wanted = order.each == 2 ? 2 * wanted_tiles : wanted_tiles;
  const std::int64_t made = std::max<std::int64_t>(1, tiles(order.each));
  const std::int64_t parts =
      std::clamp(wanted / made, std::int64_t{1}, std::max<std::int64_t>(1, k / least_part));
  order.part = std::max(order.depth, ceil_div(ceil_div(k, parts), order.depth) * order.depth);
  order.parts = std::max<std::int64_t>(1, ceil_div(k, order.part));
  return order;
}

bool prefers_library(std::int64_t m, std::int64_t n, std::int64_t k,
                     std::int64_t batch_count) noexcept {
  std::int64_t left = fewest_multiplications;
  for (const std::int64_t extent : {m, n, k, batch_count}) {
    if (extent <= 0) return false;
    left = (left + extent - 1) / extent;
  }
  return left <= 1;
}

KernelSequence emit_product(const KernelStep& step, const GpuFacts& gpu) {
  if (step.outputs[0].numel() == 0) return {};
  return ProductEmitter(step, gpu).run();
}

}  // namespace weft::detail
