// Kernels of reductions by the one tree.
#include <bit>
#include <cstdlib>

#include "structured.h"
#include "structured_reduce.h"

namespace weft::detail {

SequenceSpaces::SequenceSpaces(const KernelStep& step) : kept(1), reduced(1) {
  const KernelOperand& x = step.inputs[0];
  const auto mask = static_cast<std::uint64_t>(step.attrs.v[0]);
  for (int d = 0; d < x.rank; ++d) (mask >> d & 1 ? reduced : kept).add(x.shape[d], {x.strides[d]});
  outputs = kept.numel();
  length = reduced.numel();
  kept.collapse();
  reduced.collapse();
}

bool SequenceSpaces::lie_side_by_side() const noexcept {
  constexpr std::int64_t fewest_columns = 4;
  if (kept.rank == 0 || kept.extents[kept.rank - 1] < fewest_columns) return false;
  if (reduced.rank == 0) return true;
  return std::abs(kept.strides[0][kept.rank - 1]) < std::abs(reduced.strides[0][reduced.rank - 1]);
}

bool SequenceSpaces::is_narrow(const GpuFacts& gpu, std::int64_t results) const {
  return detail::is_narrow(gpu, {outputs, length, results, kept.reach(0) + reduced.reach(0)});
}

namespace {

constexpr std::int64_t chunk_size = 4096, lane_count = 512;
constexpr std::int64_t most_in_a_thread = 32, most_of_a_row_in_a_thread = 16;
// Of what the block that comes last joins.
constexpr std::int64_t most_joined_chunks = 16, most_counters = 1 << 14;
constexpr std::int64_t vector_bytes = 16, segment_bytes = 128;

struct Operation {
  std::string name;
  ComputeClass accumulator;
};

Operation operation_of(OpId op, ComputeClass c) {
  const ComputeClass wide = c == ComputeClass::i32 ? ComputeClass::i64 : c;
  switch (op) {
    case OpId::sum: return {"wf_reduce_sum", wide};
    case OpId::prod: return {"wf_reduce_prod", wide};
    case OpId::amax: return {"wf_reduce_max", c};
    case OpId::amin: return {"wf_reduce_min", c};
    case OpId::any: return {"wf_reduce_any", ComputeClass::i32};
    case OpId::all: return {"wf_reduce_all", ComputeClass::i32};
    default: break;
  }
  WEFT_ENSURE(false);
  return {};
}

class ReduceEmitter {
 public:
  ReduceEmitter(const KernelStep& step, const GpuFacts& gpu)
      : step_(step), gpu_(gpu), x_(step),
        chunks_(std::max<std::int64_t>(1, ceil_div(x_.length, chunk_size))),
        operation_(operation_of(step.op, compute_class(step.inputs[0].dtype))),
        index_(index_type(x_.is_narrow(gpu, x_.outputs * chunks_))),
        narrow_(index_ == index_type(true)) {}

  KernelSequence run() {
    KernelSequence sequence;
    if (x_.outputs == 0) return sequence;
    const std::int64_t in_thread =
        x_.lie_side_by_side() ? most_in_a_thread : most_of_a_row_in_a_thread;
    if (x_.length <= in_thread) {
      sequence.launches.push_back(in_threads());
      return sequence;
    }
    if (chunks_ > 1)
      sequence.workspace_bytes =
          partial_bytes(chunks_) + partial_bytes(ceil_div(chunks_, chunk_size));
    if (is_whole()) {
      sequence.counters = static_cast<std::size_t>(1 + ceil_div(chunks_, chunk_size));
      sequence.launches.push_back(whole());
      return sequence;
    }
    const bool is_wide = x_.lie_side_by_side() && columns_together() > 0;
    if (is_wide && joins_columns())
      sequence.counters = static_cast<std::size_t>(ceil_div(x_.outputs, wide_tile()));
    sequence.launches.push_back(is_wide                 ? in_wide_columns()
                                : x_.lie_side_by_side() ? in_columns()
                                                        : in_rows());
    if (chunks_ > 1 && sequence.counters == 0) sequence.launches.push_back(finish());
    return sequence;
  }

 private:
  std::size_t partial_bytes(std::int64_t count) const {
    const std::size_t size = size_of(storage_of(operation_.accumulator));
    return aligned(static_cast<std::size_t>(x_.outputs * count) * size);
  }
  std::string accumulator() const { return tag_of(storage_of(operation_.accumulator)) + "::value"; }
  std::string target_tag() const {
    return tag_of(chunks_ > 1 ? storage_of(operation_.accumulator) : step_.outputs[0].dtype);
  }
  // Lanes that a sequence can fill, at least `least`.
  std::int64_t lanes(std::int64_t least) const {
    const auto n = static_cast<std::uint64_t>(std::clamp(x_.length, least, lane_count));
    return static_cast<std::int64_t>(std::bit_ceil(n));
  }

  // Words 0 to 4 of all but the last launches.
  LaunchBuilder begin() const {
    LaunchBuilder builder(step_);
    builder.input(0);
    if (chunks_ > 1)
      builder.workspace(0);
    else
      builder.output(0);
    builder.constant(x_.outputs).constant(x_.length).constant(chunks_);
    return builder;
  }
  KernelLaunch launch(const char* kernel, const std::string& sizes, std::int64_t blocks,
                      unsigned threads_x, unsigned threads_y) const {
    LaunchBuilder builder = begin();
    builder.space(x_.kept, narrow_).space(x_.reduced, narrow_);
    return builder.launch(instance(kernel, operation_.name, tag_of(step_.inputs[0].dtype),
                                   target_tag(), accumulator(), x_.kept.rank, x_.reduced.rank,
                                   sizes, index_),
                          blocks, threads_x, threads_y);
  }

  KernelLaunch in_threads() const {
    return launch("wf_reduce_short", std::to_string(x_.length == 0 ? 0 : lanes(1)),
                  ceil_div(x_.outputs, 256), 256, 1);
  }
  KernelLaunch in_columns() const {
    const std::int64_t columns = x_.kept.extents[x_.kept.rank - 1];
    const std::int64_t tile = columns >= 32 ? 32 : columns >= 16 ? 16 : columns >= 8 ? 8 : 4;
    return launch("wf_reduce_columns", std::to_string(tile) + ", " + std::to_string(lanes(32) / 32),
                  ceil_div(x_.outputs, tile) * chunks_, static_cast<unsigned>(tile), 32);
  }
  // Counters must come back to 0, and a step that may give up half-way would leave them.
  bool may_count() const { return !step_.guards_state; }
  // A block for each chunk where there are too few for a warp each to fill the processors.
  bool is_for_blocks() const {
    return x_.length > lane_count && x_.outputs * chunks_ < std::int64_t{8} * gpu_.processors;
  }
  std::string lanes_and_vector(std::int64_t own, std::int64_t together) const {
    return std::to_string(own) + ", " + std::to_string(together);
  }
  KernelLaunch in_rows() const {
    const std::int64_t units = x_.outputs * chunks_;
    if (is_for_blocks())
      return launch("wf_reduce_rows", "256, " + lanes_and_vector(2, 1), units, 256, 1);
    const std::int64_t together = x_.length >= chunk_size ? row_together() : 1;
    return launch("wf_reduce_rows", "32, " + lanes_and_vector(lanes(32) / 32, together),
                  ceil_div(units, 8), 256, 1);
  }
  /// Neighbours in a row that are read as one.
  std::int64_t row_together() const {
    if (x_.reduced.rank != 1 || x_.reduced.strides[0][0] != 1) return 1;
    std::int64_t most = aligned_elements({&step_.inputs[0]}, {});
    for (int d = 0; d < x_.kept.rank; ++d)
      while (x_.kept.strides[0][d] % most != 0) most /= 2;
    return most;
  }
  bool is_whole() const {
    return x_.outputs == 1 && chunks_ > 1 && !x_.lie_side_by_side() && !is_for_blocks() &&
           may_count() && chunks_ <= chunk_size * chunk_size;
  }
  KernelLaunch whole() const {
    // Two chunks a warp, one after the other, where there are enough to fill the processors often.
    const std::int64_t each = chunks_ >= std::int64_t{64} * gpu_.processors ? 2 : 1;
    LaunchBuilder builder(step_);
    builder.input(0).output(0).constant(x_.length).constant(chunks_).counters();
    builder.workspace(0).workspace(partial_bytes(chunks_)).space(x_.reduced, narrow_);
    return builder.launch(instance("wf_reduce_whole", operation_.name,
                                   tag_of(step_.inputs[0].dtype), tag_of(step_.outputs[0].dtype),
                                   accumulator(), x_.reduced.rank, each, row_together(), index_),
                          ceil_div(chunks_, 8 * each), 256, 1, 2);
  }

  /// Columns that a thread reads as one and adds up, 16 bytes of accumulators; 0: none.
  std::int64_t columns_together() const {
    const auto size = static_cast<std::int64_t>(size_of(step_.inputs[0].dtype));
    if (size == 1 || x_.length < lane_count || x_.kept.strides[0][x_.kept.rank - 1] != 1) return 0;
    const std::int64_t wanted = wide_each();
    std::int64_t most = aligned_elements({&step_.inputs[0]}, {x_.kept.extents[x_.kept.rank - 1]});
    for (int d = 0; d + 1 < x_.kept.rank; ++d)
      while (x_.kept.strides[0][d] % most != 0) most /= 2;
    for (int d = 0; d < x_.reduced.rank; ++d)
      while (x_.reduced.strides[0][d] % most != 0) most /= 2;
    return most < wanted || x_.kept.extents[x_.kept.rank - 1] < wide_tile() ? 0 : wanted;
  }
  std::int64_t wide_threads() const {
    const auto size = static_cast<std::int64_t>(size_of(step_.inputs[0].dtype));
    return std::clamp<std::int64_t>(segment_bytes / (wide_each() * size), 8, 16);
  }
  std::int64_t wide_each() const {
    return vector_bytes / static_cast<std::int64_t>(size_of(storage_of(operation_.accumulator)));
  }
  std::int64_t wide_tile() const { return wide_threads() * wide_each(); }
  bool joins_columns() const {
    return chunks_ > 1 && chunks_ <= most_joined_chunks && may_count() &&
           ceil_div(x_.outputs, wide_tile()) <= most_counters;
  }
  KernelLaunch in_wide_columns() const {
    const std::int64_t threads = wide_threads(), groups = 64;
    const bool joins = joins_columns();
    LaunchBuilder builder = begin();
    builder.output(0);
    if (joins)
      builder.counters();
    else
      builder.constant(0);
    builder.space(x_.kept, narrow_).space(x_.reduced, narrow_);
    const auto joined = std::bit_ceil(static_cast<std::uint64_t>(joins ? chunks_ : 0));
    return builder.launch(instance("wf_reduce_wide_columns", operation_.name,
                                   tag_of(step_.inputs[0].dtype), target_tag(), accumulator(),
                                   x_.kept.rank, x_.reduced.rank, tag_of(step_.outputs[0].dtype),
                                   threads, wide_each(), lane_count / groups, joins ? joined : 0,
                                   index_),
                          ceil_div(x_.outputs, wide_tile()) * chunks_,
                          static_cast<unsigned>(threads), groups, threads == 8 ? 2 : 1);
  }
  KernelLaunch finish() const {
    const bool is_block = chunks_ > lane_count || x_.outputs < gpu_.processors;
    const std::int64_t group = is_block ? 256 : 32;
    LaunchBuilder builder(step_);
    builder.workspace(0).output(0).constant(x_.outputs).constant(chunks_);
    builder.workspace(partial_bytes(chunks_));
    return builder.launch(instance("wf_reduce_finish", operation_.name, accumulator(),
                                   tag_of(step_.outputs[0].dtype), group, index_),
                          ceil_div(x_.outputs, 256 / group), 256);
  }

  const KernelStep& step_;
  const GpuFacts& gpu_;
  const SequenceSpaces x_;
  const std::int64_t chunks_;
  const Operation operation_;
  const std::string index_;
  const bool narrow_;
};

}  // namespace

KernelSequence emit_reduce(const KernelStep& step, const GpuFacts& gpu) {
  return ReduceEmitter(step, gpu).run();
}

}  // namespace weft::detail
