// The operations of reductions, and those whose bits are the same in any order.
#pragma once

#include "isa.h"

namespace weft::detail {
namespace {

// ---- the operations: identity, lift of an element, combination

struct Sum {
  template <class T>
  struct Accumulator {
    using type = T;
  };
  static float identity(float) { return -0.0f; }
  static double identity(double) { return -0.0; }
  static wf_i64 identity(wf_i64) { return 0; }
  template <class A, class T>
  static A lift(T x) {
    return static_cast<A>(x);
  }
  template <class A>
  static A apply(A a, A b) {
    return wf_add(a, b);
  }
};
struct Prod {
  template <class T>
  struct Accumulator {
    using type = T;
  };
  template <class T>
  static T identity(T) {
    return T(1);
  }
  template <class A, class T>
  static A lift(T x) {
    return static_cast<A>(x);
  }
  template <class A>
  static A apply(A a, A b) {
    return wf_mul(a, b);
  }
};
template <>
struct Sum::Accumulator<wf_i32> {
  using type = wf_i64;
};
template <>
struct Prod::Accumulator<wf_i32> {
  using type = wf_i64;
};

// The greater and the lesser in any order: one NaN whatever the NaNs, and +0 greater than -0. Of
// two equal operands p is the one and q the other, so that their bits joined are the right zero.
#define WEFT_EXTREMES(T, nan)                                                                      \
  inline T greater(T a, T b) {                                                                     \
    const T p = a > b ? a : b, q = b > a ? b : a;                                                  \
    return __builtin_isunordered(a, b) ? nan : wf_from_bits(wf_bits(p) & wf_bits(q));              \
  }                                                                                                \
  inline T lesser(T a, T b) {                                                                      \
    const T p = a < b ? a : b, q = b < a ? b : a;                                                  \
    return __builtin_isunordered(a, b) ? nan : wf_from_bits(wf_bits(p) | wf_bits(q));              \
  }
WEFT_EXTREMES(float, WF_NAN_F)
WEFT_EXTREMES(double, WF_NAN_D)
#undef WEFT_EXTREMES
inline wf_i32 greater(wf_i32 a, wf_i32 b) { return a > b ? a : b; }
inline wf_i64 greater(wf_i64 a, wf_i64 b) { return a > b ? a : b; }
inline wf_i32 lesser(wf_i32 a, wf_i32 b) { return a < b ? a : b; }
inline wf_i64 lesser(wf_i64 a, wf_i64 b) { return a < b ? a : b; }

struct Max {
  template <class T>
  struct Accumulator {
    using type = T;
  };
  static float identity(float) { return -WF_INF_F; }
  static double identity(double) { return -WF_INF_D; }
  static wf_i32 identity(wf_i32) { return -2147483647 - 1; }
  static wf_i64 identity(wf_i64) { return -0x7fffffffffffffffll - 1; }
  template <class A>
  static A lift(A x) {
    return x;
  }
  template <class A>
  static A apply(A a, A b) {
    return greater(a, b);
  }
};
struct Min {
  template <class T>
  struct Accumulator {
    using type = T;
  };
  static float identity(float) { return WF_INF_F; }
  static double identity(double) { return WF_INF_D; }
  static wf_i32 identity(wf_i32) { return 2147483647; }
  static wf_i64 identity(wf_i64) { return 0x7fffffffffffffffll; }
  template <class A>
  static A lift(A x) {
    return x;
  }
  template <class A>
  static A apply(A a, A b) {
    return lesser(a, b);
  }
};
struct Any {
  template <class T>
  struct Accumulator {
    using type = wf_i32;
  };
  static wf_i32 identity(wf_i32) { return 0; }
  template <class A, class T>
  static A lift(T x) {
    return x != T(0) ? 1 : 0;
  }
  static wf_i32 apply(wf_i32 a, wf_i32 b) { return a | b; }
};
struct All {
  template <class T>
  struct Accumulator {
    using type = wf_i32;
  };
  static wf_i32 identity(wf_i32) { return 1; }
  template <class A, class T>
  static A lift(T x) {
    return x != T(0) ? 1 : 0;
  }
  static wf_i32 apply(wf_i32 a, wf_i32 b) { return a & b; }
};

template <class Op, class T>
using AccumulatorOf = typename Op::template Accumulator<T>::type;

// a[0] ⊕ ... by halving, `count` a power of two.
template <class Op, class T>
__attribute__((noinline)) T halve(T* a, int count) {
  for (int h = count / 2; h > 0; h /= 2) WEFT_EACH
  for (int l = 0; l < h; ++l) a[l] = Op::apply(a[l], a[l + h]);
  return a[0];
}

// ---- reductions whose order does not matter

constexpr int fold_width = 64;  // a few accumulators of the widest vectors

template <class Op, class T>
__attribute__((noinline)) AccumulatorOf<Op, T> any_order(const T* x, int64_t n) {
  using A = AccumulatorOf<Op, T>;
  A a[fold_width];
  for (int j = 0; j < fold_width; ++j) a[j] = Op::identity(A());
  int64_t i = 0;
  for (; i + fold_width <= n; i += fold_width) {
    WEFT_EACH
    for (int j = 0; j < fold_width; ++j) a[j] = Op::apply(a[j], Op::template lift<A>(x[i + j]));
  }
  WEFT_EACH
  for (int64_t j = 0; j < n - i; ++j) a[j] = Op::apply(a[j], Op::template lift<A>(x[i + j]));
  return halve<Op>(a, fold_width);
}

// Integers of a float's size, for truth values that stay in vectors.
inline wf_i32 all_bits(float) { return 0; }
inline wf_i64 all_bits(double) { return 0; }

// The extreme of floats by one comparison each, and whether any is NaN by another. Which zero it
// is, should it be one, is left to the operation itself.
template <class Op, bool greatest, class T>
__attribute__((noinline)) T extreme(const T* x, int64_t n) {
  constexpr int width = fold_width / 2;
  using Bits = decltype(all_bits(T()));
  T a[width];
  Bits nan[width];
  for (int j = 0; j < width; ++j) {
    a[j] = Op::identity(T());
    nan[j] = 0;
  }
  const auto take = [&](int j, T v) {
    if constexpr (greatest)
      a[j] = v > a[j] ? v : a[j];
    else
      a[j] = v < a[j] ? v : a[j];
    nan[j] |= v != v ? Bits(-1) : Bits(0);
  };
  int64_t i = 0;
  for (; i + width <= n; i += width) {
    WEFT_EACH
    for (int j = 0; j < width; ++j) take(j, x[i + j]);
  }
  for (int j = 0; j < n - i; ++j) take(j, x[i + j]);
  Bits any_nan = 0;
  T best = Op::identity(T());
  for (int j = 0; j < width; ++j) {
    any_nan |= nan[j];
    best = greatest ? (a[j] > best ? a[j] : best) : (a[j] < best ? a[j] : best);
  }
  if (any_nan != 0) return sizeof(T) == 4 ? T(WF_NAN_F) : T(WF_NAN_D);
  return best == T(0) ? any_order<Op>(x, n) : best;
}

template <class T>
inline constexpr bool is_float = false;
template <>
inline constexpr bool is_float<float> = true;
template <>
inline constexpr bool is_float<double> = true;

template <class Op, class T>
AccumulatorOf<Op, T> reduce_any_order(const T* x, int64_t n) {
  if constexpr (is_float<T> && __is_same(Op, Max))
    return extreme<Op, true>(x, n);
  else if constexpr (is_float<T> && __is_same(Op, Min))
    return extreme<Op, false>(x, n);
  else
    return any_order<Op>(x, n);
}

template <class Op, class T>
void chunk_any_order(void* result, const void* x, int64_t n) {
  *static_cast<AccumulatorOf<Op, T>*>(result) = reduce_any_order<Op>(static_cast<const T*>(x), n);
}

}  // namespace
}  // namespace weft::detail
