// Kernels of matrix products.
#include <cstdlib>

#include "structured.h"

namespace weft::detail {
namespace {

// Results depend on how k is cut, so that the shape alone decides it.
constexpr std::int64_t fewest_large = 128, wanted_tiles = 256, least_part = 256;

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
    choose_tile();
    const std::int64_t room = c_.numel() * parts_;
    narrow_ = is_narrow(gpu, {room, a_span() + batch_.reach(0), b_span() + batch_.reach(1), k_,
                              tiles(m_) * tiles(n_) * parts_ * count_});
  }

  KernelSequence run() const {
    KernelSequence sequence;
    sequence.launches.push_back(tiles_launch());
    if (parts_ > 1) {
      sequence.launches.push_back(join());
      sequence.workspace_bytes =
          aligned(static_cast<std::size_t>(c_.numel() * parts_) * size_of(sum_dtype()));
    }
    return sequence;
  }

 private:
  std::int64_t extent() const { return 16 * each_; }
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

  // Elements of a thread each way, and parts of k where there are few tiles.
  void choose_tile() {
    each_ = 8;
    const bool is_f32 = compute_class(c_.dtype) == ComputeClass::f32;
    if (!is_f32 || tiles(m_) * tiles(n_) * count_ < fewest_large) each_ = 4;
    if (each_ == 4 && std::min(m_, n_) <= 32) each_ = 2;
    depth_ = 64 / each_;
    // Small tiles wait for memory: more of them at once.
    const std::int64_t wanted = each_ == 2 ? 2 * wanted_tiles : wanted_tiles;
    const std::int64_t made = tiles(m_) * tiles(n_) * count_;
    parts_ = std::clamp(wanted / std::max<std::int64_t>(1, made), std::int64_t{1},
                        std::max<std::int64_t>(1, k_ / least_part));
    part_ = std::max(depth_, ceil_div(ceil_div(k_, parts_), depth_) * depth_);
    parts_ = std::max<std::int64_t>(1, ceil_div(k_, part_));
  }

  KernelLaunch tiles_launch() const {
    LaunchBuilder builder(step_);
    builder.input(0).input(1);
    if (parts_ > 1)
      builder.workspace(0);
    else
      builder.output(0);
    builder.constant(m_).constant(n_).constant(k_);
    builder.constant(stride(a_, 2)).constant(stride(a_, 1));
    builder.constant(stride(b_, 2)).constant(stride(b_, 1));
    builder.constant(tiles(m_)).constant(tiles(n_)).constant(parts_).constant(part_);
    builder.constant(count_).space(batch_, narrow_);
    const bool a_by_k = std::abs(stride(a_, 1)) <= std::abs(stride(a_, 2));
    const bool b_by_k = std::abs(stride(b_, 2)) < std::abs(stride(b_, 1));
    const DType target = parts_ > 1 ? sum_dtype() : c_.dtype;
    return builder.launch(instance("wf_product", tag_of(c_.dtype), tag_of(target), each_, depth_,
                                   a_by_k ? "true" : "false", b_by_k ? "true" : "false",
                                   batch_.rank, index_type(narrow_)),
                          tiles(m_) * tiles(n_) * parts_ * count_, 256, 1, each_ == 8 ? 2 : 1);
  }

  KernelLaunch join() const {
    LaunchBuilder builder(step_);
    builder.workspace(0).output(0).constant(c_.numel()).constant(parts_);
    return builder.launch(instance("wf_product_join", tag_of(sum_dtype()) + "::value",
                                   tag_of(c_.dtype), index_type(narrow_)),
                          ceil_div(c_.numel(), 256), 256);
  }

  const KernelStep& step_;
  const KernelOperand &a_, &b_, &c_;
  std::int64_t m_ = 1, n_ = 1, k_ = 1, count_ = 1;
  std::int64_t each_ = 4, depth_ = 16, parts_ = 1, part_ = 1;
  IndexSpace batch_{2};
  bool narrow_ = false;
};

}  // namespace

KernelSequence emit_product(const KernelStep& step, const GpuFacts& gpu) {
  if (step.outputs[0].numel() == 0) return {};
  return ProductEmitter(step, gpu).run();
}

}  // namespace weft::detail
