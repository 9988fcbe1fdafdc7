// What the files of the cpu's kernels share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend.h"
#include "cpu/kernels/kernels.h"

namespace weft::detail {

/// The kernels of the instruction set chosen at the first call: the best that the processor has, or
/// the one that WEFT_CPU_ISA names.
const KernelTable& kernels();
const ProductTable& products();
/// The kernels of a level by name; false where this build or this processor lacks it (tests).
bool fill_level(const char* name, KernelTable& table);
bool fill_level(const char* name, KernelTable& table, ProductTable& products);

/// Below this many elements a step stays on the calling thread.
inline constexpr std::int64_t parallel_elements = 64 * 1024;

// One function per kind of work. Inputs by any map, outputs dense.
void run_fused(const StepCall& call);
void run_row_group(const StepCall& call);
/// Whether an output is written past the caches.
bool is_large_output(std::size_t bytes) noexcept;
void run_reduce(const StepCall& call, Reduction reduction);
void run_arg_reduce(const StepCall& call, bool greatest);
void run_product(const StepCall& call);
void run_cat(const StepCall& call);
void run_slice_update(const StepCall& call);
void run_gather(const StepCall& call);
void run_scatter_add(const StepCall& call);
void run_scatter(const StepCall& call);
void run_topk(const StepCall& call);
void run_scan(const StepCall& call, Scan scan);
void run_extreme_scan(const StepCall& call, bool greatest);
void run_search(const StepCall& call);
void run_iota(const StepCall& call);
void run_uniform(const StepCall& call);
void run_normal(const StepCall& call);
void run_integers(const StepCall& call);
void run_permutation(const StepCall& call);
/// A function of the program. Throws CallbackError for what it throws.
void run_host_function(const StepCall& call);
/// The one input, in order, as the one output.
void run_copy(const StepCall& call);

inline char* bytes_of(const ResolvedOperand& operand) noexcept {
  return reinterpret_cast<char*>(operand.data);
}
inline std::ptrdiff_t size_in_bytes(const ResolvedOperand& operand) noexcept {
  return operand.numel() * static_cast<std::ptrdiff_t>(size_of(operand.dtype));
}
inline int index_of(DType dtype) noexcept { return static_cast<int>(dtype); }
inline int index_of(ComputeClass c) noexcept { return static_cast<int>(c); }
inline std::size_t class_size(ComputeClass c) noexcept {
  return c == ComputeClass::f64 || c == ComputeClass::i64 ? 8 : 4;
}
/// Whether values of the dtype are stored as they are computed.
inline bool is_class_storage(DType dtype) noexcept {
  return size_of(dtype) == class_size(compute_class(dtype));
}
inline int log2_size(std::size_t bytes) noexcept { return bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2; }

/// Attribute i of the call: its value, be it structure or an argument of the run.
inline std::int64_t attribute(const StepCall& call, int i) {
  const std::int64_t v = call.step->attrs.v[i];
  const bool is_slot = info(call.step->op).argument_mask >> i & 1;
  return is_slot ? static_cast<std::int64_t>(call.arguments[v]) : v;
}

}  // namespace weft::detail
