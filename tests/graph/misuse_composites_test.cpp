// Callers' mistakes in functions composed of others: each names the function that was called, its
// operands, what to do and the caller's line, and leaves everything as it was.
#include <string>
#include <typeinfo>
#include <vector>

#include <weft/graph/detail/record.h>
#include <weft/weft.h>

#include "misuse.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

template <class E, class Call>
std::string wrong(int line, const Parts& parts, const Call& call) {
  Told error = told<E>(line, __FILE__, call);
  return begins(says(error, parts), parts[0] + ": ").wrong();
}

#define WRONG(Type, parts, ...)                                                                    \
  CHECK(wrong<Type>(__LINE__, Parts parts, [&] { (void)(__VA_ARGS__); }) == "")

}  // namespace

TEST_CASE("misuse of indexing") {
  const Tensor x = ones({2, 3}), index = zeros({2, 1}, {.dtype = i64}),
               whole = ones({2, 3}).to(i64);
  const Tensor mask = ones({2, 3}, {.dtype = bool_}), line = zeros({2}, {.dtype = i64});
  WRONG(DTypeError, ({"scatter", "f32[2,1]", "i64"}), scatter(x, 1, ones({2, 1}), x));
  WRONG(DTypeError, ({"scatter", "f32[2,3]", "source i64[2,3]"}), scatter(x, 1, index, whole));
  WRONG(ShapeError, ({"scatter", "index i64[2,1]", "source f32[1,1]"}),
        scatter(x, 1, index, ones({1, 1})));
  WRONG(ShapeError, ({"scatter", "i64[2]", "f32[2,3]"}), scatter(x, 1, line, 1));
  WRONG(ShapeError, ({"scatter", "off axis 0"}), x.scatter(0, ones({1, 4}).to(i64), 1));
  WRONG(IndexError, ({"scatter", "2"}), x.scatter(2, index, 1));
  WRONG(ValueError, ({"scatter", "undefined"}), scatter(Tensor(), 0, index, 1));
  WRONG(ValueError, ({"scatter", "undefined"}), scatter(x, 0, index, Tensor()));
  WRONG(ShapeError, ({"index_add", "index i64[2,1]", "vector"}), index_add(x, 1, index, x));
  WRONG(ShapeError, ({"index_add", "[2,2]", "source f32[2,3]"}), index_add(x, 1, line, x));
  WRONG(DTypeError, ({"index_copy", "source i64[2,3]"}), index_copy(x, 0, line, whole));
  WRONG(ShapeError, ({"index_fill", "value has axes"}), index_fill(x, 0, line, ones({2})));
  WRONG(DTypeError, ({"index_fill", "bool"}), index_fill(x, 0, mask, 1));
  WRONG(DTypeError, ({"take", "f32[2,3]"}), take(x, x));
  WRONG(ShapeError, ({"put", "index i64[2]", "source f32[2,3]"}), put(x, line, x));
  WRONG(DTypeError, ({"put", "source i64[2]"}), x.put(line, line));
  WRONG(DTypeError, ({"masked_select", "mask f32[2,3]", "mask != 0"}), masked_select(x, x));
  WRONG(ShapeError, ({"masked_select", "[2,3]", "[4]"}), masked_select(x, ones({4}) > 0));
  WRONG(DTypeError, ({"masked_scatter", "source i64[2,3]"}), masked_scatter(x, mask, whole));
  try {  // known once the mask has run
    masked_scatter(x, mask, ones({2}));
    FAIL_CHECK("nothing was thrown");
  } catch (const ShapeError& error) {
    const std::string text = error.what();
    CHECK(text.find("masked_scatter: the mask is true at 6 places") == 0);
    CHECK(text.find("source f32[2]; give as many") != std::string::npos);
    CHECK(error.line() == __LINE__ - 6);
  }
  WRONG(ValueError, ({"nonzero", "undefined"}), nonzero(Tensor()));
  WRONG(IndexError, ({"index", "3 indices", "2 axes"}), x.index({0, line, 0}));
  WRONG(IndexError, ({"index", "3 indices", "2 axes"}), x.index({0, mask}));
  WRONG(ShapeError, ({"index", "bool[2]", "f32[2,3]"}), x.index({slice(), ones({2}) > 0}));
  WRONG(DTypeError, ({"index", "f32[2]", "i64"}), x.index({ones({2})}));
  WRONG(ShapeError, ({"index", "[2]", "[3]"}), x.index({line, zeros({3}, {.dtype = i64})}));
  WRONG(IndexError, ({"index", "position 5"}), x.index({5, line}));
}

TEST_CASE("misuse of masks and counts in a compiled function") {
  const Tensor x = ones({2});
  detail::ambient().tracing = true;
  CHECK_THROWS_AS(nonzero(x), TraceError);
  CHECK_THROWS_AS(masked_select(x, x > 0), TraceError);
  CHECK_THROWS_AS(x.index({x > 0}), TraceError);
  CHECK_THROWS_AS(one_hot(x.to(i64)), TraceError);
  CHECK_THROWS_AS(repeat_interleave(x, x.to(i64)), TraceError);
  detail::ambient().tracing = false;
}

TEST_CASE("misuse of shaping") {
  const Tensor x = ones({2, 3}), number = ones({}), labels = zeros({2}, {.dtype = i64});
  const std::int64_t huge = std::int64_t{1} << 62;
  WRONG(ValueError, ({"roll", "2 shifts", "1 axes"}), roll(x, {1, 2}, 0));
  WRONG(ValueError, ({"roll", "2 shifts"}), x.roll({1, 2}));
  WRONG(IndexError, ({"roll", "2"}), x.roll(1, 2));
  WRONG(IndexError, ({"roll", "1"}), number.roll(1, 1));
  WRONG(ShapeError, ({"repeat", "1 counts", "f32[2,3]", "tile"}), repeat(x, 2));
  WRONG(ValueError, ({"repeat", "[2,-1]"}), x.repeat({2, -1}));
  WRONG(ShapeError, ({"tile", "overflows"}), tile(x, {huge}));
  WRONG(ValueError, ({"repeat_interleave", "-1"}), repeat_interleave(x, -1));
  WRONG(IndexError, ({"repeat_interleave", "2"}), x.repeat_interleave(2, 2));
  WRONG(ShapeError, ({"repeat_interleave", "counts i64[2]", "3"}), repeat_interleave(x, labels, 1));
  WRONG(DTypeError, ({"repeat_interleave", "f32[2]"}), repeat_interleave(x, ones({2}), 0));
  WRONG(ValueError, ({"repeat_interleave", "negative"}), x.repeat_interleave(tensor({-1, 1}), 0));
  WRONG(ShapeError, ({"pad", "[1,1,1]", "f32[2,3]", "pairs"}), pad(x, {1, 1, 1}));
  WRONG(ShapeError, ({"pad", "[1,1,1,1,1,1]"}), pad(x, {1, 1, 1, 1, 1, 1}));
  WRONG(ShapeError, ({"pad", "axis 1", "[3,0]"}), pad(x, {3, 0}, {.mode = PadMode::reflect}));
  WRONG(ShapeError, ({"pad", "axis 0"}), pad(x, {0, 0, 3, 0}, {.mode = PadMode::circular}));
  WRONG(ShapeError, ({"pad", "axis 0"}), pad(ones({0}), {1, 0}, {.mode = PadMode::replicate}));
  WRONG(ValueError, ({"pad", "crop"}), x.pad({-1, 0}, {.mode = PadMode::reflect}));
  WRONG(ValueError, ({"pad", "value"}), pad(x, {1, 0}, {.mode = PadMode::reflect, .value = 1}));
  WRONG(ShapeError, ({"pad", "[-2,-2]"}), pad(x, {-2, -2}));
  WRONG(ShapeError, ({"pad", "widths"}), pad(x, {huge, huge}));
  WRONG(ShapeError, ({"tril", "f32[]", "matrix"}), tril(number));
  WRONG(ShapeError, ({"triu", "i64[2]"}), labels.triu());
  WRONG(ValueError, ({"diagonal", "axis 1", "f32[2,3]"}), diagonal(x, 0, 1, -1));
  WRONG(IndexError, ({"diagonal", "0-dim"}), diagonal(number));
  WRONG(ShapeError, ({"diag", "f32[1,2,3]"}), diag(ones({1, 2, 3})));
  WRONG(IndexError, ({"diag_embed", "0-dim"}), diag_embed(number));
  WRONG(ValueError, ({"diag_embed", "axis 0"}), diag_embed(x, 0, 0, -3));
  WRONG(ShapeError, ({"diag_embed", "3 + 9223372036854775807", "[2,3]"}),
        diag_embed(x, std::numeric_limits<std::int64_t>::max()));
  WRONG(ValueError, ({"movedim", "1 axes", "2 positions"}), movedim(x, 0, {0, 1}));
  WRONG(ValueError, ({"movedim", "twice"}), movedim(x, {0, -2}, {0, 1}));
  WRONG(ShapeError, ({"unflatten", "[2,2]", "axis 1"}), unflatten(x, 1, {2, 2}));
  WRONG(ShapeError, ({"unflatten", "[-1,-1]"}), x.unflatten(1, {-1, -1}));
  WRONG(IndexError, ({"unbind", "0-dim"}), unbind(number));
  WRONG(IndexError, ({"narrow", "2 positions from 2", "axis 1"}), narrow(x, 1, 2, 2));
  WRONG(IndexError, ({"narrow", "-1 positions"}), x.narrow(1, 0, -1));
  WRONG(ShapeError, ({"rot90", "two axes"}), rot90(x, 1, {0}));
  WRONG(ShapeError, ({"rot90", "i64[2]"}), rot90(labels));
  WRONG(ValueError, ({"rot90", "twice"}), rot90(x, 1, {0, -2}));
  WRONG(ValueError, ({"tensor_split", "0 parts"}), tensor_split(x, 0));
  WRONG(ValueError, ({"meshgrid", "\"yx\"", "\"xy\""}), meshgrid({labels}, "yx"));
  WRONG(ShapeError, ({"meshgrid", "f32[2,3]"}), meshgrid({x}));
  WRONG(ValueError, ({"meshgrid", "no tensors"}), meshgrid(std::vector<Tensor>()));
  WRONG(DTypeError, ({"one_hot", "f32[2,3]"}), one_hot(x, 3));
  WRONG(ValueError, ({"one_hot", "0 classes"}), one_hot(labels, 0));
  WRONG(ValueError, ({"one_hot", "-2 classes"}), one_hot(labels, -2));
  WRONG(ValueError, ({"one_hot", "-1 classes", "i64[0]"}), one_hot(zeros({0}, {.dtype = i64})));
  WRONG(ValueError, ({"hstack", "no tensors"}), hstack(std::vector<Tensor>()));
  WRONG(ValueError, ({"vstack", "undefined"}), vstack({x, Tensor()}));
}

TEST_CASE("misuse of statistics") {
  const Tensor x = ones({2, 3}), whole = ones({2, 3}, {.dtype = i64});
  WRONG(DTypeError, ({"var", "i64[2,3]", "x.to(f32)"}), var(whole));
  WRONG(DTypeError, ({"stddev", "i64[2,3]"}), whole.stddev(1));
  WRONG(DTypeError, ({"norm", "bool[2,3]"}), norm(whole > 0));
  WRONG(DTypeError, ({"nanmean", "i64[2,3]"}), nanmean(whole));
  WRONG(IndexError, ({"var", "2"}), var(x, 2));
  WRONG(ValueError, ({"stddev", "twice"}), stddev(x, {0, 0}));
  WRONG(IndexError, ({"norm", "-3"}), x.norm(-3));
  WRONG(IndexError, ({"count_nonzero", "2"}), x.count_nonzero(2));
  WRONG(IndexError, ({"nansum", "2"}), x.nansum(2));
  WRONG(ValueError, ({"var", "not finite"}), var(x, 0, false, std::nan("")));
  WRONG(ShapeError, ({"cov", "f32[1,2,3]", "matrix"}), cov(ones({1, 2, 3})));
  WRONG(DTypeError, ({"corrcoef", "i64[2,3]"}), corrcoef(whole));
}

TEST_CASE("misuse of products") {
  const Tensor x = ones({2, 3}), line = ones({3}), whole = ones({3}, {.dtype = u8});
  WRONG(ShapeError, ({"dot", "f32[2,3]", "1 and 1 axes"}), dot(x, line));
  WRONG(ShapeError, ({"dot", "f32[3]", "f32[2]"}), dot(line, ones({2})));
  WRONG(ShapeError, ({"outer", "f32[2,3]"}), outer(line, x));
  WRONG(ShapeError, ({"mv", "2 and 1 axes"}), mv(line, line));
  WRONG(ShapeError, ({"mm", "matmul"}), x.mm(line));
  WRONG(ShapeError, ({"bmm", "batches differ"}), bmm(ones({2, 1, 1}), ones({1, 1, 1})));
  WRONG(ShapeError, ({"addmm", "f32[4]", "broadcast"}), addmm(ones({4}), x, ones({3, 1})));
  WRONG(ShapeError, ({"kron", "4 axes"}), kron(ones({1, 1, 1, 1, 1}), line));
  WRONG(ShapeError, ({"tensordot", "axis 1 of a", "axis 0 of b"}), tensordot(x, ones({2}), 1));
  WRONG(ValueError, ({"tensordot", "3 axes"}), tensordot(x, line, 3));
  WRONG(ValueError, ({"tensordot", "1 axes of a, 2 of b"}), tensordot(x, x, {0}, {0, 1}));
  WRONG(DTypeError, ({"tensordot", "u8[3]", "i8[3]"}), tensordot(whole, ones({3}).to(i8), 1));
  WRONG(ShapeError, ({"trace", "f32[3]"}), trace(line));
  WRONG(ShapeError, ({"cross", "axis 0", "f32[2,3]"}), cross(x, line, 0));
  WRONG(ShapeError, ({"cross", "f32[2]"}), ones({2}).cross(ones({2})));
  WRONG(ShapeError, ({"matrix_power", "f32[2,3]", "square"}), matrix_power(x, 2));
  WRONG(ValueError, ({"matrix_power", "-1"}), matrix_power(ones({2, 2}), -1));
}

TEST_CASE("misuse of einsum: the equation and the letter are named") {
  const Tensor x = ones({2, 3}), y = ones({4, 2}), line = ones({3});
  WRONG(ShapeError, ({"einsum", "\"ij,jk->ik\"", "\"j\"", "3 long", "4 in f32[4,2]"}),
        einsum("ij,jk->ik", {x, y}));
  WRONG(ShapeError, ({"einsum", "\"ii->i\"", "\"i\"", "2 and 3"}), einsum("ii->i", x));
  WRONG(ValueError, ({"einsum", "\"ij->ik\"", "\"k\""}), einsum("ij->ik", x));
  WRONG(ValueError, ({"einsum", "\"ij->ii\"", "\"i\"", "twice"}), einsum("ij->ii", x));
  WRONG(ValueError, ({"einsum", "\"ij,jk\"", "2 operands", "1 are given"}), einsum("ij,jk", x));
  WRONG(ValueError, ({"einsum", "\"ij\"", "1 operands", "2 are given"}), einsum("ij", {x, y}));
  WRONG(ShapeError, ({"einsum", "\"i\" names 1 axes", "operand 0 has 2"}), einsum("i", x));
  WRONG(ShapeError, ({"einsum", "names 2 axes", "operand 1 has 1"}), einsum("ij,ij...", {x, line}));
  WRONG(ValueError, ({"einsum", "'1'", "letters"}), einsum("i1", x));
  WRONG(ValueError, ({"einsum", "'.'"}), einsum("..j", x));
  WRONG(ValueError, ({"einsum", "'.'"}), einsum("......", x));
  WRONG(ValueError, ({"einsum", "'-'"}), einsum("ij-", x));
  WRONG(ValueError, ({"einsum", "'>'"}), einsum("ij->i>", x));
  WRONG(ShapeError, ({"einsum", "\"...\"", "3 long", "2"}), einsum("...,...", {line, ones({2})}));
  WRONG(DTypeError, ({"einsum", "bool[3]"}), einsum("i,i", {line, line > 0}));
  WRONG(DTypeError, ({"einsum", "u8[3]"}), einsum("i,i", {line.to(i8), line.to(u8)}));
  WRONG(ValueError, ({"einsum", "undefined"}), einsum("i", Tensor()));
  WRONG(ValueError, ({"einsum", "no operands"}), einsum("", std::vector<Tensor>()));
  const Tensor deep = ones({1, 1, 1, 1, 1});
  WRONG(ShapeError, ({"einsum", "10 axes"}), einsum("abcde,fghij", {deep, deep}));
  const Tensor wide = ones({1, 1, 1, 1, 1, 1, 1, 1});
  WRONG(ShapeError, ({"einsum", "9 axes", "contract"}),
        einsum("abcdefgh,abcdijkl,efghijkl->aei", {wide, wide, wide}));
}
