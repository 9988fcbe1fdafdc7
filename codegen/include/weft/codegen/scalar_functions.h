// The scalar functions of weft's kernels, for the element-wise ops of a program: the bits are those
// of GPUs, so products and sums are not contracted, whatever the program is compiled with.
#pragma once

#if defined(__FAST_MATH__)
#error "weft/custom.h: -ffast-math gives other results than GPUs; compile this file without it"
#endif

#pragma GCC system_header

// On the functions that an expression is compiled in: a pragma does not reach templates.
#if defined(__clang__)
#define WEFT_ELEMENT_LOOP
#define WEFT_ELEMENT_BODY _Pragma("clang fp contract(off)")
#define WEFT_EACH_ELEMENT _Pragma("clang loop vectorize(assume_safety)")
#pragma float_control(push)
#pragma clang fp contract(off)
#else
#define WEFT_ELEMENT_LOOP                                                                          \
  __attribute__((                                                                                  \
      optimize("fp-contract=off", "no-math-errno", "no-trapping-math", "tree-vectorize")))
#define WEFT_ELEMENT_BODY
#define WEFT_EACH_ELEMENT _Pragma("GCC ivdep")
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "no-math-errno", "no-trapping-math")
#endif

#include <weft/kernels/math.cuh>
#include <weft/kernels/scalar.cuh>

#if defined(__clang__)
#pragma float_control(pop)
#else
#pragma GCC pop_options
#endif

namespace weft::detail {

/// What an expression finds by these names, before anything else.
struct ScalarFunctions {
#define WEFT_SCALAR_FUNCTION(name)                                                                 \
  template <class... T>                                                                            \
  static inline __attribute__((always_inline)) auto name(T... x)->decltype(wf_##name(x...)) {      \
    return wf_##name(x...);                                                                        \
  }
#include <weft/codegen/scalar_functions.def>
};

}  // namespace weft::detail
