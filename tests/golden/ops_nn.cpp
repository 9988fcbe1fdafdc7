// Layers and losses.
#include "ops.h"

namespace golden {
namespace {

weft::Reduction reduction_of(const Attrs& attrs) {
  const auto name = attrs.value("reduction", std::string("mean"));
  if (name == "none") return weft::Reduction::none;
  return name == "sum" ? weft::Reduction::sum : weft::Reduction::mean;
}

Tensors cross_entropy(const Args& args, const Attrs& attrs) {
  weft::CrossEntropyOptions options;
  options.reduction = reduction_of(attrs);
  options.ignore_index = attrs.value("ignore_index", options.ignore_index);
  options.label_smoothing = attrs.value("label_smoothing", options.label_smoothing);
  return {weft::cross_entropy(tensor_at(args, 0), tensor_at(args, 1), options)};
}

Tensors linear(const Args& args, const Attrs&) {
  if (args.size() == 2) return {weft::linear(tensor_at(args, 0), tensor_at(args, 1))};
  return {weft::linear(tensor_at(args, 0), tensor_at(args, 1), tensor_at(args, 2))};
}

}  // namespace

void add_nn(Registry& ops) {
  ops.merge(Registry{
      {"cross_entropy", cross_entropy},
      {"linear", linear},
      {"l1_loss",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::l1_loss(tensor_at(args, 0), tensor_at(args, 1),
                               {.reduction = reduction_of(attrs)})};
       }},
      {"mse_loss",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::mse_loss(tensor_at(args, 0), tensor_at(args, 1),
                                {.reduction = reduction_of(attrs)})};
       }},
  });
}

}  // namespace golden
