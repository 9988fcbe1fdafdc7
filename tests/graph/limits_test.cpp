// Arguments so large that they would take all memory, or overflow: each is refused at its line.
#include <cstdint>
#include <limits>
#include <string>

#include <weft/weft.h>

#include "gradcheck.h"
#include "misuse.h"
#include "support/catch.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

template <class E, class Call>
std::string wrong(int line, const std::string& part, const Call& call) {
  Told error = told<E>(line, __FILE__, call, true);
  return says(error, {part}).wrong();
}

#define REFUSED(Type, part, ...)                                                                   \
  CHECK(wrong<Type>(__LINE__, part, [&] { (void)(__VA_ARGS__); }) == "")

}  // namespace

TEST_CASE("limits: arguments beyond all sizes are refused where they are given") {
  const Tensor two = arange(2);
  REFUSED(ShapeError, "counts add up", repeat_interleave(two, tensor({most - 1, most - 1})));
  REFUSED(ShapeError, "repeat_interleave", repeat_interleave(two, tensor({most / 2, most / 4})));
  REFUSED(ValueError, "parts", tensor_split(two, most));
  REFUSED(ValueError, "parts", tensor_split(two, std::int64_t{1} << 40));
  CHECK(tensor_split(two, 5).size() == 5);
  REFUSED(ValueError, "0 shifts", roll(two, std::vector<int>{}));
  REFUSED(ValueError, "0 shifts", roll(two, std::vector<int>{}, 0));
  REFUSED(IndexError, "label -3 is negative", one_hot(tensor({1, -3})));
  REFUSED(ShapeError, "one_hot", one_hot(tensor({most})));
  REFUSED(ShapeError, "kron", kron(expand(two[0], {most / 16}), expand(two[0], {64})));
  const auto nothing = [](std::span<const HostInput>, std::span<const HostOutput>) {};
  REFUSED(ShapeError, "host_callback", host_callback(nothing, {two}, {{{most, 2}, f32}}));
}

TEST_CASE("limits: an extent that overflows is too large, and not negative") {
  const Tensor two = arange(2), long_bool = expand(two[0] > 0, {most / 2});
  const std::string big = "the size overflows 63 bits";
  REFUSED(ShapeError, big, repeat_interleave(two, most));
  REFUSED(ShapeError, big, repeat_interleave(ones({3, 2}), most / 2, 0));
  REFUSED(ShapeError, big, repeat(two, {most}));
  REFUSED(ShapeError, big, tile(two, {3, most / 2}));
  REFUSED(ShapeError, big, pad(two, {most, 0}));
  REFUSED(ShapeError, big, pad(two, {most / 2 + 1, most / 2 + 1}));
  REFUSED(ShapeError, big, pad(two, {0, most}, {.mode = PadMode::replicate}));
  REFUSED(ShapeError, big, diag(two, most));
  REFUSED(ShapeError, big, diag_embed(two, std::numeric_limits<std::int64_t>::min()));
  REFUSED(ShapeError, big, kron(long_bool, ones({4}, {.dtype = u8})));
  REFUSED(ShapeError, big, cat({long_bool, long_bool, long_bool}));
  REFUSED(ShapeError, big, stack(std::vector<Tensor>(3, long_bool)));
  REFUSED(ShapeError, big, arange(most));
  REFUSED(ShapeError, big, linspace(0, 1, most));
  REFUSED(ShapeError, big, one_hot(zeros({1 << 20}, {.dtype = i64}), std::int64_t{1} << 50));
  // Of operands that are small enough, by broadcasting or by a wider dtype.
  const Tensor row = expand(two[0], {std::int64_t{1} << 32}), column = unsqueeze(row, 1);
  REFUSED(ShapeError, big, row + column);
  REFUSED(ShapeError, big, where(row > 0, column, 1));
  REFUSED(ShapeError, big, outer(row, row));
  REFUSED(ShapeError, big, long_bool.to(f64));
  REFUSED(ShapeError, big, long_bool + 1.5);
  REFUSED(ShapeError, "more is cropped than there is", pad(two, {-2, -1}));
}

TEST_CASE("limits: what a factor of 0 takes away is not looked at") {
  const Tensor bad = full({2, 2}, std::numeric_limits<double>::quiet_NaN()), one = ones({2, 2});
  CHECK(values(addmm(bad, one, one, 0, 1)) == Values{2, 2, 2, 2});
  CHECK(values(addmm(bad.to(f64)[0], one.to(f64), one.to(f64), 0, 3)) == Values{6, 6, 6, 6});
  CHECK(addmm(one.to(f64), one, one, 0, 1).dtype() == f64);
  CHECK(values(addmm(ones({2, 2}, {.dtype = i64}), ones({2, 2}, {.dtype = i64}),
                     ones({2, 2}, {.dtype = i64}), 2, 1)) == Values{4, 4, 4, 4});
}
