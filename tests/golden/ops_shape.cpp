// Views, joins, gathers and sorts.
#include "ops.h"

namespace golden {
namespace {

Tensors all_of(const Args& args) {
  Tensors tensors;
  for (std::size_t i = 0; i < args.size(); ++i) tensors.push_back(tensor_at(args, i));
  return tensors;
}

Tensors slice(const Args& args, const Attrs& attrs) {
  return {tensor_at(args, 0).slice(axis_of(attrs), attrs.at("start").get<std::int64_t>(),
                                   attrs.at("stop").get<std::int64_t>(),
                                   attrs.value("step", std::int64_t{1}))};
}

Tensors scatter_add(const Args& args, const Attrs& attrs) {
  return {weft::scatter_add(tensor_at(args, 0), axis_of(attrs), tensor_at(args, 1),
                            tensor_at(args, 2))};
}

Tensors topk(const Args& args, const Attrs& attrs) {
  const auto [values, indices] =
      weft::topk(tensor_at(args, 0), attrs.at("k").get<std::int64_t>(), axis_of(attrs));
  return {values, indices};
}

Tensors sort(const Args& args, const Attrs& attrs) {
  const auto [values, indices] =
      weft::sort(tensor_at(args, 0), axis_of(attrs), attrs.value("descending", false));
  return {values, indices};
}

}  // namespace

void add_shape(Registry& ops) {
  ops.merge(Registry{
      GOLDEN_ALONG_AXIS(squeeze),
      GOLDEN_ALONG_AXIS(unsqueeze),
      {"reshape",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::reshape(tensor_at(args, 0), int_list(attrs, "shape"))};
       }},
      {"expand",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::expand(tensor_at(args, 0), int_list(attrs, "shape"))};
       }},
      {"permute",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::permute(tensor_at(args, 0), int_list(attrs, "dims"))};
       }},
      {"flip",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::flip(tensor_at(args, 0), int_list(attrs, "dims"))};
       }},
      {"flatten",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::flatten(tensor_at(args, 0), attrs.value("start_dim", std::int64_t{0}),
                               attrs.value("end_dim", std::int64_t{-1}))};
       }},
      {"transpose",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::transpose(tensor_at(args, 0), attrs.at("dim0").get<std::int64_t>(),
                                 attrs.at("dim1").get<std::int64_t>())};
       }},
      {"select",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::select(tensor_at(args, 0), axis_of(attrs),
                              attrs.at("index").get<std::int64_t>())};
       }},
      {"cat",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::cat(all_of(args), axis_of(attrs))};
       }},
      {"stack",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::stack(all_of(args), axis_of(attrs))};
       }},
      {"gather",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::gather(tensor_at(args, 0), axis_of(attrs), tensor_at(args, 1))};
       }},
      {"index_select",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::index_select(tensor_at(args, 0), axis_of(attrs), tensor_at(args, 1))};
       }},
      {"slice", slice},
      {"scatter_add", scatter_add},
      {"topk", topk},
      {"sort", sort},
  });
}

}  // namespace golden
