// Kernels of joins: values one after the other, values written into a part of another.
#include <cstdlib>
#include <vector>

#include "structured.h"

namespace weft::detail {
namespace {

constexpr std::size_t inputs_together = 8;  // of one launch: their words stay below 4 KiB
constexpr unsigned both = 3;                // operands of a part's space that are moved

IndexSpace part_space(const KernelOperand& part, const std::vector<std::int64_t>& out_strides,
                      int axis, std::int64_t step) {
  IndexSpace space(2);
  for (int d = 0; d < part.rank; ++d)
    space.add(part.shape[d],
              {part.strides[d], out_strides[static_cast<std::size_t>(d)] * (d == axis ? step : 1)});
  space.collapse();
  return space;
}

// Leading axes of one element, up to the rank.
IndexSpace padded(const IndexSpace& space, int rank) {
  IndexSpace result(space.operands);
  for (int d = space.rank; d < rank; ++d) result.add(1, {0, 0});
  for (int d = 0; d < space.rank; ++d)
    result.add(space.extents[d], {space.strides[0][d], space.strides[1][d]});
  return result;
}

struct CatPart {
  std::size_t input;
  std::int64_t start;
  IndexSpace space;
};

KernelLaunch launch_of_parts(const KernelStep& step, std::vector<CatPart>& parts,
                             std::int64_t axis_stride, const GpuFacts& gpu) {
  const KernelOperand& out = step.outputs[0];
  int rank = 0;
  bool narrow = is_narrow(gpu, {out.numel()});
  std::int64_t together = aligned_elements({&out}, {});
  for (const CatPart& part : parts) {
    rank = std::max(rank, part.space.rank);
    narrow = narrow && is_narrow(gpu, {part.space.reach(0), part.space.numel()});
    together = std::min({together,
                         aligned_elements({&step.inputs[part.input]}, {part.start * axis_stride}),
                         part.space.together(together, both)});
  }
  LaunchBuilder builder(step);
  builder.output(0);
  std::int64_t blocks = 0;
  for (CatPart& part : parts) {
    part.space.join(together, both);
    builder.input(part.input).constant(blocks).constant(part.space.numel());
    builder.constant(part.start * axis_stride / together);
    builder.constant(0).space(padded(part.space, rank), narrow);
    blocks += ceil_div(part.space.numel(), 256);
  }
  return builder.launch(instance("wf_cat",
                                 bits_type(size_of(out.dtype) * static_cast<std::size_t>(together)),
                                 rank, parts.size(), index_type(narrow)),
                        blocks, 256);
}

}  // namespace

KernelSequence emit_cat(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence;
  const auto axis = static_cast<int>(step.attrs.v[0]);
  const std::vector<std::int64_t> strides = dense_strides(step.outputs[0]);
  const std::int64_t axis_stride = strides[static_cast<std::size_t>(axis)];
  std::vector<CatPart> parts;
  const auto flush = [&] {
    if (!parts.empty()) sequence.launches.push_back(launch_of_parts(step, parts, axis_stride, gpu));
    parts.clear();
  };
  std::int64_t start = 0;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    const KernelOperand& part = step.inputs[i];
    if (part.numel() > 0) parts.push_back({i, start, part_space(part, strides, axis, 1)});
    start += part.shape[axis];
    if (parts.size() == inputs_together) flush();
  }
  flush();
  return sequence;
}

KernelSequence emit_slice_update(const KernelStep& step, const GpuFacts& gpu) {
  const KernelOperand& out = step.outputs[0];
  if (out.numel() == 0) return {};
  KernelSequence sequence = copy_of_first_input(step, gpu);
  const KernelOperand& y = step.inputs[1];
  if (y.numel() == 0) return sequence;
  const auto axis = static_cast<int>(step.attrs.v[0]);
  const std::vector<std::int64_t> strides = dense_strides(out);
  const std::int64_t axis_stride = strides[static_cast<std::size_t>(axis)];
  IndexSpace space = part_space(y, strides, axis, step.attrs.v[1]);
  const bool narrow = is_narrow(gpu, {out.numel(), y.numel(), space.reach(0), space.reach(1)});
  // Wherever the part starts, it starts at a multiple of the axis's stride.
  const std::int64_t together = space.together(aligned_elements({&y, &out}, {axis_stride}), both);
  space.join(together, both);
  LaunchBuilder builder(step);
  builder.input(1).output(0).constant(space.numel()).attribute(2);
  builder.constant(axis_stride / together).space(space, narrow);
  sequence.launches.push_back(builder.launch(
      instance("wf_copy_part", bits_type(size_of(y.dtype) * static_cast<std::size_t>(together)),
               space.rank, index_type(narrow)),
      ceil_div(space.numel(), 256), 256));
  return sequence;
}

}  // namespace weft::detail
