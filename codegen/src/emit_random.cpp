// Kernels of values from nothing: sequences, random numbers, permutations.
#include "structured.h"
#include "structured_sort.h"

namespace weft::detail {
namespace {

struct RandomKind {
  std::string name;
  std::int64_t count;  // elements of a block of the generator
  bool has_range = false;
};

RandomKind kind_of(OpId op, DType dtype) {
  const bool is_wide = dtype == DType::f64;
  const std::string suffix = is_wide ? "_f64" : "_f32";
  switch (op) {
    case OpId::uniform: return {"wf_uniforms" + suffix, is_wide ? 2 : 4};
    case OpId::normal: return {"wf_normals" + suffix, is_wide ? 2 : 4};
    case OpId::integers: return {"wf_integers", 2, true};
    default: break;
  }
  WEFT_ENSURE(false);
  return {};
}

}  // namespace

KernelSequence emit_iota(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence;
  const std::int64_t count = step.outputs[0].numel();
  if (count == 0) return sequence;
  const DType dtype = step.outputs[0].dtype;
  LaunchBuilder builder(step);
  builder.output(0).constant(count).attribute(0).attribute(1);
  sequence.launches.push_back(
      builder.launch(instance("wf_iota", tag_of(dtype), is_floating(dtype) ? "true" : "false",
                              index_type(is_narrow(gpu, {count}))),
                     ceil_div(count, 256), 256));
  return sequence;
}

KernelSequence emit_random(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence;
  const std::int64_t count = step.outputs[0].numel();
  if (count == 0) return sequence;
  const DType dtype = step.outputs[0].dtype;
  const RandomKind kind = kind_of(step.op, dtype);
  LaunchBuilder builder(step);
  builder.output(0).constant(count).attribute(0).attribute(1);
  if (kind.has_range) builder.attribute(2).attribute(3);
  const bool is_aligned =
      step.outputs[0].alignment % (static_cast<std::size_t>(kind.count) * size_of(dtype)) == 0;
  sequence.launches.push_back(
      builder.launch(instance("wf_random", kind.name, tag_of(dtype), is_aligned ? "true" : "false",
                              index_type(is_narrow(gpu, {count}))),
                     ceil_div(ceil_div(count, kind.count), 256), 256));
  return sequence;
}

KernelSequence emit_permutation(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence;
  const std::int64_t count = step.outputs[0].numel();
  if (count == 0) return sequence;
  const bool narrow = is_narrow(gpu, {count, 256 * ceil_div(count, 2048)});
  SortRoom room(count, narrow);
  LaunchBuilder keys(step);
  keys.workspace(room.keys()).constant(count).attribute(0).attribute(1);
  sequence.launches.push_back(
      keys.launch(instance("wf_permutation_keys", index_type(narrow)), ceil_div(count, 256), 256));
  room.sort(step, 64, false, sequence);
  LaunchBuilder store(step);
  store.workspace(room.order()).constant(count).output(0);
  sequence.launches.push_back(store.launch(
      instance("wf_permutation_store", tag_of(step.outputs[0].dtype), index_type(narrow)),
      ceil_div(count, 256), 256));
  sequence.workspace_bytes = room.end();
  return sequence;
}

}  // namespace weft::detail
