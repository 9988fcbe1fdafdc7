// Kernels of scans, and of searches in lines that ascend.
#include <cstdlib>
#include <string>
#include <vector>

#include "structured.h"

namespace weft::detail {
namespace {

constexpr std::int64_t lane_size = 16, chunk_size = 512;
constexpr std::int64_t fewest_columns = 8;  // side by side

struct Operation {
  const char* name;
  bool is_choice;
};

Operation operation_of(OpId op) {
  switch (op) {
    case OpId::cumsum: return {"wf_scan_sum", false};
    case OpId::cumprod: return {"wf_scan_prod", false};
    case OpId::logcumsumexp: return {"wf_scan_logsumexp", false};
    case OpId::cummax: return {"wf_scan_max", true};
    case OpId::cummin: return {"wf_scan_min", true};
    default: break;
  }
  WEFT_ENSURE(false);
  return {};
}

class ScanEmitter {
 public:
  ScanEmitter(const KernelStep& step, const GpuFacts& gpu)
      : step_(step), x_(step.inputs[0]), operation_(operation_of(step.op)),
        compute_(compute_class(x_.dtype)), lines_(x_, step.attrs.v[0]) {
    narrow_ = is_narrow(gpu, {lines_.count * (lines_.extent + chunk_size), lines_.reach()});
  }

  KernelSequence run() {
    KernelSequence sequence;
    // The chunks' last elements, theirs, and so on, one after the other in the workspace.
    std::vector<std::size_t> places{0};
    std::vector<std::int64_t> lengths{lines_.extent};
    while (chunks_of(lengths.back()) > 1) {
      places.push_back(sequence.workspace_bytes);
      const std::int64_t count = chunks_of(lengths.back()) - 1;
      sequence.workspace_bytes +=
          aligned(static_cast<std::size_t>(lines_.count * count) * state_bytes());
      lengths.push_back(count);
    }
    const std::size_t top = lengths.size() - 1;
    for (std::size_t k = 0; k < top; ++k)
      sequence.launches.push_back(launch(k, places[k], lengths[k], true, places[k + 1]));
    for (std::size_t k = top + 1; k-- > 0;)
      sequence.launches.push_back(
          launch(k, places[k], lengths[k], false, k < top ? places[k + 1] : 0));
    return sequence;
  }

 private:
  static std::int64_t chunks_of(std::int64_t length) { return ceil_div(length, chunk_size); }
  ComputeClass accumulator() const {
    return compute_ == ComputeClass::i32 ? ComputeClass::i64 : compute_;
  }
  bool has_wide_key() const {
    return compute_ == ComputeClass::f64 || compute_ == ComputeClass::i64;
  }
  std::string index() const { return index_type(narrow_); }
  std::string state() const {
    if (!operation_.is_choice) return class_type(accumulator());
    return instance("wf_ranked", has_wide_key() ? "wf_u64" : "wf_u32", index());
  }
  std::size_t state_bytes() const { return operation_.is_choice ? 16 : 8; }
  bool lie_side_by_side() const {
    return lines_.space.rank > 0 && lines_.space.extents[lines_.space.rank - 1] >= fewest_columns &&
           std::abs(lines_.space.strides[0][lines_.space.rank - 1]) < std::abs(lines_.stride);
  }

  // Level 0 scans the elements, level k > 0 states at `place` in the workspace, in place. With
  // `ends`, only the chunks' last elements are wanted, at `next`; else what is before the chunks is
  // there.
  KernelLaunch launch(std::size_t level, std::size_t place, std::int64_t length, bool ends,
                      std::size_t next) const {
    const std::int64_t all = chunks_of(length), chunks = ends ? all - 1 : all;
    LaunchBuilder builder(step_);
    level == 0 ? builder.input(0) : builder.workspace(place);
    if (ends)
      builder.workspace(next);
    else
      level == 0 ? builder.output(0) : builder.workspace(place);
    operation_.is_choice&& level == 0 ? builder.output(1) : builder.constant(0);
    all > 1 ? builder.workspace(next) : builder.constant(0);
    builder.constant(lines_.count).constant(length).constant(chunks).constant(all - 1);
    builder.constant(level == 0 ? lines_.stride : 1).constant(level == 0 ? lines_.inner : 1);
    if (level > 0) return states(builder, length, chunks, ends);
    return elements(builder, chunks, ends);
  }

  KernelLaunch states(LaunchBuilder& builder, std::int64_t length, std::int64_t chunks,
                      bool ends) const {
    IndexSpace space(1);
    space.add(lines_.count, {length});
    const std::string tag = instance("wf_as_state", state());
    return builder.space(space, narrow_)
        .launch(instance("wf_scan_rows", operation_.name, tag, state(), tag, "false", flag(ends), 1,
                         index()),
                ceil_div(lines_.count * chunks, 4), 128);
  }

  KernelLaunch elements(LaunchBuilder& builder, std::int64_t chunks, bool ends) const {
    const std::string from = tag_of(x_.dtype), to = tag_of(step_.outputs[0].dtype);
    builder.space(lines_.space, narrow_);
    if (lines_.extent <= lane_size)
      return builder.launch(
          instance("wf_scan_short", operation_.name, from, state(), to, lines_.space.rank, index()),
          ceil_div(lines_.count, 256), 256);
    if (lie_side_by_side())
      return builder.launch(instance("wf_scan_columns", operation_.name, from, state(), to,
                                     flag(ends), lines_.space.rank, index()),
                            ceil_div(lines_.count, 32) * chunks, 32, 32);
    return builder.launch(instance("wf_scan_rows", operation_.name, from, state(), to, "true",
                                   flag(ends), lines_.space.rank, index()),
                          ceil_div(lines_.count * chunks, 4), 128);
  }

  static const char* flag(bool value) { return value ? "true" : "false"; }

  const KernelStep& step_;
  const KernelOperand& x_;
  const Operation operation_;
  const ComputeClass compute_;
  AxisLines lines_;
  bool narrow_ = false;
};

}  // namespace

KernelSequence emit_scan(const KernelStep& step, const GpuFacts& gpu) {
  if (step.outputs[0].numel() == 0) return {};
  return ScanEmitter(step, gpu).run();
}

KernelSequence emit_search(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence;
  const KernelOperand& line = step.inputs[0];
  const KernelOperand& values = step.inputs[1];
  const std::int64_t count = step.outputs[0].numel();
  if (count == 0) return sequence;
  const int last = values.rank - 1;
  IndexSpace space(2);
  for (int d = 0; d < values.rank; ++d)
    space.add(values.shape[d], {values.strides[d], d == last ? 0 : line.strides[d]});
  space.collapse();
  const bool narrow =
      is_narrow(gpu, {count, space.reach(0),
                      space.reach(1) + std::abs(line.strides[last]) * line.shape[last]});
  LaunchBuilder builder(step);
  builder.input(0).input(1).output(0).constant(count).constant(line.shape[last]);
  builder.constant(line.strides[last]).attribute(0).space(space, narrow);
  sequence.launches.push_back(
      builder.launch(instance("wf_search", tag_of(line.dtype), space.rank, index_type(narrow)),
                     ceil_div(count, 256), 256));
  return sequence;
}

}  // namespace weft::detail
