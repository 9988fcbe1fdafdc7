// Every function name of the API page, as a program writes it: free, as a member, and of a
// Variable. The values are worked out by hand, or are the C library's.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

namespace {

using Values = std::vector<double>;
Values values(const Tensor& x) { return x.to_vector<double>(); }

bool near(const Tensor& x, const Values& wanted, double tolerance = 1e-6) {
  const Values got = values(x);
  bool is_near = got.size() == wanted.size();
  for (std::size_t i = 0; is_near && i < got.size(); ++i)
    is_near = std::abs(got[i] - wanted[i]) <= tolerance * std::max(1.0, std::abs(wanted[i]));
  if (!is_near)
    for (const double value : got) UNSCOPED_INFO(value);
  return is_near;
}

}  // namespace

// One operand: function, member, of a Variable, and of a Variable as a member.
#define CHECK_UNARY(name, x, ...)                                                                  \
  do {                                                                                             \
    INFO(#name);                                                                                   \
    const Tensor given = x;                                                                        \
    const Tensor result = name(given);                                                             \
    CHECK(near(result, Values{__VA_ARGS__}));                                                      \
    CHECK(equal(given.name(), result));                                                            \
    if (is_floating(given.dtype())) {                                                              \
      const Variable v = variable(given);                                                          \
      CHECK(equal(name(v), result));                                                               \
      CHECK(equal(v.name(), result));                                                              \
    }                                                                                              \
  } while (false)

TEST_CASE("tour: every function of one operand") {
  const Tensor x = tensor({-1.5, 0.5}), p = tensor({0.25, 0.5}), n = tensor({6, -3});
  CHECK_UNARY(neg, x, 1.5, -0.5);
  CHECK_UNARY(abs, x, 1.5, 0.5);
  CHECK_UNARY(sign, x, -1, 1);
  CHECK_UNARY(ceil, x, -1, 1);
  CHECK_UNARY(floor, x, -2, 0);
  CHECK_UNARY(round, x, -2, 0);
  CHECK_UNARY(trunc, x, -1, 0);
  CHECK_UNARY(sqrt, p, 0.5, std::sqrt(0.5));
  CHECK_UNARY(rsqrt, p, 2, 1 / std::sqrt(0.5));
  CHECK_UNARY(square, x, 2.25, 0.25);
  CHECK_UNARY(reciprocal, p, 4, 2);
  CHECK_UNARY(exp, x, std::exp(-1.5), std::exp(0.5));
  CHECK_UNARY(exp2, x, std::exp2(-1.5), std::exp2(0.5));
  CHECK_UNARY(expm1, x, std::expm1(-1.5), std::expm1(0.5));
  CHECK_UNARY(log, p, std::log(0.25), std::log(0.5));
  CHECK_UNARY(log2, p, -2, -1);
  CHECK_UNARY(log10, p, std::log10(0.25), std::log10(0.5));
  CHECK_UNARY(log1p, p, std::log1p(0.25), std::log1p(0.5));
  CHECK_UNARY(sin, x, std::sin(-1.5), std::sin(0.5));
  CHECK_UNARY(cos, x, std::cos(-1.5), std::cos(0.5));
  CHECK_UNARY(tan, x, std::tan(-1.5), std::tan(0.5));
  CHECK_UNARY(asin, p, std::asin(0.25), std::asin(0.5));
  CHECK_UNARY(acos, p, std::acos(0.25), std::acos(0.5));
  CHECK_UNARY(atan, x, std::atan(-1.5), std::atan(0.5));
  CHECK_UNARY(sinh, x, std::sinh(-1.5), std::sinh(0.5));
  CHECK_UNARY(cosh, x, std::cosh(-1.5), std::cosh(0.5));
  CHECK_UNARY(tanh, x, std::tanh(-1.5), std::tanh(0.5));
  CHECK_UNARY(asinh, x, std::asinh(-1.5), std::asinh(0.5));
  CHECK_UNARY(acosh, p + 1, std::acosh(1.25), std::acosh(1.5));
  CHECK_UNARY(atanh, p, std::atanh(0.25), std::atanh(0.5));
  CHECK_UNARY(erf, x, std::erf(-1.5), std::erf(0.5));
  CHECK_UNARY(erfc, x, std::erfc(-1.5), std::erfc(0.5));
  CHECK_UNARY(sigmoid, x, 1 / (1 + std::exp(1.5)), 1 / (1 + std::exp(-0.5)));
  CHECK_UNARY(relu, x, 0, 0.5);
  CHECK_UNARY(gelu, x, -0.75 * std::erfc(1.5 / std::sqrt(2)),
              0.25 * std::erfc(-0.5 / std::sqrt(2)));
  CHECK_UNARY(silu, x, -1.5 / (1 + std::exp(1.5)), 0.5 / (1 + std::exp(-0.5)));
  CHECK_UNARY(softplus, x, std::log1p(std::exp(-1.5)), std::log1p(std::exp(0.5)));
  CHECK_UNARY(elu, x, std::expm1(-1.5), 0.5);
  CHECK_UNARY(leaky_relu, x, -0.015, 0.5);
  CHECK_UNARY(log_sigmoid, x, -std::log1p(std::exp(1.5)), -std::log1p(std::exp(-0.5)));
  CHECK_UNARY(hardswish, x, -1.5 * 1.5 / 6, 0.5 * 3.5 / 6);
  CHECK_UNARY(mish, x, -1.5 * std::tanh(std::log1p(std::exp(-1.5))),
              0.5 * std::tanh(std::log1p(std::exp(0.5))));
  const Tensor odd = tensor({std::nan(""), -HUGE_VAL, 1.0});
  CHECK_UNARY(isnan, odd, 1, 0, 0);
  CHECK_UNARY(isinf, odd, 0, 1, 0);
  CHECK_UNARY(isfinite, odd, 0, 0, 1);
  CHECK_UNARY(logical_not, n, 0, 0);
  CHECK_UNARY(bitwise_not, n, -7, 2);
  CHECK(near(elu(x, 2.0), {2 * std::expm1(-1.5), 0.5}));
  CHECK(near(leaky_relu(x, 0.2), {-0.3, 0.5}));
  CHECK(near(x.elu(2.0) + x.leaky_relu(0.2), {2 * std::expm1(-1.5) - 0.3, 1}));
}

// Two operands: of tensors, of a Variable, of a number on either side, and as a member.
#define CHECK_BINARY(name, x, y, ...)                                                              \
  do {                                                                                             \
    INFO(#name);                                                                                   \
    const Tensor a = x, b = y;                                                                     \
    CHECK(near(name(a, b), Values{__VA_ARGS__}));                                                  \
    CHECK(equal(a.name(b), name(a, b)));                                                           \
    CHECK(equal(name(a, 2), name(a, full_like(a, 2))));                                            \
    CHECK(equal(name(2, b), name(full_like(b, 2), b)));                                            \
    CHECK(equal(a.name(2), name(a, 2)));                                                           \
    if (is_floating(a.dtype())) {                                                                  \
      const Variable v = variable(a);                                                              \
      CHECK(equal(name(v, b), name(a, b)));                                                        \
      CHECK(equal(name(b, v), name(b, a)));                                                        \
      CHECK(equal(v.name(v), name(a, a)));                                                         \
    }                                                                                              \
  } while (false)

TEST_CASE("tour: every function of two operands") {
  const Tensor x = tensor({3.0, -7.0}), y = tensor({2.0, 4.0}), n = tensor({6, 3}),
               m = tensor({1, 2});
  CHECK_BINARY(add, x, y, 5, -3);
  CHECK_BINARY(sub, x, y, 1, -11);
  CHECK_BINARY(mul, x, y, 6, -28);
  CHECK_BINARY(div, x, y, 1.5, -1.75);
  CHECK_BINARY(floor_divide, x, y, 1, -2);
  CHECK_BINARY(remainder, x, y, 1, 1);
  CHECK_BINARY(fmod, x, y, 1, -3);
  CHECK_BINARY(pow, x, y, 9, 2401);
  CHECK_BINARY(maximum, x, y, 3, 4);
  CHECK_BINARY(minimum, x, y, 2, -7);
  CHECK_BINARY(fmax, x, y, 3, 4);
  CHECK_BINARY(fmin, x, y, 2, -7);
  CHECK_BINARY(atan2, x, y, std::atan2(3, 2), std::atan2(-7, 4));
  CHECK_BINARY(hypot, x, y, std::hypot(3, 2), std::hypot(-7, 4));
  CHECK_BINARY(copysign, y, x, 2, -4);
  CHECK_BINARY(eq, x, y, 0, 0);
  CHECK_BINARY(ne, x, y, 1, 1);
  CHECK_BINARY(lt, x, y, 0, 1);
  CHECK_BINARY(le, x, y, 0, 1);
  CHECK_BINARY(gt, x, y, 1, 0);
  CHECK_BINARY(ge, x, y, 1, 0);
  CHECK_BINARY(logical_and, x, y, 1, 1);
  CHECK_BINARY(logical_or, x, y, 1, 1);
  CHECK_BINARY(logical_xor, x, y, 0, 0);
  CHECK_BINARY(bitwise_and, n, m, 0, 2);
  CHECK_BINARY(bitwise_or, n, m, 7, 3);
  CHECK_BINARY(bitwise_xor, n, m, 7, 1);
  CHECK_BINARY(left_shift, n, m, 12, 12);
  CHECK_BINARY(right_shift, n, m, 3, 0);
}

TEST_CASE("tour: where, clamp and lerp") {
  const Tensor x = tensor({3.0, -7.0}), y = tensor({2.0, 4.0});
  const Variable v = variable(x);
  CHECK(near(where(x > 0, x, y), {3, 4}));
  CHECK(near(where(v > 0, v, 0), {3, 0}));
  CHECK(near(where(x > 0, 1.5, y), {1.5, 4}));
  CHECK(near(clamp(x, 0, 2), {2, 0}));
  CHECK(near(clamp(x, std::nullopt, 1.0), {1, -7}));
  CHECK(near(clamp(x, 0.0, std::nullopt), {3, 0}));
  CHECK(near(clamp(v, -1), {3, -1}));
  CHECK(near(clamp(x, y, y), {2, 4}));
  CHECK(near(x.clamp(0, 2), {2, 0}));
  CHECK(near(v.clamp(std::nullopt, 1.0), {1, -7}));
  CHECK(near(lerp(x, y, 0.5), {2.5, -1.5}));
  CHECK(near(lerp(v, y, tensor({0.0, 1.0})), {3, 4}));
  CHECK(near(x.lerp(y, 0.5), {2.5, -1.5}));
}

// A reduction of [[1, 2], [3, 4]]: of all, along one axis, along several, kept; free and as a
// member.
#define CHECK_REDUCTION(name, of_all, ...)                                                         \
  do {                                                                                             \
    INFO(#name);                                                                                   \
    CHECK(near(name(x), {of_all}));                                                                \
    CHECK(near(name(x, 1), Values{__VA_ARGS__}));                                                  \
    CHECK(near(name(x, {0, 1}), {of_all}));                                                        \
    CHECK(name(x, {0, 1}, keepdim).shape() == Shape({1, 1}));                                      \
    CHECK(name(x, -1, keepdim).shape() == Shape({2, 1}));                                          \
    CHECK(equal(x.name(), name(x)));                                                               \
    CHECK(equal(x.name(1), name(x, 1)));                                                           \
    CHECK(equal(x.name({0, 1}, keepdim), name(x, {0, 1}, true)));                                  \
    CHECK(equal(name(v, 1), name(x, 1)));                                                          \
    CHECK(equal(v.name(1, keepdim), name(x, 1, keepdim)));                                         \
  } while (false)

TEST_CASE("tour: every reduction") {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Variable v = variable(x);
  CHECK_REDUCTION(sum, 10, 3, 7);
  CHECK_REDUCTION(mean, 2.5, 1.5, 3.5);
  CHECK_REDUCTION(prod, 24, 2, 12);
  CHECK_REDUCTION(amax, 4, 2, 4);
  CHECK_REDUCTION(amin, 1, 1, 3);
  CHECK_REDUCTION(max, 4, 2, 4);
  CHECK_REDUCTION(min, 1, 1, 3);
  CHECK_REDUCTION(any, 1, 1, 1);
  CHECK_REDUCTION(all, 1, 1, 1);
  CHECK_REDUCTION(var, 5.0 / 3, 0.5, 0.5);
  CHECK_REDUCTION(stddev, std::sqrt(5.0 / 3), std::sqrt(0.5), std::sqrt(0.5));
  CHECK_REDUCTION(norm, std::sqrt(30), std::sqrt(5), 5);
  CHECK_REDUCTION(logsumexp, 4 + std::log(1 + std::exp(-1) + std::exp(-2) + std::exp(-3)),
                  2 + std::log1p(std::exp(-1)), 4 + std::log1p(std::exp(-1)));
  CHECK(near(var(x, 1, keepdim, 0), {0.25, 0.25}));
  CHECK(near(x.var(1, false, 0), {0.25, 0.25}));
  CHECK(near(stddev(x, {0, 1}, false, 0.0), {std::sqrt(1.25)}));
  CHECK(near(argmax(x), {3}));
  CHECK(near(argmin(x, 1), {0, 0}));
  CHECK(argmax(x, 0, keepdim).shape() == Shape({1, 2}));
  CHECK(equal(x.argmax(1), argmax(v, 1)));
  CHECK(equal(x.argmin(), argmin(v)));
  CHECK(near(cumsum(x, 1), {1, 3, 3, 7}));
  CHECK(near(cumprod(x, 0), {1, 2, 3, 8}));
  CHECK(equal(x.cumsum(1), cumsum(v, -1)));
  CHECK(equal(v.cumprod(0), cumprod(x, 0)));
}

TEST_CASE("tour: every function of shapes") {
  const Tensor x = arange(6).reshape({2, 3}), y = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Variable v = variable(y);
  const std::vector<std::int64_t> sizes = {3, 2};
  CHECK(reshape(x, {3, -1}).shape() == Shape({3, 2}));
  CHECK(reshape(x, sizes).shape() == x.reshape({3, 2}).shape());
  CHECK(flatten(x).shape() == Shape({6}));
  CHECK(x.flatten(0, 1).shape() == flatten(x, 0, -1).shape());
  CHECK(near(transpose(x, 0, 1), {0, 3, 1, 4, 2, 5}));
  CHECK(equal(x.transpose(0, 1), permute(x, {1, 0})));
  CHECK(equal(x.permute({1, 0}), x.transpose(-1, -2)));
  CHECK(squeeze(unsqueeze(x, 0)).shape() == x.shape());
  CHECK(unsqueeze(x, -1).squeeze(2).shape() == x.unsqueeze(0).squeeze(0).shape());
  CHECK(expand(unsqueeze(x, 0), {4, -1, -1}).shape() == Shape({4, 2, 3}));
  CHECK(x.expand({4, 2, 3}).shape() == broadcast_to(x, {4, 2, 3}).shape());
  CHECK(x.broadcast_to({1, 2, 3}).ndim() == 3);
  CHECK(near(flip(x, {0, 1}), {5, 4, 3, 2, 1, 0}));
  CHECK(equal(flip(x, 0), x.flip(0)));
  CHECK(near(roll(x, 1, 1), {2, 0, 1, 5, 3, 4}));
  CHECK(near(x.roll(1), {5, 0, 1, 2, 3, 4}));
  CHECK(equal(roll(x, {1, 1}, {0, 1}), x.roll({1, 1}, {0, 1})));
  CHECK(near(repeat(tensor({1, 2}), {2, 2}), {1, 2, 1, 2, 1, 2, 1, 2}));
  CHECK(x.repeat({1, 2}).shape() == Shape({2, 6}));
  CHECK(near(cat({x, x}, 1), {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  CHECK(cat({v, y}).shape() == Shape({4, 2}));
  CHECK(stack({y, v, y}, 1).shape() == Shape({2, 3, 2}));
  CHECK(split(x, 2, 1)[1].shape() == Shape({2, 1}));
  CHECK(x.split({1, 2}, 1)[1].shape() == Shape({2, 2}));
  CHECK(chunk(x, 3, 1).size() == x.chunk(3, 1).size());
  CHECK(near(slice(x, 1, 0, 3, 2), {0, 2, 3, 5}));
  CHECK(equal(x.slice(1, -2, std::nullopt), slice(x, 1, 1, 3)));
  CHECK(near(select(x, 1, -1), {2, 5}));
  CHECK(equal(x.select(0, 1), x[1]));
  CHECK(near(pad(tensor({{1, 2}}), {1, 0, 0, 1}, {.value = 9}), {9, 1, 2, 9, 9, 9}));
  CHECK(near(pad(tensor({1, 2, 3}), {1, 1}, {.mode = PadMode::reflect}), {2, 1, 2, 3, 2}));
  CHECK(x.pad({1, 1}).shape() == Shape({2, 5}));
  CHECK(near(tril(x), {0, 0, 0, 3, 4, 0}));
  CHECK(near(x.triu(1), {0, 1, 2, 0, 0, 5}));
  CHECK(equal(x.tril(-1) + triu(x), x));
  CHECK(near(diagonal(x), {0, 4}));
  CHECK(near(x.diagonal(1), {1, 5}));
  CHECK(near(slice_update(x, 1, 2, tensor({{7}, {8}})), {0, 1, 7, 3, 4, 8}));
}

TEST_CASE("tour: every function of indices, orders and products") {
  const Tensor x = tensor({{3.0, 1.0, 2.0}, {6.0, 5.0, 4.0}}), index = tensor({{2}, {0}});
  const Variable v = variable(x);
  CHECK(near(gather(x, 1, index), {2, 6}));
  CHECK(equal(x.gather(1, index), gather(v, 1, index)));
  CHECK(near(index_select(x, 1, tensor({2, 2})), {2, 2, 4, 4}));
  CHECK(equal(x.index_select(0, tensor({1})), index_select(v, 0, tensor({1}))));
  CHECK(near(scatter(x, 1, index, tensor({{7.0}, {8.0}})), {3, 1, 7, 8, 5, 4}));
  CHECK(near(x.scatter(1, index, 0), {3, 1, 0, 0, 5, 4}));
  CHECK(near(scatter_add(v, 1, index, ones({2, 1})), {3, 1, 3, 7, 5, 4}));
  CHECK(equal(x.scatter_add(1, index, ones({2, 1})), scatter_add(x, 1, index, ones({2, 1}))));
  CHECK(near(masked_fill(x, x > 3, 0), {3, 1, 2, 0, 0, 0}));
  CHECK(near(one_hot(tensor({1, 0}), 3), {0, 1, 0, 1, 0, 0}));
  CHECK(one_hot(tensor({1, 0})).shape() == Shape({2, 2}));
  const auto [sorted, order] = sort(x, 1);
  CHECK(near(sorted, {1, 2, 3, 4, 5, 6}));
  CHECK(near(order, {1, 2, 0, 2, 1, 0}));
  CHECK(near(sort(x, 1, true).first, {3, 2, 1, 6, 5, 4}));
  CHECK(equal(x.sort().first, sort(v).first));
  CHECK(near(argsort(x, 1), {1, 2, 0, 2, 1, 0}));
  CHECK(near(x.argsort(1, true), {0, 2, 1, 0, 1, 2}));
  const auto [top, places] = topk(v, 2, 1);
  CHECK(near(top, {3, 2, 6, 5}));
  CHECK(near(places, {0, 2, 0, 1}));
  CHECK(near(x.topk(1, 1, false).first, {1, 4}));
  CHECK(near(matmul(x, transpose(x, 0, 1)), {14, 31, 31, 77}));
  CHECK(near(x.matmul(tensor({1.0, 0.0, 1.0})), {5, 10}));
  CHECK(near(matmul(v, v.transpose(0, 1)), {14, 31, 31, 77}));
  const Tensor a = tensor({1.0, 2.0}), b = tensor({3.0, 4.0});
  CHECK(near(dot(a, b), {11}));
  CHECK(near(a.dot(b), {11}));
  CHECK(near(outer(a, b), {3, 4, 6, 8}));
  CHECK(near(a.outer(variable(b)), {3, 4, 6, 8}));
  CHECK(near(einsum("ij,kj->ik", {x, v}), {14, 31, 31, 77}));
  CHECK(near(einsum("ij->j", x), {9, 6, 6}));
  CHECK(near(einsum("i,i", std::vector<Tensor>{a, b}), {11}));
}

TEST_CASE("tour: new tensors, and what is known of them") {
  const Tensor m = tensor({{1.0, 2.0}, {3.0, 4.0}});
  const Variable w = variable(randn({3, 1}));
  CHECK(zeros_like(w).shape() == Shape({3, 1}));
  CHECK(near(ones_like(m, {.dtype = i32}) + full_like(m, 2.0), {3, 3, 3, 3}));
  CHECK(near(full({2}, tensor(2.5)), {2.5, 2.5}));
  CHECK(arange(0.0, 1.0, 0.25).shape() == Shape({4}));
  CHECK(near(eye(2, 3), {1, 0, 0, 0, 1, 0}));
  CHECK(near(from_vector(std::vector<int>{1, 2}), {1, 2}));
  CHECK(m[0][0].item<int>() == 1);
  CHECK(near(cast(m, i64) % 2, {1, 0, 1, 0}));
  CHECK(equal(m, m + 0));
  CHECK(allclose(m, m + 1e-9, 1e-5, 1e-8));
  for (const Tensor& drawn : {rand({2}), randn({2}), randint(0, 10, {2}), bernoulli(0.5, {2})})
    CHECK(drawn.shape() == Shape({2}));
  CHECK(near(sort(randperm(10)).first, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_CASE("tour: gradients, in every form") {
  manual_seed(7);
  Variable w = variable(tensor({{1.0}, {2.0}, {3.0}})), b = variable(tensor(0.5));
  const Tensor x = tensor({{1.0, 0.0, 2.0}}), loss = mean(square(matmul(x, w) + b));
  const Tensor dw1 = grad(loss, w);
  CHECK(near(dw1, {15, 0, 30}));
  CHECK(near(grad(sum(square(dw1)), b), {2 * (15 * 2 + 30 * 4)}));
  const auto [dw, db] = grad(loss, {w, b});
  CHECK(near(db, {15}));
  const auto [only] = grad(loss, {w});
  CHECK(equal(only, dw));
  const std::vector<Tensor> all = grad(loss, std::vector<Variable>{w, b});
  CHECK(equal(all[1], db));
  CHECK(near(grad(matmul(x, w), w, tensor({{2.0}})), {2, 0, 4}));
  loss.backward();
  CHECK(near(w.grad(), {15, 0, 30}));
  {
    const NoGrad off;
    w.assign(w - 0.1 * w.grad());
  }
  CHECK(near(w, {-0.5, 2, 0}));
  w.zero_grad();
  w = tensor({{1.0}, {1.0}, {1.0}});
  w -= 0.5;
  CHECK(near(w.detach(), {0.5, 0.5, 0.5}));
  w = 2.0;
  CHECK(near(w, {2, 2, 2}));
  w.to(Device::cpu());
}
