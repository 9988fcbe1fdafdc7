// Runs that have started: how many at once, in what order, and what became of those nobody asks
// about.
#include <algorithm>
#include <utility>

#include "buffer_pool.h"
#include "engine.h"
#include "fork.h"
#include "run_order.h"

namespace weft::detail {

namespace {

constexpr std::size_t most_runs_in_flight = 4;

}  // namespace

void require_own(const Completion& completion, Where at) {
  if (completion.has_ended() || completion.process() == fork_generation()) return;
  fail<DeviceError>(at,
                    "a value that was being computed when this process was forked: its device's "
                    "threads did not come along; fork before the first evaluation, or start a "
                    "new program in the child");
}

/// In a child the runs of the parent never end, and what they hold is not the child's to give back.
void Engine::leave_to_parent() noexcept {
  if (process_ == fork_generation()) return;
  process_ = fork_generation();
  static_cast<void>(new std::deque<std::shared_ptr<Run>>(std::move(in_flight_)));
  in_flight_.clear();
}

void Engine::make_room_in_flight() {
  leave_to_parent();
  while (!in_flight_.empty() &&
         (in_flight_.size() >= most_runs_in_flight || in_flight_.front()->has_ended()))
    retire_first();
}

void Engine::retire_first() noexcept {
  in_flight_.front()->wait();
  retire(*in_flight_.front());
  in_flight_.pop_front();
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
  while (!in_flight_.empty() && in_flight_.front()->has_ended()) retire_first();
  if (!unseen_) return;
  const std::exception_ptr failure = unseen_;
  note_seen(failure);
  rethrow_at(failure, at);
}

void Engine::start_once(const std::shared_ptr<const FrozenPlan>& plan, Where at) {
  const std::shared_ptr<Run> run = bind(plan, at);
  Publication publication = prepare(*run);
  try {
    add_assigned(*run);
    run->changes_state = !run->assigned.empty();
    submit(run);
  } catch (...) {
    for (const AssignedVariable& variable : run->assigned) variable.withdraw();
    run->assigned.clear();
    throw;
  }
  publish(std::move(publication));
}

/// There is said to be no memory only once caches, and then what runs and scratch hold, are empty.
void Engine::start(const std::shared_ptr<const FrozenPlan>& plan, Where at) {
  try {
    return start_once(plan, at);
  } catch (const OutOfMemoryError&) {
    trim_all_caches();
  }
  try {
    return start_once(plan, at);
  } catch (const OutOfMemoryError&) {
    while (!in_flight_.empty()) retire_first();
    trim_all_caches();
    release_all_scratch();
  }
  start_once(plan, at);
}

/// Scratch memory is nobody's where no run is bound or in flight.
void Engine::release_scratch(Device device) noexcept {
  const std::lock_guard lock(engine_mutex());
  const auto has_ended = [](const std::shared_ptr<Run>& run) { return run->has_ended(); };
  if (std::all_of(in_flight_.begin(), in_flight_.end(), has_ended))
    backend(device.kind()).release_scratch(device);
}

void Engine::submit(const std::shared_ptr<Run>& run) {
  const FrozenPlan& plan = run->plan();
  std::vector<std::shared_ptr<Run>> earlier;
  for (const std::shared_ptr<Run>& other : in_flight_)
    if (!other->has_ended()) earlier.push_back(other);
  order_after(*run, earlier);
  std::vector<Segment> segments;
  for (const PlanSegment& segment : plan.segments)
    segments.push_back({run, segment.first, segment.last});
  // Without a step of its own a view is there when what it shares memory with is.
  Device device;
  if (plan.steps.empty() && !plan.outputs.empty())
    device = plan.buffers[plan.outputs[0].buffer].device;
  if (segments.empty() && !(run->depends.empty() && run->ends_after.empty()))
    segments.push_back({run, 0, 0});
  in_flight_.push_back(run);
  run->expect(static_cast<std::uint32_t>(std::max<std::size_t>(segments.size(), 1)));
  if (segments.empty()) return run->segment_done();
  if (plan.is_quick && earlier.empty() && run->depends.empty() &&
      backend(plan.steps[0].device.kind()).run_now(plan.steps[0].device, segments[0]))
    return;
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
      for (std::size_t rest = sent; rest < segments.size(); ++rest)
        run->segment_done(segments[rest].first);
      run->open();
      run->wait();
    }
    throw;
  }
  if (run->gated) run->open();
}

}  // namespace weft::detail
