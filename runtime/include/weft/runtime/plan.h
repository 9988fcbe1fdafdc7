// Plans: what would run, step by step, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <weft/graph/args.h>
#include <weft/graph/device.h>
#include <weft/graph/tensor.h>

namespace weft {

enum class StepKind : std::uint8_t {
  kernel,      // a fused group or another kernel of weft's own
  library,     // a call of a library: products
  transfer,    // a value copied to another device
  upload,      // host data or a 0-dim cpu value brought to a device
  view,        // an output that shares another's memory
  assign,      // a Variable's memory takes its new value
  record,      // an event after the steps before it on its stream
  wait,        // its stream goes on when the event has happened
  free,        // scratch memory whose last reader has run
  collective,  // several devices together
};
std::string_view name_of(StepKind kind) noexcept;

/// Queues of a device; steps of one stream run in order.
enum class StreamKind : std::uint8_t { compute, host_to_device, device_to_host };
std::string_view name_of(StreamKind kind) noexcept;

/// One step as plans show it. Sizes in bytes, times in microseconds.
struct Step {
  std::size_t index;
  StepKind kind;
  Device device;
  StreamKind stream;
  std::string what;          // "matmul", or the ops of a fused group: "mul add relu"
  std::string shape;         // of its first output: "f32[64,10]"
  std::string scope;         // Scope that its last op was recorded in
  std::string where;         // "train.cpp:12", of its last op
  std::int64_t bytes;        // read and written
  double predicted_us;
  std::string reason;        // why it is there, or why it is not part of the step before
};

namespace detail {
struct BoundPlan;
}


/// A plan bound to the tensors that it was made for.
class Plan {
 public:
  explicit Plan(std::shared_ptr<detail::BoundPlan> bound) noexcept;
  std::vector<Step> steps() const;
  std::size_t count(StepKind kind) const noexcept;
  /// Scratch and output memory at its highest on this device, known before running.
  std::size_t peak_bytes(Device device = {}) const noexcept;
  /// What a kernel step runs: the fused program, one line per instruction. IndexError out of range.
  std::string source(std::size_t step, Where at = {}) const;
  /// Evaluates the roots as `eval` does: by this plan, or by another where costs, placement or numerics
  /// have been set anew since.
  void run(Where at = {}) const;
  const detail::BoundPlan& bound() const noexcept { return *bound_; }

 private:
  std::shared_ptr<detail::BoundPlan> bound_;
};

/// What evaluating these would run. Nothing runs, and nothing changes.
Plan make_plan(const TensorList& roots);

/// A table: step, kind, device, stream, what it fuses, bytes, predicted time, why.
std::ostream& operator<<(std::ostream& out, const Plan& plan);
/// Graphviz DOT: devices as clusters, fused groups as boxes with their ops, transfers as bold edges.
void write_dot(std::ostream& out, const Plan& plan);

}  // namespace weft
