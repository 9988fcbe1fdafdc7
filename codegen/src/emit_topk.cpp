// Kernels of the greatest or least elements along an axis.
#include <bit>
#include <cstdlib>

#include "structured.h"
#include "structured_sort.h"

namespace weft::detail {
namespace {

constexpr std::int64_t most_in_a_block = 2048;

class TopKEmitter {
 public:
  TopKEmitter(const KernelStep& step, const GpuFacts& gpu)
      : step_(step), x_(step.inputs[0]), count_(step.attrs.v[0]), lines_(x_, step.attrs.v[1]) {
    const std::int64_t all = lines_.count * lines_.extent;
    narrow_ = is_narrow(gpu, {all, lines_.reach(), 256 * ceil_div(all, 2048)});
  }

  KernelSequence run() const {
    KernelSequence sequence;
    if (lines_.extent <= most_in_a_block)
      sequence.launches.push_back(in_blocks());
    else
      sort_all(sequence);
    return sequence;
  }

 private:
  std::string stored() const { return bits_type(size_of(x_.dtype)); }
  std::string greatest() const { return step_.attrs.v[2] != 0 ? "true" : "false"; }
  std::string index() const { return index_type(narrow_); }

  LaunchBuilder words(const SortRoom* room) const {
    LaunchBuilder builder(step_);
    builder.input(0)
        .output(0)
        .output(1)
        .constant(lines_.extent)
        .constant(count_)
        .constant(lines_.stride);
    builder.constant(lines_.inner).constant(lines_.count);
    if (room)
      builder.workspace(room->keys()).workspace(room->order());
    else
      builder.constant(0).constant(0);
    builder.space(lines_.space, narrow_);
    return builder;
  }

  KernelLaunch in_blocks() const {
    const auto n =
        std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(64, lines_.extent)));
    return words(nullptr).launch(
        instance("wf_topk_block", tag_of(x_.dtype), greatest(), lines_.space.rank, n, index()),
        lines_.count, static_cast<unsigned>(n / 2));
  }

  // All lines together: by key, then by line.
  void sort_all(KernelSequence& sequence) const {
    SortRoom room(lines_.count * lines_.extent, narrow_);
    const std::int64_t blocks = ceil_div(lines_.count * lines_.extent, 256);
    const int line_bits = std::bit_width(static_cast<std::uint64_t>(lines_.count - 1));
    const bool is_wide = size_of(storage_of(compute_class(x_.dtype))) == 8;
    sequence.launches.push_back(words(&room).launch(
        instance("wf_topk_keys", tag_of(x_.dtype), greatest(), lines_.space.rank, index()), blocks,
        256));
    room.sort(step_, is_wide ? 64 : 32 + line_bits, false, sequence);
    if (is_wide && line_bits > 0) {
      sequence.launches.push_back(
          words(&room).launch(instance("wf_topk_lines", index()), blocks, 256));
      room.sort(step_, line_bits, true, sequence);
    }
    sequence.launches.push_back(
        words(&room).launch(instance("wf_topk_pick", stored(), lines_.space.rank, index()),
                            ceil_div(lines_.count * count_, 256), 256));
    sequence.workspace_bytes = room.end();
  }

  const KernelStep& step_;
  const KernelOperand& x_;
  const std::int64_t count_;
  AxisLines lines_;
  bool narrow_;
};

}  // namespace

KernelSequence emit_topk(const KernelStep& step, const GpuFacts& gpu) {
  if (step.outputs[0].numel() == 0) return {};
  return TopKEmitter(step, gpu).run();
}

}  // namespace weft::detail
