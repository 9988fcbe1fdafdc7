// Reductions, products of matrices, and rows normalised along an axis.
#include "ops.h"

namespace golden {
namespace {

/// f(x, axes, keep, correction)
template <class F>
Op spread(F f) {
  return [f](const Args& args, const Attrs& attrs) -> Tensors {
    return {f(tensor_at(args, 0), axes_of(attrs), keeps_axes(attrs),
              attrs.value("correction", 1.0))};
  };
}

}  // namespace

void add_reductions(Registry& ops) {
  ops.merge(Registry{
      GOLDEN_REDUCTION(sum),
      GOLDEN_REDUCTION(mean),
      GOLDEN_REDUCTION(prod),
      GOLDEN_REDUCTION(amax),
      GOLDEN_REDUCTION(amin),
      GOLDEN_REDUCTION(any),
      GOLDEN_REDUCTION(all),
      GOLDEN_REDUCTION(argmax),
      GOLDEN_REDUCTION(argmin),
      GOLDEN_REDUCTION(logsumexp),
      GOLDEN_ALONG_AXIS(cumsum),
      GOLDEN_ALONG_AXIS(cumprod),
      GOLDEN_REDUCTION(norm),
      {"var", spread(GOLDEN_FUNCTION(var))},
      {"std", spread(GOLDEN_FUNCTION(stddev))},
      GOLDEN_ALONG_AXIS(softmax),
      GOLDEN_ALONG_AXIS(log_softmax),
      {"dot",
       [](const Args& args, const Attrs&) -> Tensors {
         return {weft::dot(tensor_at(args, 0), tensor_at(args, 1))};
       }},
      {"outer",
       [](const Args& args, const Attrs&) -> Tensors {
         return {weft::outer(tensor_at(args, 0), tensor_at(args, 1))};
       }},
      {"matmul",
       [](const Args& args, const Attrs&) -> Tensors {
         return {weft::matmul(tensor_at(args, 0), tensor_at(args, 1))};
       }},
  });
}

}  // namespace golden
