// The passes between capture and scheduling: what they are told, their order, and their checks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <weft/graph/cost.h>
#include <weft/graph/detail/ir.h>
#include <weft/graph/numerics.h>

namespace weft::detail {

/// Options of planning, part of what plans are cached by. But for the modes of the program, all but
/// the defaults are for tests that compare plans.
struct PlanOptions {
  bool fuse = true;
  bool reuse_memory = true;
  std::uint64_t order_seed = 0;  // 0: the canonical order; else a random legal one
  std::uint32_t most_group_inputs = 24;
  std::uint32_t most_group_outputs = 16;
  std::uint32_t most_group_arguments = 100;
  std::uint32_t most_group_ops = 192;  // below 250: each may be an output
  // Of row groups: a row of one, all its members' together; what a smaller group makes in all is not
  // worth one; what is made of a block of rows before the next.
  std::int64_t most_row_bytes = 128 * 1024;
  std::int64_t least_row_group_bytes = 256 * 1024;
  std::int64_t row_block_bytes = 192 * 1024;
  Numerics numerics = Numerics::standard;
  MatmulPrecision matmul_precision = MatmulPrecision::f32;
  std::uint64_t placement = 0;  // of programs with undecided ops: which costs and candidates
  friend bool operator==(const PlanOptions&, const PlanOptions&) noexcept = default;
};

struct PassContext {
  CostTable costs;
  PlanOptions options;
  /// Where undecided vertices may be placed; the first wins ties. Empty: the cpu alone.
  std::vector<Device> candidates;
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

// The passes, one file each.
Graph canonicalise(Graph&& graph, const PassContext& context);
Graph merge_common(Graph&& graph, const PassContext& context);
Graph place(Graph&& graph, const PassContext& context);
Graph insert_transfers(Graph&& graph, const PassContext& context);
Graph fuse(Graph&& graph, const PassContext& context);
Graph join_rows(Graph&& graph, const PassContext& context);

}  // namespace weft::detail
