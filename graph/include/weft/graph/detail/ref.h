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

 private:
  Ref ref_;
};

}  // namespace weft::detail
