// The captured program. A Graph is a value on flat arrays; passes are functions from Graph to Graph.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <weft/graph/detail/node.h>
#include <weft/graph/detail/ops.h>

namespace weft::detail {

using VertexId = std::uint32_t;
inline constexpr VertexId no_vertex = ~VertexId{0};

/// Where an index map's start depends on the run: `multiplier` × the run's argument `slot`.
struct OffsetTerm {
  std::uint32_t slot;
  std::int64_t multiplier;
  friend bool operator==(const OffsetTerm&, const OffsetTerm&) noexcept = default;
};

/// A map that would have more is not made: a long chain of slices is put in order now and then, or
/// each of its maps would hold the starts of all before it.
inline constexpr std::size_t most_offset_terms = 32;

/// How a consumer's index (i0, i1, ...) over `shape` reads a dense source: element number
/// offset + Σ terms + Σ strides[d]·i_d. Strides may be 0 (broadcast) or negative.
struct IndexMap {
  Shape shape;
  std::array<std::int64_t, max_rank> strides{};
  std::int64_t offset = 0;
  std::vector<OffsetTerm> terms;

  static IndexMap dense(const Shape& shape);
  /// Reads elements in order, from its offset on, without a gap.
  bool is_contiguous() const noexcept;
  /// Contiguous from a constant offset of 0 over all `source_numel` elements.
  bool is_identity(std::int64_t source_numel) const noexcept;
  friend bool operator==(const IndexMap&, const IndexMap&) noexcept = default;
};

/// Puts a view (an op of kind `view`, with the run's argument slots in its attributes) on top of a
/// map. False where the result is no affine map: then the value must be put in order first.
bool apply_view(IndexMap& map, OpId view, const Attrs& attrs, const Shape& shape);
/// Broadcasts a map to a shape, as point-wise ops do with their operands.
void broadcast_map(IndexMap& map, const Shape& shape);
/// `outer` reads a dense value of shape `middle` whose element i reads a source by `inner`
/// (inner.shape == middle): the map by which outer reads the source directly.
bool compose(const IndexMap& outer, const Shape& middle, const IndexMap& inner, IndexMap& result);

/// Which output of which vertex.
struct Value {
  VertexId vertex = no_vertex;
  std::uint32_t output = 0;
  friend bool operator==(Value, Value) noexcept = default;
};

struct InEdge {
  Value source;
  /// Index into Graph::maps, or identity_map: the source as it stands.
  std::uint32_t map;
};
inline constexpr std::uint32_t identity_map = ~std::uint32_t{0};

/// How a recorded value is wanted after the run.
enum class Keep : std::uint8_t {
  no,
  held,      // the program holds it, or it was asked for
  gradient,  // dear to compute, and a gradient or another pending graph may need it
};

/// What a fused vertex's body may hold, and so how it is carried out. A kind joins by a former in
/// passes/fuse, a check in passes/verify and a runner in each backend.
enum class FusedKind : std::uint8_t {
  pointwise,  // one iteration space; any broadcast, cast, view; several outputs
  reduction,  // a reduction with point-wise work before and after it
  rows,       // several reductions over the same rows, in one pass
  epilogue,   // a library call and the point-wise work on its result
};

struct Vertex {
  OpId op;
  DType dtype;             // of output 0
  Device device;
  std::uint8_t output_count = 1;
  Keep keep[most_outputs] = {};  // of each output, before there are groups
  bool has_history = false;      // requires a gradient and keeps its inputs after the run
  FusedKind fused_kind = FusedKind::pointwise;  // of a fused vertex
  bool weak = false;             // a C++ number
  bool assigns = false;          // its value becomes a Variable's
  bool chosen = false;           // the planner chose its device, for `reason`
  std::uint32_t in_begin = 0, in_count = 0;
  Shape shape;                   // of output 0
  Attrs attrs;                   // structure; argument attributes hold their slot's number
  std::uint32_t ordinal = 0;     // the captured node that it stands for, for provenance
  std::int32_t body = -1;        // of a fused vertex: index into Graph::bodies
  std::int32_t leaf = -1;        // of a leaf: its number in the run's binding
  std::uint32_t reason = 0;      // index into Graph::reasons: why it is where and as it is
  std::uint32_t specs_more = 0;  // of output 1: index into Graph::more_specs
};

/// A value that becomes a Variable's, and the number of the leaf with the one before; -1: none.
struct Assignment {
  Value value;
  std::int32_t replaced_leaf;
};

/// The arrays. Vertices are in topological order always: an edge's source precedes its consumer.
class Graph {
 public:
  std::vector<Vertex> vertices;
  std::vector<InEdge> edges;
  std::vector<IndexMap> maps;
  std::vector<Spec> more_specs;
  std::vector<Graph> bodies;
  std::vector<std::string> reasons{std::string()};
  /// Wanted values, in the order of capture; of a body, those that leave it.
  std::vector<Value> outputs;
  std::vector<Assignment> assignments;
  std::uint32_t leaf_count = 0;
  std::uint32_t argument_count = 0;

  std::span<const InEdge> inputs(VertexId v) const noexcept {
    return {edges.data() + vertices[v].in_begin, vertices[v].in_count};
  }
  std::span<InEdge> inputs(VertexId v) noexcept {
    return {edges.data() + vertices[v].in_begin, vertices[v].in_count};
  }
  Spec spec(Value value) const;
  /// The map of an edge; the dense one of its source where it is the identity.
  IndexMap map_of(const InEdge& edge) const;
  std::uint32_t add_map(IndexMap map);
  std::uint32_t add_reason(std::string text);
  std::size_t size() const noexcept { return vertices.size(); }
};

/// Calls visit(graph, vertex) for what a body is made of but its leaves, in order: of a member with a
/// body of its own, for that body's.
template <class Visit>
void for_each_member(const Graph& body, Visit&& visit) {
  for (VertexId v = 0; v < body.size(); ++v) {
    const Vertex& member = body.vertices[v];
    if (info(member.op).is_leaf()) continue;
    if (member.body >= 0)
      for_each_member(body.bodies[static_cast<std::size_t>(member.body)], visit);
    else
      visit(body, v);
  }
}

/// A T for each output of each vertex.
template <class T>
class PerValue {
 public:
  explicit PerValue(const Graph& graph, const T& initial = {}) : first_(graph.size()) {
    std::uint32_t count = 0;
    for (VertexId v = 0; v < graph.size(); ++v) {
      first_[v] = count;
      count += graph.vertices[v].output_count;
    }
    values_.assign(count, initial);
  }
  T& operator[](Value value) noexcept { return values_[first_[value.vertex] + value.output]; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<T> values_;
};

/// Builds a graph vertex by vertex; each must be well formed, or it is not added (InternalError).
class GraphBuilder {
 public:
  explicit GraphBuilder(std::size_t expected_vertices = 0);
  /// Copies what a pass does not touch: reasons, argument and leaf counts.
  explicit GraphBuilder(const Graph& from);
  VertexId add(Vertex vertex, std::span<const InEdge> inputs);
  Graph& graph() noexcept { return graph_; }
  const Graph& graph_view() const noexcept { return graph_; }
  Graph take() &&;

 private:
  Graph graph_;
};

}  // namespace weft::detail
