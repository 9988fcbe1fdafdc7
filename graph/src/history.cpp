// Walking recorded history for differentiation.
#include "history.h"

#include <algorithm>
#include <mutex>

#include <weft/graph/detail/evaluator.h>

namespace weft::detail {

namespace {

// Pins count as edges, not as handles: what is walked is not thereby held by the program, and so
// is not kept when it is computed.
void pin(Node* node) noexcept { node->counts.fetch_add(one_edge, std::memory_order_relaxed); }
void unpin(Node* node) noexcept {
  if (node->counts.fetch_sub(one_edge, std::memory_order_acq_rel) == one_edge) destroy(node);
}

bool has_floating_output(const Node* node) noexcept {
  for (std::uint32_t o = 0; o < node->output_count; ++o)
    if (is_floating(node->dtype_of(o))) return true;
  return false;
}

std::size_t hash_of(const Node* node) noexcept {
  return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(node) / alignof(Node) *
                                  std::uint64_t{0x9e3779b97f4a7c15} >> 20);
}

}  // namespace

History::History(const WalkRequest& request) : request_(request), only_required_(true) {
  for (const Ref target : request.targets)
    only_required_ = only_required_ && target.node->requires_grad;
  try {
    const std::lock_guard lock(engine_mutex());
    walk();
  } catch (...) {
    for (const Entry& entry : nodes_) unpin(entry.node);
    for (const WalkedInput& input : inputs_) unpin(input.ref.node);
    throw;
  }
}

History::~History() {
  for (const WalkedInput& input : inputs_) unpin(input.ref.node);
  for (const Entry& entry : nodes_) unpin(entry.node);
}

bool History::enters(Ref input) const noexcept {
  return is_floating(input.node->dtype_of(input.output)) &&
         (!only_required_ || input.node->requires_grad);
}

/// Whether the walk goes on through a node's inputs.
bool History::opens(Node* node) {
  const OpInfo& op = info(node->op);
  if (op.is_leaf() || !op.gradient || !has_floating_output(node)) return false;
  if (only_required_ && !node->requires_grad) return false;
  if (node->history_released) {
    // Without a Variable upstream the mark means detach(): a constant.
    if (!node->requires_grad) return false;
    const auto is_node = [node](Ref target) { return target.node == node; };
    const auto& targets = request_.targets;
    if (!targets.empty() && std::all_of(targets.begin(), targets.end(), is_node)) return false;
    fail_released(node);
  }
  if (node->input_count != 0) return true;
  ++lost_count_;
  last_lost_ = node;
  return false;
}

void History::fail_released(const Node* node) const {
  std::string where = std::string(info(node->op).name) + " recorded at " + node->file + ":" +
                      std::to_string(node->line);
  fail<ValueError>(request_.at, std::string(request_.op) + ": the history of " + where +
                                    " was given up by an earlier backward(); pass "
                                    "{.retain_graph = true} to that one, or record the value "
                                    "again");
}

std::uint32_t* History::place_of(const Node* node) noexcept {
  const std::size_t mask = table_.size() - 1;
  std::size_t i = hash_of(node) & mask;
  while (table_[i] && nodes_[table_[i] - 1].node != node) i = (i + 1) & mask;
  return &table_[i];
}

void History::grow_table() {
  table_.assign(std::max<std::size_t>(64, table_.size() * 2), 0);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) *place_of(nodes_[i].node) = i + 1;
}

std::uint32_t History::find(const Node* node) const noexcept {
  const std::uint32_t found = *const_cast<History*>(this)->place_of(node);
  return found ? found - 1 : not_walked;
}

std::uint32_t History::discover(Node* node) {
  if (nodes_.size() * 2 >= table_.size()) grow_table();
  std::uint32_t* place = place_of(node);
  nodes_.push_back({node});
  pin(node);
  *place = static_cast<std::uint32_t>(nodes_.size());
  Entry& entry = nodes_.back();
  entry.begin = static_cast<std::uint32_t>(inputs_.size());
  if (opens(node)) {
    for (const Edge edge : node->inputs()) {
      inputs_.push_back({edge.ref(), not_walked});
      pin(edge.node());
      ++entry.count;
    }
  }
  return *place - 1;
}

void History::walk() {
  grow_table();
  std::vector<std::uint32_t> finished;
  std::vector<Frame> stack{{discover(request_.output.node), 0}};
  while (!stack.empty()) {
    Frame& frame = stack.back();
    if (frame.next == nodes_[frame.entry].count) {
      finished.push_back(frame.entry);
      stack.pop_back();
      continue;
    }
    const std::uint32_t at = nodes_[frame.entry].begin + frame.next++;
    const Ref input = inputs_[at].ref;
    if (!enters(input)) continue;
    std::uint32_t index = find(input.node);
    if (index == not_walked) {
      index = discover(input.node);
      stack.push_back({index, 0});
    }
    inputs_[at].index = index;
  }
  put_in_order(finished);
}

/// Numbers the nodes by the order in which the walk left them: inputs before consumers.
void History::put_in_order(const std::vector<std::uint32_t>& finished) {
  std::vector<std::uint32_t> number(nodes_.size());
  std::vector<Entry> ordered;
  ordered.reserve(nodes_.size());
  for (const std::uint32_t old : finished) {
    number[old] = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(nodes_[old]);
  }
  for (WalkedInput& input : inputs_)
    if (input.index != not_walked) input.index = number[input.index];
  nodes_.swap(ordered);
  for (std::uint32_t& place : table_)
    if (place) place = number[place - 1] + 1;
}

void History::release() noexcept {
  const std::lock_guard lock(engine_mutex());
  for (const Entry& entry : nodes_) {
    if (!entry.count) continue;
    entry.node->history_released = true;
    // A pending one still needs its inputs: evaluation lets go of them.
    if (entry.node->state.load(std::memory_order_acquire) == NodeState::issued)
      drop_inputs(entry.node);
  }
}

}  // namespace weft::detail
