// Batches of a data set: order, sizes, devices.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/catch.h"

namespace {

using namespace weft;
using data::Loader;

// Row i holds i and -i; target i is 10 i.
Loader numbered(std::int64_t count, data::LoaderOptions options) {
  std::vector<float> inputs;
  std::vector<std::int64_t> targets;
  for (std::int64_t i = 0; i < count; ++i) {
    inputs.insert(inputs.end(), {static_cast<float>(i), static_cast<float>(-i)});
    targets.push_back(10 * i);
  }
  return {from_vector(inputs, {count, 2}), from_vector(targets), options};
}

// The order in which an epoch visits the rows; checks that inputs and targets stay together.
std::vector<int> epoch(Loader& loader) {
  std::vector<int> order;
  for (auto [inputs, targets] : loader) {
    const auto rows = inputs.to_vector<int>(), labels = targets.to_vector<int>();
    REQUIRE(rows.size() == 2 * labels.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      CHECK(rows[2 * i + 1] == -rows[2 * i]);
      CHECK(labels[i] == 10 * rows[2 * i]);
      order.push_back(rows[2 * i]);
    }
  }
  return order;
}

std::vector<int> first_integers(int count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

std::vector<int> sorted(std::vector<int> values) {
  std::ranges::sort(values);
  return values;
}

std::vector<std::int64_t> batch_sizes(Loader loader) {
  std::vector<std::int64_t> sizes;
  for (const data::Batch& batch : loader) sizes.push_back(batch.images.size(0));
  return sizes;
}

}  // namespace

TEST_CASE("loader: every row once, in order", "[data]") {
  Loader loader = numbered(10, {.batch = 4});
  CHECK(epoch(loader) == first_integers(10));
  CHECK(epoch(loader) == first_integers(10));
}

TEST_CASE("loader: a last batch that is not full", "[data]") {
  using Sizes = std::vector<std::int64_t>;
  CHECK(batch_sizes(numbered(10, {.batch = 4})) == Sizes{4, 4, 2});
  CHECK(batch_sizes(numbered(10, {.batch = 4, .drop_last = true})) == Sizes{4, 4});
  CHECK(batch_sizes(numbered(8, {.batch = 4})) == Sizes{4, 4});
  CHECK(batch_sizes(numbered(3, {.batch = 4})) == Sizes{3});
  CHECK(batch_sizes(numbered(3, {.batch = 4, .drop_last = true})).empty());
  CHECK(batch_sizes(numbered(0, {.batch = 4})).empty());
  CHECK(batch_sizes(numbered(3, {.batch = std::numeric_limits<std::int64_t>::max()})) == Sizes{3});
  CHECK(numbered(10, {.batch = 4}).size() == 3);
  CHECK(numbered(10, {.batch = 4, .drop_last = true}).size() == 2);
  CHECK(numbered(0, {.batch = 4}).size() == 0);
}

TEST_CASE("loader: a shuffle visits every row once, differs per epoch, and repeats", "[data]") {
  Loader loader = numbered(100, {.batch = 7, .shuffle = true, .seed = 5});
  const auto first = epoch(loader), second = epoch(loader);
  CHECK(sorted(first) == first_integers(100));
  CHECK(sorted(second) == first_integers(100));
  CHECK(first != first_integers(100));
  CHECK(first != second);
  Loader again = numbered(100, {.batch = 32, .shuffle = true, .seed = 5});
  CHECK(epoch(again) == first);
  Loader copy = again;
  CHECK(epoch(copy) == second);
  Loader other = numbered(100, {.batch = 7, .shuffle = true, .seed = 6});
  CHECK(epoch(other) != first);
}

TEST_CASE("loader: the shuffle is the same on every platform", "[data]") {
  Loader loader = numbered(8, {.batch = 8, .shuffle = true, .seed = 0});
  CHECK(epoch(loader) == std::vector<int>{0, 7, 5, 6, 1, 3, 2, 4});
}

TEST_CASE("loader: rows are drawn evenly", "[data]") {
  std::vector<int> first_row(5, 0);
  Loader loader = numbered(5, {.batch = 5, .shuffle = true});
  for (int i = 0; i < 2000; ++i) ++first_row[static_cast<std::size_t>(epoch(loader).front())];
  for (const int count : first_row) CHECK(std::abs(count - 400) < 100);
}

TEST_CASE("loader: every dtype passes through", "[data]") {
  for (const DType dtype : {f16, bf16, f32, f64, i8, i32, i64, u8, bool_}) {
    INFO(name_of(dtype));
    const Tensor inputs = tensor({{0, 1}, {1, 1}, {1, 0}}, {.dtype = dtype});
    for (const data::Batch& batch : Loader(inputs, inputs, {.batch = 3})) {
      CHECK(batch.images.dtype() == dtype);
      CHECK(equal(batch.images, inputs));
    }
  }
}

TEST_CASE("loader: digits", "[data]") {
  const auto dir = std::filesystem::path(WEFT_TESTS_DIR).parent_path() / "samples" / "data";
  const data::Mnist test = data::mnist(dir, {.train = false});
  std::int64_t seen = 0;
  for (auto [images, labels] : Loader(test, {.batch = 512})) {
    const std::int64_t count = labels.size(0);
    CHECK(images.shape() == Shape({count, 1, 28, 28}));
    CHECK(labels.dtype() == i64);
    CHECK(equal(images, test.images().slice(0, seen, seen + count)));
    CHECK(equal(labels, test.labels().slice(0, seen, seen + count)));
    seen += count;
  }
  CHECK(seen == 2000);
}

TEST_CASE("loader: batches are made on the device", "[data]") {
  sim::enable(2);
  const Device device("sim:1");
  int first = 0;
  for (auto [inputs, targets] : numbered(5, {.batch = 2, .device = device})) {
    CHECK(inputs.device() == device);
    CHECK(targets.device() == device);
    CHECK(inputs.to_vector<int>().front() == first);
    first += 2;
  }
  On scope("sim:0");
  for (const data::Batch& batch : numbered(2, {})) CHECK(batch.images.device() == Device::cpu());
}

TEST_CASE("loader: the set lives as long as its batches are asked for", "[data]") {
  auto loader = std::make_unique<Loader>(numbered(4, {.batch = 2}));
  auto it = loader->begin();
  loader.reset();
  CHECK(it->labels.to_vector<int>() == std::vector<int>{0, 10});
  const data::Batch& second = *++it;
  CHECK(second.labels.to_vector<int>() == std::vector<int>{20, 30});
  CHECK(++it == std::default_sentinel);
}

TEST_CASE("loader: wrong arguments throw at the caller's line", "[data]") {
  const Tensor two = zeros({2, 3}), three = zeros({3});
  for (const std::int64_t batch : {0, -1}) {
    const int line = __LINE__ + 2;
    try {
      Loader(two, two, {.batch = batch});
      FAIL("a batch of " << batch);
    } catch (const ValueError& error) {
      CHECK(std::string(error.file()) == __FILE__);
      CHECK(error.line() == line);
    }
  }
  CHECK_THROWS_AS(Loader(two, three), ShapeError);
  CHECK_THROWS_AS(Loader(zeros({}), three), ShapeError);
}
