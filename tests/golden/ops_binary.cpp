// Element by element, two operands or three.
#include "ops.h"

namespace golden {
namespace {

std::optional<double> bound(const Attrs& attrs, const char* name) {
  const Attrs value = attrs.value(name, Attrs());
  if (value.is_null()) return std::nullopt;
  return value.get<double>();
}

}  // namespace

void add_binary(Registry& ops) {
  ops.merge(Registry{
      GOLDEN_BINARY(add),
      GOLDEN_BINARY(sub),
      GOLDEN_BINARY(mul),
      GOLDEN_BINARY(div),
      GOLDEN_BINARY(floor_divide),
      GOLDEN_BINARY(remainder),
      GOLDEN_BINARY(fmod),
      GOLDEN_BINARY(pow),
      GOLDEN_BINARY(maximum),
      GOLDEN_BINARY(minimum),
      GOLDEN_BINARY(fmax),
      GOLDEN_BINARY(fmin),
      GOLDEN_BINARY(atan2),
      GOLDEN_BINARY(hypot),
      GOLDEN_BINARY(copysign),
      GOLDEN_BINARY(eq),
      GOLDEN_BINARY(ne),
      GOLDEN_BINARY(lt),
      GOLDEN_BINARY(le),
      GOLDEN_BINARY(gt),
      GOLDEN_BINARY(ge),
      GOLDEN_BINARY(logical_and),
      GOLDEN_BINARY(logical_or),
      GOLDEN_BINARY(logical_xor),
      GOLDEN_BINARY(bitwise_and),
      GOLDEN_BINARY(bitwise_or),
      GOLDEN_BINARY(bitwise_xor),
      GOLDEN_BINARY(left_shift),
      GOLDEN_BINARY(right_shift),
      {"where",
       [](const Args& args, const Attrs&) -> Tensors {
         return std::visit(
             [&args](const auto& x, const auto& y) -> Tensors {
               return {weft::where(tensor_at(args, 0), x, y)};
             },
             args.at(1), args.at(2));
       }},
      {"lerp",
       [](const Args& args, const Attrs&) -> Tensors {
         return {weft::lerp(tensor_at(args, 0), tensor_at(args, 1), tensor_at(args, 2))};
       }},
      {"clamp",
       [](const Args& args, const Attrs& attrs) -> Tensors {
         return {weft::clamp(tensor_at(args, 0), bound(attrs, "min"), bound(attrs, "max"))};
       }},
  });
}

}  // namespace golden
