// The cases, family by family.
#include "graph/structured_ops.h"

#include <limits>
#include <unordered_set>

#include <weft/graph/detail/node.h>
#include <weft/weft.h>

#include "support/op_table.h"

namespace weft::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// One family in one dtype.
class Family {
 public:
  Family(const char* name, DType dtype) : dtype_(dtype) {
    made_.name = std::string(name) + " in " + std::string(name_of(dtype));
  }
  DType dtype() const noexcept { return dtype_; }

  Tensor input(const Shape& shape, bool with_specials = true, double low = -10, double high = 10) {
    return tensor_of(drawn(dtype_, shape, low, high, ++seed_, with_specials));
  }
  void exact(const std::string& what, const Tensor& result) {
    made_.cases.push_back({what, result});
  }
  /// A sum of `count` terms at most, whose magnitudes sum to an f64 tensor.
  void sum(const std::string& what, const Tensor& result, const Tensor& magnitudes,
           std::int64_t count) {
    made_.cases.push_back({what, result, {}, sum_bound(result.dtype(), magnitudes, count)});
  }
  void near(const std::string& what, const Tensor& result, const Tolerance& tolerance) {
    made_.cases.push_back({what, result, tolerance});
  }
  StructuredCases done() && {
    note_covered();
    return std::move(made_);
  }

 private:
  void note_covered() {
    std::unordered_set<detail::Node*> seen;
    std::vector<detail::Node*> stack;
    for (const Case& c : made_.cases) stack.push_back(c.result.ref().node);
    while (!stack.empty()) {
      detail::Node* node = stack.back();
      stack.pop_back();
      if (!seen.insert(node).second) continue;
      const auto inputs = node->inputs();
      if (!detail::info(node->op).is_pointwise())
        made_.covers.push_back({node->op, inputs.empty()
                                              ? node->dtype
                                              : inputs[0].node()->dtype_of(inputs[0].output())});
      for (const detail::Edge edge : inputs) stack.push_back(edge.node());
    }
  }

  DType dtype_;
  unsigned seed_ = 0;
  StructuredCases made_;
};

void leaves(Family& f) {
  f.exact("data", f.input({3, 5}));
  f.exact("empty data", f.input({0, 2}));
  f.exact("zeros", zeros({2, 3}, {.dtype = f.dtype()}));
  f.exact("ones", ones({65}, {.dtype = f.dtype()}));
  f.exact("scalar", full({}, 1, {.dtype = f.dtype()}));
  f.exact("variable", variable(f.input({7})));
  Variable slot = variable(f.input({7}));
  slot.assign(f.input({7}));
  f.exact("assigned variable", slot);
}

void views(Family& f) {
  const Tensor x = f.input({4, 6}), cube = f.input({2, 3, 4}), column = f.input({3, 1});
  f.exact("reshape", reshape(x, {3, -1}));
  f.exact("flatten", flatten(x));
  f.exact("reshape of nothing", reshape(f.input({0, 4}), {2, 0}));
  f.exact("transpose", transpose(x, 0, 1));
  f.exact("permute", permute(cube, {2, 0, 1}));
  f.exact("expand", expand(column, {2, 3, 5}));
  f.exact("expand a scalar", expand(f.input({}), {3}));
  f.exact("slice", slice(x, 0, 1, 3));
  f.exact("strided slice", slice(x, 1, 1, 6, 2));
  f.exact("empty slice", slice(x, 1, 3, 3));
  f.exact("flip", flip(x, {0, 1}));
  f.exact("select", select(cube, 1, -1));
  f.exact("reshape of a transpose", reshape(transpose(x, 0, 1), {4, 6}));
  f.exact("slice of a flip of an expansion", slice(flip(expand(column, {3, 5}), {0}), 0, 1, 3));
  f.exact("squeeze of a permutation", squeeze(permute(slice(cube, 1, 1, 2), {1, 2, 0})));
}

struct Reduced {
  const char* what;
  Tensor x;
  Dims axes;
  bool keep;
};

std::vector<Reduced> to_reduce(Family& f, bool with_specials, double low, double high) {
  const auto make = [&](const Shape& shape) { return f.input(shape, with_specials, low, high); };
  const Tensor matrix = make({3, 5}), cube = make({2, 3, 4}), wide = make({5, 7}), row = make({40});
  return {{"rank 0", make({}), {}, false},
          {"[1]", make({1}), {}, false},
          {"[17]", make({17}), {}, false},
          {"[129]", make({129}), {0}, true},
          {"[4999]", make({4999}), {}, false},
          {"[3,5] along 0", matrix, {0}, false},
          {"[3,5] along 1", matrix, {1}, true},
          {"[3,5]", matrix, {}, false},
          {"[2,3,4] along 0 and 2", cube, {0, 2}, true},
          {"[2,3,4] along 1", cube, {1}, false},
          {"transposed", transpose(wide, 0, 1), {1}, false},
          {"strided", slice(row, 0, 1, 40, 3), {}, false},
          {"expanded", expand(make({3, 1}), {3, 5}), {1}, false},
          {"no output", make({0, 3}), {1}, false}};
}

std::vector<Reduced> of_nothing(Family& f) {
  return {{"[0]", f.input({0}), {}, false},
          {"[0,3] along 0", f.input({0, 3}), {0}, false},
          {"[3,0] along 1", f.input({3, 0}), {1}, true}};
}

void sums(Family& f) {
  std::vector<Reduced> all = to_reduce(f, !is_floating(f.dtype()), -10, 10);
  for (const Reduced& r : of_nothing(f)) all.push_back(r);
  for (const Reduced& r : all)
    f.sum(std::string("sum of ") + r.what, sum(r.x, r.axes, r.keep),
          sum(abs(r.x.to(f64)), r.axes, r.keep), r.x.numel());
  if (!is_floating(f.dtype())) return;
  for (const Tensor& x :
       {tensor({1.0, infinity, 2.0}), tensor({infinity, -infinity}), tensor({0.0, std::nan("")})})
    f.exact("sum of specials", sum(x.to(f.dtype())));
}

void products(Family& f) {
  const bool is_float = is_floating(f.dtype());
  std::vector<Reduced> all = to_reduce(f, !is_float, is_float ? 0.9 : -3, is_float ? 1.1 : 3);
  for (const Reduced& r : of_nothing(f)) all.push_back(r);
  for (const Reduced& r : all) {
    if (is_float && r.x.numel() > 1000) continue;  // leaves the range of a half
    const Tensor result = prod(r.x, r.axes, r.keep);
    f.sum(std::string("prod of ") + r.what, result, prod(abs(r.x.to(f64)), r.axes, r.keep),
          r.x.numel());
  }
}

void choices(Family& f) {
  for (const Reduced& r : to_reduce(f, true, -100, 100)) {
    f.near(std::string("amax of ") + r.what, amax(r.x, r.axes, r.keep),
           {});  // a zero's sign is free
    f.near(std::string("amin of ") + r.what, amin(r.x, r.axes, r.keep), {});
    if (r.axes.size() > 1 || f.dtype() == bool_) continue;
    f.exact(std::string("argmax of ") + r.what, argmax(r.x, r.axes, r.keep));
    f.exact(std::string("argmin of ") + r.what, argmin(r.x, r.axes, r.keep));
  }
  if (f.dtype() == bool_) return;
  const Tensor ties = tensor({{2, 5, 5, 1}, {1, 1, 7, 7}}).to(f.dtype());
  f.exact("first of equals, greatest", argmax(ties, 1));
  f.exact("first of equals, least", argmin(ties, 1));
  f.exact("first of equals in all", argmax(ties));
}

void questions(Family& f) {
  std::vector<Reduced> all_of = to_reduce(f, true, -1, 1);
  for (const Reduced& r : of_nothing(f)) all_of.push_back(r);
  for (const Reduced& r : all_of) {
    f.exact(std::string("any of ") + r.what, any(r.x, r.axes, r.keep));
    f.exact(std::string("all of ") + r.what, all(r.x, r.axes, r.keep));
  }
  f.exact("any of zeros", any(zeros({70}, {.dtype = f.dtype()})));
  f.exact("all of ones", all(ones({70}, {.dtype = f.dtype()})));
}

void matmuls(Family& f) {
  const auto make = [&](const Shape& shape) { return f.input(shape, !is_floating(f.dtype())); };
  const auto multiply = [&](const char* what, const Tensor& a, const Tensor& b) {
    f.sum(what, matmul(a, b), matmul(abs(a.to(f64)), abs(b.to(f64))), a.shape().back() + 1);
  };
  multiply("[2,3] [3,4]", make({2, 3}), make({3, 4}));
  multiply("[1,1] [1,1]", make({1, 1}), make({1, 1}));
  multiply("[17,65] [65,5]", make({17, 65}), make({65, 5}));
  multiply("[64,64] [64,33]", make({64, 64}), make({64, 33}));
  multiply("[2,0] [0,3]", make({2, 0}), make({0, 3}));
  multiply("[0,2] [2,3]", make({0, 2}), make({2, 3}));
  multiply("vector, vector", make({129}), make({129}));
  multiply("matrix, vector", make({7, 9}), make({9}));
  multiply("vector, matrix", make({7}), make({7, 5}));
  multiply("batches", make({2, 3, 4}), make({2, 4, 5}));
  multiply("broadcast batches", make({2, 1, 3, 4}), make({3, 4, 2}));
  multiply("batch, matrix", make({2, 3, 4}), make({4, 5}));
  multiply("transposed a", transpose(make({9, 6}), 0, 1), make({9, 4}));
  multiply("transposed b", make({5, 9}), transpose(make({4, 9}), 0, 1));
  multiply("strided", slice(make({8, 5}), 0, 1, 8, 2), flip(make({5, 3}), {0}));
}

void joins(Family& f) {
  const Tensor x = f.input({3, 4});
  f.exact("cat along 0", cat({x, f.input({2, 4}), f.input({0, 4})}, 0));
  f.exact("cat along 1", cat({f.input({3, 1}), transpose(f.input({5, 3}), 0, 1), x}, 1));
  f.exact("stack", stack({f.input({3}), f.input({3})}, 1));
  f.exact("cat of many", cat({x, x, f.input({1, 4}), x, f.input({2, 4})}, 0));
  f.exact("slice_update", slice_update(x, 0, 1, f.input({2, 4})));
  f.exact("strided slice_update", slice_update(x, 1, 1, f.input({3, 2}), 2));
  f.exact("slice_update of all", slice_update(x, 0, 0, f.input({3, 4})));
}

void indexing(Family& f) {
  const Tensor x = f.input({5, 4});
  const Tensor places = tensor({{4, 0, 2, 2}, {1, 3, 0, 4}});
  const Tensor along = tensor({{3, 0, 0}, {1, 2, 3}, {0, 0, 3}, {2, 2, 2}, {1, 0, 1}});
  f.exact("gather along 0", gather(x, 0, places));
  f.exact("gather along 1 by i32", gather(x, 1, along.to(i32)));
  f.exact("gather of nothing", gather(x, 0, zeros({0, 4}, {.dtype = i64})));
  f.exact("index_select", index_select(x, 1, tensor({3, 3, 0})));
  const Tensor to = f.input({5, 4}, false), from = f.input({2, 4}, false);
  const auto wide = [](const Tensor& t) { return abs(t.to(f64)); };
  f.sum("scatter_add", scatter_add(to, 0, places, from),
        scatter_add(wide(to), 0, places, wide(from)), 8);
  f.exact("scatter", scatter(x, 0, places, f.input({2, 4})));
  f.exact("scatter along 1 by i32", scatter(x, 1, along.to(i32), f.input({5, 3})));
  f.exact("scatter of a number", scatter(x, 1, along, 1));
  f.exact("scatter of nothing", scatter(x, 0, zeros({0, 4}, {.dtype = i64}), x));
  f.exact("scatter of rows", scatter(x, 0, expand(tensor({{1}, {4}, {1}}), {3, 4}),
                                     transpose(f.input({4, 3}), 0, 1)));
  f.exact("scatter to few", scatter(f.input({3}), 0, (arange(300) * 7) % 3, f.input({300})));
  const Tensor many = f.input({300}, false), one = f.input({3}, false);
  const Tensor repeated = (arange(300) * 7) % 3;
  f.sum("scatter_add to few", scatter_add(one, 0, repeated.to(i32), many),
        scatter_add(wide(one), 0, repeated, wide(many)), 301);
}

void sorts(Family& f) {
  const Tensor x = f.input({6, 17}), line = f.input({129});
  const auto check = [&](const char* what, const Tensor& t, std::int64_t k, std::int64_t axis,
                         bool largest) {
    const auto [values, places] = topk(t, k, axis, largest);
    f.near(std::string("values of ") + what, values, {});  // equal zeros may differ in sign
    f.exact(std::string("places of ") + what, places);
  };
  check("top 3", x, 3, 1, true);
  check("least 4 along 0", x, 4, 0, false);
  check("all in order", line, 129, 0, true);
  check("all in reverse order", line, 129, 0, false);
  check("none", line, 0, 0, true);
  check("equal ones", tensor({3, 1, 3, 2, 1, 3}).to(f.dtype()), 5, 0, true);
}

void scans(Family& f) {
  const bool is_float = is_floating(f.dtype());
  const auto wide = [](const Tensor& t) { return abs(t.to(f64)); };
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{17}, Shape{0, 3}, Shape{3, 0}, Shape{5, 16},
                             Shape{3, 40}, Shape{1500}})
    for (int axis = 0; axis < std::max(1, shape.ndim()); ++axis) {
      const std::string what = shape.str() + " along " + std::to_string(axis);
      const Tensor x = f.input(shape, !is_float);
      f.sum("cumsum of " + what, cumsum(x, axis), cumsum(wide(x), axis), shape.numel());
      const auto [best, place] = cummax(f.input(shape), axis);
      f.exact("cummax of " + what, best);
      f.exact("places of cummax of " + what, place);
      const auto [least, least_place] = cummin(f.input(shape), axis);
      f.exact("cummin of " + what, least);
      f.exact("places of cummin of " + what, least_place);
      if (is_float && shape.numel() > 1000) continue;  // leaves the range of a half
      const Tensor y = f.input(shape, !is_float, is_float ? 0.9 : -3, is_float ? 1.1 : 3);
      f.sum("cumprod of " + what, cumprod(y, axis), cumprod(wide(y), axis), shape.numel());
    }
  const Tensor cube = f.input({4, 33, 9}, !is_float), turned = permute(cube, {2, 1, 0});
  f.sum("cumsum of columns", cumsum(cube, 1), cumsum(wide(cube), 1), 33);
  f.sum("cumsum of a transpose", cumsum(turned, 1), cumsum(wide(turned), 1), 33);
  f.sum("cumsum of a flip", cumsum(flip(cube, {0, 1}), 1), cumsum(wide(flip(cube, {0, 1})), 1), 33);
  f.sum("cumsum of an expansion", cumsum(expand(f.input({1, 3}, !is_float), {20, 3}), 0),
        full({20, 3}, 300.0, {.dtype = f64}), 20);
  f.exact("cummax of equal ones", cummax(tensor({1, 3, 3, 2, 3, 1}).to(f.dtype()), 0).second);
  if (!is_float) return;
  const double unit = unit_roundoff(f.dtype());
  for (const Tensor& x : {f.input({40}, false), f.input({3, 600}, false), f.input({20, 12}, false)})
    f.near("logcumsumexp", logcumsumexp(x, x.ndim() - 1),
           {.relative = 4 * unit, .absolute = 64 * unit_roundoff(f.dtype() == f64 ? f64 : f32)});
  f.near("logcumsumexp of specials",
         logcumsumexp(tensor({-infinity, -infinity, 1.0, -infinity, 2.0, infinity, 3.0, infinity,
                              -infinity, std::nan(""), 1.0})
                          .to(f.dtype()),
                      0),
         {.relative = 4 * unit});
  f.exact("cumsum of specials",
          cumsum(tensor({0.5, infinity, 1.0, -infinity, 1.0, std::nan("")}).to(f.dtype()), 0));
}

void orders(Family& f) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 3}, Shape{3, 0}, Shape{6, 17}, Shape{70}})
    for (const bool descending : {false, true}) {
      const std::string what = shape.str() + (descending ? ", descending" : "");
      const auto [values, places] = sort(f.input(shape), 0, descending);
      f.exact("values of " + what, values);
      f.exact("places of " + what, places);
      f.exact("argsort of " + what, argsort(f.input(shape), -1, descending));
    }
  const Tensor line = tensor({-3, -1, -1, 0, 0, 2, 5}).to(f.dtype()).sort().first;
  const Tensor rows = f.input({3, 9}).sort(1).first, values = f.input({3, 5});
  for (const bool right : {false, true}) {
    f.exact("searchsorted", searchsorted(line, f.input({4, 6}), right));
    f.exact("searchsorted of a number", searchsorted(line, f.input({}), right));
    f.exact("searchsorted of nothing", searchsorted(line, f.input({2, 0}), right));
    f.exact("searchsorted in nothing", searchsorted(f.input({0}), f.input({3}), right));
    f.exact("searchsorted by rows", searchsorted(rows, values, right));
    f.exact("searchsorted in a transpose",
            searchsorted(transpose(f.input({9, 3}).sort(0).first, 0, 1), values, right));
    f.exact("bucketize", bucketize(f.input({2, 7}), line, right));
  }
}

void sequences(Family& f) {
  const TensorOptions options{.dtype = f.dtype()};
  f.exact("arange", arange(129, options));
  f.exact("arange by 3", arange(5, 50, 3, options));
  f.exact("arange down", arange(20, 0, -2, options));
  f.exact("arange of nothing", arange(0, options));
  if (is_floating(f.dtype())) f.exact("arange by 0.1", arange(0.0, 6.5, 0.1, options));
}

void random_numbers(Family& f) {
  const TensorOptions options{.dtype = f.dtype()};
  Generator generator(0x123456789abcdef0), other(7);
  if (is_floating(f.dtype())) {
    f.exact("rand", rand({1000}, generator, options));
    f.exact("rand again", rand({3, 7}, generator, options));
    f.near("randn", randn({1000}, generator, options), {.ulp = 4});
    f.near("randn of an odd count", randn({7, 9}, other, options), {.ulp = 4});
    return;
  }
  f.exact("randint", randint(-5, 17, {1000}, generator, options));
  f.exact("randint of all",
          randint(std::numeric_limits<std::int64_t>::min(),
                  std::numeric_limits<std::int64_t>::max(), {65}, other, options));
  f.exact("randperm", randperm(1000, generator, options));
  f.exact("randperm of none", randperm(0, other, options));
}

void transfers(Family& f) {
  sim::enable(2);
  const Tensor x = f.input({3, 5});
  f.exact("to a device", x.to("sim:0"));
  f.exact("there and back", x.to("sim:0").cpu());
  f.exact("between devices", transpose(x.to("sim:0"), 0, 1).to("sim:1"));
  f.exact("made there", tensor_of(drawn(f.dtype(), {9}, -10, 10, 5), {.device = "sim:1"}));
}

}  // namespace

std::vector<StructuredCases> structured_cases() {
  std::vector<StructuredCases> all;
  const auto run = [&](const char* name, void (*make)(Family&), const DTypes& dtypes) {
    for (const DType dtype : dtypes) {
      Family family(name, dtype);
      make(family);
      all.push_back(std::move(family).done());
    }
  };
  run("leaves", leaves, all_dtypes());
  run("views", views, all_dtypes());
  run("sums", sums, all_dtypes());
  run("products", products, all_dtypes());
  run("choices", choices, all_dtypes());
  run("questions", questions, all_dtypes());
  run("matmuls", matmuls, number_dtypes());
  run("joins", joins, all_dtypes());
  run("indexing", indexing, all_dtypes());
  run("sorts", sorts, number_dtypes());
  run("scans", scans, all_dtypes());
  run("orders", orders, all_dtypes());
  run("sequences", sequences, number_dtypes());
  run("random numbers", random_numbers, {f32, f64, i64});
  run("transfers", transfers, all_dtypes());
  return all;
}

}  // namespace weft::testing
