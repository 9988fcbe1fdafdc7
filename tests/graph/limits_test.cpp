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

TEST_CASE("limits: what a factor of 0 takes away is not looked at") {
  const Tensor bad = full({2, 2}, std::numeric_limits<double>::quiet_NaN()), one = ones({2, 2});
  CHECK(values(addmm(bad, one, one, 0, 1)) == Values{2, 2, 2, 2});
  CHECK(values(addmm(bad.to(f64)[0], one.to(f64), one.to(f64), 0, 3)) == Values{6, 6, 6, 6});
  CHECK(addmm(one.to(f64), one, one, 0, 1).dtype() == f64);
  CHECK(values(addmm(ones({2, 2}, {.dtype = i64}), ones({2, 2}, {.dtype = i64}),
                     ones({2, 2}, {.dtype = i64}), 2, 1)) == Values{4, 4, 4, 4});
}
