// What a step becomes on a GPU: CUDA C++ texts, and the words that each is launched with. Made when
// a plan is made, from what is known then; a run only fills the words in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <weft/codegen/product.h>
#include <weft/codegen/program.h>
#include <weft/graph/detail/ops.h>
#include <weft/graph/numerics.h>

namespace weft::detail {

/// An operand as the plan knows it: element (i0, i1, ...) stands Σ strides[d]·i_d elements from an
/// address that the run gives. Strides may be 0 or negative; outputs are dense.
struct KernelOperand {
  DType dtype = DType::f32;
  int rank = 0;
  std::int64_t shape[max_rank] = {};
  std::int64_t strides[max_rank] = {};
  /// A power of two that the address is a multiple of in every run: at least the element's size.
  std::uint32_t alignment = 1;
  std::int64_t numel() const noexcept {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= shape[d];
    return n;
  }
};

/// One step of a plan that is carried out by generated kernels.
struct KernelStep {
  OpId op{};                         // of a structured op
  Attrs attrs{};                     // argument attributes hold slots of the argument block
  const Program* program = nullptr;  // of a fused group; needed by emit alone
  std::vector<KernelOperand> inputs, outputs;
  bool guards_state = false;         // does nothing once the run's error word is set
  Numerics numerics = Numerics::standard;
};

/// Of the GPU, what kernels are fitted to. Results do not depend on it.
struct GpuFacts {
  int major = 9, minor = 0;          // compute capability
  int processors = 132;              // streaming multiprocessors
  std::size_t shared_bytes = 227 * 1024;  // most shared memory of a block
  std::int64_t narrow_span = std::int64_t{1} << 31;  // element offsets below this take 32 bits
};

/// One word of a kernel's parameter block, eight bytes.
struct ParamWord {
  enum class Kind : std::uint8_t {
    constant,   // value
    input,      // address of input `value`
    output,     // address of output `value`
    argument,   // word `value` of the run's argument block
    workspace,  // address of the step's workspace, plus `value` bytes
    counters,   // address of the step's counters
    error,      // address of the run's ErrorBlock
    step,       // number of the step in its plan, plus 1: what to write into the ErrorBlock
  };
  Kind kind = Kind::constant;
  std::uint64_t value = 0;
  friend bool operator==(const ParamWord&, const ParamWord&) noexcept = default;
};

/// What index kernels report; zero at the start of a run. The first fault wins by atomicCAS on
/// `step`, and writes the rest.
struct ErrorBlock {
  std::uint32_t step = 0;
  std::uint32_t unused = 0;
  std::int64_t index = 0;
  std::int64_t limit = 0;
};

/// Text of one kernel: header-free CUDA C++, nothing of the user's in it but the expressions and
/// sources that a program gives as such, one entry point
/// `extern "C" __global__ void ENTRY(const Params p)`, where `struct Params { unsigned long long
/// w[N]; }`. Equal facts give equal text.
struct KernelSource {
  std::string entry;
  std::string text;
  bool fast = false;  // compiled with contraction and the hardware's approximations
  std::string own_name = {};  // of the op whose source the program gave: for messages alone
};

struct KernelLaunch {
  std::shared_ptr<const KernelSource> source;
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;   // dynamic
  std::vector<ParamWord> params;
};

/// In order on one stream. Nothing where the step's outputs have no elements.
struct KernelSequence {
  std::vector<KernelLaunch> launches;
  std::size_t workspace_bytes = 0;  // at 256-byte alignment, alive for this step alone
  /// Words of 32 bits, 0 when the step begins and when it ends.
  std::size_t counters = 0;
  /// Where the step is one product of floats, and of at least one term: a library may carry it out
  /// instead.
  std::optional<ProductShape> product;
};

/// The kernels of a step; throws InternalError for an op that no family takes.
KernelSequence emit(const KernelStep& step, const GpuFacts& gpu);

/// Whether a kernel's parameters hold a fused group of so many inputs and outputs in memory, and
/// arguments: for others emit_fused throws InternalError.
bool fits_parameters(std::size_t operands, std::size_t arguments) noexcept;

// By family; `emit` chooses among them.
KernelSequence emit_fused(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_copy(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_reduce(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_arg_reduce(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_product(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_cat(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_slice_update(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_gather(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_scatter_add(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_scatter(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_topk(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_scan(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_search(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_iota(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_random(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_permutation(const KernelStep& step, const GpuFacts& gpu);
KernelSequence emit_own_kernel(const KernelStep& step, const GpuFacts& gpu);

/// The device library's definitions (codegen/kernels/*.cuh) that a text needs, in their order: all
/// of `wf_...` that it names, and what those name.
std::string device_library(const std::string& text);

/// C++ expression of a point-wise op over operand expressions, in the common subset; `type` is the
/// operands' C++ type, one word. From the op's row.
std::string expression_of(OpId op, const std::string& type, const std::vector<std::string>& operands);

/// How a dtype is stored and computed in a kernel's text; types are one word each, and those of the
/// device library.
std::string storage_type(DType dtype);               // "float", "wf_u16", "wf_i8" ...
std::string class_type(ComputeClass compute);        // "float", "double", "wf_i32", "wf_i64"
std::string load_expression(DType dtype, const std::string& stored);   // stored value → class value
std::string store_expression(DType dtype, const std::string& value);   // class value → stored value
/// A value of any class as a value of the dtype, in the dtype's class: Instruction::Kind::cast.
std::string cast_expression(DType dtype, const std::string& value);
/// A word of the argument block, an i64 or an f64 by the dtype, as a value of the dtype.
std::string argument_expression(DType dtype, const std::string& word);

}  // namespace weft::detail
