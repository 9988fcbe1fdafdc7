// Shapes and dtypes of structured ops, known without evaluating; and that each op's rule accepts
// what was recorded, and refuses what was not.
#include <limits>
#include <string>
#include <vector>

#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

#include "support/catch.h"

using namespace weft;
using detail::OpId;
using detail::Spec;

namespace {

/// Whether each node that leads to this one is what its op's rule gives.
bool follows_rules(const detail::Node* node) {
  std::vector<Spec> inputs, outputs;
  for (const detail::Edge edge : node->inputs()) {
    if (!follows_rules(edge.node())) return false;
    inputs.push_back({edge.node()->shape(edge.output()), edge.node()->dtype_of(edge.output())});
  }
  for (std::uint32_t i = 0; i < node->output_count; ++i)
    outputs.push_back({node->shape(i), node->dtype_of(i)});
  const auto consistent = detail::info(node->op).consistent;
  return !consistent || consistent(inputs, node->attrs, outputs);
}

std::string spec(const Tensor& x) {
  return detail::describe(x.ref()) + (follows_rules(x.ref().node) ? "" : " against its rule");
}

std::string specs(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& x : tensors) text += (text.empty() ? "" : " ") + spec(x);
  return text;
}

bool is_same(const Tensor& x, const Tensor& y) { return x.ref() == y.ref(); }

bool accepts(OpId op, const std::vector<Spec>& inputs, const detail::Attrs& attrs,
             const std::vector<Spec>& outputs) {
  return detail::info(op).consistent(inputs, attrs, outputs);
}

}  // namespace

TEST_CASE("specs of new tensors") {
  CHECK(spec(zeros({2, 3})) == "f32[2,3]");
  CHECK(spec(ones({}, {.dtype = f16})) == "f16[]");
  CHECK(spec(full({2}, 7)) == "i64[2]");
  CHECK(spec(full({2}, 7.5)) == "f32[2]");
  CHECK(spec(full({2}, true)) == "bool[2]");
  CHECK(spec(full({2, 2}, ones({}, {.dtype = f64}))) == "f64[2,2]");
  CHECK(spec(zeros_like(ones({2, 0}, {.dtype = u8}))) == "u8[2,0]");
  CHECK(spec(full_like(ones({2}, {.dtype = i32}), 2.5)) == "i32[2]");
  CHECK(spec(ones_like(ones({2}), {.dtype = bf16})) == "bf16[2]");
  CHECK(spec(arange(5)) == "i64[5]");
  CHECK(spec(arange(0, 10, 3)) == "i64[4]");
  CHECK(spec(arange(5, 0, -2)) == "i64[3]");
  CHECK(spec(arange(3, 3)) == "i64[0]");
  CHECK(spec(arange(0.0, 1.0, 0.1)) == "f32[10]");
  CHECK(spec(arange(2.5)) == "f32[3]");
  CHECK(spec(arange(4, {.dtype = f16})) == "f16[4]");
  CHECK(spec(arange(0, 5.5, 2, {.dtype = i32})) == "i32[3]");
  CHECK(spec(linspace(0.0, 1.0, 5)) == "f32[5]");
  CHECK(spec(linspace(0.0, 1.0, 1, {.dtype = f64})) == "f64[1]");
  CHECK(spec(linspace(0.0, 1.0, 0)) == "f32[0]");
  CHECK(spec(eye(3)) == "f32[3,3]");
  CHECK(spec(eye(2, 4, {.dtype = bool_})) == "bool[2,4]");
}

TEST_CASE("specs of random tensors") {
  Generator generator(3);
  CHECK(spec(rand({2, 3})) == "f32[2,3]");
  CHECK(spec(rand({2}, generator, {.dtype = f64})) == "f64[2]");
  CHECK(spec(rand({2}, {.dtype = f16})) == "f16[2]");
  CHECK(spec(randn({2}, {.dtype = bf16})) == "bf16[2]");
  CHECK(spec(randn({0})) == "f32[0]");
  CHECK(spec(randint(0, 10, {4})) == "i64[4]");
  CHECK(spec(randint(0, 10, {4}, generator, {.dtype = f32})) == "f32[4]");
  CHECK(spec(randint(0, 256, {4}, {.dtype = u8})) == "u8[4]");
  CHECK(spec(randperm(6)) == "i64[6]");
  CHECK(spec(randperm(0, generator)) == "i64[0]");
  CHECK(spec(bernoulli(0.5, {2, 2})) == "f32[2,2]");
  CHECK(spec(bernoulli(0.5, {2, 2}, {.dtype = bool_})) == "bool[2,2]");
  CHECK(generator.next() == 3);
}

TEST_CASE("seeding starts the count of calls again") {
  const auto draw = [] { return rand({2}).ref().node->attrs; };
  manual_seed(7);
  const detail::Attrs first = draw(), second = draw();
  manual_seed(7);
  const detail::Attrs again = draw();
  CHECK(first.v[0] == 7);
  CHECK(first.v[1] == 0);
  CHECK(second.v[1] == 1);
  CHECK(again.v[1] == 0);
}

TEST_CASE("specs of reductions") {
  const Tensor x = ones({4, 3, 5}), none = zeros({0, 4}), number = ones({});
  CHECK(spec(sum(x)) == "f32[]");
  CHECK(spec(sum(x, 1)) == "f32[4,5]");
  CHECK(spec(sum(x, {0, -1})) == "f32[3]");
  CHECK(spec(sum(x, {0, 2}, keepdim)) == "f32[1,3,1]");
  CHECK(spec(x.sum({}, keepdim)) == "f32[1,1,1]");
  CHECK(spec(sum(number, 0)) == "f32[]");
  CHECK(spec(sum(none, 0)) == "f32[4]");
  CHECK(spec(prod(none)) == "f32[]");
  CHECK(spec(mean(none, 0)) == "f32[4]");
  CHECK(spec(amax(none, 1)) == "f32[0]");
  CHECK(spec(max(x, 2, keepdim)) == "f32[4,3,1]");
  CHECK(spec(argmax(none, 1)) == "i64[0]");
  CHECK(spec(argmin(x)) == "i64[]");
  CHECK(spec(argmax(x, -1, keepdim)) == "i64[4,3,1]");
  CHECK(spec(logsumexp(x, {0, 1})) == "f32[5]");
  CHECK(spec(logsumexp(none)) == "f32[]");
  CHECK(spec(x.softmax(1)) == "f32[4,3,5]");
  CHECK(spec(x.to(f16).log_softmax(-1)) == "f16[4,3,5]");
}

TEST_CASE("dtypes of reductions") {
  const auto of = [](DType dtype) { return ones({2, 3}, {.dtype = dtype}); };
  for (const DType dtype : {u8, i8, i32, i64, bool_}) {
    CHECK(sum(of(dtype)).dtype() == i64);
    CHECK(prod(of(dtype), 1).dtype() == i64);
    CHECK(amin(of(dtype)).dtype() == dtype);
    CHECK(logsumexp(of(dtype)).dtype() == f32);
  }
  for (const DType dtype : {f16, bf16, f32, f64}) {
    CHECK(sum(of(dtype)).dtype() == dtype);
    CHECK(mean(of(dtype), 0).dtype() == dtype);
    CHECK(spec(logsumexp(of(dtype), 0)) == std::string(name_of(dtype)) + "[3]");
    CHECK(any(of(dtype)).dtype() == bool_);
  }
  CHECK(all(of(bool_)).dtype() == bool_);
  CHECK(any(of(i64)).dtype() == bool_);
  CHECK(spec(any(of(u8), 0)) == "u8[3]");
  CHECK(all(of(u8)).dtype() == u8);
}

TEST_CASE("specs of views") {
  const Tensor x = ones({2, 3, 4}), number = ones({});
  CHECK(spec(reshape(x, {4, 6})) == "f32[4,6]");
  CHECK(spec(reshape(x, {-1, 3})) == "f32[8,3]");
  CHECK(spec(x.reshape(-1)) == "f32[24]");
  CHECK(spec(reshape(zeros({0, 3}), {-1, 5})) == "f32[0,5]");
  CHECK(spec(reshape(number, {1, 1})) == "f32[1,1]");
  CHECK(spec(reshape(ones({1}), {})) == "f32[]");
  CHECK(spec(flatten(x)) == "f32[24]");
  CHECK(spec(flatten(x, 1)) == "f32[2,12]");
  CHECK(spec(flatten(x, 0, 1)) == "f32[6,4]");
  CHECK(spec(flatten(number)) == "f32[1]");
  CHECK(spec(transpose(x, 0, -1)) == "f32[4,3,2]");
  CHECK(spec(permute(x, {2, 0, 1})) == "f32[4,2,3]");
  CHECK(spec(x.permute({-1, 0, 1})) == "f32[4,2,3]");
  CHECK(spec(squeeze(ones({1, 3, 1, 2}))) == "f32[3,2]");
  CHECK(spec(squeeze(ones({1, 3, 1, 2}), 0)) == "f32[3,1,2]");
  CHECK(spec(squeeze(ones({1, 3, 1, 2}), {1, 2})) == "f32[1,3,2]");
  CHECK(spec(unsqueeze(x, -1)) == "f32[2,3,4,1]");
  CHECK(spec(unsqueeze(number, 0)) == "f32[1]");
  CHECK(spec(expand(ones({1, 3, 1, 2}), {4, 3, 5, -1})) == "f32[4,3,5,2]");
  CHECK(spec(expand(ones({3}), {2, -1})) == "f32[2,3]");
  CHECK(spec(broadcast_to(number, {0, 2})) == "f32[0,2]");
  CHECK(spec(flip(x, {0, 2})) == "f32[2,3,4]");
}

TEST_CASE("specs of slices and positions") {
  const Tensor x = ones({5, 4});
  CHECK(spec(x.slice(0, 1, 5, 2)) == "f32[2,4]");
  CHECK(spec(x.slice(0, -3, -1)) == "f32[2,4]");
  CHECK(spec(x.slice(0, 3)) == "f32[2,4]");
  CHECK(spec(x.slice(0, -100, 100, 3)) == "f32[2,4]");
  CHECK(spec(x.slice(1, 3, 1)) == "f32[5,0]");
  CHECK(spec(x.slice(0, 9)) == "f32[0,4]");
  CHECK(spec(x.slice(0, std::nullopt, 2)) == "f32[2,4]");
  CHECK(spec(x.slice(0, 1, 4, std::numeric_limits<std::int64_t>::max())) == "f32[1,4]");
  CHECK(spec(x[-1]) == "f32[4]");
  CHECK(spec(x[4][0]) == "f32[]");
  CHECK(spec(select(x, 1, -4)) == "f32[5]");
  CHECK(spec(x.index({0, slice(1, 3)})) == "f32[2]");
  CHECK(spec(x.index({slice(), 2})) == "f32[5]");
  CHECK(spec(x.index({slice(1, std::nullopt, 2)})) == "f32[2,4]");
  CHECK(spec(ones({2, 3, 4}).index({1, slice(), -1})) == "f32[3]");
}

TEST_CASE("a view or cast that changes nothing is the same tensor") {
  const Tensor x = ones({2, 3}), row = ones({1});
  const std::size_t recorded = detail::pending_count();
  CHECK(is_same(reshape(x, {2, -1}), x));
  CHECK(is_same(flatten(row), row));
  CHECK(is_same(transpose(x, 1, 1), x));
  CHECK(is_same(permute(x, {0, 1}), x));
  CHECK(is_same(squeeze(x), x));
  CHECK(is_same(expand(x, {-1, 3}), x));
  CHECK(is_same(flip(row, 0), row));
  CHECK(is_same(x.slice(1, 0, 3), x));
  CHECK(is_same(row.slice(0, 0, 1, 5), row));
  CHECK(is_same(x.index({}), x));
  CHECK(is_same(x.to(f32), x));
  CHECK(is_same(x.to(Device::cpu()), x));
  CHECK(is_same(x.cpu(), x));
  CHECK(is_same(cat({x}), x));
  CHECK(is_same(split(x, 2)[0], x));
  CHECK(detail::pending_count() == recorded);
}

TEST_CASE("specs of joins") {
  const Tensor x = ones({2, 3}), y = ones({2, 5}, {.dtype = i32}), empty = zeros({0});
  CHECK(spec(cat({x, y}, 1)) == "f32[2,8]");
  CHECK(spec(cat({x, x, x})) == "f32[6,3]");
  CHECK(spec(cat({empty, x}, -2)) == "f32[2,3]");
  CHECK(spec(cat({empty, empty})) == "f32[0]");
  CHECK(spec(cat({y, zeros({0}, {.dtype = f64})})) == "f64[2,5]");
  CHECK(spec(stack({x, x}, 1)) == "f32[2,2,3]");
  CHECK(spec(stack({ones({}), ones({}, {.dtype = f64})})) == "f64[2]");
  CHECK(spec(stack({x, x}, -1)) == "f32[2,3,2]");
  CHECK(spec(slice_update(x, 0, -1, ones({1, 3}, {.dtype = f64}))) == "f32[2,3]");
  CHECK(spec(slice_update(x, 1, 0, ones({2, 2}), 2)) == "f32[2,3]");
  CHECK(spec(slice_update(x, 1, 3, ones({2, 0}))) == "f32[2,3]");
  CHECK(specs(split(ones({5, 2}), 2)) == "f32[2,2] f32[2,2] f32[1,2]");
  CHECK(specs(split(ones({5, 2}), {4, 0, 1})) == "f32[4,2] f32[0,2] f32[1,2]");
  CHECK(specs(split(zeros({0, 2}), 3)) == "f32[0,2]");
  CHECK(specs(chunk(ones({5, 2}), 3)) == "f32[2,2] f32[2,2] f32[1,2]");
  CHECK(specs(chunk(ones({1, 4}), 3, 1)) == "f32[1,2] f32[1,2]");
  CHECK(specs(chunk(zeros({0}), 2)) == "f32[0] f32[0]");
}

TEST_CASE("specs of indexing and order") {
  const Tensor x = ones({2, 5, 4}), number = ones({});
  const auto index = [](const Shape& shape) { return zeros(shape, {.dtype = i64}); };
  CHECK(spec(gather(x, 1, index({2, 3, 4}))) == "f32[2,3,4]");
  CHECK(spec(gather(x, 1, index({1, 9, 2}).to(i32))) == "f32[1,9,2]");
  CHECK(spec(gather(number, 0, index({}))) == "f32[]");
  CHECK(spec(scatter_add(x, 1, index({2, 3, 4}), x)) == "f32[2,5,4]");
  CHECK(spec(scatter_add(number, 0, index({}), number)) == "f32[]");
  CHECK(spec(scatter(x, 1, index({2, 3, 4}), x)) == "f32[2,5,4]");
  CHECK(spec(scatter(number, 0, index({}), 2)) == "f32[]");
  CHECK(spec(index_select(x, 1, index({7}))) == "f32[2,7,4]");
  CHECK(spec(index_select(x, -1, index({}))) == "f32[2,5,1]");
  CHECK(spec(index_select(x, 0, index({0}))) == "f32[0,5,4]");
  const auto [values, indices] = topk(x, 3, 1);
  CHECK(spec(values) == "f32[2,3,4]");
  CHECK(spec(indices) == "i64[2,3,4]");
  CHECK(spec(topk(number, 1).second) == "i64[]");
  CHECK(spec(x.topk(0).first) == "f32[2,5,0]");
}

TEST_CASE("dtypes of masked_fill and clamp") {
  const Tensor x = ones({2, 3}), whole = ones({2, 3}, {.dtype = i32});
  const Tensor mask = ones({3}, {.dtype = bool_});
  CHECK(spec(masked_fill(x, mask, 7)) == "f32[2,3]");
  CHECK(spec(masked_fill(whole, mask, 1.5)) == "i32[2,3]");
  CHECK(spec(masked_fill(whole, mask, ones({}))) == "i32[2,3]");
  CHECK(spec(masked_fill(mask, mask, 2)) == "bool[3]");
  CHECK(spec(masked_fill(ones({}), mask, 0)) == "f32[3]");
  CHECK(spec(clamp(x, 0, 1)) == "f32[2,3]");
  CHECK(spec(clamp(x.to(f16), 0.5)) == "f16[2,3]");
  CHECK(spec(clamp(whole, -5, 6)) == "i32[2,3]");
  CHECK(spec(clamp(whole, std::nullopt, 2.5)) == "f32[2,3]");
}

TEST_CASE("specs of products") {
  const auto of = [](const Shape& a, const Shape& b) { return spec(matmul(ones(a), ones(b))); };
  CHECK(of({3}, {3}) == "f32[]");
  CHECK(of({2, 3}, {3}) == "f32[2]");
  CHECK(of({3}, {3, 4}) == "f32[4]");
  CHECK(of({2, 3}, {3, 4}) == "f32[2,4]");
  CHECK(of({2, 0}, {0, 3}) == "f32[2,3]");
  CHECK(of({5, 2, 3}, {3, 4}) == "f32[5,2,4]");
  CHECK(of({0, 2, 3}, {3, 4}) == "f32[0,2,4]");
  CHECK(of({2, 3}, {5, 3, 4}) == "f32[5,2,4]");
  CHECK(of({3}, {5, 3, 4}) == "f32[5,4]");
  CHECK(of({5, 2, 3}, {3}) == "f32[5,2]");
  CHECK(of({7, 1, 2, 3}, {5, 3, 4}) == "f32[7,5,2,4]");
  CHECK(of({1, 2, 3}, {6, 3, 1}) == "f32[6,2,1]");
  const Tensor counts = ones({2, 2}, {.dtype = i64});
  CHECK(spec(counts.matmul(counts)) == "i64[2,2]");
  detail::ambient().autocast = bf16;
  const Tensor fast = matmul(ones({2, 3}), ones({3, 2}, {.dtype = f16}));
  const Tensor exact = matmul(ones({2, 2}, {.dtype = f64}), ones({2}, {.dtype = f64}));
  detail::ambient().autocast = f32;
  CHECK(spec(fast) == "bf16[2,2]");
  CHECK(spec(exact) == "f64[2]");
}

TEST_CASE("one matrix multiplies a whole batch in one product") {
  const Tensor product = matmul(ones({5, 2, 3}), ones({3, 4}));
  const detail::Node* view = product.ref().node;
  REQUIRE(view->op == OpId::reshape);
  CHECK(view->inputs()[0].node()->shape() == Shape({10, 4}));
}

TEST_CASE("values made on a device are there, whatever the enclosing scope") {
  detail::ambient().on = Device::sim(1);
  detail::ambient().on_set = true;
  const Tensor scoped = zeros({2}), like = ones_like(scoped);
  const Tensor named = eye(2, 2, {.device = Device::cpu()});
  const Tensor ends = linspace(0, 1, 4, {.device = Device::cpu()});
  const Tensor half = rand({2}, {.dtype = f16, .device = Device::cpu()});
  const Tensor back = scoped.to(Device::cpu());
  detail::ambient().on_set = false;
  CHECK(scoped.device() == Device::sim(1));
  CHECK(like.device() == Device::sim(1));
  CHECK(named.device() == Device::cpu());
  CHECK(ends.device() == Device::cpu());
  CHECK(half.device() == Device::cpu());
  CHECK(back.device() == Device::cpu());
  CHECK(back.ref().node->op == OpId::transfer);
}

TEST_CASE("rules refuse what does not follow") {
  const detail::Attrs none{}, along_1{{1, 0, 0, 0}}, every_second{{0, 2, 0, 0}};
  const detail::Attrs swapped{{0x0001, 0, 0, 0}}, repeated{{0x0101, 0, 0, 0}};
  const Spec x{{2, 3}, f32};
  CHECK_FALSE(accepts(OpId::reshape, {x}, none, {{{5}, f32}}));
  CHECK_FALSE(accepts(OpId::reshape, {x}, none, {{{6}, f64}}));
  CHECK(accepts(OpId::permute, {x}, swapped, {{{3, 2}, f32}}));
  CHECK_FALSE(accepts(OpId::permute, {x}, repeated, {{{3, 3}, f32}}));
  CHECK_FALSE(accepts(OpId::expand, {x}, none, {{{4, 3}, f32}}));
  CHECK(accepts(OpId::slice, {{{5}, f32}}, every_second, {{{3}, f32}}));
  CHECK_FALSE(accepts(OpId::slice, {{{5}, f32}}, every_second, {{{4}, f32}}));
  CHECK_FALSE(accepts(OpId::sum, {x}, {{2, 0, 0, 0}}, {{{3}, f32}}));
  CHECK_FALSE(accepts(OpId::sum, {{{2}, i32}}, {{1, 0, 0, 0}}, {{{}, i32}}));
  CHECK_FALSE(accepts(OpId::matmul, {x, x}, none, {{{2, 3}, f32}}));
  CHECK(accepts(OpId::cat, {x, x}, along_1, {{{2, 6}, f32}}));
  CHECK_FALSE(accepts(OpId::cat, {x, x}, along_1, {{{4, 3}, f32}}));
  CHECK_FALSE(accepts(OpId::slice_update, {x, {{3, 3}, f32}}, {{0, 1, 0, 0}}, {x}));
  CHECK_FALSE(accepts(OpId::gather, {x, x}, along_1, {x}));
  CHECK_FALSE(accepts(OpId::scatter_add, {x, {{2, 2}, i64}, x}, along_1, {x}));
  CHECK_FALSE(accepts(OpId::scatter, {x, {{2, 2}, i64}, x}, along_1, {x}));
  CHECK_FALSE(accepts(OpId::topk, {x}, {{4, 1, 1, 0}}, {{{2, 4}, f32}, {{2, 4}, i64}}));
  CHECK_FALSE(accepts(OpId::uniform, {}, none, {{{2}, f16}}));
  CHECK_FALSE(accepts(OpId::integers, {}, none, {{{2}, i32}}));
  CHECK_FALSE(accepts(OpId::permutation, {}, none, {{{2, 2}, i64}}));
  CHECK_FALSE(accepts(OpId::iota, {}, none, {{{2, 2}, i64}}));
  CHECK_FALSE(accepts(OpId::scalar, {}, none, {x}));
  CHECK_FALSE(accepts(OpId::transfer, {x}, none, {{{3, 2}, f32}}));
}
