// From a planned graph to frozen steps.
#pragma once

#include <weft/graph/detail/passes.h>

#include "frozen_plan.h"

namespace weft::detail {

/// Orders the work, gives it to streams, adds the events between them, and plans memory.
FrozenPlan schedule(Graph graph, const PassContext& context);

/// What a row group's vertex does, in blocks whose values take about `block_bytes` in all.
std::shared_ptr<const RowGroup> row_group_of(const Graph& graph, const Vertex& vertex,
                                             std::int64_t block_bytes);

std::vector<PlanSegment> segments_of(const FrozenPlan& plan);

/// Offsets of scratch buffers in their devices' arenas, and the peaks; `clocks` says for each step
/// which steps of each stream have ended before it starts (see Clocks).
class Clocks;
void plan_memory(FrozenPlan& plan, const Clocks& clocks, bool reuse);

/// What happens before what. Stream s's steps are numbered by their place in the plan; before(i)[s]
/// is the number of the last step of stream s that has ended when step i starts, plus one.
class Clocks {
 public:
  explicit Clocks(const FrozenPlan& plan);
  int stream_of(std::uint32_t step) const noexcept { return stream_[step]; }
  int stream_count() const noexcept { return static_cast<int>(streams_); }
  /// Whether step `a` has ended before step `b` starts.
  bool ordered(std::uint32_t a, std::uint32_t b) const noexcept {
    return a < b && (stream_[a] == stream_[b] || before_[b * streams_ + stream_[a]] > a);
  }

 private:
  std::size_t streams_ = 0;
  std::vector<int> stream_;
  std::vector<std::uint32_t> before_;
};

}  // namespace weft::detail
