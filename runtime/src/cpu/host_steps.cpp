// From an op to the function that carries it out: the one place of the cpu that names ops.
#include <array>

#include "cpu/host.h"

namespace weft::detail {
namespace {

using StepFn = void (*)(const StepCall&);

template <Reduction reduction>
void reduce(const StepCall& call) {
  run_reduce(call, reduction);
}

template <bool greatest>
void arg_reduce(const StepCall& call) {
  run_arg_reduce(call, greatest);
}

template <Scan scan>
void scan_of(const StepCall& call) {
  run_scan(call, scan);
}

template <bool greatest>
void extreme_scan(const StepCall& call) {
  run_extreme_scan(call, greatest);
}

StepFn function_of(OpId op) {
  switch (op) {
    case OpId::sum: return reduce<reduce_sum>;
    case OpId::prod: return reduce<reduce_prod>;
    case OpId::amax: return reduce<reduce_max>;
    case OpId::amin: return reduce<reduce_min>;
    case OpId::any: return reduce<reduce_any>;
    case OpId::all: return reduce<reduce_all>;
    case OpId::argmax: return arg_reduce<true>;
    case OpId::argmin: return arg_reduce<false>;
    case OpId::matmul: return run_product;
    case OpId::cat: return run_cat;
    case OpId::slice_update: return run_slice_update;
    case OpId::gather: return run_gather;
    case OpId::scatter_add: return run_scatter_add;
    case OpId::scatter: return run_scatter;
    case OpId::topk:
    case OpId::sort: return run_topk;
    case OpId::cumsum: return scan_of<scan_sum>;
    case OpId::cumprod: return scan_of<scan_prod>;
    case OpId::logcumsumexp: return scan_of<scan_logsumexp>;
    case OpId::cummax: return extreme_scan<true>;
    case OpId::cummin: return extreme_scan<false>;
    case OpId::searchsorted: return run_search;
    case OpId::iota: return run_iota;
    case OpId::uniform: return run_uniform;
    case OpId::normal: return run_normal;
    case OpId::integers: return run_integers;
    case OpId::permutation: return run_permutation;
    default: break;
  }
  // Whatever moves a value and leaves it as it is: transfers, uploads, views put in order.
  const OpKind kind = info(op).kind;
  return kind == OpKind::transfer || kind == OpKind::view || kind == OpKind::leaf ? run_copy : nullptr;
}

const std::array<StepFn, op_count>& functions() {
  static const std::array<StepFn, op_count> table = [] {
    std::array<StepFn, op_count> filled{};
    for (int i = 0; i < op_count; ++i)
      if (const auto op = static_cast<OpId>(i); op != OpId::fused) filled[i] = function_of(op);
    return filled;
  }();
  return table;
}

bool is_move(StepKind kind) {
  return kind == StepKind::transfer || kind == StepKind::upload || kind == StepKind::assign;
}

}  // namespace

void run_on_host(const StepCall& call) {
  if (call.step->program) return run_fused(call);
  if (call.step->rows) return run_row_group(call);
  if (is_move(call.step->kind)) return run_copy(call);
  if (registered(call.step->op)) return run_host_function(call);
  const StepFn function = functions()[static_cast<std::size_t>(call.step->op)];
  WEFT_ENSURE(function != nullptr);
  function(call);
}

}  // namespace weft::detail
