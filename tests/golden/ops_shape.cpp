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

weft::PadOptions pad_options(const Attrs& attrs) {
  using weft::PadMode;
  const std::string mode = attrs.value("mode", "constant");
  weft::PadOptions options;
  options.mode = mode == "reflect"     ? PadMode::reflect
                 : mode == "replicate" ? PadMode::replicate
                 : mode == "circular"  ? PadMode::circular
                                       : PadMode::constant;
  if (attrs.contains("value") && attrs["value"].is_number())
    options.value = attrs["value"].get<double>();
  return options;
}

// Along "dim", or without one in row-major order; "shift" is a number or a list, as "dim" is.
Tensors roll(const Args& args, const Attrs& attrs) {
  const Attrs& shift = attrs.at("shift");
  const weft::Dims shifts = shift.is_array() ? weft::Dims(shift.get<std::vector<std::int64_t>>())
                                             : weft::Dims(shift.get<std::int64_t>());
  return {weft::roll(tensor_at(args, 0), shifts, axes_of(attrs))};
}

// A number in place of the source is an attribute or an argument.
Tensors scatter(const Args& args, const Attrs& attrs) {
  const weft::Tensor &x = tensor_at(args, 0), &index = tensor_at(args, 1);
  if (args.size() < 3)
    return {weft::scatter(x, axis_of(attrs), index, attrs.at("value").get<double>())};
  return std::visit(
      [&](const auto& source) -> Tensors {
        return {weft::scatter(x, axis_of(attrs), index, source)};
      },
      args.at(2));
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
      {"pad",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::pad(tensor_at(args, 0), int_list(attrs, "pad"), pad_options(attrs))};
       }},
      {"repeat",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::repeat(tensor_at(args, 0), int_list(attrs, "repeats"))};
       }},
      {"tril",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::tril(tensor_at(args, 0), attrs.value("diagonal", std::int64_t{0}))};
       }},
      {"triu",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::triu(tensor_at(args, 0), attrs.value("diagonal", std::int64_t{0}))};
       }},
      {"diagonal",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::diagonal(tensor_at(args, 0), attrs.value("offset", std::int64_t{0}),
                                attrs.value("dim1", std::int64_t{0}),
                                attrs.value("dim2", std::int64_t{1}))};
       }},
      {"one_hot",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::one_hot(tensor_at(args, 0), attrs.value("num_classes", std::int64_t{-1}))};
       }},
      {"roll", roll},
      {"scatter", scatter},
      {"slice", slice},
      {"scatter_add", scatter_add},
      {"topk", topk},
      {"sort", sort},
  });
}

}  // namespace golden
