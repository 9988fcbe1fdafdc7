// Kernels that read and add at indices along an axis.
#include <bit>
#include <cstdlib>

#include "structured.h"
#include "structured_sort.h"

namespace weft::detail {
namespace {

std::string integer_type(DType dtype) { return dtype == DType::i64 ? "wf_i64" : "wf_i32"; }

// The axis that indices are of; a value without axes has one element.
struct IndexedAxis {
  IndexedAxis(const KernelStep& step, const KernelOperand& operand, const std::int64_t* strides)
      : number(static_cast<int>(step.attrs.v[0])),
        extent(operand.rank == 0 ? 1 : operand.shape[number]),
        stride(operand.rank == 0 ? 0 : strides[number]) {}
  std::int64_t reach() const { return std::abs(stride) * std::max<std::int64_t>(extent - 1, 0); }
  int number;
  std::int64_t extent, stride;
};

class ScatterEmitter {
 public:
  ScatterEmitter(const KernelStep& step, const GpuFacts& gpu)
      : step_(step), out_strides_(dense_strides(step.outputs[0])),
        axis_(step, step.outputs[0], out_strides_.data()) {
    const KernelOperand& at = step.inputs[1];
    const KernelOperand& source = step.inputs[2];
    std::int64_t key_stride = axis_.extent;
    std::vector<std::int64_t> key_strides(max_rank, 0);
    for (int d = at.rank - 1; d >= 0; --d) {
      if (d == axis_.number || is_repeated(d)) continue;
      key_strides[static_cast<std::size_t>(d)] = key_stride;
      key_stride *= at.shape[d];
    }
    keys_end_ = key_stride;
    for (int d = 0; d < at.rank; ++d) {
      const auto k = static_cast<std::size_t>(d);
      const std::int64_t out_stride = d == axis_.number ? 0 : out_strides_[k];
      if (is_repeated(d)) {
        repeated_.add(at.shape[d], {source.strides[d], out_stride});
        continue;
      }
      sorted_.add(at.shape[d], {at.strides[d], key_strides[k]});
      sums_.add(at.shape[d], {source.strides[d], out_stride});
    }
    count_ = sorted_.numel();
    repeats_ = repeated_.numel();
    sorted_.collapse();
    sums_.collapse();
    repeated_.collapse();
    narrow_ = is_narrow(gpu, {step.outputs[0].numel(), at.numel(), keys_end_, sorted_.reach(0),
                              sums_.reach(0) + repeated_.reach(0), 256 * ceil_div(count_, 2048)});
  }

  KernelSequence run() {
    KernelSequence sequence;
    SortRoom room(count_, narrow_);
    sequence.launches.push_back(keys(room));
    room.sort(step_, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(keys_end_))), false,
              sequence);
    sequence.launches.push_back(ends(room));
    sequence.workspace_bytes = room.end();
    return sequence;
  }

 private:
  // Along such an axis all indices are the same.
  bool is_repeated(int d) const { return d != axis_.number && step_.inputs[1].strides[d] == 0; }

  KernelLaunch keys(const SortRoom& room) const {
    LaunchBuilder builder(step_);
    builder.input(1).workspace(room.keys()).constant(count_).constant(axis_.extent);
    builder.constant(keys_end_).error().space(sorted_, narrow_);
    return builder.launch(instance("wf_scatter_keys", integer_type(step_.inputs[1].dtype),
                                   sorted_.rank, index_type(narrow_)),
                          ceil_div(count_, 256), 256);
  }
  // What becomes of the sorted: sums, or the last of each place.
  KernelLaunch ends(const SortRoom& room) const {
    LaunchBuilder builder(step_);
    builder.input(2).output(0).workspace(room.keys()).workspace(room.order());
    builder.constant(count_).constant(repeats_).constant(axis_.extent).constant(keys_end_);
    builder.constant(axis_.stride).space(sums_, narrow_).space(repeated_, narrow_);
    const DType dtype = step_.outputs[0].dtype;
    const std::string call =
        step_.op == OpId::scatter_add
            ? instance("wf_scatter_sums", tag_of(dtype), sums_.rank, repeated_.rank,
                       index_type(narrow_))
            : instance("wf_scatter_lasts", bits_type(size_of(dtype)), sums_.rank, repeated_.rank,
                       index_type(narrow_));
    return builder.launch(call, ceil_div(count_ * repeats_, 256), 256);
  }

  const KernelStep& step_;
  const std::vector<std::int64_t> out_strides_;
  const IndexedAxis axis_;
  IndexSpace sorted_{2}, sums_{2}, repeated_{2};
  std::int64_t keys_end_, count_, repeats_;
  bool narrow_;
};

}  // namespace

KernelSequence emit_gather(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence;
  const KernelOperand& x = step.inputs[0];
  const KernelOperand& at = step.inputs[1];
  const std::int64_t count = step.outputs[0].numel();
  if (count == 0) return sequence;
  const IndexedAxis axis(step, x, x.strides);
  IndexSpace space(2);
  for (int d = 0; d < at.rank; ++d)
    space.add(at.shape[d], {at.strides[d], d == axis.number ? 0 : x.strides[d]});
  space.collapse();
  const bool narrow =
      is_narrow(gpu, {count, space.reach(0), space.reach(1) + axis.reach(), axis.extent});
  constexpr unsigned table = 2;  // operands of the space that are moved
  const std::int64_t together =
      space.together(aligned_elements({&x, &step.outputs[0]}, {axis.stride}), table);
  space.join(together, table);
  LaunchBuilder builder(step);
  builder.input(0).input(1).output(0).constant(count / together);
  builder.constant(axis.stride / together).constant(axis.extent);
  builder.error().space(space, narrow);
  sequence.launches.push_back(builder.launch(
      instance("wf_gather", bits_type(size_of(x.dtype) * static_cast<std::size_t>(together)),
               integer_type(at.dtype), space.rank, index_type(narrow)),
      ceil_div(count / together, 256), 256));
  return sequence;
}

namespace {

KernelSequence emit_scattered(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence;
  if (step.outputs[0].numel() == 0) return sequence;
  if (step.inputs[1].numel() > 0) sequence = ScatterEmitter(step, gpu).run();
  const std::vector<KernelLaunch> copy = copy_of_first_input(step, gpu).launches;
  sequence.launches.insert(sequence.launches.begin(), copy.begin(), copy.end());
  return sequence;
}

}  // namespace

KernelSequence emit_scatter_add(const KernelStep& step, const GpuFacts& gpu) {
  return emit_scattered(step, gpu);
}

KernelSequence emit_scatter(const KernelStep& step, const GpuFacts& gpu) {
  return emit_scattered(step, gpu);
}

}  // namespace weft::detail
