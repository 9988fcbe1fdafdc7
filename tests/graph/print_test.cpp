// Printing, against what PyTorch prints: made with it, the names of dtypes exchanged.
#include <limits>
#include <sstream>
#include <string>

#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace

TEST_CASE("printing a tensor: floats", "[print]") {
  CHECK(text(tensor(3.0)) == "tensor(3.)");
  CHECK(text(tensor(-0.0)) == "tensor(-0.)");
  CHECK(text(tensor(2.5)) == "tensor(2.5000)");
  CHECK(text(tensor(1e-7)) == "tensor(1.0000e-07)");
  CHECK(text(tensor(123456789.0)) == "tensor(1.2346e+08)");
  CHECK(text(tensor({1.0, 2.0})) == "tensor([1., 2.])");
  CHECK(text(tensor({1.0, 2.5, -3.25})) == "tensor([ 1.0000,  2.5000, -3.2500])");
  CHECK(text(tensor({0.00005, 0.5})) == "tensor([5.0000e-05, 5.0000e-01])");
  CHECK(text(tensor({0.0001, 0.05})) == "tensor([1.0000e-04, 5.0000e-02])");
  CHECK(text(tensor({1.0, 1000.0})) == "tensor([   1., 1000.])");
  CHECK(text(tensor({1.0, 1001.0})) == "tensor([1.0000e+00, 1.0010e+03])");
  CHECK(text(tensor({0.5, 501.0})) == "tensor([5.0000e-01, 5.0100e+02])");
  CHECK(text(tensor({100000000.0, 99999999.0})) == "tensor([100000000., 100000000.])");
  CHECK(text(tensor({200000000.0, 100000000.0})) == "tensor([2.0000e+08, 1.0000e+08])");
  CHECK(text(tensor({1.0, infinity, -infinity, nan_value})) == "tensor([1., inf, -inf, nan])");
  CHECK(text(tensor({0.5, infinity, -infinity, nan_value})) ==
        "tensor([0.5000,    inf,   -inf,    nan])");
  CHECK(text(tensor({infinity, nan_value})) == "tensor([inf, nan])");
  CHECK(text(tensor({0.0, -0.0})) == "tensor([0., -0.])");
  CHECK(text(tensor({1e-30, nan_value, -infinity, 0.0})) ==
        "tensor([1.0000e-30,        nan,       -inf, 0.0000e+00])");
  CHECK(text(tensor({0.33335, 0.66665})) == "tensor([0.3334, 0.6666])");
  CHECK(text(tensor({-1.0, 10.0, 100.0})) == "tensor([ -1.,  10., 100.])");
}

TEST_CASE("printing a tensor: dtypes", "[print]") {
  CHECK(text(tensor(1.5, {.dtype = f64})) == "tensor(1.5000, dtype=f64)");
  CHECK(text(tensor({1e300, 1e-300}, {.dtype = f64})) ==
        "tensor([1.0000e+300, 1.0000e-300], dtype=f64)");
  CHECK(text(tensor({1.0, 2.0}, {.dtype = f16})) == "tensor([1., 2.], dtype=f16)");
  CHECK(text(tensor({0.1, 65504.0}, {.dtype = f16})) ==
        "tensor([9.9976e-02, 6.5504e+04], dtype=f16)");
  CHECK(text(tensor({0.1, 3.0}, {.dtype = bf16})) == "tensor([0.1001, 3.0000], dtype=bf16)");
  CHECK(text(tensor({1, 2, 3})) == "tensor([1, 2, 3])");
  CHECK(text(tensor({1, -20, 300})) == "tensor([  1, -20, 300])");
  CHECK(text(tensor(7)) == "tensor(7)");
  CHECK(text(tensor({1, -128}, {.dtype = i8})) == "tensor([   1, -128], dtype=i8)");
  CHECK(text(tensor({0, 255}, {.dtype = u8})) == "tensor([  0, 255], dtype=u8)");
  CHECK(text(tensor({{1, 2}, {3, 40}}, {.dtype = i32})) ==
        R"(tensor([[ 1,  2],
        [ 3, 40]], dtype=i32))");
  CHECK(text(tensor({true, false})) == "tensor([ True, False])");
  CHECK(text(tensor({true, true})) == "tensor([True, True])");
  CHECK(text(tensor(false)) == "tensor(False)");
}

TEST_CASE("printing a tensor: nesting", "[print]") {
  CHECK(text(tensor({{1.0, 2.0}, {3.0, 4.0}})) ==
        R"(tensor([[1., 2.],
        [3., 4.]]))");
  CHECK(text(tensor({{true, false}, {false, false}})) ==
        R"(tensor([[ True, False],
        [False, False]]))");
  CHECK(text(reshape(arange(8), {2, 2, 2})) ==
        R"(tensor([[[0, 1],
         [2, 3]],

        [[4, 5],
         [6, 7]]]))");
  CHECK(text(reshape(arange(8), {2, 2, 1, 2})) ==
        R"(tensor([[[[0, 1]],

         [[2, 3]]],


        [[[4, 5]],

         [[6, 7]]]]))");
  CHECK(text(reshape(tensor({1.5, -2.0}), {1, 1, 2, 1})) ==
        R"(tensor([[[[ 1.5000],
          [-2.0000]]]]))");
  CHECK(text(arange(30)) ==
        R"(tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]))");
  CHECK(text(reshape(arange(50), {2, 25})) ==
        R"(tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
         18, 19, 20, 21, 22, 23, 24],
        [25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,
         43, 44, 45, 46, 47, 48, 49]]))");
  CHECK(text(div(arange(12), 8)) ==
        R"(tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,
        1.1250, 1.2500, 1.3750]))");
  CHECK(text(zeros({10, 10}, {.dtype = u8})) ==
        R"(tensor([[0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], dtype=u8))");
  CHECK(text(full({2, 11}, 123.5)) ==
        R"(tensor([[123.5000, 123.5000, 123.5000, 123.5000, 123.5000, 123.5000, 123.5000,
         123.5000, 123.5000, 123.5000, 123.5000],
        [123.5000, 123.5000, 123.5000, 123.5000, 123.5000, 123.5000, 123.5000,
         123.5000, 123.5000, 123.5000, 123.5000]]))");
}

TEST_CASE("printing a tensor: empties", "[print]") {
  CHECK(text(zeros({0})) == "tensor([])");
  CHECK(text(zeros({0, 5})) == "tensor([], size=(0, 5))");
  CHECK(text(zeros({0}, {.dtype = i64})) == "tensor([], dtype=i64)");
  CHECK(text(zeros({0}, {.dtype = f64})) == "tensor([], dtype=f64)");
  CHECK(text(zeros({3, 0, 2}, {.dtype = bool_})) == "tensor([], size=(3, 0, 2), dtype=bool)");
}

TEST_CASE("printing a tensor: summaries", "[print]") {
  CHECK(text(arange(1000).slice(0, 0, 40)) ==
        R"(tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
        36, 37, 38, 39]))");
  CHECK(text(arange(1001)) == "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
  CHECK(text(reshape(arange(10000), {100, 100})) ==
        R"(tensor([[   0,    1,    2,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  197,  198,  199],
        [ 200,  201,  202,  ...,  297,  298,  299],
        ...,
        [9700, 9701, 9702,  ..., 9797, 9798, 9799],
        [9800, 9801, 9802,  ..., 9897, 9898, 9899],
        [9900, 9901, 9902,  ..., 9997, 9998, 9999]]))");
  CHECK(text(reshape(arange(2000), {1000, 2})) ==
        R"(tensor([[   0,    1],
        [   2,    3],
        [   4,    5],
        ...,
        [1994, 1995],
        [1996, 1997],
        [1998, 1999]]))");
  CHECK(text(reshape(arange(2400), {2, 600, 2})) ==
        R"(tensor([[[   0,    1],
         [   2,    3],
         [   4,    5],
         ...,
         [1194, 1195],
         [1196, 1197],
         [1198, 1199]],

        [[1200, 1201],
         [1202, 1203],
         [1204, 1205],
         ...,
         [2394, 2395],
         [2396, 2397],
         [2398, 2399]]]))");
  CHECK(text(reshape(arange(1080), {4, 9, 30})) ==
        R"(tensor([[[   0,    1,    2,  ...,   27,   28,   29],
         [  30,   31,   32,  ...,   57,   58,   59],
         [  60,   61,   62,  ...,   87,   88,   89],
         ...,
         [ 180,  181,  182,  ...,  207,  208,  209],
         [ 210,  211,  212,  ...,  237,  238,  239],
         [ 240,  241,  242,  ...,  267,  268,  269]],

        [[ 270,  271,  272,  ...,  297,  298,  299],
         [ 300,  301,  302,  ...,  327,  328,  329],
         [ 330,  331,  332,  ...,  357,  358,  359],
         ...,
         [ 450,  451,  452,  ...,  477,  478,  479],
         [ 480,  481,  482,  ...,  507,  508,  509],
         [ 510,  511,  512,  ...,  537,  538,  539]],

        [[ 540,  541,  542,  ...,  567,  568,  569],
         [ 570,  571,  572,  ...,  597,  598,  599],
         [ 600,  601,  602,  ...,  627,  628,  629],
         ...,
         [ 720,  721,  722,  ...,  747,  748,  749],
         [ 750,  751,  752,  ...,  777,  778,  779],
         [ 780,  781,  782,  ...,  807,  808,  809]],

        [[ 810,  811,  812,  ...,  837,  838,  839],
         [ 840,  841,  842,  ...,  867,  868,  869],
         [ 870,  871,  872,  ...,  897,  898,  899],
         ...,
         [ 990,  991,  992,  ..., 1017, 1018, 1019],
         [1020, 1021, 1022,  ..., 1047, 1048, 1049],
         [1050, 1051, 1052,  ..., 1077, 1078, 1079]]]))");
  CHECK(text(div(arange(2000), 4)) ==
        R"(tensor([0.0000e+00, 2.5000e-01, 5.0000e-01,  ..., 4.9925e+02, 4.9950e+02,
        4.9975e+02]))");
  CHECK(text(arange(2000, {.dtype = f64})) ==
        R"(tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,
        1.9990e+03], dtype=f64))");
  CHECK(text(arange(1001, {.dtype = i32})) ==
        "tensor([   0,    1,    2,  ...,  998,  999, 1000], dtype=i32)");
  CHECK(text(zeros({7, 200}, {.dtype = bool_})) ==
        R"(tensor([[False, False, False,  ..., False, False, False],
        [False, False, False,  ..., False, False, False],
        [False, False, False,  ..., False, False, False],
        ...,
        [False, False, False,  ..., False, False, False],
        [False, False, False,  ..., False, False, False],
        [False, False, False,  ..., False, False, False]]))");
}

TEST_CASE("printing a tensor: where it is", "[print]") {
  sim::enable(1);
  CHECK(text(tensor({1, 2, 3}).to("sim:0")) == "tensor([1, 2, 3], device='sim:0')");
  CHECK(text(tensor({1.5}).to("sim:0", f64)) == "tensor([1.5000], device='sim:0', dtype=f64)");
  CHECK(text(zeros({0, 5}, {.dtype = i32, .device = "sim:0"})) ==
        "tensor([], device='sim:0', size=(0, 5), dtype=i32)");
}

TEST_CASE("printing a tensor: a suffix goes on a line of its own where the last is full",
          "[print]") {
  CHECK(text(full({9}, 1e10, {.dtype = f16}).to(f64)) ==
        "tensor([inf, inf, inf, inf, inf, inf, inf, inf, inf], dtype=f64)");
  CHECK(text(full({5}, 2.5e10, {.dtype = f64})) ==
        R"(tensor([2.5000e+10, 2.5000e+10, 2.5000e+10, 2.5000e+10, 2.5000e+10], dtype=f64))");
  CHECK(text(full({6}, 2.5e10, {.dtype = f64})) ==
        R"(tensor([2.5000e+10, 2.5000e+10, 2.5000e+10, 2.5000e+10, 2.5000e+10, 2.5000e+10],
       dtype=f64))");
}

TEST_CASE("printing a tensor: the default dtype is not named", "[print]") {
  set_default_dtype(f64);
  CHECK(text(tensor({1.0})) == "tensor([1.])");
  CHECK(text(tensor({1.0}, {.dtype = f32})) == "tensor([1.], dtype=f32)");
  CHECK(text(zeros({0}, {.dtype = f32})) == "tensor([], dtype=f32)");
  set_default_dtype(f32);
}

TEST_CASE("printing shapes, dtypes, devices and Variables", "[print]") {
  CHECK(text(Shape{2, 3}) == "[2,3]");
  CHECK(text(Shape()) == "[]");
  CHECK(text(f16) == "f16");
  CHECK(text(bool_) == "bool");
  CHECK(text(Device()) == "cpu");
  CHECK(text(Device("sim:1")) == "sim:1");
  CHECK(text(variable(tensor({1.0, -2.5}))) == "tensor([ 1.0000, -2.5000])");
}
