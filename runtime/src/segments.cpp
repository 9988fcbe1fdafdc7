// The streams of a plan: stretches of steps on one stream, the memory that each uses, and what
// happens before what.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schedule.h"

namespace weft::detail {

namespace {

void note_use(PlanSegment& segment, const PlanBuffer& buffer, bool writes) {
  // Between runs scratch memory holds nothing: whoever touches it must have it alone.
  writes = writes || buffer.home == PlanBuffer::Home::scratch;
  segment.uses.push_back({buffer.home, buffer.index, writes});
}

void order(std::vector<MemoryUse>& uses) {
  std::sort(uses.begin(), uses.end(), [](const MemoryUse& a, const MemoryUse& b) {
    return std::tuple(a.home, a.index, !a.writes) < std::tuple(b.home, b.index, !b.writes);
  });
  const auto same = [](const MemoryUse& a, const MemoryUse& b) { return a.is_of_same_memory(b); };
  uses.erase(std::unique(uses.begin(), uses.end(), same), uses.end());
  uses.shrink_to_fit();
}

}  // namespace

std::vector<PlanSegment> segments_of(const FrozenPlan& plan) {
  std::vector<PlanSegment> segments;
  const auto count = static_cast<std::uint32_t>(plan.steps.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const FrozenStep& step = plan.steps[i];
    if (segments.empty() || segments.back().device != step.device ||
        segments.back().stream != step.stream)
      segments.push_back({i, i, step.device, step.stream, {}, false, {}});
    PlanSegment& segment = segments.back();
    segment.last = i + 1;
    for (const StepInput& input : step.inputs) {
      const PlanBuffer& read = plan.buffers[input.buffer];
      if (read.home == PlanBuffer::Home::leaf) segment.leaves.push_back(read.index / 2);
      note_use(segment, read, false);
    }
    for (const StepOutput& output : step.outputs) {
      const PlanBuffer& written = plan.buffers[output.buffer];
      segment.writes_over = segment.writes_over || written.replaces >= 0;
      note_use(segment, written, true);
    }
  }
  for (PlanSegment& segment : segments) {
    std::sort(segment.leaves.begin(), segment.leaves.end());
    order(segment.uses);
  }
  return segments;
}

Clocks::Clocks(const FrozenPlan& plan) {
  std::map<std::pair<std::uint32_t, StreamKind>, int> numbers;
  stream_.reserve(plan.steps.size());
  for (const FrozenStep& step : plan.steps)
    stream_.push_back(
        numbers.try_emplace({step.device.code(), step.stream}, int(numbers.size())).first->second);
  streams_ = numbers.size();
  if (streams_ <= 1) {
    before_.clear();
    return;
  }
  before_.assign(plan.steps.size() * streams_, 0);
  std::vector<std::vector<std::uint32_t>> now(streams_, std::vector<std::uint32_t>(streams_, 0));
  std::vector<std::vector<std::uint32_t>> events(plan.event_count);
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    const FrozenStep& step = plan.steps[i];
    std::vector<std::uint32_t>& mine = now[static_cast<std::size_t>(stream_[i])];
    if (step.kind == StepKind::wait)
      for (std::size_t s = 0; s < streams_; ++s) mine[s] = std::max(mine[s], events[step.event][s]);
    std::copy(mine.begin(), mine.end(),
              before_.begin() + static_cast<std::ptrdiff_t>(i * streams_));
    mine[static_cast<std::size_t>(stream_[i])] = i + 1;
    if (step.kind == StepKind::record) events[step.event] = mine;
  }
}

}  // namespace weft::detail
