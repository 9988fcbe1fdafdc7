// Counted references to recorded nodes. A reference names one output of one node.
#pragma once

#include <cstdint>

namespace weft::detail {

struct Node;

/// (node, output index), not counted. Valid while something else holds the node.
struct Ref {
  Node* node = nullptr;
  std::uint32_t output = 0;
  friend bool operator==(Ref, Ref) noexcept = default;
};

void add_handle(Node* node) noexcept;
void drop_handle(Node* node) noexcept;
// What another node's input counts as: it keeps the node alive, its value need not be kept.
void add_edge(Node* node) noexcept;
void drop_edge(Node* node) noexcept;
/// Of a handle that is given up.
void handle_to_edge(Node* node) noexcept;

/// What the program holds: counts as a handle, so the value is kept when it is computed.
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(Ref ref) noexcept : ref_(ref) {
    if (ref_.node) add_handle(ref_.node);
  }
  Handle(const Handle& other) noexcept : Handle(other.ref_) {}
  Handle(Handle&& other) noexcept : ref_(other.ref_) { other.ref_ = {}; }
  Handle& operator=(Handle other) noexcept {
    const Ref mine = ref_;
    ref_ = other.ref_;
    other.ref_ = mine;
    return *this;
  }
  ~Handle() {
    if (ref_.node) drop_handle(ref_.node);
  }
  /// Takes over a count that the caller already owns.
  static Handle adopt(Ref ref) noexcept {
    Handle handle;
    handle.ref_ = ref;
    return handle;
  }
  Ref ref() const noexcept { return ref_; }
  explicit operator bool() const noexcept { return ref_.node != nullptr; }
  /// Gives the count up without dropping it.
  Ref release() noexcept {
    const Ref mine = ref_;
    ref_ = {};
    return mine;
  }

 private:
  Ref ref_;
};

/// Keeps a node alive for the length of a call: as a handle does, or as an edge.
class Hold {
 public:
  Hold() noexcept = default;
  static Hold as_handle(Handle handle) noexcept { return Hold(handle.release().node, false); }
  static Hold as_edge(Handle handle) noexcept {
    Node* const node = handle.release().node;
    if (node) handle_to_edge(node);
    return Hold(node, true);
  }
  Hold(const Hold& other) noexcept : node_(other.node_), is_edge_(other.is_edge_) {
    if (node_) is_edge_ ? add_edge(node_) : add_handle(node_);
  }
  Hold(Hold&& other) noexcept : node_(other.node_), is_edge_(other.is_edge_) {
    other.node_ = nullptr;
  }
  Hold& operator=(Hold other) noexcept {
    Node* const node = node_;
    const bool is_edge = is_edge_;
    node_ = other.node_;
    is_edge_ = other.is_edge_;
    other.node_ = node;
    other.is_edge_ = is_edge;
    return *this;
  }
  ~Hold() {
    if (node_) is_edge_ ? drop_edge(node_) : drop_handle(node_);
  }

 private:
  Hold(Node* node, bool is_edge) noexcept : node_(node), is_edge_(is_edge) {}
  Node* node_ = nullptr;
  bool is_edge_ = false;
};

}  // namespace weft::detail
