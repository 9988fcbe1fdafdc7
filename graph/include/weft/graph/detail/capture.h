// From recorded nodes to a canonical form: an order, a key, an argument block, and on demand a Graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <weft/graph/detail/ir.h>
#include <weft/graph/detail/node.h>

namespace weft::detail {

/// A value that is wanted after the run.
struct CapturedOutput {
  std::uint32_t ordinal;
  std::uint32_t output;
  Keep keep;
};

/// Everything that evaluating some roots depends on. Reused from call to call, so that a plan found
/// again costs no allocation.
struct Capture {
  std::vector<Node*> nodes;               // in topological order; a node's ordinal is its index
  std::vector<std::uint64_t> key;         // canonical words: equal keys have equal plans
  std::uint64_t hash = 0;
  bool has_undecided = false;             // something is to be placed
  std::vector<std::uint64_t> arguments;   // what varies between runs of one plan
  std::vector<std::uint32_t> leaves;      // ordinals of nodes that have storage
  std::vector<CapturedOutput> outputs;
  std::vector<std::uint32_t> edges_seen;  // by ordinal: edges from nodes of this capture
  std::vector<std::uint8_t> flags;        // by ordinal
  std::vector<std::pair<VariableSlot*, std::uint32_t>> replaced;  // (slot, leaf with its value)
  std::vector<std::pair<std::uint32_t, std::uint32_t>> assigned;  // (ordinal, replaced leaf)
  std::vector<std::pair<Node*, std::uint32_t>> stack;  // the walk's own
};

/// Walks what the roots need, under the engine lock. Throws the failure of a failed node.
void capture_nodes(std::span<const Ref> roots, Capture& capture);
/// Whether something outside the capture, or a history that stays, will still read this leaf.
bool is_read_later(const Capture& capture, std::uint32_t ordinal) noexcept;
/// The captured program as a Graph: vertex i is node i.
Graph build_graph(const Capture& capture);

}  // namespace weft::detail
