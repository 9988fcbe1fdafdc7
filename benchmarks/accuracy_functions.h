// What `accuracy` measures: blocks of the functions of codegen/kernels, and their references.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "math.cuh"
#include "scalar.cuh"
#include "support/math_references.h"

namespace accuracy {

using Wide = long double;
namespace exact = weft::testing;

template <class T>
using Block = void (*)(const T* x, const T* y, T* out, int n);

struct Function {
  std::string name;
  int arity;
  Block<float> f32;
  Block<double> f64;
};

#define WEFT_BLOCK(T_, expression)                                                                 \
  [](const T_* xs, const T_* ys, T_* out, int n) {                                                 \
    using T [[maybe_unused]] = T_;                                                                 \
    for (int i = 0; i < n; ++i) {                                                                  \
      [[maybe_unused]] const T_ x = xs[i], y = ys[i], z = 0;                                       \
      out[i] = static_cast<T_>(expression);                                                        \
    }                                                                                              \
  }
#define WEFT_ROW_ints(name, arity, ulp, expression)
#define WEFT_ROW_all(name, arity, ulp, expression) WEFT_ROW_floats(name, arity, ulp, expression)
#define WEFT_ROW_floats(name, arity, ulp, expression)                                              \
  if ((ulp) > 0)                                                                                   \
    list.push_back(                                                                                \
        {#name, arity, WEFT_BLOCK(float, (expression)), WEFT_BLOCK(double, (expression))});
#define WEFT_EXTRA(fn, arity, expression)                                                          \
  if (std::none_of(list.begin(), list.end(), [](auto& f) { return f.name == #fn; }))               \
  WEFT_ROW_floats(fn, arity, 2, expression)
#define WEFT_EXTRA_1(name) WEFT_EXTRA(name, 1, wf_##name(x))
#define WEFT_EXTRA_2(name) WEFT_EXTRA(name, 2, wf_##name(x, y))

inline std::vector<Function> functions() {
  std::vector<Function> list;
#define WEFT_OP_POINTWISE(name, arity, rule, classes, flops, low, high, ulp, doc, expression, ...) \
  WEFT_ROW_##classes(name, arity, ulp, expression)
#include <weft/graph/detail/ops.def>
  WEFT_EXTRA_1(exp2)
  WEFT_EXTRA_1(expm1)
  WEFT_EXTRA_1(log2)
  WEFT_EXTRA_1(log10)
  WEFT_EXTRA_1(log1p)
  WEFT_EXTRA_1(tan)
  WEFT_EXTRA_1(sinh)
  WEFT_EXTRA_1(cosh)
  WEFT_EXTRA_1(asin)
  WEFT_EXTRA_1(acos)
  WEFT_EXTRA_1(atan)
  WEFT_EXTRA_1(asinh)
  WEFT_EXTRA_1(acosh)
  WEFT_EXTRA_1(atanh)
  WEFT_EXTRA_1(erf)
  WEFT_EXTRA_1(erfc)
  WEFT_EXTRA_2(atan2)
  WEFT_EXTRA_2(hypot)
  return list;
}

struct Reference {
  double (*f32)(double, double);
  Wide (*f64)(Wide, Wide);
  /// The double is not wide enough for floats either.
  bool wide = false;
  /// An absolute error that is right too, where a result nears 0 as a sum of greater terms: of f64,
  /// or of both.
  double slack = 0, slack32 = 0;
};

#define WEFT_REFERENCE(name, ...)                                                                  \
  {                                                                                                \
#name, {                                                                                       \
      [](double x, [[maybe_unused]] double y) -> double { return __VA_ARGS__; },                   \
          [](Wide x, [[maybe_unused]] Wide y) -> Wide { return __VA_ARGS__; }                      \
    }                                                                                              \
  }

inline std::map<std::string, Reference> references() {
  std::map<std::string, Reference> table = {
      WEFT_REFERENCE(exp, std::exp(x)),
      WEFT_REFERENCE(exp2, std::exp2(x)),
      WEFT_REFERENCE(expm1, std::expm1(x)),
      WEFT_REFERENCE(log, std::log(x)),
      WEFT_REFERENCE(log2, std::log2(x)),
      WEFT_REFERENCE(log10, std::log10(x)),
      WEFT_REFERENCE(log1p, std::log1p(x)),
      WEFT_REFERENCE(sin, std::sin(x)),
      WEFT_REFERENCE(cos, std::cos(x)),
      WEFT_REFERENCE(tan, std::tan(x)),
      WEFT_REFERENCE(tanh, std::tanh(x)),
      WEFT_REFERENCE(sigmoid, exact::sigmoid(x)),
      WEFT_REFERENCE(sinh, std::sinh(x)),
      WEFT_REFERENCE(cosh, std::cosh(x)),
      WEFT_REFERENCE(asin, std::asin(x)),
      WEFT_REFERENCE(acos, std::acos(x)),
      WEFT_REFERENCE(atan, std::atan(x)),
      WEFT_REFERENCE(asinh, std::asinh(x)),
      WEFT_REFERENCE(acosh, std::acosh(x)),
      WEFT_REFERENCE(atanh, std::atanh(x)),
      WEFT_REFERENCE(erf, std::erf(x)),
      WEFT_REFERENCE(erfc, std::erfc(x)),
      WEFT_REFERENCE(rsqrt, 1 / std::sqrt(x)),
      WEFT_REFERENCE(cbrt, std::cbrt(x)),
      WEFT_REFERENCE(gelu, x * exact::ndtr(x)),
      WEFT_REFERENCE(gelu_tanh, exact::gelu_tanh(x)),
      WEFT_REFERENCE(silu, exact::gated(x, x)),
      WEFT_REFERENCE(mish, exact::mish(x)),
      WEFT_REFERENCE(softplus, exact::softplus(x)),
      WEFT_REFERENCE(log_sigmoid, exact::log_sigmoid(x)),
      WEFT_REFERENCE(ndtr, exact::ndtr(x)),
      WEFT_REFERENCE(lgamma, exact::log_gamma(x)),
      WEFT_REFERENCE(digamma, exact::digamma(x)),
      WEFT_REFERENCE(trigamma, exact::trigamma(x)),
      WEFT_REFERENCE(pow, std::pow(x, y)),
      WEFT_REFERENCE(atan2, std::atan2(x, y)),
      WEFT_REFERENCE(hypot, std::hypot(x, y)),
      WEFT_REFERENCE(logaddexp, exact::logaddexp(x, y)),
  };
  for (const char* name : {"lgamma", "digamma", "logaddexp"}) table.at(name).wide = true;
  table.at("lgamma").slack = 0x1p-53;
  table.at("digamma").slack = 0x1p-52;
  table.at("logaddexp").slack = table.at("logaddexp").slack32 = 0x1p-53;
  return table;
}

}  // namespace accuracy
