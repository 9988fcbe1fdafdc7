// Rules of values that exist before the graph runs, and of moves between devices.
#include "rules.h"

namespace weft::detail {

bool consistent_data(std::span<const Spec> inputs, const Attrs&, std::span<const Spec> outputs) {
  return inputs.empty() && outputs.size() == 1;
}

bool consistent_scalar(std::span<const Spec> inputs, const Attrs&, std::span<const Spec> outputs) {
  return inputs.empty() && outputs.size() == 1 && outputs[0].shape.empty();
}

bool consistent_variable(std::span<const Spec> inputs, const Attrs&,
                         std::span<const Spec> outputs) {
  return outputs.size() == 1 && (inputs.empty() || (inputs.size() == 1 && inputs[0] == outputs[0]));
}

bool consistent_transfer(std::span<const Spec> inputs, const Attrs&,
                         std::span<const Spec> outputs) {
  return inputs.size() == 1 && outputs.size() == 1 && inputs[0] == outputs[0];
}

bool consistent_upload(std::span<const Spec> inputs, const Attrs& attrs,
                       std::span<const Spec> outputs) {
  return consistent_transfer(inputs, attrs, outputs);
}

}  // namespace weft::detail
