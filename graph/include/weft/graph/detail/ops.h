// What the engine may know about an op: its kind and its traits, read from the table of ops.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <weft/graph/dtype.h>
#include <weft/graph/error.h>

namespace weft::detail {

enum class OpId : std::uint16_t {
#define WEFT_OP_POINTWISE(name, ...) name,
#define WEFT_OP_STRUCTURED(name, ...) name,
#include <weft/graph/detail/ops.def>
  fused,  // a planned group of point-wise ops: made by the planner, never recorded
  count_
};

inline constexpr int op_count = static_cast<int>(OpId::count_);

/// Families. The engine asks for these, never for a name.
enum class OpKind : std::uint8_t {
  leaf,
  pointwise,
  view,
  reduce,
  product,
  join,
  index,
  sort,
  scan,
  generate,
  random,
  transfer,
  call,  // carried out by a function or a kernel of the program's own
  fused,
};

/// How a point-wise op's operands become one compute dtype, and what dtype the result has.
enum class DTypeRule : std::uint8_t {
  arithmetic,  // promoted; any dtype
  numeric,     // promoted; bool is refused
  floating,    // promoted; integers and bools become the default float dtype
  integral,    // promoted; floats are refused
  compare,     // promoted; the result is bool
  predicate,   // the operand's own; the result is bool
  select,      // first operand bool, the others promoted
  given,       // the caller names the result's
  none,        // not point-wise
};

/// exact: the same bits whatever plan, thread count, launch shape or device. library: right within
/// a stated tolerance.
enum class Exactness : std::uint8_t { exact, library };

/// Types that point-wise work is computed in; narrower dtypes widen on load and round after every
/// op that the program wrote.
enum class ComputeClass : std::uint8_t { f32, f64, i32, i64 };
inline constexpr int compute_class_count = 4;

constexpr ComputeClass compute_class(DType dtype) noexcept {
  constexpr ComputeClass of[dtype_count] = {
      ComputeClass::f32, ComputeClass::f32, ComputeClass::f32, ComputeClass::f64, ComputeClass::i32,
      ComputeClass::i32, ComputeClass::i64, ComputeClass::i32, ComputeClass::i32};
  return of[static_cast<int>(dtype)];
}

struct Attrs;
struct Composite;
struct GradientCall;
struct Spec;

struct OpInfo {
  std::string_view name;
  std::string_view doc;
  OpKind kind;
  DTypeRule rule;
  Exactness exactness;
  std::int8_t input_count;  // -1: any
  std::uint8_t output_count;
  std::uint8_t argument_mask;  // attributes that are arguments of a run, not structure
  bool floats_only;            // exists in float compute classes alone
  bool ints_only;
  float flops;                 // per element of the output, in additions
  float ulp;                   // greatest distance from the correctly rounded result
  double low, high;            // arguments on which the table-driven tests draw
  /// Vector-Jacobian product; null where the op has no gradient.
  void (*gradient)(GradientCall&);
  /// Whether the output specs are what the op's rule gives for these inputs.
  bool (*consistent)(std::span<const Spec> inputs, const Attrs& attrs,
                     std::span<const Spec> outputs);
  bool is_pure = true;          // gives equal results for equal inputs, and does nothing else
  bool gives_inputs = false;    // output i is input i: there for its gradient alone

  bool is_pointwise() const noexcept { return kind == OpKind::pointwise; }
  bool is_view() const noexcept { return kind == OpKind::view; }
  bool is_leaf() const noexcept { return kind == OpKind::leaf; }
  bool is_random() const noexcept { return kind == OpKind::random; }
  /// Dear to compute and cheap to hold: kept where a gradient or another graph may need it.
  bool is_dear() const noexcept {
    return kind == OpKind::product || kind == OpKind::reduce || kind == OpKind::sort ||
           kind == OpKind::scan || kind == OpKind::index ||
           (kind == OpKind::call && !gives_inputs);
  }
  /// May be merged with an equal one.
  bool is_mergeable() const noexcept {
    return kind != OpKind::random && kind != OpKind::leaf && is_pure;
  }
};

/// The row of the table, or a registered one.
const OpInfo& info(OpId op) noexcept;

/// An op of the table as the function that the program called; null for a registered one.
const Composite* as_composite(OpId op) noexcept;

/// result[i] = f(x[i], y[i], z[i]) for `custom_block` elements of a compute class; the result
/// overlaps no operand.
using ElementBlock = void (*)(void* result, const void* x, const void* y, const void* z);
inline constexpr int custom_block = 128;

/// An op that the program defines: a row that joins the table while the program runs. Its id is its
/// identity, so that plans of two ops of one name are never taken for each other. Lives for good.
struct RegisteredOp {
  OpInfo row;  // its name and doc are the strings below
  std::string name, doc;
  // Of a point-wise op:
  std::string expression;  // of x, y, z and T, over the functions of codegen/kernels
  ElementBlock blocks[compute_class_count] = {};
  // Of a call: what the backends carry out, known to them.
  std::shared_ptr<const void> body;
};

/// UnsupportedError where there are too many: an op is to be registered once, not in a loop.
OpId register_op(std::unique_ptr<RegisteredOp> op, Where at);
/// Null for an op of the table.
const RegisteredOp* registered(OpId op) noexcept;

/// The four ways of a view, for the code that folds them.
enum class ViewKind : std::uint8_t { reshape, permute, expand, slice };
ViewKind view_kind(OpId op) noexcept;

// Ops that the planner itself puts into graphs.
OpId copy_op() noexcept;      // point-wise, changes nothing: puts a view in order
OpId transfer_op() noexcept;  // a value to the vertex's device
OpId upload_op() noexcept;    // a 0-dim cpu value to the vertex's device
OpId view_op() noexcept;      // a contiguous part of its input
OpId data_op() noexcept;      // a leaf with storage
OpId fused_op() noexcept;     // a group with a body
OpId scalar_op() noexcept;    // a leaf whose value is an argument of the run

}  // namespace weft::detail
