// One recorded op. Immutable but for its write-once result; lives in a slab of its thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include <weft/graph/detail/buffer.h>
#include <weft/graph/detail/ops.h>
#include <weft/graph/detail/ref.h>
#include <weft/graph/device.h>
#include <weft/graph/dtype.h>
#include <weft/graph/shape.h>

namespace weft::detail {

struct ScopeName;
struct VariableSlot;

/// `issued` has storage; whether its contents are ready, still on their way, or will never come is
/// known by the node's completion.
enum class NodeState : std::uint8_t { pending, issued };

/// What an op is told beside its inputs. Which of the four are structure and which are arguments
/// of the run is said by the op's row (OpInfo::argument_mask). Their meaning stands in ops.def.
struct Attrs {
  std::int64_t v[4] = {0, 0, 0, 0};
};

/// Shape and element type of one output.
struct Spec {
  Shape shape;
  DType dtype = DType::f32;
  friend bool operator==(const Spec&, const Spec&) noexcept = default;
};

/// An input edge: a node pointer with the output index in its low bits (nodes are 64-aligned).
class Edge {
 public:
  Edge() noexcept = default;
  explicit Edge(Ref ref) noexcept
      : bits_(reinterpret_cast<std::uintptr_t>(ref.node) | ref.output) {}
  Node* node() const noexcept {
    return reinterpret_cast<Node*>(bits_ & ~std::uintptr_t{max_outputs - 1});
  }
  std::uint32_t output() const noexcept {
    return static_cast<std::uint32_t>(bits_ & (max_outputs - 1));
  }
  Ref ref() const noexcept { return {node(), output()}; }
  static constexpr std::uintptr_t max_outputs = 64;

 private:
  std::uintptr_t bits_ = 0;
};

/// Outputs of a node, at most.
inline constexpr std::uint32_t most_outputs = 8;

/// What a recorded call carries: functions of the program.
struct NodePayload {
  virtual ~NodePayload() = default;
};

/// Outputs beyond the first, and what else few nodes have.
struct NodeExtra {
  Spec specs[most_outputs - 1];  // of output 1 and on
  Storage storages[most_outputs - 1];
  std::shared_ptr<const NodePayload> payload;
};

struct alignas(64) Node {
  static constexpr int inline_inputs = 3;

  // In four cache lines, by who touches them: a plan that is found again reads the first two of a
  // node, recording writes three.

  // Low half: edges from other nodes. High half: handles of the program. At zero the node dies.
  std::atomic<std::uint64_t> counts;
  OpId op;
  DType dtype;
  std::uint8_t rank;
  std::uint8_t output_count;
  Device device;
  std::atomic<std::uint16_t> chosen;  // of an undecided node: the device that was asked for, packed
  std::uint32_t input_count;
  std::atomic<NodeState> state;
  bool requires_grad;      // a Variable that requires a gradient is upstream, recorded with grad on
  bool history_released;   // backward went through here and gave the history up
  bool weak_scalar;        // a C++ number: its value is an argument, its dtype yields in promotion
  std::uint32_t mark;      // planner's scratch, under the engine lock: epoch of the last visit
  std::uint32_t ordinal;   // and the number given then
  std::int32_t line;
  Edge inputs_inline[inline_inputs];

  Attrs attrs;
  VariableSlot* slot;      // of a variable leaf; counted by the slot's own count
  std::int64_t dims[max_rank];

  const char* file;
  const ScopeName* scope;  // interned, never freed
  std::uint32_t epoch;     // its thread's count of flushes when it was recorded
  std::uint32_t serial;    // its place among what its thread recorded in this epoch; wraps

  Storage storage;         // of output 0, once issued
  std::shared_ptr<Completion> completion;  // of the run that makes the value; null: it is there
  NodeExtra* extra;        // null unless output_count > 1 or it is a call; owned
  Edge* inputs_more;       // when input_count > inline_inputs; owned
  Node* next_free;         // slab's free list, and the worklist of teardown

  std::span<const Edge> inputs() const noexcept {
    return {input_count <= inline_inputs ? inputs_inline : inputs_more, input_count};
  }
  Shape shape(std::uint32_t output = 0) const noexcept {
    if (output) return extra->specs[output - 1].shape;
    Shape s;
    for (int i = 0; i < rank; ++i) s.push_back(dims[i]);
    return s;
  }
  DType dtype_of(std::uint32_t output) const noexcept {
    return output ? extra->specs[output - 1].dtype : dtype;
  }
  Storage& storage_of(std::uint32_t output) noexcept {
    return output ? extra->storages[output - 1] : storage;
  }
  std::int64_t numel() const noexcept {
    std::int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
  Where where() const noexcept { return Where::of(file, line); }
  /// Its device; of an undecided node the one that `choose` has fixed.
  Device placed() const noexcept {
    const std::uint16_t packed = chosen.load(std::memory_order_acquire);
    if (device.kind() != DeviceKind::automatic || packed == 0) return device;
    return {static_cast<DeviceKind>((packed - 1) >> 14), (packed - 1) & 0x3fff};
  }
  /// Under the engine lock.
  void choose(Device where) noexcept {
    chosen.store(
        static_cast<std::uint16_t>(
            (static_cast<unsigned>(where.kind()) << 14 | static_cast<unsigned>(where.index())) + 1),
        std::memory_order_release);
  }
  std::uint32_t handles() const noexcept {
    return static_cast<std::uint32_t>(counts.load(std::memory_order_acquire) >> 32);
  }
  std::uint32_t edges() const noexcept {
    return static_cast<std::uint32_t>(counts.load(std::memory_order_acquire));
  }
};

inline constexpr std::uint64_t one_handle = std::uint64_t{1} << 32;
inline constexpr std::uint64_t one_edge = 1;

/// Destroys the node and all that only it kept alive, iteratively.
void destroy(Node* node) noexcept;

/// A node with counts of one handle, all else zero, pending, placed at the caller's line and in
/// the current scope. The one place that allocates nodes; throws OutOfMemoryError.
Node* new_node(OpId op, std::uint32_t input_count, Where at);
/// Links input `i`; counts the edge.
inline void set_input(Node* node, std::uint32_t i, Ref source) noexcept {
  source.node->counts.fetch_add(one_edge, std::memory_order_relaxed);
  (node->input_count <= Node::inline_inputs ? node->inputs_inline : node->inputs_more)[i] =
      Edge(source);
}
/// Lets go of all inputs (an evaluated node without history).
void drop_inputs(Node* node) noexcept;
/// Visits the live nodes that the calling thread recorded since `reset_pending_count`, in slab
/// order.
void for_each_recent_node(void (*visit)(Node*, void*), void* context);
/// A handle on a node that other threads may be dropping; false where the program holds none.
bool add_handle_if_held(Node* node) noexcept;
/// Nodes recorded by this thread since the last call to `reset_pending_count`, corrected by
/// `set_pending_count` for those that have been evaluated or are dead.
std::size_t pending_count() noexcept;
void set_pending_count(std::size_t count) noexcept;
void reset_pending_count() noexcept;

}  // namespace weft::detail
