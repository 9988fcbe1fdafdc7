// The passes between capture and scheduling: what they are told, their order, and their checks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <weft/graph/detail/ir.h>

namespace weft::detail {

/// What one device is predicted to do: an explicit input of planning, so that plans repeat.
struct DeviceCost {
  double launch_us = 1.0;
  double bytes_per_us = 10e3;
  double flops_per_us = 5e3;
  double transfer_latency_us = 10.0;
  double transfer_bytes_per_us = 10e3;
};
struct CostTable {
  DeviceCost cpu{0.5, 12e3, 10e3, 0, 0};
  DeviceCost accelerator{3.5, 4e6, 3e7, 10.0, 5e4};
  const DeviceCost& of(Device device) const noexcept {
    return device.is_cpu() ? cpu : accelerator;
  }
};

/// Options of planning. All but the defaults are for tests that compare plans.
struct PlanOptions {
  bool fuse = true;
  bool reuse_memory = true;
  std::uint64_t order_seed = 0;  // 0: the canonical order; else a random legal one
  std::uint32_t most_group_inputs = 24;
  std::uint32_t most_group_outputs = 16;
  std::uint32_t most_group_ops = 192;  // below 250: each may be an output
  friend bool operator==(const PlanOptions&, const PlanOptions&) noexcept = default;
};

/// Decides where ops recorded inside On(automatic) run.
using PlacementPolicy = Device (*)(const Graph& graph, VertexId vertex, const CostTable& costs,
                                   std::string& reason);

struct PassContext {
  CostTable costs;
  PlanOptions options;
  PlacementPolicy placement;  // of undecided vertices
};

/// What holds of a graph after a pass.
enum class Stage : std::uint8_t { captured, canonical, placed, transferred, fused };

struct Pass {
  const char* name;
  Graph (*run)(Graph&& graph, const PassContext& context);
  Stage stage;       // reached after it
  const char* here;  // why it stands in this place
};

/// All passes, in order.
std::span<const Pass> passes() noexcept;
/// Watches each pass: its graph, and how long it took.
using PassObserver = std::function<void(const Pass&, const Graph&, double microseconds)>;
Graph run_passes(Graph graph, const PassContext& context, const PassObserver& observer = {});

/// "" where the stage's invariants hold, else what is wrong with which vertex.
std::string verify(const Graph& graph, Stage stage);

/// Whether each pass and each plan is verified: on in debug builds and in tests, else off.
void set_verification(bool on) noexcept;
bool verification_enabled() noexcept;

/// Follows the largest input that has a device; the cpu where none has.
Device follow_data(const Graph& graph, VertexId vertex, const CostTable& costs,
                   std::string& reason);

// The passes, one file each.
Graph canonicalise(Graph&& graph, const PassContext& context);
Graph merge_common(Graph&& graph, const PassContext& context);
Graph place(Graph&& graph, const PassContext& context);
Graph insert_transfers(Graph&& graph, const PassContext& context);
Graph fuse(Graph&& graph, const PassContext& context);

}  // namespace weft::detail
