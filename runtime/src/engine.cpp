// Evaluation: capture, find or make the plan, bind it to memory, submit it, publish its values.
#include "engine.h"

#include <algorithm>
#include <cstring>

#include <weft/graph/detail/record.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/scope.h>

#include "buffer_pool.h"
#include "devices.h"
#include "hazards.h"
#include "schedule.h"
#include "spin.h"

namespace weft::detail {

namespace {

// Larger plans keep their graph only where the program asks for the plan itself.
constexpr std::size_t most_nodes_pictured = 4096;
// What a capture's lists may keep between calls, in words of the key.
constexpr std::size_t most_words_kept = std::size_t{1} << 22;

void require_no_trace(const char* what, Where at) {
  if (inside_host_function())
    fail<UnsupportedError>(at, std::string(what) +
                                   ": a function that a step of a run calls may not evaluate, read "
                                   "or wait: that run would wait for itself; give it what it reads "
                                   "as inputs");
  if (!ambient().tracing) return;
  fail<TraceError>(at, std::string(what) +
                           ": a value is read while a step is being traced; return it from the "
                           "step and read it outside");
}

// The engine is there before any tensor of static storage duration, and after.
[[maybe_unused]] const bool installed = (install_evaluator(&Engine::instance()), true);

}  // namespace

Engine& Engine::instance() {
  static auto* engine = new Engine;
  return *engine;
}

// ---- planning

std::shared_ptr<FrozenPlan> Engine::make_plan_of_capture() {
  auto plan =
      std::make_shared<FrozenPlan>(schedule(run_passes(build_graph(capture_), context_), context_));
  plan->costs = placed_by_.table;
  if (verification_enabled()) {
    const std::string hazard = find_hazard(*plan);
    if (!hazard.empty()) fail<InternalError>(Where(), "a plan has a hazard: " + hazard);
  }
  return plan;
}

std::shared_ptr<const FrozenPlan> Engine::plan_of_capture(bool with_picture) {
  context_.options.numerics = numerics();
  context_.options.matmul_precision = matmul_precision();
  refresh_costs();
  context_.options.placement = capture_.has_undecided ? placements_ : 0;
  auto plan = cache_.find(capture_, context_.options);
  // What is looked at has the costs of today.
  if (plan && (!with_picture || (plan->has_picture && plan->costs == placed_by_.table))) {
    ++counters_.plan_hits;
    return plan;
  }
  auto made = make_plan_of_capture();
  if (!with_picture && capture_.nodes.size() > most_nodes_pictured) made->drop_picture();
  plan = std::move(made);
  ++counters_.plans_made;
  cache_.add(capture_, context_.options, plan);
  return plan;
}

std::shared_ptr<BoundPlan> Engine::plan_for(const TensorList& roots) try {
  const std::lock_guard lock(engine_mutex());
  std::vector<Ref> refs;
  auto bound = std::make_shared<BoundPlan>();
  for (const TensorArg& root : roots.args()) {
    defined(root, "make_plan");
    refs.push_back(root.ref());
    bound->roots.emplace_back(root.ref());
  }
  capture_nodes(refs, capture_);
  bound->plan = plan_of_capture(true);
  for (const Node* node : capture_.nodes)
    bound->provenance.push_back({node->file, node->line, node->scope, nullptr});
  shrink_capture();
  return bound;
} catch (const std::bad_alloc&) {
  fail<OutOfMemoryError>(roots.at(), "make_plan: no memory to plan; nothing has changed");
}

/// A huge program does not keep its size for all that come after it.
void Engine::shrink_capture() noexcept {
  if (capture_.key.capacity() > most_words_kept) capture_ = {};
}

// ---- binding

std::shared_ptr<Run> Engine::bind(const std::shared_ptr<const FrozenPlan>& plan, Where at) {
  auto run = std::make_shared<Run>(plan);
  run->arguments = capture_.arguments;
  for (std::uint32_t leaf = 0; leaf < capture_.leaves.size(); ++leaf) {
    Node* node = capture_.nodes[capture_.leaves[leaf]];
    for (std::uint32_t o = 0; o < node->output_count; ++o)
      run->bind_leaf(leaf_slot(plan->leaf_count, leaf, o), node->storage_of(o));
    if (!node->completion || node->completion->has_ended()) continue;
    require_own(*node->completion, at);
    run->depends.push_back(node->completion);
    run->depends_leaves.push_back(leaf);
  }
  for (const DevicePeak& peak : plan->peaks) {
    const std::uintptr_t base =
        peak.scratch ? backend(peak.device.kind()).arena(peak.device, peak.scratch) : 0;
    if (peak.scratch && !base)
      fail<OutOfMemoryError>(
          at, "eval: " + peak.device.str() + " has no " + text_of_bytes(peak.scratch) +
                  " of scratch memory for this plan, whose peak is " + text_of_bytes(peak.peak) +
                  "; evaluate in smaller pieces, or free tensors");
    run->arenas.push_back(base);
  }
  bind_outputs(*run, at);
  for (const std::uint32_t step : plan->fallible) {
    const Node* node = capture_.nodes[plan->steps[step].ordinal];
    run->provenance.push_back({node->file, node->line, node->scope,
                               node->extra ? node->extra->payload : nullptr});
  }
  return run;
}

void Engine::bind_outputs(Run& run, Where at) {
  for (const PlanBuffer& buffer : run.plan().buffers) {
    if (buffer.home != PlanBuffer::Home::output) continue;
    if (takes_over(buffer)) {
      ++counters_.in_place;
      run.bind_output(buffer.index, run.leaf(2 * static_cast<std::uint32_t>(buffer.replaces)));
    } else {
      run.bind_output(buffer.index, {allocate_buffer(buffer.device, buffer.bytes, at), 0});
    }
  }
}

/// Whether nobody but the Variable itself can see the memory of its old value.
bool Engine::takes_over(const PlanBuffer& buffer) const {
  if (buffer.replaces < 0) return false;
  const std::uint32_t ordinal = capture_.leaves[static_cast<std::size_t>(buffer.replaces)];
  const Node* old = capture_.nodes[ordinal];
  const Storage& storage = old->storage;
  if (!old->slot || storage.offset != 0 || !storage.buffer->is_writable() ||
      storage.buffer->bytes() != buffer.bytes || storage.buffer->device() != buffer.device)
    return false;
  if (is_read_later(capture_, ordinal)) return false;
  const std::lock_guard lock(old->slot->mutex);
  const std::vector<IssuedVersion>& versions = old->slot->versions;
  if (versions.empty() || versions.back().value.ref().node != old) return false;
  std::uint32_t own = 0;
  for (const IssuedVersion& version : versions) {
    const Node* node = version.value.ref().node;
    if (node->storage.buffer.pointer() != storage.buffer.pointer()) continue;
    if (node->handles() != 1 || (node != old && node->edges() != 0)) return false;
    ++own;
  }
  // Those of this run and of earlier ones are counted apart: they see only values that are there
  // when their steps run, and steps run in order.
  return storage.buffer->holders() - storage.buffer->run_holders() == own;
}

/// The captured values that Variables were made with and that are about to be replaced, of those
/// that never had one.
std::vector<Handle> Engine::first_values() const {
  std::vector<Handle> values;
  if (makes_first_values_) return values;
  for (const auto& [ordinal, leaf] : capture_.assigned) {
    Node* node = capture_.nodes[ordinal];
    const std::lock_guard lock(node->slot->mutex);
    if (!node->slot->versions.empty() || node->slot->value.ref().node == node ||
        !node->slot->has_owner())
      continue;
    const bool seen = std::any_of(values.begin(), values.end(), [&](const Handle& value) {
      return value.ref().node->slot == node->slot;
    });
    if (!seen) values.emplace_back(Ref{node, 0});
  }
  return values;
}

void Engine::add_assigned(Run& run) {
  for (const CapturedOutput& output : capture_.outputs) {
    Node* node = capture_.nodes[output.ordinal];
    if (!node->slot) continue;
    VariableSlot& slot = *node->slot;
    const std::lock_guard lock(slot.mutex);
    // Not an older version that the program still holds, unless it is the first there is.
    if (slot.value.ref().node != node && !(slot.versions.empty() && slot.has_owner())) continue;
    run.assigned.reserve(run.assigned.size() + 1);
    slot.versions.push_back({slot.issued_count + 1, Tensor(Handle(Ref{node, 0}))});
    ++slot.issued_count;
    run.assigned.emplace_back(&slot, slot.issued_count);
  }
}

// ---- publishing

Engine::Publication Engine::prepare(const Run& run) const {
  Publication publication;
  const FrozenPlan& plan = run.plan();
  publication.nodes.reserve(capture_.outputs.size());
  publication.storages.reserve(capture_.outputs.size());
  for (std::size_t i = 0; i < capture_.outputs.size(); ++i) {
    const CapturedOutput& captured = capture_.outputs[i];
    publication.nodes.emplace_back(Ref{capture_.nodes[captured.ordinal], captured.output});
    const PlanOutput& output = plan.outputs[i];
    const PlanBuffer& buffer = plan.buffers[output.buffer];
    Storage storage =
        buffer.home == PlanBuffer::Home::leaf ? run.leaf(buffer.index) : run.output(buffer.index);
    storage.offset += static_cast<std::size_t>(run.start_of(output.map)) * size_of(output.dtype);
    publication.storages.push_back(std::move(storage));
  }
  publication.completion = run.completion();
  return publication;
}

/// Nodes get their storage; those without history let go of their inputs.
void Engine::publish(Publication&& publication) noexcept {
  for (std::size_t i = 0; i < publication.nodes.size(); ++i) {
    const Ref ref = publication.nodes[i].ref();
    ref.node->storage_of(ref.output) = std::move(publication.storages[i]);
    ref.node->completion = publication.completion;
  }
  for (const Handle& handle : publication.nodes) {
    Node* node = handle.ref().node;
    node->state.store(NodeState::issued, std::memory_order_release);
    if (!node->requires_grad || node->history_released) drop_inputs(node);
  }
}

// ---- the Evaluator

namespace {

bool is_pending(const Node* node) noexcept {
  return node->state.load(std::memory_order_acquire) == NodeState::pending;
}

}  // namespace

void Engine::evaluate(std::span<const Ref> roots, Where at) {
  require_no_trace("eval", at);
  const std::lock_guard lock(engine_mutex());
  report_unseen(at);
  try {
    std::vector<Ref> pending;
    for (const Ref root : roots)
      if (is_pending(root.node)) pending.push_back(root);
    if (pending.empty()) return;
    if (ambient().anomalies != Anomalies::none && !looks_for_anomalies_)
      return evaluate_checked(pending, at);
    capture_nodes(pending, capture_);
    if (const std::vector<Handle> first = first_values(); !first.empty()) {
      // In a run of their own: should the other one fail, the Variables still have these.
      std::vector<Ref> values;
      for (const Handle& value : first) values.push_back(value.ref());
      struct Making {
        bool& on;
        ~Making() { on = false; }
      } making{makes_first_values_};
      making.on = true;
      evaluate(values, at);
      capture_nodes(pending, capture_);
    }
    const auto plan = plan_of_capture(false);
    make_room_in_flight();
    start(plan, at);
    ++counters_.runs;
    shrink_capture();
  } catch (const std::bad_alloc&) {
    fail<OutOfMemoryError>(at, "eval: no memory to plan or start the work; nothing has changed");
  } catch (const Error&) {
    note_seen(std::current_exception());
    rethrow_at(std::current_exception(), at);
  }
}

void Engine::wait(Node* node, Where at) {
  if (inside_host_function()) require_no_trace("wait", at);
  const std::shared_ptr<Completion> completion = node->completion;
  if (!completion) return;
  require_own(*completion, at);
  if (!spin_until(Awake::for_device, [&] { return completion->has_ended(); })) completion->wait();
  const std::exception_ptr failure = completion->failure();
  if (!failure) return;
  note_seen(failure);
  try {
    rethrow_at(failure, at);
  } catch (const std::bad_alloc&) {
    fail<OutOfMemoryError>(at, "a step of the work that computes this found no memory; it was not "
                               "computed");
  }
}

void Engine::read(Ref ref, void* destination, Where at) {
  require_no_trace("read", at);
  if (is_pending(ref.node)) evaluate({&ref, 1}, at);
  wait(ref.node, at);
  report_unseen(at);
  const Storage& storage = ref.node->storage_of(ref.output);
  const Spec spec{ref.node->shape(ref.output), ref.node->dtype_of(ref.output)};
  const auto bytes = static_cast<std::size_t>(spec.shape.numel()) * size_of(spec.dtype);
  const Device device = ref.node->device.kind() == DeviceKind::automatic ? storage.buffer->device()
                                                                         : ref.node->device;
  if (bytes) backend(device.kind()).copy_to_host(device, destination, storage.address(), bytes);
}

BufferRef Engine::host_copy(const void* data, std::size_t bytes, Where at) {
  BufferRef buffer = allocate_buffer(Device::cpu(), bytes, at);
  if (bytes) std::memcpy(reinterpret_cast<void*>(buffer->address()), data, bytes);
  return buffer;
}

BufferRef Engine::host_borrow(void* data, std::size_t bytes, void (*release)(void*),
                              void* context) {
  return borrow_buffer(data, bytes, release, context);
}

void Engine::require_device(Device device, Where at) { detail::require_device(device, at); }

void Engine::flush(Where at) {
  // What a step's function records waits for it to end.
  if (inside_host_function()) return reset_pending_count();
  require_no_trace("flush", at);
  try {
    flush_held(at);
  } catch (const std::bad_alloc&) {
    fail<OutOfMemoryError>(at, "flush: no memory to start the work; nothing has changed");
  }
}

void Engine::flush_held(Where at) {
  std::vector<Handle> held;
  for_each_recent_node(
      [](Node* node, void* context) {
        if (!is_pending(node) || node->weak_scalar || !add_handle_if_held(node)) return;
        static_cast<std::vector<Handle>*>(context)->push_back(Handle::adopt({node, 0}));
      },
      &held);
  // In the order of recording, wherever their memory was free: a loop's pieces are alike.
  std::sort(held.begin(), held.end(), [](const Handle& a, const Handle& b) {
    return a.ref().node->serial < b.ref().node->serial;
  });
  std::vector<Ref> roots;
  for (const Handle& handle : held) roots.push_back(handle.ref());
  const std::lock_guard lock(engine_mutex());
  evaluate(roots, at);
  reset_pending_count();
  ++counters_.flushes;
}

Counters Engine::counters() const noexcept {
  const std::lock_guard lock(engine_mutex());
  return counters_;
}

void Engine::set_options(const PlanOptions& options) {
  const std::lock_guard lock(engine_mutex());
  context_.options = options;
}

void Engine::clear_plans() {
  const std::lock_guard lock(engine_mutex());
  cache_.clear();
}

}  // namespace weft::detail

namespace weft {

Counters counters() noexcept { return detail::Engine::instance().counters(); }

}  // namespace weft
