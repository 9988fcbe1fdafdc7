// Element by element, one operand; casts.
#include "ops.h"

namespace golden {

void add_unary(Registry& ops) {
  ops.merge(Registry{
      GOLDEN_UNARY(neg),
      GOLDEN_UNARY(abs),
      GOLDEN_UNARY(sign),
      GOLDEN_UNARY(ceil),
      GOLDEN_UNARY(floor),
      GOLDEN_UNARY(round),
      GOLDEN_UNARY(trunc),
      GOLDEN_UNARY(sqrt),
      GOLDEN_UNARY(rsqrt),
      GOLDEN_UNARY(square),
      GOLDEN_UNARY(reciprocal),
      GOLDEN_UNARY(exp),
      GOLDEN_UNARY(exp2),
      GOLDEN_UNARY(expm1),
      GOLDEN_UNARY(log),
      GOLDEN_UNARY(log2),
      GOLDEN_UNARY(log10),
      GOLDEN_UNARY(log1p),
      GOLDEN_UNARY(sin),
      GOLDEN_UNARY(cos),
      GOLDEN_UNARY(tan),
      GOLDEN_UNARY(asin),
      GOLDEN_UNARY(acos),
      GOLDEN_UNARY(atan),
      GOLDEN_UNARY(sinh),
      GOLDEN_UNARY(cosh),
      GOLDEN_UNARY(tanh),
      GOLDEN_UNARY(asinh),
      GOLDEN_UNARY(acosh),
      GOLDEN_UNARY(atanh),
      GOLDEN_UNARY(erf),
      GOLDEN_UNARY(erfc),
      GOLDEN_UNARY(sigmoid),
      GOLDEN_UNARY(gelu),
      GOLDEN_UNARY(gelu_tanh),
      GOLDEN_UNARY(silu),
      GOLDEN_UNARY(mish),
      GOLDEN_UNARY(softplus),
      GOLDEN_UNARY(log_sigmoid),
      GOLDEN_UNARY(relu),
      GOLDEN_UNARY(elu),
      GOLDEN_UNARY(leaky_relu),
      GOLDEN_UNARY(hardswish),
      GOLDEN_UNARY(isnan),
      GOLDEN_UNARY(isinf),
      GOLDEN_UNARY(isfinite),
      GOLDEN_UNARY(logical_not),
      GOLDEN_UNARY(bitwise_not),
      {"cast",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {tensor_at(args, 0).to(dtype_named(attrs.at("dtype").get<std::string>()))};
       }},
  });
}

}  // namespace golden
