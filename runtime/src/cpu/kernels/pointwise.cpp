// Point-wise ops over blocks, one function per op and compute class, from the table of ops.
#include "isa.h"

namespace weft::detail {
namespace {

// The classes of an op's operands and result, from its dtype rule.
struct Same {
  template <class T> using First = T;
  template <class T> using Result = T;
};
struct Truth {
  template <class T> using First = T;
  template <class T> using Result = wf_i32;
};
struct Choice {
  template <class T> using First = wf_i32;
  template <class T> using Result = T;
};
using rule_arithmetic = Same;
using rule_numeric = Same;
using rule_floating = Same;
using rule_integral = Same;
using rule_given = Same;
using rule_compare = Truth;
using rule_predicate = Truth;
using rule_select = Choice;

// A form of an op that is faster for small arguments, where it gives the same bits.
template <class Op>
struct SmallForm {
  static constexpr bool exists = false;
};

inline wf_i32 signed_bits(float x) { return static_cast<wf_i32>(wf_bits(x)); }
inline wf_i64 signed_bits(double x) { return static_cast<wf_i64>(wf_bits(x)); }

template <class Op, class T>
bool small_block(T* __restrict r, const T* __restrict x) {
  // Magnitudes compare as their bits do, NaN above all: negative is a difference from the limit that
  // is too large, and the sum of all by `or` is kept in vectors, as truth values would not be.
  const auto limit = signed_bits(SmallForm<Op>::limit(T()));
  auto too_large = limit - limit;
  WEFT_EACH
  for (int i = 0; i < block_size; ++i) too_large |= limit - 1 - signed_bits(wf_fabs(x[i]));
  if (too_large < 0) return false;
  WEFT_EACH
  for (int i = 0; i < block_size; ++i) r[i] = SmallForm<Op>::apply(x[i]);
  return true;
}

template <class Op, class T>
void block(void* result, const void* px, const void* py, const void* pz) {
  using X = typename Op::Rule::template First<T>;
  using R = typename Op::Rule::template Result<T>;
  R* __restrict r = static_cast<R*>(result);
  const X* __restrict x = static_cast<const X*>(px);
  if constexpr (SmallForm<Op>::exists)
    if (small_block<Op>(r, x)) return;
  if constexpr (Op::arity == 1) {
    WEFT_EACH
    for (int i = 0; i < block_size; ++i) r[i] = static_cast<R>(Op::apply(x[i], T(), T()));
  } else if constexpr (Op::arity == 2) {
    const T* __restrict y = static_cast<const T*>(py);
    WEFT_EACH
    for (int i = 0; i < block_size; ++i) r[i] = static_cast<R>(Op::apply(x[i], y[i], T()));
  } else {
    const T* __restrict y = static_cast<const T*>(py);
    const T* __restrict z = static_cast<const T*>(pz);
    WEFT_EACH
    for (int i = 0; i < block_size; ++i) r[i] = static_cast<R>(Op::apply(x[i], y[i], z[i]));
  }
}

enum : unsigned { floats = 1u << class_f32 | 1u << class_f64, ints = 1u << class_i32 | 1u << class_i64,
                  all = floats | ints };

#define WEFT_OP_POINTWISE(name, count, rule, classes, flops, low, high, ulp, doc, expression, ...) \
  struct op_##name {                                                                               \
    using Rule = rule_##rule;                                                                      \
    static constexpr int arity = count;                                                            \
    template <class X, class T>                                                                    \
    static inline __attribute__((always_inline)) auto apply(X x, [[maybe_unused]] T y,             \
                                                            [[maybe_unused]] T z) {                \
      return expression;                                                                           \
    }                                                                                              \
  };
#include <weft/graph/detail/ops.def>

struct SmallAngle {
  static constexpr bool exists = true;
  static float limit(float) { return WF_TRIG_SMALL_F; }
  static double limit(double) { return WF_TRIG_SMALL_D; }
};
template <>
struct SmallForm<op_sin> : SmallAngle {
  template <class T> static T apply(T x) { return wf_sin_small(x); }
};
template <>
struct SmallForm<op_cos> : SmallAngle {
  template <class T> static T apply(T x) { return wf_cos_small(x); }
};

template <>
struct SmallForm<op_exp> {
  static constexpr bool exists = true;
  static constexpr float limit(float) { return 87.0f; }
  static constexpr double limit(double) { return 708.0; }
  template <class T> static T apply(T x) { return wf_exp_small(x); }
};

template <class Op, unsigned classes>
void fill_row(BlockFn (&row)[kernel_class_count]) {
  if constexpr ((classes & floats) != 0) {
    row[class_f32] = block<Op, float>;
    row[class_f64] = block<Op, double>;
  }
  if constexpr ((classes & ints) != 0) {
    row[class_i32] = block<Op, wf_i32>;
    row[class_i64] = block<Op, wf_i64>;
  }
}

}  // namespace

void WEFT_ISA_NAME(fill_pointwise_)(KernelTable& table) {
#define WEFT_OP_POINTWISE(name, count, rule, classes, ...) \
  fill_row<op_##name, classes>(table.pointwise[kernel_op_##name]);
#include <weft/graph/detail/ops.def>
  // A cast is between two types: it has a table of its own.
  for (BlockFn& fn : table.pointwise[kernel_op_cast]) fn = nullptr;
}

}  // namespace weft::detail
