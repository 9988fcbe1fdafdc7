// What placement is told of this machine, and asking where a tensor will be.
#include <weft/graph/cost.h>
#include <weft/graph/detail/evaluator.h>
#include <weft/graph/scope.h>
#include <weft/runtime/device.h>
#include <weft/runtime/sim.h>

#include "engine.h"

namespace weft::detail {

/// Costs and candidates of the moment: the cpu, each visible GPU, and each simulated device that
/// the table names. What is found as before keeps its number, and so its plans.
void Engine::refresh_costs() {
  const PlacementInputs now{cost_table_version(), cuda::device_count(), sim::device_count()};
  if (now == placed_by_) return;
  PassContext next;
  next.costs = cost_table();
  next.candidates.push_back(Device::cpu());
  for (int i = 0; i < now.gpus; ++i) next.candidates.push_back(Device::cuda(i));
  for (const CostTable::DeviceRow& row : next.costs.devices)
    if (row.device.is_sim() && row.device.index() < now.sims) next.candidates.push_back(row.device);
  if (next.costs != context_.costs || next.candidates != context_.candidates) ++placements_;
  context_.costs = std::move(next.costs);
  context_.candidates = std::move(next.candidates);
  placed_by_ = now;
}

Device Engine::place(Node* node, Where at) try {
  const std::lock_guard lock(engine_mutex());
  if (node->state.load(std::memory_order_acquire) == NodeState::issued)
    return node->storage.buffer->device();
  if (const Device device = node->placed(); device.kind() != DeviceKind::automatic) return device;
  if (ambient().tracing)
    fail<TraceError>(at, "device: the planner has not chosen one, and none can be while a step is "
                         "being traced; ask outside, or name a device by On");
  const Ref root{node, 0};
  capture_nodes({&root, 1}, capture_);
  const auto plan = plan_of_capture(false);
  for (std::size_t i = 0; i < capture_.outputs.size(); ++i) {
    const CapturedOutput& output = capture_.outputs[i];
    if (capture_.nodes[output.ordinal] == node && output.output == 0)
      node->choose(plan->buffers[plan->outputs[i].buffer].device);
  }
  WEFT_ENSURE(node->placed().kind() != DeviceKind::automatic);
  shrink_capture();
  return node->placed();
} catch (const std::bad_alloc&) {
  fail<OutOfMemoryError>(at, "device: no memory to plan; nothing has changed");
} catch (const Error&) {
  rethrow_at(std::current_exception(), at);
}

}  // namespace weft::detail
