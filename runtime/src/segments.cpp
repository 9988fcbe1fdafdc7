// A plan's stretches of steps on one stream, and which of them must wait for those of other runs.
#include <algorithm>

#include "schedule.h"

namespace weft::detail {

std::vector<PlanSegment> segments_of(const FrozenPlan& plan) {
  std::vector<PlanSegment> segments;
  const auto count = static_cast<std::uint32_t>(plan.steps.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const FrozenStep& step = plan.steps[i];
    if (segments.empty() || segments.back().device != step.device ||
        segments.back().stream != step.stream)
      segments.push_back({i, i, step.device, step.stream, {}, false});
    segments.back().last = i + 1;
    PlanSegment& segment = segments.back();
    for (const StepInput& input : step.inputs)
      if (const PlanBuffer& read = plan.buffers[input.buffer]; read.home == PlanBuffer::Home::leaf)
        segment.leaves.push_back(read.index / 2);
    for (const StepOutput& output : step.outputs)
      segment.writes_over = segment.writes_over || plan.buffers[output.buffer].replaces >= 0;
  }
  for (PlanSegment& segment : segments) std::sort(segment.leaves.begin(), segment.leaves.end());
  return segments;
}

bool must_follow(const PlanSegment& segment, const FrozenPlan& earlier) {
  return !earlier.one_stream || earlier.segments.size() != 1 ||
         !segment.is_on_stream_of(earlier.segments[0]);
}

}  // namespace weft::detail
