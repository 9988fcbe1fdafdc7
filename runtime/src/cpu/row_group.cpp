// Row groups: all members for one block of rows, then the next block. What only members read is in
// the thread's scratch memory, which stays in its caches.
#include <algorithm>
#include <new>

#include "cpu/fused.h"
#include "cpu/pool.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

class RowGroupCall {
 public:
  explicit RowGroupCall(const StepCall& call) : call_(call), group_(*call.step->rows) {
    per_index_ = (group_.shape[group_.axis] + group_.block - 1) / group_.block;
    blocks_ = per_index_;
    for (int d = 0; d < group_.axis; ++d) blocks_ *= group_.shape[d];
    for (const RowMember& member : group_.members)
      operands_ += member.inputs.size() + member.values.size();
    for (const RowValue& value : group_.values) room_ += room_of(value);
  }

  void run() const {
    std::int64_t numel = 0;
    for (const RowValue& value : group_.values) numel += value.spec.shape.numel();
    // A thread takes several blocks at once where there are many.
    const std::int64_t together = std::max<std::int64_t>(
        1, std::min(blocks_ / 64, parallel_elements * blocks_ / std::max<std::int64_t>(1, numel)));
    const auto piece = [&](std::int64_t i) {
      run_blocks(i * together, std::min(blocks_, (i + 1) * together));
    };
    if (numel < parallel_elements)
      run_blocks(0, blocks_);
    else
      parallel_for((blocks_ + together - 1) / together, piece);
  }

 private:
  /// Where a block is: single indices of the axes before the one that is cut, and a stretch there.
  struct Place {
    std::int64_t index[max_rank];
    std::int64_t count;
  };

  Place place_of(std::int64_t block) const {
    Place place{};
    place.index[group_.axis] = block % per_index_ * group_.block;
    place.count = std::min(group_.block, group_.shape[group_.axis] - place.index[group_.axis]);
    block /= per_index_;
    for (int d = group_.axis; d-- > 0; block /= group_.shape[d])
      place.index[d] = block % group_.shape[d];
    return place;
  }

  /// The block's part of an operand that has all rows.
  ResolvedOperand part(ResolvedOperand operand, const Place& place) const {
    std::int64_t offset = 0;
    for (int d = 0; d <= group_.axis; ++d) offset += place.index[d] * operand.strides[d];
    operand.data += static_cast<std::uintptr_t>(offset) * size_of(operand.dtype);
    return cut(operand, place);
  }

  ResolvedOperand cut(ResolvedOperand operand, const Place& place) const {
    for (int d = 0; d < group_.axis; ++d) operand.shape[d] = 1;
    operand.shape[group_.axis] = place.count;
    return operand;
  }

  /// Bytes of a block of a value that only members read.
  std::size_t room_of(const RowValue& value) const {
    if (value.output >= 0) return 0;
    std::int64_t count = group_.block;
    for (int d = group_.axis + 1; d < value.spec.shape.ndim(); ++d) count *= value.spec.shape[d];
    return (static_cast<std::size_t>(count) * size_of(value.spec.dtype) + 63) / 64 * 64;
  }

  /// One member's step, with operands of its own, and bound where it is fused: for the blocks of a
  /// size only where its operands are has to be told.
  struct Member {
    StepCall call;
    FusedCall* bound;
  };

  void run_blocks(std::int64_t first, std::int64_t last) const {
    const Scratch room(room_);
    const Scratch address_room(group_.values.size() * sizeof(char*));
    char** const at = address_room.as<char*>();
    char* next = room.bytes();
    for (std::size_t i = 0; i < group_.values.size(); ++i) {
      at[i] = next;
      next += room_of(group_.values[i]);
    }
    // Full blocks are alike; each shorter one is bound anew.
    while (first < last) {
      const std::int64_t count = place_of(first).count;
      std::int64_t end = first + 1;
      while (end < last && place_of(end).count == count) ++end;
      BoundMembers members(*this, at);
      members.bind(first);
      members.run(first, end);
      first = end;
    }
  }

  class BoundMembers {
   public:
    BoundMembers(const RowGroupCall& call, char* const* at)
        : call_(call), at_(at), member_room_(call.group_.members.size() * sizeof(Member)),
          bound_room_(call.group_.members.size() * sizeof(FusedCall)),
          operand_room_(call.operands_ * sizeof(ResolvedOperand)),
          members_(member_room_.as<Member>()) {}
    BoundMembers(const BoundMembers&) = delete;
    BoundMembers& operator=(const BoundMembers&) = delete;
    // Each has scratch memory, which is given back in the reverse order of taking.
    ~BoundMembers() {
      for (std::size_t i = count_; i-- > 0;)
        if (members_[i].bound) members_[i].bound->~FusedCall();
    }

    /// To a block. What it throws leaves nothing behind.
    void bind(std::int64_t first) {
      const Place place = call_.place_of(first);
      auto* operands = operand_room_.as<ResolvedOperand>();
      for (const RowMember& member : call_.group_.members) {
        Member& bound = *new (members_ + count_) Member{call_.call_, nullptr};
        bound.call.step = &member.step;
        bound.call.inputs = {operands, member.inputs.size()};
        bound.call.outputs = {operands + member.inputs.size(), member.values.size()};
        bound.call.parts_of_large = call_.parts_of_large(member);
        call_.find_operands(member, place, at_, operands);
        operands += member.inputs.size() + member.values.size();
        if (member.step.program)
          bound.bound = new (bound_room_.as<FusedCall>() + count_) FusedCall(bound.call);
        ++count_;
      }
    }

    void run(std::int64_t first, std::int64_t last) {
      for (std::int64_t block = first; block < last; ++block) {
        const Place place = call_.place_of(block);
        for (std::size_t i = 0; i < count_; ++i) {
          const Member& member = members_[i];
          if (block != first)
            call_.find_operands(call_.group_.members[i], place, at_,
                                const_cast<ResolvedOperand*>(member.call.inputs.data()));
          if (!member.bound) {
            run_on_host(member.call);
            continue;
          }
          // Of the first block too: when it was bound, what it reads was not there yet.
          member.bound->move_to(member.call);
          member.bound->run();
        }
      }
    }

   private:
    const RowGroupCall& call_;
    char* const* const at_;
    const Scratch member_room_, bound_room_, operand_room_;
    Member* const members_;
    std::size_t count_ = 0;
  };

  void find_operands(const RowMember& member, const Place& place, char* const* at,
                     ResolvedOperand* operands) const {
    for (const RowInput& input : member.inputs)
      *operands++ =
          input.of_step ? part(call_.inputs[input.index], place) : value_through(input, place, at);
    for (const std::uint32_t value : member.values) *operands++ = value_of(value, place, at);
  }

  std::uint32_t parts_of_large(const RowMember& member) const {
    std::uint32_t mask = 0;
    for (std::size_t o = 0; o < member.values.size() && o < 32; ++o) {
      const RowValue& value = group_.values[member.values[o]];
      if (value.output < 0) continue;
      const auto bytes =
          static_cast<std::size_t>(value.spec.shape.numel()) * size_of(value.spec.dtype);
      if (is_large_output(bytes)) mask |= 1u << o;
    }
    return mask;
  }

  ResolvedOperand value_of(std::uint32_t number, const Place& place, char* const* at) const {
    const RowValue& value = group_.values[number];
    if (value.output >= 0)
      return part(call_.outputs[static_cast<std::size_t>(value.output)], place);
    ResolvedOperand operand;
    operand.dtype = value.spec.dtype;
    operand.rank = value.spec.shape.ndim();
    std::int64_t stride = 1;
    for (int d = operand.rank; d-- > 0; stride *= value.spec.shape[d]) {
      operand.shape[d] = value.spec.shape[d];
      operand.strides[d] = stride;
    }
    operand.data = reinterpret_cast<std::uintptr_t>(at[number]);
    return cut(operand, place);
  }

  /// Rows of the map are rows of the value, which is dense: in scratch memory its block begins
  /// where the map's does, but for a start within each row.
  ResolvedOperand value_through(const RowInput& input, const Place& place, char* const* at) const {
    const RowValue& value = group_.values[input.index];
    ResolvedOperand operand;
    operand.dtype = input.dtype;
    operand.rank = input.map.shape.ndim();
    for (int d = 0; d < operand.rank; ++d) {
      operand.shape[d] = input.map.shape[d];
      operand.strides[d] = input.map.strides[d];
    }
    const std::uintptr_t start =
        static_cast<std::uintptr_t>(input.map.offset) * size_of(operand.dtype);
    if (value.output >= 0) {
      operand.data = call_.outputs[static_cast<std::size_t>(value.output)].data + start;
      return part(operand, place);
    }
    operand.data = reinterpret_cast<std::uintptr_t>(at[input.index]) + start;
    return cut(operand, place);
  }

  const StepCall& call_;
  const RowGroup& group_;
  std::int64_t blocks_, per_index_;
  std::size_t operands_ = 0, room_ = 0;
};

}  // namespace

void run_row_group(const StepCall& call) { RowGroupCall(call).run(); }

}  // namespace weft::detail
