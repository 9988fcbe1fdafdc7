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
    sequence.launches.push_back(x_.lie_side_by_side() ? in_columns() : in_rows());
    if (chunks_ > 1) {
      sequence.launches.push_back(finish());
      sequence.workspace_bytes =
          partial_bytes(chunks_) + partial_bytes(ceil_div(chunks_, chunk_size));
    }
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

  KernelLaunch launch(const char* kernel, std::int64_t group, std::int64_t own_lanes,
                      std::int64_t blocks, unsigned threads_x, unsigned threads_y) const {
    LaunchBuilder builder(step_);
    builder.input(0);
    if (chunks_ > 1)
      builder.workspace(0);
    else
      builder.output(0);
    builder.constant(x_.outputs).constant(x_.length).constant(chunks_);
    builder.space(x_.kept, narrow_).space(x_.reduced, narrow_);
    const std::string sizes = group > 0 ? std::to_string(group) + ", " : "";
    return builder.launch(instance(kernel, operation_.name, tag_of(step_.inputs[0].dtype),
                                   target_tag(), accumulator(), x_.kept.rank, x_.reduced.rank,
                                   sizes + std::to_string(own_lanes), index_),
                          blocks, threads_x, threads_y);
  }

  KernelLaunch in_threads() const {
    return launch("wf_reduce_short", 0, x_.length == 0 ? 0 : lanes(1), ceil_div(x_.outputs, 256),
                  256, 1);
  }
  KernelLaunch in_columns() const {
    const std::int64_t columns = x_.kept.extents[x_.kept.rank - 1];
    const std::int64_t tile = columns >= 32 ? 32 : columns >= 16 ? 16 : columns >= 8 ? 8 : 4;
    return launch("wf_reduce_columns", tile, lanes(32) / 32, ceil_div(x_.outputs, tile) * chunks_,
                  static_cast<unsigned>(tile), 32);
  }
  // A block for each where there are too few for a warp each to fill the processors.
  KernelLaunch in_rows() const {
    const std::int64_t units = x_.outputs * chunks_;
    const bool is_block = x_.length > lane_count && units < std::int64_t{8} * gpu_.processors;
    if (is_block) return launch("wf_reduce_rows", 256, 2, units, 256, 1);
    return launch("wf_reduce_rows", 32, lanes(32) / 32, ceil_div(units, 8), 256, 1);
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
