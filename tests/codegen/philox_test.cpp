// The generator of codegen/kernels: known answers, places in its blocks, ranges and moments.

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "codegen/math_trials.h"
#include "support/catch.h"

#include "philox.cuh"

namespace {

using namespace weft::testing::math;

TEST_CASE("Philox: known answers", "[random]") {
  const auto check = [](wf_u32x4 got, std::vector<wf_u32> expected) {
    CHECK(std::vector<wf_u32>{got.x, got.y, got.z, got.w} == expected);
  };
  check(wf_philox4x32_10(0, 0, 0, 0, 0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const wf_u32 ones = 0xffffffff;
  check(wf_philox4x32_10(ones, ones, ones, ones, ones, ones),
        {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check(wf_philox4x32_10(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0),
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
  check(wf_random_block(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u),
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("an element's draw is its place in the blocks", "[random]") {
  const wf_u64 seed = 7, call = 3;
  for (wf_u64 i :
       {wf_u64{0}, wf_u64{1}, wf_u64{2}, wf_u64{3}, wf_u64{4}, wf_u64{1000003}, wf_u64{1} << 40}) {
    const wf_u32x4 b4 = wf_random_block(seed, call, i / 4), b2 = wf_random_block(seed, call, i / 2);
    const wf_u32 w4[] = {b4.x, b4.y, b4.z, b4.w}, w2[] = {b2.x, b2.y, b2.z, b2.w};
    CHECK(wf_random_u32(seed, call, i) == w4[i % 4]);
    CHECK(wf_random_u64(seed, call, i) == (wf_u64{w2[2 * (i % 2) + 1]} << 32 | w2[2 * (i % 2)]));
    CHECK(wf_rand_f32(seed, call, i) == wf_uniform_f32(w4[i % 4]));
    const unsigned pair = i % 4 / 2 * 2;
    CHECK(wf_randn_f32(seed, call, i) == wf_normal_f32(w4[pair], w4[pair + 1], i % 2 != 0));
  }
  CHECK(wf_random_u32(7, 0, 5) != wf_random_u32(7, 1, 5));
  CHECK(wf_random_u32(7, 0, 5) != wf_random_u32(7 + (wf_u64{1} << 32), 0, 5));
}

TEST_CASE("draws have the ranges and moments that they should", "[random]") {
  CHECK(wf_uniform_f32(0) == 0.0f);
  CHECK(wf_uniform_f32(0xffffffff) == 1.0f - 0x1p-24f);
  CHECK(wf_uniform_f64(~wf_u64{0}) == 1.0 - 0x1p-53);
  CHECK(wf_randint(0, -3, 10) == -3);
  CHECK(wf_randint(~wf_u64{0}, -3, 10) == 6);
  CHECK(wf_randint(~wf_u64{0}, 0, 0) == -1);
  CHECK(wf_randint(wf_u64{1} << 63, std::numeric_limits<wf_i64>::min(), 0) == 0);
  for (bool odd : {false, true}) {
    CHECK(std::isfinite(wf_normal_f32(0, 0, odd)));
    CHECK(std::isfinite(wf_normal_f64(0, 0, odd)));
    CHECK(wf_normal_f32(0xffffffff, 0x12345678, odd) == 0.0f);
  }
  constexpr int n = 100000;
  double sums[4][4] = {};
  int counts[10] = {};
  for (wf_u64 i = 0; i < n; ++i) {
    const double draws[] = {wf_rand_f32(7, 0, i), wf_rand_f64(7, 1, i), wf_randn_f32(7, 2, i),
                            wf_randn_f64(7, 3, i)};
    for (int k = 0; k < 4; ++k)
      for (int power = 0; power < 4; ++power) sums[k][power] += std::pow(draws[k], power + 1) / n;
    ++counts[wf_rand_int(7, 4, i, 0, 10)];
  }
  for (int k = 0; k < 2; ++k)
    for (int power = 0; power < 4; ++power)
      CHECK(sums[k][power] == Catch::Approx(1.0 / (power + 2)).epsilon(0.01));
  for (int k = 2; k < 4; ++k) {
    CHECK(std::fabs(sums[k][0]) < 0.015);
    CHECK(sums[k][1] == Catch::Approx(1).epsilon(0.02));
    CHECK(std::fabs(sums[k][2]) < 0.05);
    CHECK(sums[k][3] == Catch::Approx(3).epsilon(0.04));
  }
  for (int count : counts) CHECK(std::abs(count - n / 10) < 500);
}

}  // namespace
