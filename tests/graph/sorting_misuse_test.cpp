// Callers' mistakes with scans, orders and counts: the type of the error, what it says, the line
// that it names, and that nothing is left recorded.
#include <cmath>
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
std::string wrong(int line, const std::string& message, const Call& call) {
  Told error = told<E>(line, __FILE__, call, true);
  return begins(error, message).wrong();
}

#define WRONG(Type, message, ...)                                                                  \
  CHECK(wrong<Type>(__LINE__, message, [&] { (void)(__VA_ARGS__); }) == "")

}  // namespace

TEST_CASE("misuse of scans") {
  const Tensor x = ones({2, 3});
  WRONG(IndexError, "cumsum: axis 2 of a tensor with 2 axes", cumsum(x, 2));
  WRONG(IndexError, "cumprod: axis -3 of a tensor with 2 axes", x.cumprod(-3));
  WRONG(IndexError, "logcumsumexp: axis 4", x.logcumsumexp(4));
  WRONG(IndexError, "logcumsumexp: axis 4", tensor({1, 2}).logcumsumexp(4));
  WRONG(IndexError, "cummax: axis 2", x.cummax(2));
  WRONG(IndexError, "cummin: axis 1 of a tensor with 0 axes", cummin(tensor(1), 1));
  WRONG(ValueError, "cumsum: ", cumsum(Tensor(), 0));
  WRONG(ValueError, "cummax: ", cummax(Tensor(), 0));
}

TEST_CASE("misuse of orders") {
  const Tensor x = ones({2, 3}), mask = ones({3}, {.dtype = bool_});
  WRONG(IndexError, "sort: axis 2", x.sort(2));
  WRONG(IndexError, "argsort: axis -3", argsort(x, -3));
  WRONG(ValueError, "sort: ", sort(Tensor()));
  WRONG(ValueError, "kthvalue: k is 4, the axis has 3 positions: f32[2,3]", x.kthvalue(4));
  WRONG(ValueError, "kthvalue: k is 0", x.kthvalue(0));
  WRONG(IndexError, "kthvalue: axis 2", kthvalue(x, 1, 2));
  WRONG(DTypeError, "kthvalue: bools are not counted so: bool[3]", mask.kthvalue(1));
  WRONG(ValueError, "median: no element to choose from: f32[0]", median(zeros({0})));
  WRONG(ValueError, "median: no element to choose from: f32[2,0]", median(zeros({2, 0}), 1));
  WRONG(DTypeError, "median: bools are not counted so", mask.median());
  WRONG(DTypeError, "median: bools are not counted so", mask.median(0));
  WRONG(IndexError, "median: axis 3", x.median(3));
}

TEST_CASE("misuse of searches") {
  const Tensor x = ones({2, 3}), line = ones({4});
  WRONG(ShapeError, "searchsorted: the sorted tensor has no axis: f32[]",
        searchsorted(tensor(1.0), x));
  WRONG(ShapeError,
        "searchsorted: the sorted tensor is no vector, and the values have not its "
        "leading axes: f32[2,3], values f32[3,3]",
        searchsorted(x, ones({3, 3})));
  WRONG(ShapeError, "searchsorted: the sorted tensor is no vector", searchsorted(x, line));
  WRONG(DTypeError, "searchsorted: the dtypes have none in common: u8[4], values i8[4]",
        searchsorted(line.to(u8), line.to(i8)));
  WRONG(ShapeError, "bucketize: the boundaries are no vector: f32[4], boundaries f32[2,3]",
        bucketize(line, x));
  sim::enable(1);
  WRONG(DeviceError, "searchsorted: ", searchsorted(line, ones({2}, {.device = "sim:0"})));
  WRONG(DeviceError, "isin: ", isin(line, ones({2}, {.device = "sim:0"})));
}

TEST_CASE("misuse of counts") {
  const Tensor x = tensor({1, 2, 0}), y = ones({3});
  WRONG(DTypeError, "bincount: only integers are counted: f32[3]", bincount(y));
  WRONG(DTypeError, "bincount: only integers are counted: bool[3]", bincount(y.to(bool_)));
  WRONG(ShapeError, "bincount: takes a vector: i64[1,3]", bincount(x.unsqueeze(0)));
  WRONG(ValueError, "bincount: minlength is -1", bincount(x, {.minlength = -1}));
  WRONG(ValueError, "bincount: an element is negative: -1 in i64[3]", bincount(x - 1));
  WRONG(ShapeError, "bincount: the weights have another shape: i64[3], weights f32[2]",
        bincount(x, {.weights = ones({2})}));
  WRONG(ValueError, "histogram: the number of bins is 0", histogram(y, 0));
  WRONG(ValueError, "histogram: one end of the range is missing: f32[3]",
        histogram(y, 2, {.low = 0}));
  WRONG(ValueError, "histogram: the range is no interval: 2",
        histogram(y, 2, {.low = 2, .high = 1}));
  WRONG(ValueError, "histogram: the range is no interval: nan",
        histogram(y, 2, {.low = std::nan(""), .high = 1}));
  WRONG(ValueError, "histogram: the range is no interval", histogram(y / 0, 2));
  WRONG(ShapeError, "histogram: the weights have another shape",
        histogram(y, 2, {.weights = ones({4})}));
  WRONG(ValueError, "unique: ", unique(Tensor()));
}
