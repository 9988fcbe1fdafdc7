// Runs that have started: how many at once, in what order, and what became of those nobody asks
// about.
#include <algorithm>
#include <utility>

#include "engine.h"

namespace weft::detail {

namespace {

constexpr std::size_t most_runs_in_flight = 4;

}  // namespace

void Engine::make_room_in_flight() {
  while (!in_flight_.empty() &&
         (in_flight_.size() >= most_runs_in_flight || in_flight_.front()->has_ended())) {
    in_flight_.front()->wait();
    retire(*in_flight_.front());
    in_flight_.pop_front();
  }
}

/// A run that failed to change Variables must be heard of, though nobody reads what it made: they
/// have their old values, and the program would go on with them.
void Engine::retire(const Run& run) noexcept {
  if (!run.changes_state) return;
  std::exception_ptr failure = run.failure();
  if (!failure) return;
  // Later runs that built on a failed one end with the same error: said once.
  const bool known = failure == last_seen_ || failure == unseen_;
  if (known || unseen_) unseen_failures.fetch_sub(1, std::memory_order_relaxed);
  if (!known) unseen_ = std::move(failure);
}

/// The program gets to know of a failure.
void Engine::note_seen(const std::exception_ptr& failure) noexcept {
  const std::lock_guard lock(engine_mutex());
  last_seen_ = failure;
  if (unseen_ != failure) return;
  unseen_ = nullptr;
  unseen_failures.fetch_sub(1, std::memory_order_relaxed);
}

void Engine::report_unseen(Where at) {
  if (unseen_failures.load(std::memory_order_acquire) == 0) return;
  const std::lock_guard lock(engine_mutex());
  while (!in_flight_.empty() && in_flight_.front()->has_ended()) {
    retire(*in_flight_.front());
    in_flight_.pop_front();
  }
  if (!unseen_) return;
  const std::exception_ptr failure = unseen_;
  note_seen(failure);
  rethrow_at(failure, at);
}

void Engine::submit(const std::shared_ptr<Run>& run) {
  const FrozenPlan& plan = run->plan();
  // Within one stream order is enough. Between streams memory is shared too: scratch of a device,
  // and values; so a run on several follows all before it, and all after it follow it.
  for (const std::shared_ptr<Run>& earlier : in_flight_)
    if (!plan.one_stream || !earlier->plan().one_stream)
      run->follows.push_back(earlier->completion());
  std::vector<Segment> segments;
  const auto count = static_cast<std::uint32_t>(plan.steps.size());
  for (std::uint32_t first = 0; first < count;) {
    std::uint32_t last = first + 1;
    while (last < count && plan.steps[last].device == plan.steps[first].device &&
           plan.steps[last].stream == plan.steps[first].stream)
      ++last;
    segments.push_back({run, first, last});
    first = last;
  }
  // Without a step of its own a view is there when what it shares memory with is.
  Device device;
  if (plan.steps.empty() && !plan.outputs.empty())
    device = plan.buffers[plan.outputs[0].buffer].device;
  if (segments.empty() && !run->depends.empty()) segments.push_back({run, 0, 0});
  in_flight_.push_back(run);
  run->expect(static_cast<std::uint32_t>(std::max<std::size_t>(segments.size(), 1)));
  if (segments.empty()) return run->segment_done();
  run->gated = segments.size() > 1;
  std::size_t sent = 0;
  try {
    for (; sent < segments.size(); ++sent) {
      StreamKind stream = StreamKind::compute;
      if (!plan.steps.empty()) {
        device = plan.steps[segments[sent].first].device;
        stream = plan.steps[segments[sent].first].stream;
      }
      backend(device.kind()).submit(device, stream, std::move(segments[sent]));
    }
  } catch (...) {
    in_flight_.pop_back();
    for (const AssignedVariable& variable : run->assigned) variable.withdraw();
    run->assigned.clear();
    run->changes_state = false;
    if (sent > 0) {
      // What was sent finds the run failed when the gate opens, and does nothing.
      run->fail_with(std::current_exception());
      for (std::uint32_t event = 0; event < plan.event_count; ++event) run->signal(event);
      for (std::size_t rest = sent; rest < segments.size(); ++rest) run->segment_done();
      run->open();
      run->wait();
    }
    throw;
  }
  if (run->gated) run->open();
}

}  // namespace weft::detail
