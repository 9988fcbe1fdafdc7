// The table of ops as data, and the gradients of its point-wise rows.
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include <weft/graph/detail/ops.h>
#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

#include "activations.h"

namespace weft::detail {

namespace {

/// What a row's gradient is written in.
struct GradientOperands {
  explicit GradientOperands(const GradientCall& call)
      : g(call.cotangents[0]),
        x(call.inputs[0]),
        y(call.inputs.size() > 1 ? call.inputs[1] : Tensor()),
        z(call.inputs.size() > 2 ? call.inputs[2] : Tensor()),
        out(call.outputs[0]) {}
  Tensor g, x, y, z, out;
};

/// Operands that were broadcast get the sum over what they were repeated for.
template <class F>
void give(GradientCall& call, std::size_t i, F&& expression) {
  if (call.needs[i]) call.results[i] = sum_to(expression(), call.inputs[i].shape());
}

// One statement for each of up to three expressions.
#define WEFT_GIVE_1(a) give(call, 0, [&]() -> Tensor { return a; });
#define WEFT_GIVE_2(a, b) WEFT_GIVE_1(a) give(call, 1, [&]() -> Tensor { return b; });
#define WEFT_GIVE_3(a, b, c) WEFT_GIVE_2(a, b) give(call, 2, [&]() -> Tensor { return c; });
#define WEFT_PICK(a, b, c, chosen, ...) chosen
#define WEFT_GRADIENT(...)                                                       \
  [](GradientCall& call) {                                                       \
    const GradientOperands operands(call);                                       \
    [[maybe_unused]] const auto& [g, x, y, z, out] = operands;                   \
    WEFT_PICK(__VA_ARGS__, WEFT_GIVE_3, WEFT_GIVE_2, WEFT_GIVE_1, )(__VA_ARGS__) \
  }
#define WEFT_NO_GRADIENT nullptr

}  // namespace

// The gradients and rules of structured ops, by name; those without are never linked.
#define WEFT_OP_STRUCTURED(name, kind, inputs, outputs, exactness, mask, has_gradient, doc)    \
  void gradient_##name(GradientCall& call);                                                    \
  bool consistent_##name(std::span<const Spec> in, const Attrs& attrs, std::span<const Spec> out);
#include <weft/graph/detail/ops.def>

namespace {

#define WEFT_GRADIENT_OF_true(name) gradient_##name
#define WEFT_GRADIENT_OF_false(name) nullptr
#define WEFT_FLOATS_ONLY_floats true
#define WEFT_FLOATS_ONLY_ints false
#define WEFT_FLOATS_ONLY_all false
#define WEFT_INTS_ONLY_floats false
#define WEFT_INTS_ONLY_ints true
#define WEFT_INTS_ONLY_all false

const OpInfo table[op_count] = {
#define WEFT_OP_POINTWISE(name, arity, rule, classes, flops, low, high, ulp, doc, expression,      \
                          gradient, ...)                                                           \
  {#name, doc, OpKind::pointwise, DTypeRule::rule, Exactness::exact, arity, 1, 0,                  \
   WEFT_FLOATS_ONLY_##classes, WEFT_INTS_ONLY_##classes, flops, ulp, low, high, gradient, nullptr},
#define WEFT_OP_STRUCTURED(name, kind, inputs, outputs, exactness, mask, has_gradient, doc)        \
  {#name, doc,   OpKind::kind, DTypeRule::none, Exactness::exactness, inputs, outputs, mask,       \
   false, false, 1,            0,               -10,                  10,                          \
   WEFT_GRADIENT_OF_##has_gradient(name), consistent_##name},
#include <weft/graph/detail/ops.def>
    {"fused", "a planned group of point-wise ops", OpKind::fused, DTypeRule::none,
     Exactness::exact, -1, 1, 0, false, false, 1, 0, 0, 0, nullptr, nullptr},
};

// Ids beyond the table's. Pages that no op is in are never touched.
constexpr int most_registered = std::numeric_limits<std::uint16_t>::max() - op_count;
std::atomic<const RegisteredOp*> registry[most_registered];

}  // namespace

const OpInfo& info(OpId op) noexcept {
  const int id = static_cast<int>(op);
  return id < op_count ? table[id] : registered(op)->row;
}

const Composite* as_composite(OpId op) noexcept {
  static const auto rows = [] {
    std::array<Composite, op_count> named{};
    for (std::size_t i = 0; i < op_count; ++i) named[i].name = table[i].name.data();
    return named;
  }();
  const auto id = static_cast<std::size_t>(op);
  return id < op_count ? &rows[id] : nullptr;
}

const RegisteredOp* registered(OpId op) noexcept {
  const int place = static_cast<int>(op) - op_count;
  return place < 0 ? nullptr : registry[place].load(std::memory_order_acquire);
}

OpId register_op(std::unique_ptr<RegisteredOp> op, Where at) {
  static std::mutex mutex;
  static int count = 0;
  const std::lock_guard lock(mutex);
  if (count == most_registered)
    fail<UnsupportedError>(at, op->name + ": " + std::to_string(count) +
                                   " ops have been defined, which is the most; define an op once, "
                                   "outside of loops");
  op->row.name = op->name;
  op->row.doc = op->doc;
  registry[count].store(op.release(), std::memory_order_release);
  return static_cast<OpId>(op_count + count++);
}

ViewKind view_kind(OpId op) noexcept {
  switch (op) {
    case OpId::permute: return ViewKind::permute;
    case OpId::expand: return ViewKind::expand;
    case OpId::slice: return ViewKind::slice;
    default: return ViewKind::reshape;
  }
}

OpId copy_op() noexcept { return OpId::cast; }
OpId transfer_op() noexcept { return OpId::transfer; }
OpId upload_op() noexcept { return OpId::upload; }
OpId view_op() noexcept { return OpId::reshape; }
OpId data_op() noexcept { return OpId::data; }
OpId fused_op() noexcept { return OpId::fused; }
OpId scalar_op() noexcept { return OpId::scalar; }

}  // namespace weft::detail
