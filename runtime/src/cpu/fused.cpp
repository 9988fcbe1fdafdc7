// Runs a fused group block by block: the blocks of all its values stay in the nearest cache.
#include "cpu/fused.h"

#include <algorithm>
#include <cstring>

#include "cpu/pool.h"

namespace weft::detail {

namespace {
constexpr std::int64_t most_chunk_blocks = 16 * 1024 / block_size, least_chunk_blocks = 8;
// Additions that are worth a second thread's while: about 6 us.
constexpr double parallel_flops = 100'000;
}  // namespace

void FusedCall::run() const {
  const std::int64_t blocks = (numel_ + block_size - 1) / block_size;
  if (static_cast<double>(numel_) * flops_ < parallel_flops && numel_ < parallel_elements) {
    run_blocks(0, blocks);
    return;
  }
  const std::int64_t chunk =
      std::clamp(blocks / (4 * num_threads()), least_chunk_blocks, most_chunk_blocks);
  parallel_for((blocks + chunk - 1) / chunk,
               [&](std::int64_t i) { run_blocks(i * chunk, std::min(blocks, (i + 1) * chunk)); });
}

// One thread's registers, and its place in the space.
class BlockRunner {
 public:
  BlockRunner(const FusedCall& call, std::int64_t first)
      : call_(call),
        blocks_((call.program_.register_count + 1u) * call.block_stride_ + block_bytes +
                static_cast<std::size_t>(call.gathered_count_) * block_bytes),
        pointers_((call.program_.register_count + static_cast<std::size_t>(call.gathered_count_)) *
                      sizeof(void*) +
                  (call.program_.memory_inputs + call.program_.outputs.size()) * sizeof(Moving)),
        registers_(pointers_.as<void*>()),
        repeated_(pointers_.as<const char*>() + call.program_.register_count),
        moving_(reinterpret_cast<Moving*>(repeated_ + call.gathered_count_)),
        staging_(blocks_.bytes() + (call.program_.register_count + 1u) * call.block_stride_),
        inner_(first * block_size % call.extents_[call.rank_ - 1]),
        rows_(call.rank_, call.extents_, first * block_size / call.extents_[call.rank_ - 1]) {
    std::fill_n(repeated_, call.gathered_count_, nullptr);
    for (std::uint16_t r = 0; r < call.program_.register_count; ++r)
      registers_[r] = call.registers_[r] ? const_cast<void*>(call.registers_[r]) : own(r);
  }

  void run(std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t alike = std::max<std::int64_t>(1, count_alike(first, last));
      run_alike(first, alike);
      first += alike;
    }
  }

 private:
  /// A register that points into an operand.
  struct Moving {
    std::uint16_t reg;
    std::int64_t step;  // bytes from block to block
  };

  /// Whole blocks from one on that lie in one row of the gathered operands.
  std::int64_t count_alike(std::int64_t first, std::int64_t last) const {
    const std::int64_t whole = std::min(last, call_.numel_ / block_size) - first;
    if (call_.gathered_count_ == 0) return whole;
    return std::min(whole, (call_.extents_[call_.rank_ - 1] - inner_) / block_size);
  }

  /// Most registers only move from one block to the next.
  void run_alike(std::int64_t first, std::int64_t count) {
    const std::int64_t begin = first * block_size;
    const auto n = static_cast<int>(std::min<std::int64_t>(block_size, call_.numel_ - begin));
    for (int k = 0; k < call_.direct_count_; ++k) read(call_.direct_[k], begin, n);
    if (call_.gathered_count_ > 0) gather(n);
    for (std::size_t o = 0; o < call_.program_.outputs.size(); ++o) {
      const FusedCall::MemoryOutput& output = call_.outputs_[o];
      if (output.in_place)
        registers_[output.reg] =
            n == block_size ? output.data + begin * output.size : own(output.reg);
    }
    compute();
    write_all(begin, n);
    if (count == 1) return;
    const Moving* const end = find_moving();
    for (std::int64_t block = first + 1; block < first + count; ++block) {
      for (const Moving* moving = moving_; moving != end; ++moving)
        registers_[moving->reg] = static_cast<char*>(registers_[moving->reg]) + moving->step;
      for (int k = 0; k < call_.direct_count_; ++k)
        if (!call_.direct_[k].as_stored) read(call_.direct_[k], block * block_size, block_size);
      if (call_.gathered_count_ > 0) gather_on();
      compute();
      if (!all_in_place_) write_all(block * block_size, block_size);
    }
  }

  /// Of whole blocks. All gathered inputs are in the middle of a row.
  const Moving* find_moving() {
    Moving* end = moving_;
    const auto moves = [&](const FusedCall::MemoryInput& input) {
      *end++ = {input.reg, static_cast<std::int64_t>(input.size) * block_size};
    };
    for (int k = 0; k < call_.direct_count_; ++k)
      if (call_.direct_[k].as_stored) moves(call_.direct_[k]);
    for (int k = 0; k < call_.gathered_count_; ++k)
      if (only_moves(k)) moves(call_.gathered_[k]);
    all_in_place_ = true;
    for (std::size_t o = 0; o < call_.program_.outputs.size(); ++o) {
      const FusedCall::MemoryOutput& output = call_.outputs_[o];
      if (output.in_place)
        *end++ = {output.reg, static_cast<std::int64_t>(output.size) * block_size};
      all_in_place_ = all_in_place_ && output.in_place;
    }
    return end;
  }

  std::int64_t inner_stride(int k) const { return call_.strides_[k][call_.rank_ - 1]; }
  bool only_moves(int k) const { return call_.gathered_[k].as_stored && inner_stride(k) == 1; }

  /// What the next block of the same row needs besides.
  void gather_on() {
    for (int k = 0; k < call_.gathered_count_; ++k)
      if (inner_stride(k) != 0 && !only_moves(k)) gather_in_row(k);
    advance(block_size, call_.extents_[call_.rank_ - 1]);
  }

  void compute() {
    for (const FusedCall::Step* step = call_.code_; step != call_.code_end_; ++step)
      step->run(registers_[step->result], registers_[step->operands[0]],
                registers_[step->operands[1]], registers_[step->operands[2]]);
  }

  void write_all(std::int64_t begin, int n) {
    for (std::size_t o = 0; o < call_.program_.outputs.size(); ++o)
      write(call_.outputs_[o], begin, n);
  }

  char* own(std::uint16_t reg) const { return blocks_.bytes() + reg * call_.block_stride_; }

  void read(const FusedCall::MemoryInput& input, std::int64_t begin, int n) {
    const char* source = input.data + begin * input.size;
    if (n < block_size) {
      // What is beyond the operand is not ours to read.
      char* const whole = input.as_stored ? own(input.reg) : staging_;
      std::memset(whole + n * input.size, 0,
                  static_cast<std::size_t>((block_size - n) * input.size));
      std::memcpy(whole, source, static_cast<std::size_t>(n * input.size));
      source = whole;
    }
    set(input, source);
  }

  void set(const FusedCall::MemoryInput& input, const char* source) {
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
    const FusedCall::MemoryInput& input = call_.gathered_[k];
    const std::int64_t* strides = call_.strides_[k];
    const std::int64_t stride = strides[call_.rank_ - 1];
    const char* source = input.data + (rows_.offset(strides) + inner_ * stride) * input.size;
    if (stride == 1) {
      set(input, source);
    } else if (stride == 0) {
      set_repeated(k, source);
    } else {
      char* const raw = input.as_stored ? own(input.reg) : staging_;
      gather_[log2_size(input.size)](raw, source, stride, block_size);
      set(input, raw);
    }
  }

  // One element along the whole row: its block is made once a row.
  void set_repeated(int k, const char* source) {
    const FusedCall::MemoryInput& input = call_.gathered_[k];
    char* const block = staging_ + (k + 1) * block_bytes;
    if (repeated_[k] != source) {
      repeated_[k] = source;
      char* const raw = input.as_stored ? block : staging_;
      kernels().fill[log2_size(input.size)](raw, source, block_size);
      if (!input.as_stored) input.load(block, raw, nullptr, nullptr);
    }
    registers_[input.reg] = block;
  }

  void gather_pieces(int k, int n, std::int64_t extent) {
    const FusedCall::MemoryInput& input = call_.gathered_[k];
    const std::int64_t* strides = call_.strides_[k];
    const std::int64_t stride = strides[call_.rank_ - 1];
    const auto copy = gather_[log2_size(input.size)];
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

  void write(const FusedCall::MemoryOutput& output, std::int64_t begin, int n) {
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
  const char** const repeated_;  // of gathered inputs: the element that fills their block
  Moving* const moving_;
  bool all_in_place_ = false;
  char* const staging_;  // values as they are stored; after it a block for each of those
  void (*const* const gather_)(void*, const void*, std::int64_t, std::int64_t) = kernels().gather;
  std::int64_t inner_;  // next element of the innermost axis
  RowCursor rows_;
};

void FusedCall::run_blocks(std::int64_t first, std::int64_t last) const {
  BlockRunner runner(*this, first);
  runner.run(first, last);
  if (any_streamed_) kernels().stream_fence();
}

void run_fused(const StepCall& call) {
  if (call.outputs.empty() || call.outputs[0].numel() == 0) return;
  FusedCall(call).run();
}

}  // namespace weft::detail
