// What the random programs have found, made small.
#include <weft/graph/detail/passes.h>
#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

TEST_CASE("found: a view recorded on another device is there", "[fuzz]") {
  sim::enable(2);
  const Tensor x = tensor({{1}, {2}, {3}});
  const auto on_sim = [](auto record) {
    const On on("sim:0");
    return record();
  };
  const Tensor flat = on_sim([&] { return reshape(x, {3}); });
  const Tensor turned = on_sim([&] { return permute(x, {1, 0}); });
  const Tensor repeated = on_sim([&] { return expand(x + 1, {3, 2}); });
  const Tensor sevens = on_sim([&] { return expand(full({}, 7), {3}); });
  eval(flat, turned, repeated, sevens);
  CHECK(sevens.to_vector<int>() == std::vector<int>{7, 7, 7});
  CHECK(flat.to_vector<int>() == std::vector<int>{1, 2, 3});
  CHECK(turned.to_vector<int>() == std::vector<int>{1, 2, 3});
  CHECK(repeated.to_vector<int>() == std::vector<int>{2, 2, 3, 3, 4, 4});
  // And back, without another move of what never left.
  const On on("cpu");
  CHECK(flip(flat, 0).to_vector<int>() == std::vector<int>{3, 2, 1});
}

TEST_CASE("found: a value whose device the planner chose is read where it is", "[fuzz]") {
  sim::enable(2);
  const Tensor x = tensor({1, 2, 3}, {.device = "sim:1"});
  Tensor y;
  {
    const On on(automatic);
    y = expand(x, {2, 3});
  }
  eval(y);
  CHECK(y.to("cpu").to_vector<int>() == std::vector<int>{1, 2, 3, 1, 2, 3});
  CHECK(y.to("sim:0").to_vector<int>() == std::vector<int>{1, 2, 3, 1, 2, 3});
}

TEST_CASE("found: values without elements need no memory on a device", "[fuzz]") {
  sim::enable(2);
  const Tensor x = zeros({0, 2, 3}, {.device = "sim:0"});
  const Tensor y = floor_divide(flip(rsqrt(x), 1), 2);
  CHECK(y.to_vector<float>().empty());
}

TEST_CASE("found: a Variable's memory is not taken while its old value is to be computed with",
          "[fuzz]") {
  Variable w(tensor({-6.0, 1.0}));
  w -= 1;
  const Tensor later = square(w.value());  // alone knows the value between
  w = 2 - w.value();
  eval(w);
  CHECK(w.to_vector<double>() == std::vector<double>{9, 2});
  CHECK(later.to_vector<double>() == std::vector<double>{49, 0});
}

TEST_CASE("found: a value that costs no step is there when what it shares memory with is",
          "[fuzz]") {
  sim::enable(2);
  for (int i = 0; i < 50; ++i) {
    sim::configure({.max_delay_us = 200});
    const Tensor x = tensor({1, 2, 3, 4}, {.device = "sim:0"});
    const Tensor y = x * 2;
    eval(y);
    const Variable w(y);
    const Tensor z = permute(y, {0});
    eval(w, z);
    CHECK(w.to_vector<int>() == std::vector<int>{2, 4, 6, 8});
    CHECK(z.to_vector<int>() == std::vector<int>{2, 4, 6, 8});
  }
  sim::configure({});
}

TEST_CASE("found: a flush finds its plan again, wherever its nodes were allocated", "[fuzz]") {
  std::vector<Tensor> kept;
  std::uint64_t made = 0;
  for (int round = 0; round < 6; ++round) {
    std::vector<Tensor> gaps;
    for (int k = 0; k <= round; ++k) gaps.push_back(tensor({k}));
    gaps.erase(gaps.begin(), gaps.begin() + round / 2);
    const Tensor x = tensor({1.0, 2.0});
    const Tensor a = x + 1, b = x * 2, c = sum(a), d = exp(b);
    gaps.clear();
    const std::uint64_t before = counters().plans_made;
    flush();
    if (round > 0) made += counters().plans_made - before;
    CHECK(c.item<double>() == 5);
    kept.push_back(d);
  }
  CHECK(made == 0);
}
