// One execution of a plan, in flight: what its steps read and write, its events, its error word.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include <weft/graph/detail/variable.h>
#include <weft/graph/tensor.h>

#include "backend.h"
#include "frozen_plan.h"

namespace weft::detail {

struct ScopeName;

/// Where a captured node came from in the program: said in errors.
struct Provenance {
  const char* file;
  int line;
  const ScopeName* scope;
  std::shared_ptr<const NodePayload> payload;  // of a call
};

/// What errors call an op: the function that recorded it first, as "cross_entropy (log)", and its
/// scope, as "log in scope encoder".
std::string called(OpId op, const ScopeName* scope);

/// A Variable that the run gives a new value, and that value's number. Counts as a holder of the
/// slot.
class AssignedVariable {
 public:
  AssignedVariable(VariableSlot* slot, std::uint64_t number) noexcept;
  AssignedVariable(AssignedVariable&& other) noexcept;
  AssignedVariable& operator=(AssignedVariable&&) = delete;
  ~AssignedVariable();
  /// The new value is the known one now; or, after a failure, the old one is again.
  void settle(bool succeeded) const noexcept;
  /// The run was never started.
  void withdraw() const noexcept;

 private:
  Tensor take_over(bool succeeded) const noexcept;
  VariableSlot* slot_;
  std::uint64_t number_;
};

/// Watches the steps that a simulated stream carries out. `before` may delay, poison or throw;
/// the cpu has none.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void before(Run& run, const FrozenStep& step, std::uint32_t number) = 0;
  virtual void after(Run& run, const FrozenStep& step, std::uint32_t number) = 0;
};

class Run;

/// A stream that waits for events of other streams of its device by itself.
class EventWaiter {
 public:
  virtual ~EventWaiter() = default;
  virtual bool waits_for(Device device) const noexcept = 0;
  /// What is appended from now on starts after the event; where that can not be, the run fails.
  virtual void append_wait(Run& run, const std::shared_ptr<void>& event) noexcept = 0;
};

/// Runs that failed to give Variables their new values, which the engine has not looked at yet.
extern std::atomic<std::uint32_t> unseen_failures;

class Run {
 public:
  explicit Run(std::shared_ptr<const FrozenPlan> plan);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const FrozenPlan& plan() const noexcept { return *plan_; }
  const std::shared_ptr<Completion>& completion() const noexcept { return completion_; }

  // Bound before the first segment is submitted, then constant.
  std::vector<std::uint64_t> arguments;
  std::vector<std::uintptr_t> arenas;                   // by plan.peaks' index
  std::vector<Provenance> provenance;                   // of plan.fallible, in that order
  std::vector<std::shared_ptr<Completion>> depends;     // of leaves that are still on their way
  std::vector<std::uint32_t> depends_leaves;            // their numbers
  std::vector<std::shared_ptr<Completion>> ends_after;  // of runs whose Variables come before
  /// A segment of an earlier run that uses memory which one of this run's uses, one of them to
  /// write.
  struct Follow {
    std::shared_ptr<Run> run;
    std::uint32_t segment;
  };
  /// An earlier run that makes what is read, and what must be known of it: only whether it has
  /// failed by now; that it is settled; or how it has ended.
  struct Need {
    enum class Until : std::uint8_t { now, settled, ended };
    std::shared_ptr<Completion> value;
    std::shared_ptr<Run> run;  // for `settled`
    Until until;
  };
  /// What the segment that begins with step `first` waits for; one without waits for the end of
  /// all of `depends`.
  struct Start {
    std::uint32_t first;
    std::vector<Follow> follows;
    std::vector<Need> needs;
  };
  std::vector<Start> starts;  // by the plan's segments
  /// Memory that a segment uses, and for later runs to look up.
  struct Touch {
    std::uint64_t memory;
    std::uint32_t segment;
    bool writes;
  };
  std::vector<Touch> touches;  // in the segments' order, until `sorted_touches`
  /// By memory. Under the engine lock.
  const std::vector<Touch>& sorted_touches();
  /// What memory is told by: that of values by its buffer, scratch memory by its device.
  std::uint64_t memory_of(const MemoryUse& use) const noexcept;
  std::vector<AssignedVariable> assigned;
  bool changes_state = false;                 // some were assigned
  bool gated = false;                         // no segment starts before `open`
  std::atomic<bool> changed_in_place{false};  // a step that writes over an old value began

  /// Leaves, two entries each (their outputs); and outputs, by the plan buffer's index.
  void bind_leaf(std::uint32_t index, const Storage& storage);
  void bind_output(std::uint32_t index, const Storage& storage);
  const Storage& output(std::uint32_t index) const noexcept { return outputs_[index]; }
  const Storage& leaf(std::uint32_t index) const noexcept { return leaves_[index]; }

  ErrorWord error;

  /// Carries out steps on the calling thread, for devices whose memory the host can follow. Never
  /// throws: what goes wrong is kept, and later steps of the run do nothing but signal and wait.
  void execute(std::uint32_t first, std::uint32_t last, StepObserver* observer) noexcept;

  /// How many segments will be submitted; the run has ended when as many have been executed.
  void expect(std::uint32_t segments) noexcept { segments_left_.store(segments); }
  /// One segment has been executed (called by `execute`) or given up: that which begins with step
  /// `first`. The last one ends the run: after those that its values come from, so that it fails
  /// with them.
  void segment_done(std::uint32_t first = 0) noexcept;
  /// All that there is of the segment has been given to a device; `event` happens after it.
  void segment_appended(std::uint32_t first, std::shared_ptr<void> event) noexcept;
  bool has_ended() const noexcept { return completion_->has_ended(); }
  void wait() { completion_->wait(); }
  std::exception_ptr failure() const { return completion_->failure(); }
  bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// Keeps the first failure.
  void fail_with(std::exception_ptr error) noexcept;

  /// Lets a gated run start.
  void open() noexcept;

  // Events of this run.
  void signal(std::uint32_t event) noexcept;
  void await(std::uint32_t event) noexcept;
  /// A device's own event stands for it: other streams of such devices need not wait on the host.
  void queued(std::uint32_t event, std::shared_ptr<void> of_device) noexcept;
  /// Waits until the event has happened, or is queued: what stands for it; null where it has.
  std::shared_ptr<void> await_queued(std::uint32_t event) noexcept;

  /// Waits for what the segment that begins with step `first` must not overtake: on the host, or by
  /// the stream itself where that can and `stream` is not null.
  void await_start(std::uint32_t first, EventWaiter* stream) noexcept;

  /// Address of a plan buffer in its device's address space.
  std::uintptr_t address_of(std::uint32_t buffer) const noexcept;
  ResolvedOperand resolve(const StepInput& input) const;
  ResolvedOperand resolve(const StepOutput& output) const;
  /// Whether the step writes where a Variable's old value is.
  bool is_in_place(const FrozenStep& step) const noexcept;
  /// The value of an index map's start in this run, in elements.
  std::int64_t start_of(const IndexMap& map) const noexcept;

 private:
  void carry_out(const FrozenStep& step, std::uint32_t number);
  void move_data(const FrozenStep& step);
  void end() noexcept;
  /// Of a step of plan.fallible; null for others.
  const Provenance* provenance_of(std::uint32_t number) const noexcept;
  std::exception_ptr located_failure() const;
  void release(std::vector<Storage>& storages) noexcept;
  void await_open() noexcept;
  void await_values(const Start& start) noexcept;
  bool is_same_stream(std::uint32_t segment, std::uint32_t other) const noexcept;
  /// By number. Until it has been appended: an event that happens after it, null where it is done.
  std::shared_ptr<void> await_appended(std::uint32_t segment) noexcept;
  void await_done(std::uint32_t segment) noexcept;
  /// Until every segment has been appended or executed: then nothing but the loss of a device makes
  /// a run fail that has no step that can.
  void await_settled() noexcept;
  struct SegmentState;
  SegmentState* find_state(std::uint32_t first) noexcept;

  std::shared_ptr<const FrozenPlan> plan_;
  std::shared_ptr<Completion> completion_;
  std::vector<Storage> leaves_, outputs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  struct Event {
    bool has_happened = false;
    std::shared_ptr<void> queued;
  };
  std::vector<Event> events_;
  struct SegmentState {
    bool is_appended = false, is_done = false;
    std::shared_ptr<void> event;
  };
  std::vector<SegmentState> segments_;  // by the plan's
  std::size_t unsettled_;               // how many of them are not appended
  bool touches_are_sorted_ = false;
  bool open_ = false;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::atomic<std::uint32_t> segments_left_{0};
};

}  // namespace weft::detail
