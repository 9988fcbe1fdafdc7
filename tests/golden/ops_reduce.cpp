// Reductions, products of matrices, and rows normalised along an axis.
#include "ops.h"

namespace golden {

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
      GOLDEN_ALONG_AXIS(softmax),
      GOLDEN_ALONG_AXIS(log_softmax),
      {"matmul",
       [](const Args& args, const Attrs&) -> Tensors {
         return {weft::matmul(tensor_at(args, 0), tensor_at(args, 1))};
       }},
  });
}

}  // namespace golden
