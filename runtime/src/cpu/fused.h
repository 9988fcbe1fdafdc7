// A fused group's step bound to its operands: what all threads share.
#pragma once

#include <weft/graph/detail/custom.h>

#include "cpu/host.h"
#include "cpu/walk.h"
#include "cpu/workspace.h"

namespace weft::detail {

/// The operands over one collapsed space, and the code with its functions.
class FusedCall {
 public:
  explicit FusedCall(const StepCall& call);
  FusedCall(const FusedCall&) = delete;
  FusedCall& operator=(const FusedCall&) = delete;

  /// Other operands, alike in all but where they are.
  void move_to(const StepCall& call);
  void run() const;

 private:
  struct Step {
    BlockFn run;
    std::uint16_t result, operands[3];
  };

  struct MemoryInput {
    const char* data;
    DType dtype;
    std::uint16_t reg;
    std::uint16_t operand;
    std::uint8_t size;  // bytes of an element
    bool as_stored;     // stored as it is computed
    BlockFn load;
  };

  struct MemoryOutput {
    char* data;
    std::uint16_t reg;
    std::uint8_t size;
    bool as_stored;
    bool can_be_in_place;
    bool is_large;
    bool in_place;  // its block is computed where it belongs
    bool streamed;
    BlockFn store;
  };

  template <class T>
  static T* take(char*& p, std::size_t count) {
    T* array = reinterpret_cast<T*>(p);
    p += (count * sizeof(T) + 63) / 64 * 64;
    return array;
  }

  std::size_t bytes_needed() const;
  void bind_inputs(const StepCall& call);
  void bind_memory(const ResolvedOperand& operand, std::uint16_t reg, int k);
  void bind_argument(const ProgramInput& input, std::uint64_t bits);
  char* new_constant(std::uint16_t reg);
  void fill_constant(const MemoryInput& input) const;
  void bind_code();
  static bool bind_pair(Step& step, const Instruction& first, const Instruction& second);
  void bind_outputs(const StepCall& call);
  void place_output(MemoryOutput& output, const ResolvedOperand& operand);
  bool is_written_as(const MemoryOutput& output) const;
  bool overlaps_input(const ResolvedOperand& output, const StepCall& call) const;
  bool is_first_of_register(std::size_t i) const;
  void run_blocks(std::int64_t first, std::int64_t last) const;
  friend class BlockRunner;

  const Program& program_;
  const std::int64_t numel_;
  Scratch memory_;
  Step* code_;
  const Step* code_end_;
  MemoryInput* direct_;  // read in order
  MemoryInput* gathered_;
  MemoryInput* fixed_;  // of one element
  Strides* strides_;    // of the gathered ones
  MemoryOutput* outputs_;
  void** registers_;  // of constants; null elsewhere
  char* constants_;
  int direct_count_ = 0, gathered_count_ = 0, fixed_count_ = 0;
  bool any_streamed_ = false;
  float flops_ = 0;  // of one element
  int rank_ = 0;
  std::int64_t extents_[max_rank];
  std::size_t block_stride_ = block_size * 4;
};

}  // namespace weft::detail
