// The point-wise functions and operators, made from the table of ops.
#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>

namespace weft {

using detail::OpId;
using detail::record_pointwise;

namespace {

Tensor one(OpId op, const TensorArg& x) {
  // As PyTorch: the square of a bool is a number.
  if (op == OpId::square && x.ref().node &&
      x.ref().node->dtype_of(x.ref().output) == DType::bool_) {
    const Tensor number = detail::record_cast(x.ref(), DType::i64, x.at());
    return one(op, {number, x.at()});
  }
  const Operand operands[] = {x};
  return record_pointwise(op, operands);
}
/// x to a power that the program wrote as 2: a product, exact and cheap. Decided here, since plans
/// never look at values.
bool is_square(OpId op, const Operand& x, const Operand& y) {
  if (op != OpId::pow || x.is_number() || !y.is_number() || y.value() != 2) return false;
  return y.number() == Operand::Number::integer || is_floating(detail::defined(x, "pow")->dtype);
}
/// An integer to a negative power that the program wrote: not through the dtype, which may have no
/// negative numbers. 1 stays, -1 alternates, all else gives 0.
bool is_negative_power(OpId op, const Operand& x, const Operand& y) {
  return op == OpId::pow && !x.is_number() && y.number() == Operand::Number::integer &&
         y.integer() < 0 && is_integral(detail::defined(x, "pow")->dtype);
}
Tensor negative_power(const Operand& x, const Operand& y) {
  const Where at = y.at();
  const bool is_odd = y.integer() % 2 != 0;
  const Tensor base = Tensor(detail::Handle(x.ref())), none = zeros_like({base, at});
  const Tensor of_one = where({eq({base, at}, {1, at}), at}, {1, at}, {none, at});
  if (base.dtype(at) == DType::u8) return of_one;
  return where({eq({base, at}, {-1, at}), at}, {is_odd ? -1 : 1, at}, {of_one, at});
}
Tensor two(OpId op, const Operand& x, const Operand& y) {
  if (is_negative_power(op, x, y)) return negative_power(x, y);
  if (is_square(op, x, y)) return one(OpId::square, x);
  const Operand operands[] = {x, y};
  return record_pointwise(op, operands);
}
Tensor three(OpId op, const TensorArg& x, const Operand& y, const Operand& z) {
  const Operand operands[] = {x, y, z};
  return record_pointwise(op, operands);
}

}  // namespace

#define WEFT_DEFINE_1(name) \
  Tensor name(const TensorArg& x) { return one(OpId::name, x); }
#define WEFT_DEFINE_2(name) \
  Tensor name(const Operand& x, const Operand& y) { return two(OpId::name, x, y); }
#define WEFT_DEFINE_3(name)                                              \
  Tensor name(const TensorArg& x, const Operand& y, const Operand& z) { \
    return three(OpId::name, x, y, z);                                   \
  }
#define WEFT_DEFINE_arithmetic(name, arity) WEFT_DEFINE_##arity(name)
#define WEFT_DEFINE_numeric(name, arity) WEFT_DEFINE_##arity(name)
#define WEFT_DEFINE_floating(name, arity) WEFT_DEFINE_##arity(name)
#define WEFT_DEFINE_integral(name, arity) WEFT_DEFINE_##arity(name)
#define WEFT_DEFINE_compare(name, arity) WEFT_DEFINE_##arity(name)
#define WEFT_DEFINE_predicate(name, arity) WEFT_DEFINE_##arity(name)
#define WEFT_DEFINE_select(name, arity) WEFT_DEFINE_##arity(name)
#define WEFT_DEFINE_given(name, arity)
#define WEFT_OP_POINTWISE(name, arity, rule, ...) WEFT_DEFINE_##rule(name, arity)
#include <weft/graph/detail/ops.def>

Tensor operator+(const Operand& x, const Operand& y) { return two(OpId::add, x, y); }
Tensor operator-(const Operand& x, const Operand& y) { return two(OpId::sub, x, y); }
Tensor operator*(const Operand& x, const Operand& y) { return two(OpId::mul, x, y); }
Tensor operator/(const Operand& x, const Operand& y) { return two(OpId::div, x, y); }
Tensor operator%(const Operand& x, const Operand& y) { return two(OpId::remainder, x, y); }
Tensor operator==(const Operand& x, const Operand& y) { return two(OpId::eq, x, y); }
Tensor operator!=(const Operand& x, const Operand& y) { return two(OpId::ne, x, y); }
Tensor operator<(const Operand& x, const Operand& y) { return two(OpId::lt, x, y); }
Tensor operator<=(const Operand& x, const Operand& y) { return two(OpId::le, x, y); }
Tensor operator>(const Operand& x, const Operand& y) { return two(OpId::gt, x, y); }
Tensor operator>=(const Operand& x, const Operand& y) { return two(OpId::ge, x, y); }
Tensor operator&(const Operand& x, const Operand& y) { return two(OpId::bitwise_and, x, y); }
Tensor operator|(const Operand& x, const Operand& y) { return two(OpId::bitwise_or, x, y); }
Tensor operator^(const Operand& x, const Operand& y) { return two(OpId::bitwise_xor, x, y); }
Tensor operator<<(const Operand& x, const Operand& y) { return two(OpId::left_shift, x, y); }
Tensor operator>>(const Operand& x, const Operand& y) { return two(OpId::right_shift, x, y); }
Tensor operator-(const TensorArg& x) { return one(OpId::neg, x); }
Tensor operator!(const TensorArg& x) { return one(OpId::logical_not, x); }
Tensor operator~(const TensorArg& x) { return one(OpId::bitwise_not, x); }

Tensor& operator+=(Tensor& x, const Operand& y) { return x = two(OpId::add, {x, y.at()}, y); }
Tensor& operator-=(Tensor& x, const Operand& y) { return x = two(OpId::sub, {x, y.at()}, y); }
Tensor& operator*=(Tensor& x, const Operand& y) { return x = two(OpId::mul, {x, y.at()}, y); }
Tensor& operator/=(Tensor& x, const Operand& y) { return x = two(OpId::div, {x, y.at()}, y); }
Tensor& operator%=(Tensor& x, const Operand& y) { return x = two(OpId::remainder, {x, y.at()}, y); }
Tensor& operator&=(Tensor& x, const Operand& y) { return x = two(OpId::bitwise_and, {x, y.at()}, y); }
Tensor& operator|=(Tensor& x, const Operand& y) { return x = two(OpId::bitwise_or, {x, y.at()}, y); }
Tensor& operator^=(Tensor& x, const Operand& y) { return x = two(OpId::bitwise_xor, {x, y.at()}, y); }
Tensor& operator<<=(Tensor& x, const Operand& y) { return x = two(OpId::left_shift, {x, y.at()}, y); }
Tensor& operator>>=(Tensor& x, const Operand& y) { return x = two(OpId::right_shift, {x, y.at()}, y); }

}  // namespace weft
