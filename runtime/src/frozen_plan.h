// A plan as it is cached: frozen steps, a table of buffers, no decision left to execution.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <weft/codegen/program.h>
#include <weft/graph/detail/ir.h>
#include <weft/graph/numerics.h>
#include <weft/runtime/plan.h>

namespace weft::detail {

inline constexpr int stream_kinds = 3;

/// A device's memory in a plan.
struct PlanBuffer {
  enum class Home : std::uint8_t {
    leaf,     // bound to leaf `index` of the run
    output,   // from the pool (or a Variable's slot), becomes output `index`'s storage
    scratch,  // at `offset` of the device's arena
  };
  Home home;
  Device device;
  std::uint32_t index = 0;  // of a leaf: its output's leaf_slot
  std::size_t bytes = 0;
  std::size_t offset = 0;
  std::uint32_t first_step = 0, last_step = 0;
  /// Of an output that is a Variable's new value: the leaf with the old one, whose memory it may
  /// take over where nobody else holds that; -1 where the order of steps forbids it.
  std::int32_t replaces = -1;
};

/// What a step reads: a buffer through an index map.
struct StepInput {
  std::uint32_t buffer;
  DType dtype;
  IndexMap map;
  bool dense;  // the map reads the whole buffer in order
};

struct StepOutput {
  std::uint32_t buffer;
  Spec spec;
};

struct RowGroup;

struct FrozenStep {
  StepKind kind;
  StreamKind stream;
  Device device;  // whose stream it is on
  OpId op;        // of a structured op
  Attrs attrs;    // argument attributes hold slots
  std::vector<StepInput> inputs;
  std::vector<StepOutput> outputs;
  std::shared_ptr<const Program> program;  // of a fused group
  std::shared_ptr<const RowGroup> rows;    // of a row group
  std::uint32_t event = 0;                 // of record and wait
  bool guards_state = false;  // writes a Variable: does nothing once the run has failed
  std::uint32_t ordinal = 0;  // captured node that its last op stands for
  std::int32_t vertex = -1;   // of FrozenPlan::graph
  std::string reason;
  std::int64_t bytes = 0;
  double predicted_us = 0;
};

/// What a member of a row group reads: an input of the step as the step reads it, or, through a map,
/// an earlier member's value.
struct RowInput {
  bool of_step;
  std::uint32_t index;
  DType dtype;
  IndexMap map;
};

/// One member: of its step, what, not where.
struct RowMember {
  FrozenStep step;
  std::vector<RowInput> inputs;
  std::vector<std::uint32_t> values;  // that it makes
};

struct RowValue {
  Spec spec;
  std::int32_t output;  // of the step; -1: read by members alone
};

/// Steps that are carried out together, for a block of rows at a time: of the leading axes, single
/// indices before `axis` and `block` of them there. Later ones are taken whole.
struct RowGroup {
  int axis;
  std::int64_t block;
  Shape shape;  // of the axes up to `axis`
  std::vector<RowMember> members;
  std::vector<RowValue> values;
};

/// The number of a leaf's output among the leaves of a run: two for each leaf come first.
constexpr std::uint32_t leaf_slot(std::uint32_t leaf_count, std::uint32_t leaf,
                                  std::uint32_t output) noexcept {
  return output < 2 ? 2 * leaf + output : 2 * leaf_count + (most_outputs - 2) * leaf + output - 2;
}

/// A wanted value: which buffer holds it, from which element on.
struct PlanOutput {
  std::uint32_t buffer;
  IndexMap map;  // contiguous; of a value that shares another's memory
  DType dtype;
};

struct DevicePeak {
  Device device;
  std::size_t scratch = 0;  // arena bytes
  std::size_t peak = 0;     // scratch and outputs together
};

/// Memory that other runs may use too.
struct MemoryUse {
  PlanBuffer::Home home;
  std::uint32_t index;  // as PlanBuffer's
  bool writes;

  bool is_of_same_memory(const MemoryUse& other) const noexcept {
    return home == other.home && index == other.index;
  }
};

/// A stretch of steps on one stream, and what it must not do beside other runs.
struct PlanSegment {
  std::uint32_t first, last;
  Device device;
  StreamKind stream;
  std::vector<std::uint32_t> leaves;  // that its steps read, ascending
  bool writes_over = false;           // may write where a Variable's old value is
  std::vector<MemoryUse> uses;        // ordered by memory, each once

  bool is_on_stream_of(const PlanSegment& other) const noexcept {
    return device == other.device && stream == other.stream;
  }
};

struct FrozenPlan {
  std::vector<FrozenStep> steps;
  std::vector<PlanBuffer> buffers;
  std::vector<PlanOutput> outputs;   // as captured
  std::uint32_t output_buffers = 0;  // how many of home `output`
  std::vector<DevicePeak> peaks;
  std::uint32_t leaf_count = 0;
  bool has_wide_leaves = false;  // some have more outputs than two
  std::uint32_t argument_count = 0;
  std::uint32_t event_count = 0;
  bool one_stream = true;                  // all steps on one stream of one device
  bool is_quick = false;  // is done before another thread would be awake; calls nothing of the program
  std::vector<std::uint32_t> fallible;     // steps whose error names a line of the program
  Numerics numerics = Numerics::standard;  // that it was made for
  MatmulPrecision matmul_precision = MatmulPrecision::f32;
  Graph graph;  // as planned: for pictures
  bool has_picture = true;
  std::uint64_t costs = 0;  // version of the table that its times were predicted by
  std::vector<PlanSegment> segments;
  /// What backends have made of the steps, by device. Under the engine lock.
  mutable std::vector<std::pair<Device, std::shared_ptr<void>>> device_code;
  /// A plan that is only run needs no graph.
  void drop_picture() noexcept;
};

}  // namespace weft::detail
