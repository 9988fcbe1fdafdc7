// Callers' mistakes in structured ops: the error's type, its message, the line that it names, and
// that nothing is left recorded. Each call stands on one line with its macro.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <weft/graph/detail/record.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>

#include "support/catch.h"

using namespace weft;

namespace {

const char* type_of(const Error& error) {
  if (dynamic_cast<const ShapeError*>(&error)) return "ShapeError: ";
  if (dynamic_cast<const DTypeError*>(&error)) return "DTypeError: ";
  if (dynamic_cast<const DeviceError*>(&error)) return "DeviceError: ";
  if (dynamic_cast<const IndexError*>(&error)) return "IndexError: ";
  if (dynamic_cast<const ValueError*>(&error)) return "ValueError: ";
  if (dynamic_cast<const TraceError*>(&error)) return "TraceError: ";
  return "another type: ";
}

/// The error's type and message without its place, and what else is wrong with it.
template <class Call>
std::string misuse(int line, const Call& call) {
  const std::size_t recorded = detail::pending_count();
  try {
    call();
  } catch (const Error& error) {
    std::string text = type_of(error) + std::string(error.what());
    text.erase(text.rfind(" ("));
    if (error.line() != line) text += " [named line " + std::to_string(error.line()) + "]";
    if (detail::pending_count() != recorded) text += " [recorded something]";
    return text;
  }
  return "nothing was thrown";
}

#define MISUSE(...) misuse(__LINE__, [&] { (void)(__VA_ARGS__); })

Tensor on_sim(std::int64_t extent) {
  return detail::record_structured(detail::OpId::iota, {}, {}, {Shape(extent), DType::i64},
                                   Device::sim(0), {});
}

constexpr std::int64_t huge = std::int64_t{1} << 40;

}  // namespace

TEST_CASE("misuse of creation") {
  std::string seen = MISUSE(zeros({2, -3}));
  CHECK(seen == "ShapeError: zeros: an extent is negative: [2,-3]; extents are 0 or more");
  seen = MISUSE(ones({huge, huge}));
  CHECK(seen == "ShapeError: ones: the size overflows 63 bits: f32[1099511627776,1099511627776]; "
                "use smaller extents");
  seen = MISUSE(zeros({huge, huge, 0}));
  CHECK(seen.find("zeros: the size overflows") != std::string::npos);
  seen = MISUSE(tensor({{1, 2}, {3}}));
  CHECK(seen == "ShapeError: tensor: rows differ in length: one of 2, one of 1; make all rows "
                "equally long");
  seen = MISUSE(tensor({{1, 2}, 3}));
  CHECK(seen == "ShapeError: tensor: a number stands where a list of 2 is expected; make all rows "
                "equally deep");
  seen = MISUSE(tensor({1, {2, 3}}));
  CHECK(seen == "ShapeError: tensor: a list of 2 stands where a number is expected; make all rows "
                "equally deep");
  const std::vector<float> five(5);
  seen = MISUSE(from_vector(five, {2, 3}));
  CHECK(seen == "ShapeError: from_span: 5 elements do not fill [2,3], which has 6; give a shape of "
                "that many");
  float memory[1] = {};
  seen = MISUSE(from_borrowed(memory, {-1}, nullptr, nullptr));
  CHECK(seen == "ShapeError: from_borrowed: an extent is negative: [-1]; extents are 0 or more");
  seen = MISUSE(full({2}, Tensor()));
  CHECK(seen == "ValueError: full: the tensor is undefined (default-constructed or moved from); "
                "give it a value first");
  const Tensor pair = ones({2});
  seen = MISUSE(full({2}, pair));
  CHECK(seen == "ShapeError: full: the value has axes: f32[2]; give a number or a 0-dim tensor");
  seen = MISUSE(full_like(pair, pair));
  CHECK(seen == "ShapeError: full_like: the value has axes: f32[2]; give a number or a 0-dim "
                "tensor");
}

TEST_CASE("misuse of sequences") {
  std::string seen = MISUSE(arange(0, 5, 0));
  CHECK(seen == "ValueError: arange: the step is 0: from the number 0 to the number 5 by the "
                "number 0; give one that leads to stop");
  seen = MISUSE(arange(0, 5, -1));
  CHECK(seen == "ValueError: arange: the step leads away from stop: from the number 0 to the "
                "number 5 by the number -1; turn its sign, or exchange start and stop");
  seen = MISUSE(arange(-1.5));
  CHECK(seen == "ValueError: arange: the step leads away from stop: from the number 0 to the "
                "number -1.5 by the number 1; turn its sign, or exchange start and stop");
  seen = MISUSE(arange(0.0, 1e300, 1e-3));
  CHECK(seen == "ShapeError: arange: too many elements: from the number 0 to the number 1e+300 by "
                "the number 0.001; use a larger step");
  seen = MISUSE(arange(INT64_MIN, INT64_MAX));
  CHECK(seen.find("ShapeError: arange: too many elements") == 0);
  seen = MISUSE(arange(0.0, HUGE_VAL));
  CHECK(seen == "ValueError: arange: a bound or the step is not finite: from the number 0 to the "
                "number inf by the number 1; give finite numbers");
  const Tensor bound = ones({});
  seen = MISUSE(arange(0, bound));
  CHECK(seen == "ValueError: arange: a bound is a tensor: f32[]; give a number, as "
                "x.item<double>()");
  seen = MISUSE(arange(2, {.dtype = bool_}));
  CHECK(seen == "DTypeError: arange: bool has no sequence: from the number 0 to the number 2 by "
                "the number 1; take an integer dtype and compare it");
  seen = MISUSE(arange(0, 2, 0.5, {.dtype = i32}));
  CHECK(seen == "ValueError: arange: the step is 0 as i32: from the number 0 to the number 2 by "
                "the number 0.5; take a float dtype, or a whole step");
  seen = MISUSE(linspace(0, 1, -1));
  CHECK(seen == "ShapeError: linspace: an extent is negative: [-1]; extents are 0 or more");
  seen = MISUSE(eye(2, -1));
  CHECK(seen == "ShapeError: eye: an extent is negative: [2,-1]; extents are 0 or more");
}

TEST_CASE("misuse of reductions") {
  const Tensor x = ones({2, 3}), none = zeros({0, 4}), counts = ones({3}, {.dtype = i64});
  const Tensor mask = ones({3}, {.dtype = bool_});
  std::string seen = MISUSE(sum(x, 2));
  CHECK(seen == "IndexError: sum: axis 2 of a tensor with 2 axes; give one from -2 to 1");
  seen = MISUSE(x.sum({0, -2}));
  CHECK(seen == "ValueError: sum: axis -2 is given twice: f32[2,3]; name each once");
  seen = MISUSE(amax(none, 0));
  CHECK(seen == "ValueError: amax: no element to choose from: f32[0,4]; reduce an axis that is not "
                "empty, or append a bound first");
  seen = MISUSE(min(none));
  CHECK(seen.find("ValueError: min: no element to choose from: f32[0,4]") == 0);
  seen = MISUSE(none.argmin(0));
  CHECK(seen.find("ValueError: argmin: no element to choose from: f32[0,4]") == 0);
  seen = MISUSE(argmax(x, {0, 1}));
  CHECK(seen == "ValueError: argmax: several axes are given: axes 0, 1 of f32[2,3]; give one, or "
                "none for all");
  seen = MISUSE(argmax(mask));
  CHECK(seen == "DTypeError: argmax: bools have no order: bool[3]; cast it first, as x.to(u8)");
  seen = MISUSE(mean(counts));
  CHECK(seen == "DTypeError: mean: integers and bools have no mean of their dtype: i64[3]; cast it "
                "first, as x.to(f32)");
  seen = MISUSE(counts.softmax(0));
  CHECK(seen == "DTypeError: softmax: integers and bools have no such function: i64[3]; cast it "
                "first, as x.to(f32)");
  seen = MISUSE(x.log_softmax(4));
  CHECK(seen == "IndexError: log_softmax: axis 4 of a tensor with 2 axes; give one from -2 to 1");
  seen = MISUSE(logsumexp(Tensor()));
  CHECK(seen.find("ValueError: logsumexp: the tensor is undefined") == 0);
}

TEST_CASE("misuse of views") {
  const Tensor x = ones({2, 3}), number = ones({});
  std::string seen = MISUSE(reshape(x, {4, 2}));
  CHECK(seen == "ShapeError: reshape: 6 elements do not fill [4,2]: f32[2,3]; give a shape of that "
                "many elements");
  seen = MISUSE(x.reshape({4, -1}));
  CHECK(seen == "ShapeError: reshape: 6 elements do not fill [4,-1]: f32[2,3]; give a shape of "
                "that many elements");
  seen = MISUSE(reshape(x, {-1, -1}));
  CHECK(seen == "ShapeError: reshape: [-1,-1] is no shape: f32[2,3]; one extent may be -1, none "
                "less");
  seen = MISUSE(reshape(zeros({0}), {0, -1}));
  CHECK(seen.find("ShapeError: reshape: 0 elements do not fill [0,-1]: f32[0]") == 0);
  seen = MISUSE(x.flatten(1, 0));
  CHECK(seen == "ValueError: flatten: the first axis is after the last: 1, 0 of f32[2,3]; exchange "
                "them");
  seen = MISUSE(transpose(x, 0, 2));
  CHECK(seen == "IndexError: transpose: axis 2 of a tensor with 2 axes; give one from -2 to 1");
  seen = MISUSE(permute(x, {0}));
  CHECK(seen == "ShapeError: permute: 1 axes for a tensor of 2: f32[2,3]; name each of its axes "
                "once");
  seen = MISUSE(x.permute({1, 1}));
  CHECK(seen == "ValueError: permute: axis 1 is given twice: f32[2,3]; name each once");
  seen = MISUSE(expand(x, {2, 4}));
  CHECK(seen == "ShapeError: expand: f32[2,3] does not expand to [2,4]; only axes of extent 1 "
                "repeat, new ones come first, and -1 keeps an extent");
  seen = MISUSE(x.broadcast_to({-1, 2, 3}));
  CHECK(seen.find("ShapeError: broadcast_to: f32[2,3] does not expand to [-1,2,3]") == 0);
  seen = MISUSE(unsqueeze(ones({1, 1, 1, 1, 1, 1, 1, 1}), 0));
  CHECK(seen.find("ShapeError: ") == 0);
  seen = MISUSE(flip(x, 2));
  CHECK(seen == "IndexError: flip: axis 2 of a tensor with 2 axes; give one from -2 to 1");
  seen = MISUSE(squeeze(x, {0, 0}));
  CHECK(seen == "ValueError: squeeze: axis 0 is given twice: f32[2,3]; name each once");
  seen = MISUSE(number.size(0));
  CHECK(seen == "IndexError: size: a 0-dim tensor has no axis 0; its element count is numel()");
  seen = MISUSE(x.size(2));
  CHECK(seen == "IndexError: size: axis 2 of a tensor with 2 axes; give one from -2 to 1");
}

TEST_CASE("misuse of slices and positions") {
  const Tensor x = ones({2, 3}), number = ones({});
  std::string seen = MISUSE(x.slice(0, 0, 2, -1));
  CHECK(seen == "ValueError: slice: the step is -1: f32[2,3]; give one of 1 or more, and flip for "
                "the other direction");
  seen = MISUSE(slice(number, 0, 0));
  CHECK(seen == "IndexError: slice: a 0-dim tensor has no axis to take from: f32[]; use it as it "
                "is, or reshape it to {1}");
  seen = MISUSE(x[2]);
  CHECK(seen == "IndexError: select: position 2 is outside axis 0 of f32[2,3]; give one from -2 to "
                "1");
  seen = MISUSE(number[0]);
  CHECK(seen.find("IndexError: select: a 0-dim tensor has no axis to take from: f32[]") == 0);
  seen = MISUSE(x.select(1, -4));
  CHECK(seen == "IndexError: select: position -4 is outside axis 1 of f32[2,3]; give one from -3 "
                "to 2");
  seen = MISUSE(x.index({0, 0, 0}));
  CHECK(seen == "IndexError: index: 3 indices for 2 axes: f32[2,3]; give one for each axis, or "
                "fewer");
  seen = MISUSE(x.index({slice(1, 2), 3}));
  CHECK(seen == "IndexError: index: position 3 is outside axis 1 of f32[2,3]; give one from -3 to "
                "2");
  seen = MISUSE(x.index({0, slice(0, 2, 0)}));
  CHECK(seen.find("ValueError: slice: the step is 0: f32[2,3]") == 0);
}

TEST_CASE("misuse of joins") {
  const Tensor x = ones({2, 3}), wide = ones({2, 4}), row = ones({3}), number = ones({});
  std::string seen = MISUSE(cat(std::vector<Tensor>{}));
  CHECK(seen == "ValueError: cat: no tensors to join; give at least one");
  seen = MISUSE(cat({x, row}));
  CHECK(seen == "ShapeError: cat: numbers of axes differ: f32[2,3], f32[3]; unsqueeze or reshape "
                "one");
  seen = MISUSE(cat({x, wide}));
  CHECK(seen == "ShapeError: cat: extents differ off axis 0: f32[2,3], f32[2,4]; they may differ "
                "along the joined axis alone");
  seen = MISUSE(cat({x, x}, 2));
  CHECK(seen == "IndexError: cat: axis 2 of a tensor with 2 axes; give one from -2 to 1");
  seen = MISUSE(cat({row, number}));
  CHECK(seen == "ShapeError: cat: a 0-dim tensor has no axis to join along: f32[]; use stack");
  const Tensor bytes = ones({2}, {.dtype = u8}), small = ones({2}, {.dtype = i8});
  seen = MISUSE(cat({bytes, small}));
  CHECK(seen == "DTypeError: cat: no dtype holds u8 and i8[2]; cast one, as x.to(i32)");
  seen = MISUSE(cat({bytes, on_sim(2)}));
  CHECK(seen.find("DeviceError: cat: argument 2 is on sim:0") == 0);
  seen = MISUSE(stack({x, wide}));
  CHECK(seen == "ShapeError: stack: shapes differ: f32[2,3], f32[2,4]; make them equal, or use "
                "cat");
  seen = MISUSE(stack({x, x}, 4));
  CHECK(seen == "IndexError: stack: axis 4 of a tensor with 3 axes; give one from -3 to 2");
}

TEST_CASE("misuse of slice_update, split and chunk") {
  const Tensor x = ones({2, 3}), row = ones({1, 3}), number = ones({});
  std::string seen = MISUSE(slice_update(number, 0, 0, number));
  CHECK(seen ==
        "IndexError: slice_update: a 0-dim tensor has no axis to write along: f32[], f32[]; "
        "use where, or y itself");
  seen = MISUSE(slice_update(x, 1, 0, row));
  CHECK(seen == "ShapeError: slice_update: extents differ off axis 1: f32[2,3], f32[1,3]; expand "
                "or reshape what is written");
  seen = MISUSE(slice_update(x, 0, 0, row, 0));
  CHECK(seen == "ValueError: slice_update: the step is 0: f32[2,3], f32[1,3]; give one of 1 or "
                "more");
  seen = MISUSE(slice_update(x, 0, 2, row));
  CHECK(seen == "IndexError: slice_update: 1 positions from 2 by 1 do not fit into axis 0: "
                "f32[2,3], f32[1,3]; start earlier, or write less");
  seen = MISUSE(split(x, {1, 3}, 1));
  CHECK(seen == "ShapeError: split: the parts have 4 positions, the axis 3: [1,3] along axis 1 of "
                "f32[2,3]; give sizes whose sum is the extent");
  seen = MISUSE(split(x, 0));
  CHECK(seen == "ValueError: split: no sizes of parts: [0] along axis 0 of f32[2,3]; give one size "
                "of 1 or more, or the size of each part");
  seen = MISUSE(split(number, 1));
  CHECK(seen == "ShapeError: split: a 0-dim tensor has no axis to split: f32[]; reshape it to {1}");
  seen = MISUSE(chunk(x, 0));
  CHECK(seen == "ValueError: chunk: 0 chunks: f32[2,3]; give 1 or more");
  seen = MISUSE(chunk(number, 1));
  CHECK(seen == "ShapeError: chunk: a 0-dim tensor has no axis to split: f32[]; reshape it to {1}");
}

TEST_CASE("misuse of gather and scatter_add") {
  const Tensor x = ones({2, 3}), row = ones({3});
  const Tensor index = zeros({3, 1}, {.dtype = i64}), near = zeros({2, 2}, {.dtype = i64});
  std::string seen = MISUSE(gather(x, 0, x));
  CHECK(seen == "DTypeError: gather: the index is no integer: f32[2,3]; cast it, as index.to(i64)");
  seen = MISUSE(gather(row, 0, near));
  CHECK(seen == "ShapeError: gather: the index has 2 axes, the data 1: f32[3], index i64[2,2]; "
                "unsqueeze and expand the index");
  seen = MISUSE(x.gather(1, index));
  CHECK(seen == "ShapeError: gather: the index is larger off axis 1: f32[2,3], index i64[3,1]; "
                "slice it to the data's extents");
  seen = MISUSE(x.gather(2, near));
  CHECK(seen == "IndexError: gather: axis 2 of a tensor with 2 axes; give one from -2 to 1");
  seen = MISUSE(gather(row, 0, on_sim(2)));
  CHECK(seen.find("DeviceError: gather: argument 2 is on sim:0") == 0);
  seen = MISUSE(scatter_add(x, 0, near, ones({2, 2}, {.dtype = f64})));
  CHECK(seen.find("DTypeError: scatter_add: dtypes differ: f32[2,3], source f64[2,2]") == 0);
  const Tensor narrow = ones({2, 1});
  seen = MISUSE(x.scatter_add(1, near, narrow));
  CHECK(seen == "ShapeError: scatter_add: the index is larger than the source: index i64[2,2], "
                "source f32[2,1]; slice the index, or expand the source");
  seen = MISUSE(index_select(x, 0, near));
  CHECK(seen == "ShapeError: index_select: takes an axis's positions by a vector: f32[2,3], index "
                "i64[2,2]; flatten the index, or use gather");
  seen = MISUSE(index_select(x, 0, row));
  CHECK(seen == "DTypeError: index_select: the index is no integer: f32[3]; cast it, as "
                "index.to(i64)");
}

TEST_CASE("misuse of topk, masked_fill and clamp") {
  const Tensor x = ones({2, 3}), row = ones({3}), mask = ones({3}, {.dtype = bool_});
  std::string seen = MISUSE(topk(x, 4));
  CHECK(seen == "ValueError: topk: k is 4, the axis has 3 positions: f32[2,3]; give a k from 0 to "
                "that");
  seen = MISUSE(mask.topk(1));
  CHECK(seen == "DTypeError: topk: bools have no order: bool[3]; cast it first, as x.to(u8)");
  seen = MISUSE(masked_fill(x, row, 0));
  CHECK(seen == "DTypeError: masked_fill: the mask is no bool: f32[2,3], mask f32[3]; compare it, "
                "as mask != 0");
  seen = MISUSE(x.masked_fill(mask, row));
  CHECK(seen == "ShapeError: masked_fill: the value has axes: f32[3]; give a number or a 0-dim "
                "tensor, or use where");
  const Tensor pair = ones({2}, {.dtype = bool_});
  seen = MISUSE(masked_fill(x, pair, 0));
  CHECK(seen.find("ShapeError: masked_fill: shapes [2,3] and [2] do not broadcast") == 0);
  seen = MISUSE(x.clamp(std::nullopt));
  CHECK(seen == "ValueError: clamp: no bound is given: f32[2,3]; give low, high or both");
}

TEST_CASE("misuse of matmul") {
  const Tensor a = ones({64, 784}), b = ones({512, 10}), number = ones({});
  std::string seen = MISUSE(matmul(a, b));
  CHECK(seen == "ShapeError: matmul: inner sizes differ: a f32[64,784], b f32[512,10]; the last "
                "axis of a and the last but one of b must be equal: transpose one of them?");
  seen = MISUSE(a.matmul(ones({784, 10}, {.dtype = f64})));
  CHECK(seen.find("DTypeError: matmul: dtypes differ: a f32[64,784], b f64[784,10]") == 0);
  const Tensor mask = ones({3, 3}, {.dtype = bool_});
  seen = MISUSE(matmul(mask, mask));
  CHECK(seen == "DTypeError: matmul: bools have no product: a bool[3,3], b bool[3,3]; cast them, "
                "as a.to(f32)");
  seen = MISUSE(matmul(a, number));
  CHECK(seen == "ShapeError: matmul: an operand has no axes: a f32[64,784], b f32[]; multiply by a "
                "0-dim tensor with *");
  const Tensor two = ones({2, 4, 4}), three = ones({3, 4, 4});
  seen = MISUSE(matmul(two, three));
  CHECK(seen == "ShapeError: matmul: batch axes do not broadcast: a f32[2,4,4], b f32[3,4,4]; make "
                "them equal, or 1");
  const Tensor tall = ones({huge, 1}), long_row = ones({1, huge});
  seen = MISUSE(matmul(tall, long_row));
  CHECK(seen.find("ShapeError: matmul: the size overflows 63 bits: f32[") == 0);
  const Tensor counts = ones({2}, {.dtype = i64});
  seen = MISUSE(matmul(counts, on_sim(2)));
  CHECK(seen.find("DeviceError: matmul: argument 2 is on sim:0") == 0);
}

TEST_CASE("misuse of random numbers") {
  Generator generator(1);
  std::string seen = MISUSE(rand({2}, {.dtype = i32}));
  CHECK(seen == "DTypeError: rand: draws floats, not i32; take a float dtype, or randint");
  seen = MISUSE(randn({2}, generator, {.dtype = bool_}));
  CHECK(seen == "DTypeError: randn: draws floats, not bool; take a float dtype, or randint");
  seen = MISUSE(randint(3, 3, {2}));
  CHECK(seen == "ValueError: randint: no integer lies from 3 to 3, the last excluded; give a high "
                "above low");
  seen = MISUSE(randint(0, 300, {2}, {.dtype = u8}));
  CHECK(seen ==
        "ValueError: randint: u8 does not hold all from 0 to 300, the last excluded; take a "
        "wider dtype");
  seen = MISUSE(randperm(-1));
  CHECK(seen == "ShapeError: randperm: an extent is negative: [-1]; extents are 0 or more");
  seen = MISUSE(randperm(2, {.dtype = bool_}));
  CHECK(seen == "DTypeError: randperm: bools do not tell positions apart; take an integer dtype");
  seen = MISUSE(bernoulli(1.5, {2}));
  CHECK(seen == "ValueError: bernoulli: 1.500000 is no probability; give one from 0 to 1");
  seen = MISUSE(rand({-1}, generator));
  CHECK(seen == "ShapeError: rand: an extent is negative: [-1]; extents are 0 or more");
  CHECK(generator.next() == 0);  // none of these used up a call
}

TEST_CASE("misuse of movement and comparison") {
  const Tensor x = ones({2});
  std::string seen = MISUSE(Tensor().to(f32));
  CHECK(seen == "ValueError: to: the tensor is undefined (default-constructed or moved from); give "
                "it a value first");
  seen = MISUSE(Tensor().cpu());
  CHECK(seen.find("ValueError: to: the tensor is undefined") == 0);
  seen = MISUSE(Tensor().shape());
  CHECK(seen.find("ValueError: shape: the tensor is undefined") == 0);
  seen = MISUSE(allclose(x, x, -1.0));
  CHECK(seen ==
        "ValueError: allclose: a tolerance is negative or NaN: relative -1.000000, absolute "
        "0.000000; give 0 or more");
  seen = MISUSE(equal(x, on_sim(2)));
  CHECK(seen.find("DeviceError: equal: argument 2 is on sim:0") == 0);
  detail::ambient().tracing = true;
  seen = MISUSE(x.wait());
  detail::ambient().tracing = false;
  CHECK(seen == "TraceError: wait: a compiled function is being traced, and nothing runs in it: "
                "f32[2]; wait for what it returns");
}
