// The state behind a Variable, and who keeps it alive.
//
// The slot's value is a leaf node that points back at the slot, so plain counting would never end.
// Two counts cut the cycle. `owners` counts Variables: when the last one goes, value, versions
// and grad are let go of, which ends the leaf nodes that nothing else needs. `holders` counts leaf nodes
// (every version that is still alive, in a graph or in the program's hands) and, as one, all owners
// together: when it reaches 0 the struct is freed. So a graph may outlive its Variables: it still
// computes, and gradients for a slot without owners go nowhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <weft/graph/tensor.h>

namespace weft::detail {

struct IssuedVersion {
  std::uint64_t number;
  Tensor value;
};

struct VariableSlot {
  std::atomic<std::uint32_t> owners{0};
  std::atomic<std::uint32_t> holders{0};
  mutable std::mutex mutex;  // guards all below; never held while a tensor dies or is recorded
  /// The current value: a leaf node of op `variable` whose slot is this one. Whoever writes it or
  /// `versions` checks has_owner() under the mutex first, or the cycle would close again.
  Tensor value;
  /// Values whose work has been issued, oldest first: the first is known to be there, and a run
  /// that fails on the device gives it back. The last is `value`, once that is issued.
  std::vector<IssuedVersion> versions;
  std::uint64_t issued_count = 0;
  Tensor grad;
  /// Counts assignments: a leaf of differentiation is (slot, version).
  std::uint64_t version = 0;
  bool requires_grad = true;

  bool has_owner() const noexcept { return owners.load(std::memory_order_acquire) != 0; }
};

// For Variables.
void add_slot_owner(VariableSlot* slot) noexcept;
void drop_slot_owner(VariableSlot* slot) noexcept;
// For leaf nodes, and for whoever needs the struct's memory without keeping its value.
void add_slot_holder(VariableSlot* slot) noexcept;
void drop_slot_holder(VariableSlot* slot) noexcept;

/// Makes a recorded value the slot's: a new leaf that starts without history, on the value's
/// device; the next version. Does nothing for a slot without owners.
void set_slot_value(VariableSlot& slot, const Tensor& value, Where at);
/// Adds a gradient to the slot's, moved to the device and dtype of the value.
void accumulate_grad(VariableSlot& slot, const Tensor& grad, Where at = {});

}  // namespace weft::detail
