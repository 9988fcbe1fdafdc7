// Element-wise ops of a program's own, from one scalar expression each.
#pragma once

#include <initializer_list>
#include <span>
#include <type_traits>

#include <weft/codegen/scalar_functions.h>
#include <weft/graph/args.h>
#include <weft/graph/detail/custom.h>
#include <weft/graph/detail/record.h>
#include <weft/graph/tensor.h>

namespace weft {

/// How operands become one dtype, and what the result has: arithmetic (any dtype), numeric (no
/// bool), floating (integers and bools become the default float dtype), integral (no floats),
/// compare and predicate (the result is bool, whether the expression is not 0).
using DTypeRule = detail::DTypeRule;

struct ElementwiseOptions {
  DTypeRule rule = DTypeRule::floating;
  /// Predicted cost of one element, in additions.
  float cost = 8;
};

namespace detail {

struct ElementwiseText {
  const char* name;
  const char* operands;  // "x, y"
  const char* expression;
  int arity;
  ElementwiseOptions options;
  void (*gradient)(GradientCall&);
  ElementBlock blocks[compute_class_count];
  bool is_contracted;
};

/// Checks the definition and registers it. ValueError naming what a GPU would not understand.
OpId define_elementwise(const ElementwiseText& text, Where at);
Tensor record_elementwise(OpId op, std::span<const Operand> operands);

constexpr bool is_of_floats(DTypeRule rule) noexcept { return rule != DTypeRule::integral; }
constexpr bool is_of_integers(DTypeRule rule) noexcept { return rule != DTypeRule::floating; }
constexpr bool gives_bool(DTypeRule rule) noexcept {
  return rule == DTypeRule::compare || rule == DTypeRule::predicate;
}

/// The loop over a block that a fused group calls.
template <class Spec, class T>
WEFT_ELEMENT_LOOP void element_block(void* result, const void* px, const void* py, const void* pz) {
  using R = std::conditional_t<gives_bool(Spec::options.rule), wf_i32, T>;
  R* __restrict r = static_cast<R*>(result);
  const T* __restrict x = static_cast<const T*>(px);
  [[maybe_unused]] const T* __restrict y = static_cast<const T*>(py);
  [[maybe_unused]] const T* __restrict z = static_cast<const T*>(pz);
  const auto value = [](auto element) {
    static_assert(!std::is_same_v<decltype(element), long double>, "GPUs have no long double");
    if constexpr (gives_bool(Spec::options.rule))
      return static_cast<R>(element != 0);
    else
      return static_cast<R>(element);
  };
  WEFT_EACH_ELEMENT
  for (int i = 0; i < custom_block; ++i) {
    if constexpr (Spec::arity == 1)
      r[i] = value(Spec::apply(x[i]));
    else if constexpr (Spec::arity == 2)
      r[i] = value(Spec::apply(x[i], y[i]));
    else
      r[i] = value(Spec::apply(x[i], y[i], z[i]));
  }
}

/// Whether this file is compiled so that a·b + c is rounded once all the same.
template <class T>
WEFT_ELEMENT_LOOP bool is_contracted(T a, T b) {
  WEFT_ELEMENT_BODY
  volatile T x_seen = a, c_seen = b;
  const T x = x_seen, c = c_seen;
  return x * x + c != 0;
}
inline bool is_any_contracted() noexcept {
  const float f = 1.0f + 0x1p-20f;
  const double d = 1.0 + 0x1p-50;
  return is_contracted<float>(f, -(1.0f + 0x1p-19f)) || is_contracted<double>(d, -(1.0 + 0x1p-49));
}

/// An op as a function of tensors and numbers.
template <class Spec>
class Elementwise {
 public:
  Tensor operator()(const Operand& x) const requires(Spec::arity == 1) { return record({x}); }
  Tensor operator()(const Operand& x, const Operand& y) const requires(Spec::arity == 2) {
    return record({x, y});
  }
  Tensor operator()(const Operand& x, const Operand& y, const Operand& z) const
      requires(Spec::arity == 3) {
    return record({x, y, z});
  }

 private:
  static Tensor record(std::initializer_list<Operand> operands) {
    static const OpId op = define(operands.begin()->at());
    return record_elementwise(op, {operands.begin(), operands.size()});
  }
  static OpId define(Where at) {
    ElementwiseText text{Spec::name,  Spec::operands,     Spec::expression,
                         Spec::arity, Spec::options,      Spec::gradient,
                         {},          is_any_contracted()};
    if constexpr (is_of_floats(Spec::options.rule)) {
      text.blocks[static_cast<int>(ComputeClass::f32)] = &element_block<Spec, float>;
      text.blocks[static_cast<int>(ComputeClass::f64)] = &element_block<Spec, double>;
    }
    if constexpr (is_of_integers(Spec::options.rule)) {
      text.blocks[static_cast<int>(ComputeClass::i32)] = &element_block<Spec, wf_i32>;
      text.blocks[static_cast<int>(ComputeClass::i64)] = &element_block<Spec, wf_i64>;
    }
    return define_elementwise(text, at);
  }
};

}  // namespace detail
}  // namespace weft

/// WEFT_ELEMENTWISE(name, (operands), expression, (gradients), options...);
///
/// At namespace scope: defines `name`, a function of one to three tensors, with everything that
/// weft's own point-wise ops have: broadcasting, promotion, fusion with its neighbours on every
/// device, the same bits on each.
///   expression  of the operands and the type T (float, double; int, long long where the rule lets
///               integers through), in the common subset of C++ and CUDA C++, over the functions of
///               weft/codegen/scalar_functions.def, by these names or with wf_ before them
///   gradients   of tensors, one for each operand: g is the cotangent, the operands by their names,
///               `out` the value; or () where there is none
///   options     ElementwiseOptions, as .rule = weft::DTypeRule::numeric
/// At its first use ValueError, where the expression names something else; f16 and bf16 go by way
/// of float.
#define WEFT_ELEMENTWISE(op_name, op_operands, op_expression, op_gradients, ...)                   \
  struct weft_gradient_of_##op_name {                                                              \
    static void give([[maybe_unused]] ::weft::detail::GradientCall& weft_call) {                   \
      [[maybe_unused]] const ::weft::Tensor& g = weft_call.cotangents[0];                          \
      [[maybe_unused]] const ::weft::Tensor& out = weft_call.outputs[0];                           \
      WEFT_CUSTOM_TENSORS op_operands WEFT_CUSTOM_GRADIENTS op_gradients                           \
    }                                                                                              \
  };                                                                                               \
  struct weft_elementwise_##op_name : ::weft::detail::ScalarFunctions {                            \
    static constexpr const char *name = #op_name, *operands = WEFT_CUSTOM_TEXT op_operands,        \
                                *expression = #op_expression;                                      \
    static constexpr int arity = WEFT_CUSTOM_COUNT op_operands;                                    \
    static constexpr int gradient_count = WEFT_CUSTOM_COUNT op_gradients;                          \
    static_assert(gradient_count == 0 || gradient_count == arity, "one gradient an operand");      \
    static constexpr ::weft::ElementwiseOptions options{__VA_ARGS__};                              \
    static constexpr void (*gradient)(::weft::detail::GradientCall&) = gradient_count == 0         \
                                                                           ? nullptr               \
                                                                           : &weft_gradient_of_    \
                                                                             ##op_name::give;      \
    template <class T>                                                                             \
    static inline __attribute__((always_inline)) auto apply(WEFT_CUSTOM_VALUES op_operands) {      \
      WEFT_ELEMENT_BODY                                                                            \
      return op_expression;                                                                        \
    }                                                                                              \
  };                                                                                               \
  [[maybe_unused]] inline constexpr ::weft::detail::Elementwise<weft_elementwise_##op_name>        \
      op_name {}

#define WEFT_CUSTOM_PICK(a, b, c, chosen, ...) chosen
#define WEFT_CUSTOM_COUNT(...) (0 __VA_OPT__(+WEFT_CUSTOM_PICK(__VA_ARGS__, 3, 2, 1, )))
#define WEFT_CUSTOM_TEXT(...) #__VA_ARGS__
#define WEFT_CUSTOM_VALUE_1(a) [[maybe_unused]] T a
#define WEFT_CUSTOM_VALUE_2(a, b) WEFT_CUSTOM_VALUE_1(a), WEFT_CUSTOM_VALUE_1(b)
#define WEFT_CUSTOM_VALUE_3(a, b, c) WEFT_CUSTOM_VALUE_2(a, b), WEFT_CUSTOM_VALUE_1(c)
#define WEFT_CUSTOM_VALUES(...)                                                                    \
  WEFT_CUSTOM_PICK(__VA_ARGS__, WEFT_CUSTOM_VALUE_3, WEFT_CUSTOM_VALUE_2, WEFT_CUSTOM_VALUE_1, )   \
  (__VA_ARGS__)
#define WEFT_CUSTOM_TENSOR(a, i) [[maybe_unused]] const ::weft::Tensor& a = weft_call.inputs[i];
#define WEFT_CUSTOM_TENSOR_1(a) WEFT_CUSTOM_TENSOR(a, 0)
#define WEFT_CUSTOM_TENSOR_2(a, b) WEFT_CUSTOM_TENSOR_1(a) WEFT_CUSTOM_TENSOR(b, 1)
#define WEFT_CUSTOM_TENSOR_3(a, b, c) WEFT_CUSTOM_TENSOR_2(a, b) WEFT_CUSTOM_TENSOR(c, 2)
#define WEFT_CUSTOM_TENSORS(...)                                                                   \
  WEFT_CUSTOM_PICK(__VA_ARGS__, WEFT_CUSTOM_TENSOR_3, WEFT_CUSTOM_TENSOR_2,                        \
                   WEFT_CUSTOM_TENSOR_1, )                                                         \
  (__VA_ARGS__)
#define WEFT_CUSTOM_GRADIENT(expression, i)                                                        \
  if (weft_call.needs[i])                                                                          \
    weft_call.results[i] =                                                                         \
        ::weft::detail::element_gradient(weft_call, i, ::weft::Tensor(expression));
#define WEFT_CUSTOM_GRADIENT_1(a) WEFT_CUSTOM_GRADIENT(a, 0)
#define WEFT_CUSTOM_GRADIENT_2(a, b) WEFT_CUSTOM_GRADIENT_1(a) WEFT_CUSTOM_GRADIENT(b, 1)
#define WEFT_CUSTOM_GRADIENT_3(a, b, c) WEFT_CUSTOM_GRADIENT_2(a, b) WEFT_CUSTOM_GRADIENT(c, 2)
#define WEFT_CUSTOM_GRADIENTS(...)                                                                 \
  __VA_OPT__(WEFT_CUSTOM_PICK(__VA_ARGS__, WEFT_CUSTOM_GRADIENT_3, WEFT_CUSTOM_GRADIENT_2,         \
                              WEFT_CUSTOM_GRADIENT_1, )(__VA_ARGS__))
