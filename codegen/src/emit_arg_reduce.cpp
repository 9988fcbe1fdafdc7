// Kernels of the indices of extremes.
#include "structured.h"
#include "structured_reduce.h"

namespace weft::detail {
namespace {

// A part's elements: fewer would cost more to join than they save.
constexpr std::int64_t least_part = 4096;
constexpr std::int64_t most_in_a_thread = 32;

class ArgReduceEmitter {
 public:
  ArgReduceEmitter(const KernelStep& step, const GpuFacts& gpu)
      : step_(step), x_(step), is_columns_(x_.lie_side_by_side()),
        greatest_(step.op == OpId::argmax ? "true" : "false") {
    WEFT_ENSURE(step.op == OpId::argmax || step.op == OpId::argmin);
    // Enough parts to fill the processors; the first of the best is the same in any parts.
    const std::int64_t wanted = std::int64_t{8} * gpu.processors;
    const std::int64_t units = std::max<std::int64_t>(1, x_.outputs / (is_columns_ ? 16 : 1));
    const std::int64_t parts =
        std::clamp(ceil_div(x_.length, least_part), std::int64_t{1}, ceil_div(wanted, units));
    part_ = std::max<std::int64_t>(1, ceil_div(x_.length, parts));
    parts_ = std::max<std::int64_t>(1, ceil_div(x_.length, part_));
    narrow_ = x_.is_narrow(gpu, x_.outputs * parts_);
    is_few_ = x_.outputs * parts_ < std::int64_t{8} * gpu.processors;
  }

  KernelSequence run() const {
    KernelSequence sequence;
    if (x_.outputs == 0) return sequence;
    sequence.launches.push_back(first());
    if (parts_ > 1) {
      sequence.launches.push_back(finish());
      sequence.workspace_bytes = 2 * part_bytes();
    }
    return sequence;
  }

 private:
  // Of values, and of indices.
  std::size_t part_bytes() const {
    return aligned(static_cast<std::size_t>(x_.outputs * parts_) * 8);
  }

  KernelLaunch first() const {
    LaunchBuilder builder(step_);
    builder.input(0);
    if (parts_ > 1)
      builder.workspace(0).workspace(part_bytes());
    else
      builder.output(0).constant(0);
    builder.constant(x_.outputs).constant(x_.length).constant(parts_).constant(part_);
    builder.space(x_.kept, narrow_).space(x_.reduced, narrow_);
    const std::string tag = tag_of(step_.inputs[0].dtype), index = index_type(narrow_);
    const int kept = x_.kept.rank, reduced = x_.reduced.rank;
    const std::string is_part = parts_ > 1 ? "true" : "false";
    if (x_.length <= most_in_a_thread)
      return builder.launch(instance("wf_arg_short", greatest_, tag, kept, reduced, index),
                            ceil_div(x_.outputs, 256), 256);
    if (is_columns_) {
      const std::int64_t columns = x_.kept.extents[kept - 1];
      const std::int64_t tile = columns >= 32 ? 32 : columns >= 16 ? 16 : columns >= 8 ? 8 : 4;
      return builder.launch(
          instance("wf_arg_columns", greatest_, is_part, tag, kept, reduced, tile, index),
          ceil_div(x_.outputs, tile) * parts_, static_cast<unsigned>(tile), 32);
    }
    const std::int64_t group = is_few_ && x_.length > 512 ? 256 : 32;
    return builder.launch(
        instance("wf_arg_rows", greatest_, is_part, tag, kept, reduced, group, index),
        ceil_div(x_.outputs * parts_, 256 / group), 256);
  }

  KernelLaunch finish() const {
    LaunchBuilder builder(step_);
    builder.workspace(0).output(0).workspace(part_bytes());
    builder.constant(x_.outputs).constant(parts_);
    const std::string value = tag_of(step_.inputs[0].dtype) + "::value";
    return builder.launch(instance("wf_arg_finish", greatest_, value, index_type(narrow_)),
                          ceil_div(x_.outputs, 8), 256);
  }

  const KernelStep& step_;
  const SequenceSpaces x_;
  const bool is_columns_;
  const std::string greatest_;
  std::int64_t part_ = 1, parts_ = 1;
  bool narrow_ = false, is_few_ = false;
};

}  // namespace

KernelSequence emit_arg_reduce(const KernelStep& step, const GpuFacts& gpu) {
  return ArgReduceEmitter(step, gpu).run();
}

}  // namespace weft::detail
