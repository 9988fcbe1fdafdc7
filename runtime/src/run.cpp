// Executing a run's steps on devices that the host can follow.
#include "run.h"

#include <algorithm>
#include <cstring>

#include <weft/graph/detail/variable.h>
#include <weft/graph/scope.h>

#include "fork.h"

namespace weft::detail {

std::atomic<std::uint32_t> unseen_failures{0};

void ErrorWord::set(std::uint32_t step_number, std::int64_t bad, std::int64_t bound) noexcept {
  std::uint32_t none = 0;
  // The details are for the one who was first; `step` is read last, after the run has ended.
  if (!step.compare_exchange_strong(none, step_number + 1, std::memory_order_acq_rel)) return;
  index.store(bad, std::memory_order_release);
  limit.store(bound, std::memory_order_release);
}

Run::Run(std::shared_ptr<const FrozenPlan> plan)
    : plan_(std::move(plan)), completion_(std::make_shared<Completion>(fork_generation())) {
  leaves_.resize((plan_->has_wide_leaves ? most_outputs : 2) * std::size_t{plan_->leaf_count});
  outputs_.resize(plan_->output_buffers);
  events_.resize(plan_->event_count);
  segments_.resize(plan_->segments.size());
  unsettled_ = segments_.size();
}

Run::~Run() {
  release(leaves_);
  release(outputs_);
}

void Run::bind_leaf(std::uint32_t index, const Storage& storage) {
  leaves_[index] = storage;
  if (storage.buffer) storage.buffer->add_run_holder();
}

void Run::bind_output(std::uint32_t index, const Storage& storage) {
  outputs_[index] = storage;
  storage.buffer->add_run_holder();
}

void Run::release(std::vector<Storage>& storages) noexcept {
  for (Storage& storage : storages) {
    if (!storage.buffer) continue;
    storage.buffer->drop_run_holder();
    storage = {};
  }
}

void Run::fail_with(std::exception_ptr error_found) noexcept {
  const std::lock_guard lock(mutex_);
  if (failure_) return;
  failure_ = std::move(error_found);
  completion_->fail(failure_);
  failed_.store(true);
}

void Run::signal(std::uint32_t event) noexcept {
  const std::lock_guard lock(mutex_);
  events_[event].has_happened = true;
  changed_.notify_all();
}

void Run::queued(std::uint32_t event, std::shared_ptr<void> of_device) noexcept {
  const std::lock_guard lock(mutex_);
  events_[event].queued = std::move(of_device);
  changed_.notify_all();
}

std::shared_ptr<void> Run::await_queued(std::uint32_t event) noexcept {
  std::unique_lock lock(mutex_);
  const Event& awaited = events_[event];
  changed_.wait(lock, [&] { return awaited.has_happened || awaited.queued; });
  return awaited.has_happened ? nullptr : awaited.queued;
}

void Run::await(std::uint32_t event) noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return events_[event].has_happened; });
}

std::uintptr_t Run::address_of(std::uint32_t buffer) const noexcept {
  const PlanBuffer& b = plan_->buffers[buffer];
  switch (b.home) {
    case PlanBuffer::Home::leaf: return leaves_[b.index].address();
    case PlanBuffer::Home::output: return outputs_[b.index].address();
    case PlanBuffer::Home::scratch: return arenas[b.index] + b.offset;
  }
  return 0;
}

std::int64_t Run::start_of(const IndexMap& map) const noexcept {
  std::int64_t start = map.offset;
  for (const OffsetTerm& term : map.terms)
    start += term.multiplier * static_cast<std::int64_t>(arguments[term.slot]);
  return start;
}

ResolvedOperand Run::resolve(const StepInput& input) const {
  ResolvedOperand operand;
  operand.dtype = input.dtype;
  operand.rank = input.map.shape.ndim();
  for (int d = 0; d < operand.rank; ++d) {
    operand.shape[d] = input.map.shape[d];
    operand.strides[d] = input.map.strides[d];
  }
  operand.data = address_of(input.buffer) +
                 static_cast<std::uintptr_t>(start_of(input.map)) * size_of(input.dtype);
  return operand;
}

ResolvedOperand Run::resolve(const StepOutput& output) const {
  ResolvedOperand operand;
  operand.dtype = output.spec.dtype;
  operand.rank = output.spec.shape.ndim();
  std::int64_t stride = 1;
  for (int d = operand.rank; d-- > 0;) {
    operand.shape[d] = output.spec.shape[d];
    operand.strides[d] = stride;
    stride *= operand.shape[d];
  }
  operand.data = address_of(output.buffer);
  return operand;
}

bool Run::is_in_place(const FrozenStep& step) const noexcept {
  for (const StepOutput& output : step.outputs) {
    const PlanBuffer& buffer = plan_->buffers[output.buffer];
    if (buffer.home == PlanBuffer::Home::output && buffer.replaces >= 0 &&
        outputs_[buffer.index].buffer.pointer() ==
            leaves_[2 * static_cast<std::uint32_t>(buffer.replaces)].buffer.pointer())
      return true;
  }
  return false;
}

void Run::move_data(const FrozenStep& step) {
  const StepInput& from = step.inputs[0];
  const StepOutput& to = step.outputs[0];
  const auto bytes = static_cast<std::size_t>(to.spec.shape.numel()) * size_of(to.spec.dtype);
  if (bytes == 0) return;
  const Device source = plan_->buffers[from.buffer].device;
  const Device destination = plan_->buffers[to.buffer].device;
  const void* data = backend(source.kind()).host_address(source, resolve(from).data);
  WEFT_ENSURE(data != nullptr);
  backend(destination.kind()).copy_from_host(destination, resolve(to).data, data, bytes);
}

void Run::carry_out(const FrozenStep& step, std::uint32_t number) {
  switch (step.kind) {
    case StepKind::transfer:
    case StepKind::upload: return move_data(step);
    case StepKind::kernel:
    case StepKind::library: break;
    default: return;
  }
  if (step.guards_state && error.is_set()) return;
  // One vector a thread, grown to the widest step: a run allocates nothing once it is warm.
  thread_local std::vector<ResolvedOperand> operands;
  const std::size_t inputs = step.inputs.size(), outputs = step.outputs.size();
  operands.resize(inputs + outputs);
  const Backend& device = backend(step.device.kind());
  for (std::size_t i = 0; i < inputs; ++i) operands[i] = resolve(step.inputs[i]);
  for (std::size_t i = 0; i < outputs; ++i) operands[inputs + i] = resolve(step.outputs[i]);
  for (ResolvedOperand& operand : operands) {
    // What has no elements may have no memory.
    const bool is_empty = operand.numel() == 0;
    operand.data =
        is_empty ? 0
                 : reinterpret_cast<std::uintptr_t>(device.host_address(step.device, operand.data));
  }
  const std::span<const ResolvedOperand> all(operands);
  StepCall call{&step,  number, all.first(inputs), all.subspan(inputs), arguments.data(),
                &error, plan().numerics};
  if (info(step.op).kind == OpKind::call)
    if (const Provenance* from = provenance_of(number)) {
      call.payload = from->payload.get();
      call.at = Where::of(from->file, from->line);
      if (from->scope) call.scope = from->scope->text;
    }
  run_on_host(call);
}

void Run::execute(std::uint32_t first, std::uint32_t last, StepObserver* observer) noexcept {
  await_start(first, nullptr);
  for (std::uint32_t i = first; i < last; ++i) {
    const FrozenStep& step = plan_->steps[i];
    if (step.kind == StepKind::wait) await(step.event);
    if (!has_failed()) {
      try {
        if (observer) observer->before(*this, step, i);
        carry_out(step, i);
        if (observer) observer->after(*this, step, i);
      } catch (...) {
        fail_with(std::current_exception());
      }
    }
    if (step.kind == StepKind::record) signal(step.event);
  }
  segment_done(first);
}

const Provenance* Run::provenance_of(std::uint32_t number) const noexcept {
  const auto it = std::lower_bound(plan_->fallible.begin(), plan_->fallible.end(), number);
  const auto place = static_cast<std::size_t>(it - plan_->fallible.begin());
  if (it == plan_->fallible.end() || *it != number || place >= provenance.size()) return nullptr;
  return &provenance[place];
}

std::string called(OpId op, const ScopeName* scope) {
  std::string text(info(op).name);
  if (!scope) return text;
  if (scope->composite && scope->composite->name != text)
    text = std::string(scope->composite->name) + " (" + text + ")";
  return *scope->text ? text + " in scope " + scope->text : text;
}

namespace {

/// "label 7 is outside 5 classes; give 0 to 4".
std::string out_of_range(const Composite& what, std::int64_t index, std::int64_t count) {
  const std::string number = std::to_string(count), last = std::to_string(count - 1);
  const std::string first = what.counts_back ? std::to_string(-count) : "0";
  return std::string(what.index) + " " + std::to_string(index) + " is outside " +
         (what.places ? number + " " + what.places : "an axis of extent " + number) +
         (count > 0 ? "; give one from " + first + " to " + last : "; there is none to give");
}

}  // namespace

std::exception_ptr Run::located_failure() const {
  const std::uint32_t number = error.step.load(std::memory_order_acquire) - 1;
  const FrozenStep& step = plan_->steps[number];
  Where at = Where::of("?", 0);
  const ScopeName* scope = nullptr;
  if (const Provenance* from = provenance_of(number)) {
    at = Where::of(from->file, from->line);
    scope = from->scope;
  }
  const Composite what = scope && scope->composite ? *scope->composite : Composite{};
  return std::make_exception_ptr(
      IndexError(called(step.op, scope) + ": " +
                     out_of_range(what, error.index.load(), error.limit.load()) +
                     ". What depends on it was not computed, and no Variable has changed",
                 at));
}

void Run::end() noexcept {
  for (const std::shared_ptr<Completion>& run : ends_after) run->wait();
  for (const std::shared_ptr<Completion>& leaf : depends) leaf->wait();
  std::exception_ptr outcome;
  try {
    if (has_failed()) {
      const std::lock_guard lock(mutex_);
      outcome = failure_;
    } else if (error.is_set()) {
      outcome = located_failure();
    } else {
      for (const std::shared_ptr<Completion>& leaf : depends)
        if (!outcome) outcome = leaf->failure();  // of one that failed after this had started
    }
  } catch (...) {
    outcome = std::current_exception();
  }
  for (const AssignedVariable& variable : assigned) variable.settle(outcome == nullptr);
  assigned.clear();
  release(leaves_);
  release(outputs_);
  depends.clear();
  ends_after.clear();
  starts.clear();
  if (outcome && changes_state) unseen_failures.fetch_add(1, std::memory_order_release);
  completion_->end(std::move(outcome));
}

AssignedVariable::AssignedVariable(VariableSlot* slot, std::uint64_t number) noexcept
    : slot_(slot), number_(number) {
  add_slot_holder(slot);
}

AssignedVariable::AssignedVariable(AssignedVariable&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), number_(other.number_) {}

AssignedVariable::~AssignedVariable() {
  if (slot_) drop_slot_holder(slot_);
}

/// Takes one version that is over out of the slot: one before this where it has come to be, this
/// or one after it where it has failed. Undefined when there is none.
Tensor AssignedVariable::take_over(bool succeeded) const noexcept {
  const std::lock_guard lock(slot_->mutex);
  std::vector<IssuedVersion>& versions = slot_->versions;
  if (versions.size() < 2) return {};
  const auto over = succeeded ? versions.begin() : std::prev(versions.end());
  if (succeeded ? over->number >= number_ : over->number < number_) return {};
  Tensor taken = std::move(over->value);
  versions.erase(over);
  return taken;
}

void AssignedVariable::settle(bool succeeded) const noexcept {
  // Each dies outside the lock: it may end leaf nodes, and those their slots.
  while (take_over(succeeded).defined()) {
  }
  if (succeeded) return;
  // What was assigned meanwhile was computed from the value that failed.
  Tensor current;
  const std::lock_guard lock(slot_->mutex);
  if (!slot_->has_owner() || slot_->versions.empty()) return;
  current = slot_->versions.front().value;
  std::swap(current, slot_->value);
}

void AssignedVariable::withdraw() const noexcept {
  Tensor taken;
  const std::lock_guard lock(slot_->mutex);
  std::vector<IssuedVersion>& versions = slot_->versions;
  if (versions.empty() || versions.back().number != number_) return;
  taken = std::move(versions.back().value);
  versions.pop_back();
}

}  // namespace weft::detail
