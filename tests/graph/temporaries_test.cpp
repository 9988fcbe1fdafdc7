// What an expression's own temporaries cost, and numbers at the edge of what dtypes hold.
#include <limits>
#include <sstream>

#include <weft/runtime/memory.h>
#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

namespace {

using Longs = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("temporaries: an expression keeps nothing but its result") {
  const Tensor x = ones({1 << 16});
  eval(x);
  const auto peak_of = [&](auto run) {
    synchronize(Device::cpu());
    reset_peak_memory();
    const std::size_t before = memory_stats().in_use;
    run();
    return memory_stats().peak - before;
  };
  constexpr std::size_t bytes = std::size_t{4} << 16;
  CHECK(peak_of([&] { CHECK(sum(square(x) * 2.0f + x).item<float>() == 3 * 65536); }) < bytes);
  CHECK(peak_of([&] { eval(relu(x * 2.0f) - 1.0f); }) < 2 * bytes);
  // Never made at all.
  CHECK(sum(slice(expand(ones({1}), {std::int64_t{1} << 33}), 0, 0, 4)).item<float>() == 4);
}

TEST_CASE("temporaries: what is moved from is undefined, what is named is kept") {
  Tensor x = tensor({1.0f, 2.0f});
  const Tensor named = x * 2.0f;
  const Tensor y = exp(std::move(x)) + named;
  CHECK_FALSE(x.defined());
  eval(y);
  CHECK_FALSE(named.is_pending());
  CHECK(named.to_vector<float>() == std::vector<float>{2, 4});
  const auto twice = [](const TensorArg& given) { return add(given, given); };
  CHECK(twice(tensor({3}) + 1).to_vector<std::int64_t>() == Longs{8});
}

TEST_CASE("numbers: bounds of a clamp that the dtype does not have") {
  constexpr std::int64_t large = 9007199254740993;  // no double
  CHECK(clamp(tensor({large}), std::nullopt, large).item<std::int64_t>() == large);
  CHECK(clamp(tensor({large + 2}), std::nullopt, large).item<std::int64_t>() == large);
  const Tensor bytes = tensor({1, 2, 200}, {.dtype = u8});
  CHECK(clamp(bytes, -1, 300).to_vector<std::int64_t>() == Longs{1, 2, 200});
  CHECK(clamp(bytes, 300, std::nullopt).to_vector<std::int64_t>() == Longs{255, 255, 255});
  CHECK(clamp(bytes, std::nullopt, -5).to_vector<std::int64_t>() == Longs{0, 0, 0});
  CHECK(clamp(bytes, -1, 300).dtype() == u8);
  CHECK(clamp(arange(3), 1).dtype() == i64);
  CHECK(clamp(arange(3), 0.5).dtype() == f32);
  CHECK(clamp(arange(3), 0.0).dtype() == f32);
}

TEST_CASE("numbers: negative powers of every integer dtype") {
  for (const DType dtype : {u8, i8, i32, i64}) {
    INFO(name_of(dtype));
    const Tensor x = tensor({0, 1, 2, 3}, {.dtype = dtype});
    for (const int power : {-1, -2, -255, -256}) {
      CHECK(pow(x, power).dtype() == dtype);
      CHECK(pow(x, power).to_vector<std::int64_t>() == Longs{0, 1, 0, 0});
    }
  }
  const Tensor minus = tensor({-1, -2}, {.dtype = i8});
  CHECK(pow(minus, -3).to_vector<std::int64_t>() == Longs{-1, 0});
  CHECK(pow(minus, -300).to_vector<std::int64_t>() == Longs{1, 0});
}

TEST_CASE("numbers: an unsigned one that no dtype holds is refused") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK_THROWS_AS(tensor({1}) + most, ValueError);
  CHECK_THROWS_AS(full({1}, most), ValueError);
  CHECK_THROWS_AS(tensor({most}), ValueError);
  CHECK((tensor({1}) + (most >> 1)).item<std::int64_t>() ==
        std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("split: more parts than a tensor has axes") {
  const std::vector<Tensor> parts = split(arange(20), std::vector<int>(10, 2));
  REQUIRE(parts.size() == 10);
  CHECK(parts[9].to_vector<std::int64_t>() == Longs{18, 19});
}

TEST_CASE("compound assignment of every operator") {
  Tensor x = tensor({7, 12});
  x %= 5;
  CHECK(x.to_vector<std::int64_t>() == Longs{2, 2});
  x |= 5;
  CHECK(x.to_vector<std::int64_t>() == Longs{7, 7});
  x &= 6;
  CHECK(x.to_vector<std::int64_t>() == Longs{6, 6});
  x ^= 3;
  CHECK(x.to_vector<std::int64_t>() == Longs{5, 5});
  Variable v(tensor({7, 12}));
  v %= 5;
  v |= 5;
  v &= 6;
  v ^= 3;
  CHECK(v.to_vector<std::int64_t>() == Longs{5, 5});
}

TEST_CASE("errors: printing an undefined tensor names the caller's line") {
  std::ostringstream out;
  const Tensor none;
  int line = 0;
  try {
    line = __LINE__ + 1;
    out << none;
    FAIL();
  } catch (const ValueError& error) {
    CHECK(error.line() == line);
    CHECK(std::string(error.file()) == __FILE__);
  }
}

TEST_CASE("automatic: asking for the device decides it") {
  const On scope(automatic);
  const Tensor z = ones({3}) + 1.0f;
  CHECK(z.device() == Device::cpu());
  CHECK(z.to_vector<float>() == std::vector<float>{2, 2, 2});
  CHECK(z.device() == Device::cpu());
}

TEST_CASE("allclose: NaN equals NaN only if asked for") {
  const Tensor x = tensor({1.0f, NAN}), y = tensor({1.0f, NAN});
  CHECK_FALSE(allclose(x, y));
  CHECK(allclose(x, y, 1e-5, 1e-8, true));
  CHECK_FALSE(allclose(tensor({1.0f, 2.0f}), y, 1e-5, 1e-8, true));
}
