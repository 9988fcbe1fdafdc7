// An index that is found out of range when the ops run: the error names the function that the
// program called, the index, and the range in that function's terms.
#include <functional>
#include <string>

#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

namespace {

/// What reading the result throws, without what is the same for all.
std::string fault(const std::function<Tensor()>& call) {
  const Tensor result = call();
  try {
    result.wait();
  } catch (const IndexError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find(". What depends on it"));
  }
  return "nothing was thrown";
}

/// The same of the gradient of the result's sum by x, where that alone is evaluated.
std::string gradient_fault(const Tensor& x, const std::function<Tensor(const Tensor&)>& call) {
  return fault([&] { return grad(sum(call(x)), x); });
}

bool begins(const std::string& text, const std::string& start) {
  INFO(text);
  return text.find(start) == 0;
}

}  // namespace

TEST_CASE("indices out of range: the function that was called, and its range", "[index]") {
  sim::enable(1);
  const Device device = GENERATE(Device::cpu(), Device::sim(0));
  const auto on = [&](const Tensor& x) { return x.to(device); };
  const Tensor x = on(tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}})), row = on(ones({2, 1}));
  const auto at = [&](std::int64_t i) { return on(tensor({i})); };

  eval(x, row);  // what is computed in a run that fails would be lost with it
  const std::string of_six = "index 6 is outside 6 elements; give one from -6 to 5";
  CHECK(fault([&] { return take(x, at(6)); }) == "take (gather): " + of_six);
  CHECK(fault([&] { return put(x, at(6), 1.5); }) == "put (scatter): " + of_six);
  CHECK(fault([&] { return put(x, at(6), 1.5, true); }) == "put (scatter_add): " + of_six);
  CHECK(begins(fault([&] { return take(x, at(-7)); }), "take (gather): index -7 is outside 6"));

  const std::string of_three = "index 3 is outside an axis of extent 3; give one from 0 to 2";
  CHECK(fault([&] { return index_add(x, 1, at(3), row); }) ==
        "index_add (scatter_add): " + of_three);
  CHECK(fault([&] { return index_copy(x, 1, at(3), row); }) == "index_copy (scatter): " + of_three);
  CHECK(fault([&] { return index_fill(x, 1, at(3), 0); }) == "index_fill (scatter): " + of_three);
  CHECK(fault([&] { return index_select(x, 1, at(3)); }) == "index_select (gather): " + of_three);
  const Tensor place = on(tensor({{3}, {0}}));
  place.wait();
  CHECK(fault([&] { return gather(x, 1, place); }) == "gather: " + of_three);
  CHECK(fault([&] { return scatter(x, 1, place, row); }) == "scatter: " + of_three);
  CHECK(fault([&] { return scatter_add(x, 1, place, row); }) == "scatter_add: " + of_three);

  // Where negative ones count from the end, and each axis by itself.
  CHECK(fault([&] {
          return x.index({slice(), at(3)});
        }) == "index (gather): index 3 is outside an axis of extent 3; give one from -3 to 2");
  CHECK(fault([&] {
          return x.index({at(-3), at(0)});
        }) == "index (gather): index -3 is outside an axis of extent 2; give one from -2 to 1");

  CHECK(fault([&] {
          return one_hot(on(tensor({0, 5})), 5);
        }) == "one_hot (gather): label 5 is outside 5 classes; give one from 0 to 4");
  CHECK(fault([&] {
          return cross_entropy(x, on(tensor({0, 3})));
        }) == "cross_entropy (gather): label 3 is outside 3 classes; give one from 0 to 2");
  CHECK(fault([&] {
          return nll_loss(x, on(tensor({-1, 0})));
        }) == "nll_loss (gather): label -1 is outside 3 classes; give one from 0 to 2");
}

TEST_CASE("indices out of range: an axis without positions has none to give", "[index]") {
  CHECK(fault([] { return gather(zeros({0}), 0, tensor({0})); }) ==
        "gather: index 0 is outside an axis of extent 0; there is none to give");
  CHECK(fault([] {
          return take(zeros({0, 2}), tensor({0}));
        }) == "take (gather): index 0 is outside 0 elements; there is none to give");
}

TEST_CASE("indices out of range: the function within the program's scope", "[index]") {
  const Scope outer("model");
  const Scope inner("lookup");
  CHECK(begins(fault([] { return take(ones({2}), tensor({2})); }),
               "take (gather) in scope model/lookup: index 2"));
  const auto twice = [] {
    const Tensor good = index_select(ones({2}), 0, tensor({1}));
    return good + gather(ones({2}), 0, tensor({9}));
  };
  // A function's name ends with it.
  CHECK(begins(fault(twice), "gather in scope model/lookup: index 9"));
}

TEST_CASE("indices out of range: a gradient that is evaluated without its function", "[index]") {
  const Tensor x = ones({2, 3}, {.dtype = f64});
  CHECK(begins(gradient_fault(x, [](const Tensor& y) { return take(y, tensor({6})); }),
               "take (scatter_add): index 6 is outside 6 elements; give one from -6 to 5"));
  CHECK(begins(gradient_fault(x, [](const Tensor& y) { return y.index({tensor({2})}); }),
               "index (scatter_add): index 2 is outside an axis of extent 2"));
  CHECK(begins(gradient_fault(x,
                              [](const Tensor& y) {
                                return gather(y, 0, tensor({{4, 0, 0}}));
                              }),
               "gather (scatter_add): index 4 is outside an axis of extent 2"));
  const auto added = [](const Tensor& y) {
    return scatter_add(zeros({2, 3}, {.dtype = f64}), 0, full({1, 3}, 7), y);
  };
  CHECK(begins(gradient_fault(x, added), "scatter_add (gather): index 7"));
}
