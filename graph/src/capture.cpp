// Capture: one iterative walk over recorded nodes.
#include <weft/graph/detail/capture.h>

#include <algorithm>

#include <weft/graph/detail/evaluator.h>
#include <weft/graph/detail/variable.h>

namespace weft::detail {

namespace {

enum Flag : std::uint8_t {
  held = 1,     // the program has a handle, or it was asked for
  alive = 2,    // something will still refer to it after the run
  history = 4,  // keeps its inputs after the run
  is_leaf = 8,
};

std::uint32_t next_mark() noexcept {
  static std::uint32_t mark = 0;  // under the engine lock
  if (++mark == 0) ++mark;
  return mark;
}

/// A value that a run failed to make can not be computed with.
void require_not_failed(const Node* node) {
  if (!node->completion || !node->completion->has_ended()) return;
  if (const std::exception_ptr failure = node->completion->failure())
    std::rethrow_exception(failure);
}

bool has_inputs_to_walk(const Node* node) noexcept {
  return node->state.load(std::memory_order_acquire) == NodeState::pending;
}

/// The next node of the order: its inputs have been added.
void add_node(Node* node, Capture& c) {
  node->ordinal = static_cast<std::uint32_t>(c.nodes.size());
  c.nodes.push_back(node);
  c.edges_seen.push_back(0);
  if (!has_inputs_to_walk(node)) {
    require_not_failed(node);
    c.flags.push_back(is_leaf);
    return;
  }
  const bool has_history = node->requires_grad && !node->history_released;
  c.flags.push_back((node->handles() != 0 ? held : 0) | (has_history ? history : 0));
  for (const Edge edge : node->inputs()) ++c.edges_seen[edge.node()->ordinal];
}

void order_nodes(std::span<const Ref> roots, Capture& c) {
  const std::uint32_t mark = next_mark();
  c.nodes.clear();
  c.edges_seen.clear();
  c.flags.clear();
  c.stack.clear();
  for (const Ref root : roots) {
    if (root.node->mark == mark) continue;
    root.node->mark = mark;
    c.stack.emplace_back(root.node, 0);
    while (!c.stack.empty()) {
      auto& [node, next] = c.stack.back();
      if (next < node->input_count && has_inputs_to_walk(node)) {
        Node* input = node->inputs()[next++].node();
        if (input->mark != mark) {
          input->mark = mark;
          c.stack.emplace_back(input, 0);
        }
        continue;
      }
      add_node(node, c);
      c.stack.pop_back();
    }
  }
}

void mark_kept(std::span<const Ref> roots, Capture& c) {
  const std::size_t n = c.nodes.size();
  for (const Ref root : roots) c.flags[root.node->ordinal] |= held;
  c.outputs.clear();
  for (std::size_t i = n; i-- > 0;) {
    Node* node = c.nodes[i];
    std::uint8_t& flag = c.flags[i];
    if ((flag & held) || node->edges() > c.edges_seen[i]) flag |= alive;
    // A Variable's value that what is pending elsewhere was made from: a loop that reads something
    // else each time would compute all its values again.
    if ((flag & alive) && node->slot && !(flag & is_leaf)) flag |= held;
    // What is not kept is computed again for those who read it later.
    const bool kept = (flag & (held | is_leaf)) || info(node->op).is_dear();
    if ((flag & alive) && ((flag & history) || !kept))
      for (const Edge edge : node->inputs()) c.flags[edge.node()->ordinal] |= alive;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t flag = c.flags[i];
    if ((flag & is_leaf) || !(flag & (held | alive)) || c.nodes[i]->weak_scalar) continue;
    const bool keep_dear = (flag & alive) && info(c.nodes[i]->op).is_dear();
    if (!(flag & held) && !keep_dear) continue;
    const Keep keep = flag & held ? Keep::held : Keep::gradient;
    for (std::uint32_t o = 0; o < c.nodes[i]->output_count; ++o)
      c.outputs.push_back({static_cast<std::uint32_t>(i), o, keep});
  }
}

/// Where a value is, or is to be made. The planner chose where an undecided one was made.
Device device_of(const Node* node, bool leaf) noexcept {
  const bool undecided = node->device.kind() == DeviceKind::automatic;
  return leaf && undecided && node->storage.buffer ? node->storage.buffer->device()
                                                   : node->placed();
}

/// Words on their way to the key, added many at a time: a node has few.
class Words {
 public:
  explicit Words(std::vector<std::uint64_t>& key) noexcept : key_(key) {}
  /// Makes room for that many.
  void expect(std::size_t more) {
    if (count_ + more > most) put();
  }
  /// Room was made.
  void push_back(std::uint64_t word) noexcept { words_[count_++] = word; }
  void put() {
    key_.insert(key_.end(), words_, words_ + count_);
    count_ = 0;
  }

 private:
  static constexpr std::size_t most = 256;
  std::vector<std::uint64_t>& key_;
  std::uint64_t words_[most];
  std::size_t count_ = 0;
};

/// Of a node: itself, shapes, what follows, attributes, and inputs that need no list.
constexpr std::size_t most_words =
    1 + most_outputs * (1 + max_rank) + 1 + 4 + Node::inline_inputs;

/// Words of one node. Attributes that are arguments go to the argument block instead, in order.
void add_key(Capture& c, Words& key, const Node* node, std::uint8_t flag) {
  const bool leaf = flag & is_leaf;
  const OpId op = leaf ? data_op() : node->op;
  const OpInfo& row = info(op);
  const Device device = device_of(node, leaf);
  c.has_undecided |= device.kind() == DeviceKind::automatic;
  key.expect(most_words);
  // A leaf's place in its buffer does not matter; which of a node's outputs are meant does.
  key.push_back(
      std::uint64_t(op) | std::uint64_t(node->dtype) << 16 | std::uint64_t(node->rank) << 24 |
      std::uint64_t(device.code()) << 28 | std::uint64_t(flag & (held | alive | history)) << 52 |
      std::uint64_t(node->weak_scalar) << 58 | std::uint64_t(node->slot != nullptr) << 59 |
      std::uint64_t(node->output_count) << 60);
  for (int d = 0; d < node->rank; ++d) key.push_back(static_cast<std::uint64_t>(node->dims[d]));
  for (std::uint32_t o = 1; o < node->output_count; ++o) {
    const Spec& spec = node->extra->specs[o - 1];
    key.push_back(std::uint64_t(spec.dtype) << 8 | std::uint64_t(spec.shape.ndim()));
    for (const std::int64_t extent : spec.shape) key.push_back(std::uint64_t(extent));
  }
  if (leaf) {
    c.leaves.push_back(node->ordinal);
    return;
  }
  if (node->slot) c.assigned.emplace_back(node->ordinal, no_vertex);
  std::uint64_t present = 0;
  for (int i = 0; i < 4; ++i) {
    if (row.argument_mask >> i & 1)
      c.arguments.push_back(static_cast<std::uint64_t>(node->attrs.v[i]));
    else if (node->attrs.v[i])
      present |= std::uint64_t(1) << i;
  }
  // How many words follow is said before them, so that no two programs share a key.
  key.push_back(std::uint64_t(node->input_count) << 4 | present);
  for (int i = 0; i < 4; ++i)
    if (present >> i & 1) key.push_back(static_cast<std::uint64_t>(node->attrs.v[i]));
  for (const Edge edge : node->inputs()) {
    if (node->input_count > Node::inline_inputs) key.expect(1);
    key.push_back(std::uint64_t(edge.node()->ordinal) << 8 | edge.output());
  }
}

std::uint32_t replaced_leaf(const Capture& c, const Node* assigned) noexcept {
  const auto it = std::upper_bound(
      c.replaced.begin(), c.replaced.end(), assigned->slot,
      [](const VariableSlot* slot, const auto& entry) { return slot < entry.first; });
  if (it == c.replaced.begin() || std::prev(it)->first != assigned->slot) return no_vertex;
  return std::prev(it)->second;
}

/// Of several values assigned in one capture only the last is the Variable's.
bool is_current(const Node* assigned) {
  const std::lock_guard lock(assigned->slot->mutex);
  return assigned->slot->value.ref().node == assigned;
}

/// Which leaf holds the value that an assignment replaces: its memory may be written in place.
void find_replaced(Capture& c) {
  c.replaced.clear();
  for (const std::uint32_t leaf : c.leaves) {
    const Node* node = c.nodes[leaf];
    if (node->slot) c.replaced.emplace_back(node->slot, leaf);
  }
  // Of several old versions the newest, which was found last, is the one in place.
  std::stable_sort(c.replaced.begin(), c.replaced.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [ordinal, leaf] : c.assigned) {
    const Node* node = c.nodes[ordinal];
    if (is_current(node)) leaf = replaced_leaf(c, node);
    c.key.push_back(std::uint64_t(ordinal) << 32 | leaf);
  }
}

std::uint64_t hash_words(const std::vector<std::uint64_t>& words) noexcept {
  // Four independent lanes of multiply and fold; the key itself is compared on a hit.
  constexpr std::size_t lanes = 4;
  std::uint64_t lane[lanes] = {0x9e3779b97f4a7c15u, 0xc2b2ae3d27d4eb4fu, 0x165667b19e3779f9u,
                               0x27d4eb2f165667c5u};
  std::size_t i = 0;
  for (; i + lanes <= words.size(); i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) {
      lane[l] = (lane[l] ^ words[i + l]) * 0xff51afd7ed558ccdu;
      lane[l] ^= lane[l] >> 32;
    }
  std::uint64_t hash = words.size();
  for (; i < words.size(); ++i) hash = (hash ^ words[i]) * 0xc4ceb9fe1a85ec53u;
  for (const std::uint64_t l : lane) {
    hash = (hash ^ l) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 31;
  }
  return hash;
}

}  // namespace

void capture_nodes(std::span<const Ref> roots, Capture& c) {
  order_nodes(roots, c);
  mark_kept(roots, c);
  c.key.clear();
  c.arguments.clear();
  c.leaves.clear();
  c.assigned.clear();
  c.has_undecided = false;
  Words key(c.key);
  for (std::size_t i = 0; i < c.nodes.size(); ++i) add_key(c, key, c.nodes[i], c.flags[i]);
  key.put();
  find_replaced(c);
  c.hash = hash_words(c.key);
}

bool is_read_later(const Capture& c, std::uint32_t ordinal) noexcept {
  return (c.flags[ordinal] & alive) != 0;
}

namespace {

Vertex vertex_of(const Node* node, bool leaf) {
  Vertex v{};
  v.op = leaf ? data_op() : node->op;
  v.dtype = node->dtype;
  v.device = device_of(node, leaf);
  v.output_count = node->output_count;
  v.shape = node->shape();
  v.attrs = leaf ? Attrs{} : node->attrs;
  v.ordinal = node->ordinal;
  v.weak = node->weak_scalar;
  v.assigns = !leaf && node->slot != nullptr;
  return v;
}

}  // namespace

Graph build_graph(const Capture& c) {
  GraphBuilder builder(c.nodes.size());
  Graph& graph = builder.graph();
  std::int32_t leaf_count = 0;
  std::int64_t slot = 0;
  std::vector<InEdge> edges;
  for (std::size_t i = 0; i < c.nodes.size(); ++i) {
    const Node* node = c.nodes[i];
    const bool leaf = c.flags[i] & is_leaf;
    Vertex v = vertex_of(node, leaf);
    edges.clear();
    if (leaf) {
      v.leaf = leaf_count++;
    } else {
      v.has_history = (c.flags[i] & (alive | history)) == (alive | history);
      for (int a = 0; a < 4; ++a)
        if (info(v.op).argument_mask >> a & 1) v.attrs.v[a] = slot++;
      for (const Edge edge : node->inputs())
        edges.push_back({{edge.node()->ordinal, edge.output()}, identity_map});
    }
    if (node->output_count > 1) {
      v.specs_more = static_cast<std::uint32_t>(graph.more_specs.size());
      for (std::uint32_t o = 1; o < node->output_count; ++o)
        graph.more_specs.push_back(node->extra->specs[o - 1]);
    }
    builder.add(std::move(v), edges);
  }
  for (const CapturedOutput& output : c.outputs) {
    graph.outputs.push_back({output.ordinal, output.output});
    graph.vertices[output.ordinal].keep[output.output] = output.keep;
  }
  for (const auto& [ordinal, leaf] : c.assigned) {
    // The leaf may come later in the order: its number is its place among the leaves.
    const auto place = std::lower_bound(c.leaves.begin(), c.leaves.end(), leaf);
    graph.assignments.push_back(
        {{ordinal, 0},
         leaf == no_vertex ? -1 : static_cast<std::int32_t>(place - c.leaves.begin())});
  }
  graph.leaf_count = static_cast<std::uint32_t>(leaf_count);
  graph.argument_count = static_cast<std::uint32_t>(slot);
  return std::move(builder).take();
}

}  // namespace weft::detail
