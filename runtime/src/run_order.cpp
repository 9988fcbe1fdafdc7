// What a run's segments wait for in the runs before it, which may still be in flight.
#include "run_order.h"

#include <algorithm>

#include "schedule.h"

namespace weft::detail {

namespace {

using Until = Run::Need::Until;

void add_follow(Run::Start& start, const std::shared_ptr<Run>& run, std::uint32_t segment) {
  const std::vector<PlanSegment>& segments = run->plan().segments;
  for (Run::Follow& known : start.follows) {
    if (known.run != run || !segments[known.segment].is_on_stream_of(segments[segment])) continue;
    known.segment = std::max(known.segment, segment);  // a stream has an order
    return;
  }
  start.follows.push_back({run, segment});
}

void add_follows(Run::Start& start, const Run::Touch& touch, const PlanSegment& segment,
                 const std::shared_ptr<Run>& earlier) {
  const std::vector<PlanSegment>& segments = earlier->plan().segments;
  const std::vector<Run::Touch>& others = earlier->sorted_touches();
  const auto is_before = [](const Run::Touch& a, std::uint64_t memory) {
    return a.memory < memory;
  };
  for (auto other = std::lower_bound(others.begin(), others.end(), touch.memory, is_before);
       other != others.end() && other->memory == touch.memory; ++other)
    if ((touch.writes || other->writes) && !segments[other->segment].is_on_stream_of(segment))
      add_follow(start, earlier, other->segment);
}

bool is_all_on_stream_of(const FrozenPlan& plan, const PlanSegment& segment) {
  return plan.one_stream && !plan.segments.empty() && plan.segments[0].is_on_stream_of(segment);
}

/// Whether a run that has been settled can only fail with the device of a segment.
bool fails_only_with(const FrozenPlan& plan, Device device) {
  return std::all_of(plan.segments.begin(), plan.segments.end(), [&](const PlanSegment& segment) {
    return !segment.device.is_cuda() || segment.device == device;
  });
}

void add_need(Run::Start& start, const std::shared_ptr<Completion>& value,
              const std::shared_ptr<Run>& run, Until until) {
  for (Run::Need& known : start.needs) {
    if (known.value != value) continue;
    known.until = std::max(known.until, until);
    return;
  }
  start.needs.push_back({value, run, until});
}

void add_needs(Run::Start& start, const Run& run, const PlanSegment& segment,
               std::span<const std::shared_ptr<Run>> earlier) {
  // Nothing is written over in a run that will fail by what it reads elsewhere; and the last one
  // waits for what no step reads.
  const bool awaits_all = segment.writes_over || &segment == &run.plan().segments.back();
  for (std::size_t i = 0; i < run.depends.size(); ++i) {
    if (!awaits_all &&
        !std::binary_search(segment.leaves.begin(), segment.leaves.end(), run.depends_leaves[i]))
      continue;
    const auto maker = std::find_if(earlier.begin(), earlier.end(), [&](const auto& known) {
      return known->completion() == run.depends[i];
    });
    // Where steps can find fault with data it shows at the end alone.
    if (maker == earlier.end() || !(*maker)->plan().fallible.empty())
      add_need(start, run.depends[i], nullptr, Until::ended);
    else if (!awaits_all)
      add_need(start, run.depends[i], *maker, Until::now);
    else
      add_need(start, run.depends[i], *maker,
               fails_only_with((*maker)->plan(), segment.device) ? Until::settled : Until::ended);
  }
}

}  // namespace

void order_after(Run& run, std::span<const std::shared_ptr<Run>> earlier) {
  const std::vector<PlanSegment>& segments = run.plan().segments;
  for (std::uint32_t i = 0; i < segments.size(); ++i)
    for (const MemoryUse& use : segments[i].uses)
      if (const std::uint64_t memory = run.memory_of(use))
        run.touches.push_back({memory, i, use.writes});
  auto touch = run.touches.begin();
  for (std::uint32_t i = 0; i < segments.size(); ++i) {
    Run::Start start{segments[i].first, {}, {}};
    for (; touch != run.touches.end() && touch->segment == i; ++touch)
      for (const std::shared_ptr<Run>& other : earlier)
        if (!is_all_on_stream_of(other->plan(), segments[i]))
          add_follows(start, *touch, segments[i], other);
    add_needs(start, run, segments[i], earlier);
    run.starts.push_back(std::move(start));
  }
  // Values of Variables come one after the other.
  if (!run.changes_state) return;
  for (const std::shared_ptr<Run>& other : earlier)
    if (other->changes_state) run.ends_after.push_back(other->completion());
}

// ---- of a run

std::uint64_t Run::memory_of(const MemoryUse& use) const noexcept {
  switch (use.home) {
    case PlanBuffer::Home::leaf:
      return reinterpret_cast<std::uintptr_t>(leaves_[use.index].buffer.pointer());
    case PlanBuffer::Home::output:
      return reinterpret_cast<std::uintptr_t>(outputs_[use.index].buffer.pointer());
    case PlanBuffer::Home::scratch:
      return 2 * std::uint64_t{plan_->peaks[use.index].device.code()} + 1;  // no buffer's address
  }
  return 0;
}

const std::vector<Run::Touch>& Run::sorted_touches() {
  if (!touches_are_sorted_)
    std::sort(touches.begin(), touches.end(),
              [](const Touch& a, const Touch& b) { return a.memory < b.memory; });
  touches_are_sorted_ = true;
  return touches;
}

Run::SegmentState* Run::find_state(std::uint32_t first) noexcept {
  const std::vector<PlanSegment>& known = plan_->segments;
  const auto at = std::lower_bound(
      known.begin(), known.end(), first,
      [](const PlanSegment& segment, std::uint32_t step) { return segment.first < step; });
  return at == known.end() || at->first != first
             ? nullptr
             : &segments_[static_cast<std::size_t>(at - known.begin())];
}

void Run::segment_appended(std::uint32_t first, std::shared_ptr<void> event) noexcept {
  const std::lock_guard lock(mutex_);
  SegmentState* const state = find_state(first);
  if (!state) return;
  state->event = std::move(event);
  state->is_appended = true;
  --unsettled_;
  changed_.notify_all();
}

void Run::segment_done(std::uint32_t first) noexcept {
  std::shared_ptr<void> event;
  {
    const std::lock_guard lock(mutex_);
    if (SegmentState* const state = find_state(first)) {
      event = std::move(state->event);
      if (!state->is_appended) --unsettled_;
      state->is_appended = state->is_done = true;
      changed_.notify_all();
    }
  }
  event = nullptr;
  if (segments_left_.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
}

bool Run::is_same_stream(std::uint32_t segment, std::uint32_t other) const noexcept {
  return plan_->segments[segment].is_on_stream_of(plan_->segments[other]);
}

/// One that came to nothing is done before those before it on its stream.
std::shared_ptr<void> Run::await_appended(std::uint32_t segment) noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return segments_[segment].is_appended; });
  for (std::uint32_t i = segment + 1; i-- > 0;)
    if (is_same_stream(i, segment) && !segments_[i].is_done) return segments_[i].event;
  return nullptr;
}

void Run::await_done(std::uint32_t segment) noexcept {
  std::unique_lock lock(mutex_);
  for (std::uint32_t i = 0; i <= segment; ++i)
    if (is_same_stream(i, segment)) changed_.wait(lock, [&] { return segments_[i].is_done; });
}

void Run::await_settled() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return unsettled_ == 0; });
}

void Run::open() noexcept {
  const std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void Run::await_open() noexcept {
  if (!gated) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return open_; });
}

void Run::await_values(const Start& start) noexcept {
  for (const Need& need : start.needs) {
    if (need.until == Need::Until::ended) need.value->wait();
    if (need.until == Need::Until::settled) need.run->await_settled();
    if (const std::exception_ptr upstream = need.value->failure()) fail_with(upstream);
  }
}

void Run::await_start(std::uint32_t first, EventWaiter* stream) noexcept {
  await_open();
  const auto start = std::find_if(starts.begin(), starts.end(),
                                  [first](const Start& known) { return known.first == first; });
  if (start == starts.end()) {
    for (const std::shared_ptr<Completion>& leaf : depends) {
      leaf->wait();
      if (const std::exception_ptr upstream = leaf->failure()) fail_with(upstream);
    }
    return;
  }
  for (const Follow& follow : start->follows) {
    Run& other = *follow.run;
    if (!stream || !stream->waits_for(other.plan().segments[follow.segment].device))
      other.await_done(follow.segment);
    else if (const std::shared_ptr<void> event = other.await_appended(follow.segment))
      stream->append_wait(*this, event);
  }
  await_values(*start);
}

}  // namespace weft::detail
