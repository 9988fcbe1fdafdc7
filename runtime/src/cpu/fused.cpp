// Runs a fused group block by block: the blocks of all its values stay in the nearest cache.
#include <algorithm>
#include <cstring>

#include "cpu/host.h"
#include "cpu/pool.h"
#include "cpu/walk.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

static_assert(block_size == custom_block);
constexpr std::int64_t chunk_elements = 16 * 1024;
// Larger outputs would only push other data out of the caches that one core reaches fast.
constexpr std::size_t streaming_bytes = std::size_t{32} << 20;
constexpr std::int64_t parallel_work = 1 << 20;  // elements × instructions

struct Step {
  BlockFn run;
  std::uint16_t result, operands[3];
};

struct MemoryInput {
  const char* data;
  DType dtype;
  std::uint16_t reg;
  std::uint8_t size;  // bytes of an element
  bool as_stored;     // stored as it is computed
  BlockFn load;
};

struct MemoryOutput {
  char* data;
  std::uint16_t reg;
  std::uint8_t size;
  bool as_stored;
  bool in_place;  // its block is computed where it belongs
  bool streamed;
  BlockFn store;
};

// Lowest and one past the highest address that an operand touches.
struct Range {
  std::uintptr_t begin, end;
};
Range range_of(const ResolvedOperand& operand) {
  std::int64_t low = 0, high = 1;
  for (int d = 0; d < operand.rank; ++d)
    (operand.strides[d] < 0 ? low : high) += operand.strides[d] * (operand.shape[d] - 1);
  const auto size = static_cast<std::int64_t>(size_of(operand.dtype));
  return {operand.data + static_cast<std::uintptr_t>(low * size),
          operand.data + static_cast<std::uintptr_t>(high * size)};
}

// What all threads share: the operands over one collapsed space, the code with its functions.
class FusedCall {
 public:
  explicit FusedCall(const StepCall& call)
      : program_(*call.step->program),
        numel_(call.outputs[0].numel()),
        memory_(bytes_needed()) {
    char* p = memory_.bytes();
    code_ = take<Step>(p, program_.code.size());
    direct_ = take<MemoryInput>(p, program_.memory_inputs);
    gathered_ = take<MemoryInput>(p, program_.memory_inputs);
    strides_ = take<Strides>(p, program_.memory_inputs + 1);
    outputs_ = take<MemoryOutput>(p, program_.outputs.size());
    registers_ = take<const void*>(p, program_.register_count);
    constants_ = p;
    std::fill_n(registers_, program_.register_count, nullptr);
    bind_inputs(call);
    bind_code();
    bind_outputs(call);
  }

  void run() const {
    const auto work = numel_ * static_cast<std::int64_t>(program_.code.size());
    const std::int64_t blocks = (numel_ + block_size - 1) / block_size;
    constexpr std::int64_t chunk = chunk_elements / block_size;
    if (numel_ < parallel_elements && (work < parallel_work || blocks < 2 * chunk)) {
      run_blocks(0, blocks);
      return;
    }
    parallel_for((blocks + chunk - 1) / chunk, [&](std::int64_t i) {
      run_blocks(i * chunk, std::min(blocks, (i + 1) * chunk));
    });
  }

 private:
  template <class T>
  static T* take(char*& p, std::size_t count) {
    T* array = reinterpret_cast<T*>(p);
    p += (count * sizeof(T) + 63) / 64 * 64;
    return array;
  }

  std::size_t bytes_needed() const {
    const auto lines = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
    const std::size_t inputs = program_.memory_inputs;
    return lines(program_.code.size() * sizeof(Step)) + 2 * lines(inputs * sizeof(MemoryInput)) +
           lines((inputs + 1) * sizeof(Strides)) +
           lines(program_.outputs.size() * sizeof(MemoryOutput)) +
           lines(program_.register_count * sizeof(void*)) + program_.inputs.size() * block_bytes;
  }

  void bind_inputs(const StepCall& call) {
    const ResolvedOperand& shape = call.outputs[0];
    const int count = static_cast<int>(program_.memory_inputs);
    rank_ = shape.rank;
    std::copy_n(shape.shape, rank_, extents_);
    for (int k = 0; k < count; ++k) std::copy_n(call.inputs[k].strides, rank_, strides_[k]);
    collapse(rank_, extents_, strides_, count);
    if (rank_ == 0) extents_[rank_++] = 1;  // one element: its strides are never used
    for (int k = 0; k < count; ++k) bind_memory(call.inputs[k], program_.inputs[k].reg, k);
    for (const ProgramInput& input : program_.inputs)
      if (input.is_argument) bind_argument(input, call.arguments[input.slot]);
  }

  void bind_memory(const ResolvedOperand& operand, std::uint16_t reg, int k) {
    const MemoryInput input{bytes_of(operand), operand.dtype, reg,
                            static_cast<std::uint8_t>(size_of(operand.dtype)),
                            is_class_storage(operand.dtype),
                            kernels().load[index_of(operand.dtype)]};
    bool is_constant = true, is_dense = true;
    std::int64_t dense = 1;
    for (int d = rank_ - 1; d >= 0; --d) {
      is_constant = is_constant && (strides_[k][d] == 0 || numel_ == 1);
      is_dense = is_dense && (strides_[k][d] == dense || numel_ == 1);
      dense *= extents_[d];
    }
    if (is_constant) {
      alignas(64) char stored[block_bytes];
      kernels().fill[log2_size(input.size)](stored, input.data, block_size);
      set_constant(reg, input.load, stored);
    } else if (is_dense) {
      direct_[direct_count_++] = input;
    } else {
      std::copy_n(strides_[k], rank_, strides_[gathered_count_]);
      gathered_[gathered_count_++] = input;
    }
  }

  // A scalar is rounded to its dtype as a tensor of that dtype would be.
  void bind_argument(const ProgramInput& input, std::uint64_t bits) {
    alignas(64) std::uint64_t wide[block_size];
    std::fill_n(wide, block_size, bits);
    const int from = is_floating(input.dtype) ? class_f64 : class_i64;
    set_constant(input.reg, kernels().cast[from][index_of(input.dtype)], wide);
  }

  void set_constant(std::uint16_t reg, BlockFn convert, const void* block) {
    convert(constants_, block, nullptr, nullptr);
    registers_[reg] = constants_;
    constants_ += block_bytes;
  }

  static BlockFn function_of(OpId op, int from) {
    const RegisteredOp* own = registered(op);
    return own ? own->blocks[from] : kernels().pointwise[static_cast<int>(op)][from];
  }

  void bind_code() {
    Step* step = code_;
    for (const Instruction& code : program_.code) {
      const int from = index_of(code.from);
      step->run = code.kind == Instruction::Kind::cast
                      ? kernels().cast[from][index_of(code.dtype)]
                      : function_of(code.op, from);
      step->result = code.result;
      std::copy_n(code.operands, 3, step->operands);
      if (class_size(compute_class(code.dtype)) == 8) block_stride_ = block_bytes;
      ++step;
    }
    for (const ProgramInput& input : program_.inputs)
      if (class_size(compute_class(input.dtype)) == 8) block_stride_ = block_bytes;
  }

  void bind_outputs(const StepCall& call) {
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const ResolvedOperand& operand = call.outputs[i];
      MemoryOutput& output = outputs_[i];
      output = {bytes_of(operand),
                program_.outputs[i].reg,
                static_cast<std::uint8_t>(size_of(operand.dtype)),
                is_class_storage(operand.dtype),
                false,
                static_cast<std::size_t>(size_in_bytes(operand)) > streaming_bytes &&
                    operand.data % 64 == 0,
                kernels().store[index_of(operand.dtype)]};
      any_streamed_ = any_streamed_ || output.streamed;
      output.in_place = !output.streamed && output.as_stored && is_written_as(output) &&
                        !overlaps_input(operand, call) && is_first_of_register(i);
    }
  }

  // Whether code computes the register, and only ever with elements of the output's size.
  bool is_written_as(const MemoryOutput& output) const {
    bool is_written = false;
    for (const Instruction& code : program_.code) {
      if (code.result != output.reg) continue;
      if (class_size(compute_class(code.dtype)) != output.size) return false;
      is_written = true;
    }
    return is_written;
  }

  bool overlaps_input(const ResolvedOperand& output, const StepCall& call) const {
    const Range a = range_of(output);
    for (std::uint32_t k = 0; k < program_.memory_inputs; ++k) {
      const Range b = range_of(call.inputs[k]);
      if (a.begin < b.end && b.begin < a.end) return true;
    }
    return false;
  }

  bool is_first_of_register(std::size_t i) const {
    for (std::size_t j = 0; j < i; ++j)
      if (outputs_[j].reg == outputs_[i].reg) return false;
    return true;
  }

  void run_blocks(std::int64_t first, std::int64_t last) const;
  friend class BlockRunner;

  const Program& program_;
  const std::int64_t numel_;
  Scratch memory_;
  Step* code_;
  MemoryInput* direct_;
  MemoryInput* gathered_;
  Strides* strides_;  // of the gathered ones
  MemoryOutput* outputs_;
  const void** registers_;  // of constants; null elsewhere
  char* constants_;
  int direct_count_ = 0, gathered_count_ = 0;
  bool any_streamed_ = false;
  int rank_ = 0;
  std::int64_t extents_[max_rank];
  std::size_t block_stride_ = block_size * 4;
};

// One thread's registers, and its place in the space.
class BlockRunner {
 public:
  BlockRunner(const FusedCall& call, std::int64_t first)
      : call_(call),
        blocks_((call.program_.register_count + 1) * call.block_stride_ + block_bytes),
        pointers_(call.program_.register_count * sizeof(void*)),
        registers_(pointers_.as<void*>()),
        staging_(blocks_.bytes() + (call.program_.register_count + 1) * call.block_stride_),
        inner_(first * block_size % call.extents_[call.rank_ - 1]),
        rows_(call.rank_, call.extents_, first * block_size / call.extents_[call.rank_ - 1]) {
    std::memset(staging_, 0, block_bytes);
    for (std::uint16_t r = 0; r < call.program_.register_count; ++r)
      registers_[r] = call.registers_[r] ? const_cast<void*>(call.registers_[r]) : own(r);
  }

  void run(std::int64_t block) {
    const std::int64_t begin = block * block_size;
    const auto n = static_cast<int>(std::min<std::int64_t>(block_size, call_.numel_ - begin));
    for (int k = 0; k < call_.direct_count_; ++k) read(call_.direct_[k], begin, n);
    if (call_.gathered_count_ > 0) gather(n);
    for (std::size_t o = 0; o < call_.program_.outputs.size(); ++o) {
      const MemoryOutput& output = call_.outputs_[o];
      if (output.in_place)
        registers_[output.reg] =
            n == block_size ? output.data + begin * output.size : own(output.reg);
    }
    const Step* const end = call_.code_ + call_.program_.code.size();
    for (const Step* step = call_.code_; step != end; ++step)
      step->run(registers_[step->result], registers_[step->operands[0]],
                registers_[step->operands[1]], registers_[step->operands[2]]);
    for (std::size_t o = 0; o < call_.program_.outputs.size(); ++o)
      write(call_.outputs_[o], begin, n);
  }

 private:
  char* own(std::uint16_t reg) const { return blocks_.bytes() + reg * call_.block_stride_; }

  void read(const MemoryInput& input, std::int64_t begin, int n) {
    const char* source = input.data + begin * input.size;
    if (n < block_size) {
      // What is beyond the operand is not ours to read.
      char* const whole = input.as_stored ? own(input.reg) : staging_;
      std::memset(whole + n * input.size, 0, static_cast<std::size_t>((block_size - n) * input.size));
      std::memcpy(whole, source, static_cast<std::size_t>(n * input.size));
      source = whole;
    }
    set(input, source);
  }

  void set(const MemoryInput& input, const char* source) {
    if (input.as_stored) {
      registers_[input.reg] = const_cast<char*>(source);
    } else {
      registers_[input.reg] = own(input.reg);
      input.load(own(input.reg), source, nullptr, nullptr);
    }
  }

  void gather(int n) {
    const std::int64_t extent = call_.extents_[call_.rank_ - 1];
    if (inner_ + n <= extent && n == block_size) {
      for (int k = 0; k < call_.gathered_count_; ++k) gather_in_row(k);
      advance(n, extent);
      return;
    }
    // Pieces of several rows. All operands take the same pieces, so they are found once each.
    const RowCursor rows = rows_;
    const std::int64_t inner = inner_;
    for (int k = 0; k < call_.gathered_count_; ++k) {
      rows_ = rows;
      inner_ = inner;
      gather_pieces(k, n, extent);
    }
  }

  void gather_in_row(int k) {
    const MemoryInput& input = call_.gathered_[k];
    const std::int64_t* strides = call_.strides_[k];
    const std::int64_t stride = strides[call_.rank_ - 1];
    const char* source = input.data + (rows_.offset(strides) + inner_ * stride) * input.size;
    if (stride == 1) {
      set(input, source);
      return;
    }
    char* const raw = input.as_stored ? own(input.reg) : staging_;
    const int size = log2_size(input.size);
    if (stride == 0)
      kernels().fill[size](raw, source, block_size);
    else
      kernels().gather[size](raw, source, stride, block_size);
    set(input, raw);
  }

  void gather_pieces(int k, int n, std::int64_t extent) {
    const MemoryInput& input = call_.gathered_[k];
    const std::int64_t* strides = call_.strides_[k];
    const std::int64_t stride = strides[call_.rank_ - 1];
    const auto copy = kernels().gather[log2_size(input.size)];
    char* const raw = input.as_stored ? own(input.reg) : staging_;
    for (int filled = 0; filled < n;) {
      const auto piece = static_cast<int>(std::min<std::int64_t>(n - filled, extent - inner_));
      copy(raw + filled * input.size,
           input.data + (rows_.offset(strides) + inner_ * stride) * input.size, stride, piece);
      filled += piece;
      advance(piece, extent);
    }
    if (n < block_size)
      std::memset(raw + n * input.size, 0, static_cast<std::size_t>((block_size - n) * input.size));
    set(input, raw);
  }

  void advance(std::int64_t n, std::int64_t extent) {
    inner_ += n;
    if (inner_ < extent) return;
    inner_ = 0;
    rows_.next();
  }

  void write(const MemoryOutput& output, std::int64_t begin, int n) {
    if (output.in_place && n == block_size) return;
    char* const target = output.data + begin * output.size;
    const void* source = registers_[output.reg];
    if (!output.as_stored) {
      void* const narrow = n == block_size && !output.streamed ? target : staging_;
      output.store(narrow, source, nullptr, nullptr);
      if (narrow == target) return;
      source = narrow;
    }
    const auto bytes = static_cast<std::size_t>(n * output.size);
    if (output.streamed && n == block_size)
      kernels().stream(target, source, bytes);
    else
      std::memcpy(target, source, bytes);
  }

  const FusedCall& call_;
  Scratch blocks_;
  Scratch pointers_;
  void** const registers_;
  char* const staging_;  // values as they are stored
  std::int64_t inner_;   // next element of the innermost axis
  RowCursor rows_;
};

void FusedCall::run_blocks(std::int64_t first, std::int64_t last) const {
  BlockRunner runner(*this, first);
  for (std::int64_t block = first; block < last; ++block) runner.run(block);
  if (any_streamed_) kernels().stream_fence();
}

}  // namespace

void run_fused(const StepCall& call) {
  if (call.outputs.empty() || call.outputs[0].numel() == 0) return;
  FusedCall(call).run();
}

}  // namespace weft::detail
