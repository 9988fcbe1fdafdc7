// Numbers that an integer dtype does not hold, and ranges at the ends of a floating dtype.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <weft/weft.h>

#include "graph/composites.h"
#include "misuse.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Call>
std::string wrong(int line, const Parts& parts, const Call& call) {
  Told error = told<ValueError>(line, __FILE__, call);
  return begins(says(error, parts), parts[0] + ": ").wrong();
}

#define REFUSED(parts, ...) CHECK(wrong(__LINE__, Parts parts, [&] { (void)(__VA_ARGS__); }) == "")

using Whole = std::vector<std::int64_t>;
Whole whole(const Tensor& x) { return x.to_vector<std::int64_t>(); }

}  // namespace

TEST_CASE("numbers: a fill value that an integer dtype does not hold is refused") {
  const Tensor x = zeros({2, 3}, {.dtype = i32}), mask = x == 0, place = tensor({0});
  const Tensor bytes = x.to(u8), at = zeros({2, 1}, {.dtype = i64});
  for (const double bad : {no_number, infinity, -infinity, 2147483648.0, -2147483649.0, 1e300}) {
    REFUSED(({"full", "the number", "i32", "-2147483648 to 2147483647"}),
            full({2}, bad, {.dtype = i32}));
    REFUSED(({"full_like", "i32"}), full_like(x, bad));
    REFUSED(({"masked_fill", "i32"}), masked_fill(x, mask, bad));
    REFUSED(({"index_fill", "i32"}), index_fill(x, 0, place, bad));
    REFUSED(({"scatter", "i32"}), scatter(x, 1, at, bad));
    REFUSED(({"put", "i32"}), put(x, place, bad));
    REFUSED(({"pad", "i32"}), pad(x, {1, 1}, {.value = bad}));
  }
  REFUSED(({"full", "nan", "i64"}), full({2}, no_number, {.dtype = i64}));
  REFUSED(({"full", "i64"}), full({2}, 0x1p63, {.dtype = i64}));
  REFUSED(({"full", "u8", "0 to 255"}), full({2}, 256.0, {.dtype = u8}));
  REFUSED(({"full", "u8"}), full({2}, -0.5, {.dtype = u8}));
  REFUSED(({"full", "i8", "-128 to 127"}), full({}, 128, {.dtype = i8}));
  REFUSED(({"masked_fill", "300", "u8"}), masked_fill(bytes, mask, 300));
  REFUSED(({"masked_fill", "-256", "u8"}), masked_fill(bytes, mask, -256));
  REFUSED(({"where", "300", "u8"}), where(mask, 300, bytes));
  REFUSED(({"where", "4294967296", "i32"}), where(mask, x, std::int64_t{1} << 32));
}

TEST_CASE("numbers: fill values that are held, cut off or promoted") {
  CHECK(whole(full({1}, 2147483647.0, {.dtype = i32})) == Whole{2147483647});
  CHECK(whole(full({1}, -2147483648.0, {.dtype = i32})) == Whole{-2147483648LL});
  CHECK(whole(full({1}, -0x1p63, {.dtype = i64})) ==
        Whole{std::numeric_limits<std::int64_t>::min()});
  CHECK(whole(full({1}, 2.75, {.dtype = i8})) == Whole{2});
  CHECK(whole(full({1}, -2.75, {.dtype = i64})) == Whole{-2});
  CHECK(whole(full({1}, -1, {.dtype = u8})) == Whole{255});
  const Tensor x = tensor({1, 2}), mask = tensor({true, false});
  CHECK(whole(masked_fill(x, mask, -2.5)) == Whole{-2, 2});
  CHECK(masked_fill(x > 1, mask, no_number).to_vector<bool>() == std::vector<bool>{true, true});
  // Point-wise functions promote to a float.
  CHECK(unlike(where(mask, infinity, x), {2}, f32, {infinity, 2}) == "");
  CHECK(unlike(clamp(x, 1.5, std::nullopt), {2}, f32, {1.5, 2}) == "");
  CHECK(std::isnan(clamp(x, no_number, std::nullopt)[0].item<double>()));
  // Tensors are cast, as by `cast`.
  CHECK(whole(full({1}, tensor(no_number), {.dtype = i32})) == Whole{0});
  CHECK(whole(masked_fill(x, mask, tensor(1e30))) ==
        Whole{std::numeric_limits<std::int64_t>::max(), 2});
}

TEST_CASE("numbers: a range wider than its dtype") {
  const double most = std::numeric_limits<double>::max();
  const Tensor line = linspace(-most, most, 5, {.dtype = f64});
  CHECK(unlike(line, {5}, f64, {-most, -most / 2, 0, most / 2, most}) == "");
  CHECK(unlike(linspace(most, -most, 2, {.dtype = f64}), {2}, f64, {most, -most}) == "");
  CHECK(unlike(linspace(-most, most, 4, {.dtype = f64}) / most, {4}, f64,
               {-1, -1.0 / 3, 1.0 / 3, 1}, 1e-15) == "");
  const double wide = static_cast<double>(std::numeric_limits<float>::max());
  CHECK(unlike(linspace(-wide, wide, 3), {3}, f32, {-wide, 0, wide}) == "");
  for (const DType dtype : {f32, f64}) {
    const double end = dtype == f64 ? most : wide;
    const auto [counts, edges] =
        histogram(tensor({-end, -end, -end / 4, 0.0, end / 4, end}, {.dtype = dtype}), 4);
    CHECK(unlike(edges, {5}, dtype, {-end, -end / 2, 0, end / 2, end}) == "");
    CHECK(whole(counts) == Whole{2, 1, 2, 1});
  }
}

TEST_CASE("numbers: the spread of values near the greatest is infinite, and no NaN") {
  for (const DType dtype : {f32, f64}) {
    const double most = dtype == f64 ? std::numeric_limits<double>::max()
                                     : static_cast<double>(std::numeric_limits<float>::max());
    for (const Tensor& x : {tensor({most, -most}, {.dtype = dtype}),
                            tensor({most, most}, {.dtype = dtype})}) {  // as PyTorch
      CHECK(var(x).item<double>() == infinity);
      CHECK(stddev(x).item<double>() == infinity);
    }
    const Tensor small = tensor({1e18, -1e18}, {.dtype = dtype});
    CHECK(std::abs(var(small).item<double>() / 2e36 - 1) < 1e-6);
  }
}
