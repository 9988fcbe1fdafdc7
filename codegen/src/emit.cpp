// From a step to the family that writes its kernels: the one place of codegen that names ops.
#include <weft/codegen/kernel.h>
#include <weft/graph/detail/custom.h>
#include <weft/graph/error.h>

namespace weft::detail {
namespace {

using EmitFn = KernelSequence (*)(const KernelStep&, const GpuFacts&);

EmitFn family_of(OpId op) {
  if (kernel_body(op)) return emit_own_kernel;
  switch (op) {
    case OpId::argmax:
    case OpId::argmin: return emit_arg_reduce;
    case OpId::matmul: return emit_product;
    case OpId::cat: return emit_cat;
    case OpId::slice_update: return emit_slice_update;
    case OpId::gather: return emit_gather;
    case OpId::scatter_add: return emit_scatter_add;
    case OpId::scatter: return emit_scatter;
    case OpId::topk:
    case OpId::sort: return emit_topk;
    case OpId::searchsorted: return emit_search;
    case OpId::iota: return emit_iota;
    case OpId::permutation: return emit_permutation;
    default: break;
  }
  switch (info(op).kind) {
    case OpKind::reduce: return emit_reduce;
    case OpKind::random: return emit_random;
    case OpKind::scan: return emit_scan;
    // Whatever moves a value and leaves it as it is: transfers, uploads, views put in order.
    case OpKind::transfer:
    case OpKind::view:
    case OpKind::leaf: return emit_copy;
    default: return nullptr;
  }
}

KernelSequence emit_by_family(const KernelStep& step, const GpuFacts& gpu) {
  if (step.program) return emit_fused(step, gpu);
  const EmitFn family = step.op == copy_op() ? emit_copy : family_of(step.op);
  WEFT_ENSURE(family != nullptr);
  return family(step, gpu);
}

}  // namespace

KernelSequence emit(const KernelStep& step, const GpuFacts& gpu) {
  KernelSequence sequence = emit_by_family(step, gpu);
  if (step.numerics == Numerics::fast)
    for (KernelLaunch& launch : sequence.launches) {
      KernelSource source = *launch.source;
      source.fast = true;
      launch.source = std::make_shared<const KernelSource>(std::move(source));
    }
  return sequence;
}

}  // namespace weft::detail
