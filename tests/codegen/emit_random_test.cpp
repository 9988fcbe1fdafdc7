// Kernels of sequences, random numbers and permutations: the bits of the cpu.
#include <bit>

#include "structured.h"

using namespace weft;
using namespace weft::testing;

namespace {

constexpr std::int64_t sizes[] = {0, 1, 2, 3, 5, 255, 1023, 1024, 1025, 2051};

}  // namespace

TEST_CASE("emit iota: every dtype") {
  Trials trials;
  for (const DType dtype : all_dtypes)
    for (const std::int64_t n : {0, 1, 257, 5000}) {
      if (dtype == bool_) continue;
      Trial trial =
          is_floating(dtype)
              ? Trial(emit_iota, OpId::iota,
                      {std::bit_cast<std::int64_t>(-0.3), std::bit_cast<std::int64_t>(0.1)})
              : Trial(emit_iota, OpId::iota, {-5, 77});
      trial.output(dtype, {n});
      trials.add("iota " + std::string(name_of(dtype)), std::move(trial));
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit random: uniform, normal, integers") {
  Trials trials;
  constexpr std::int64_t seed = 0x123456789abcdef, number = (std::int64_t{1} << 33) + 5;
  for (const std::int64_t n : sizes) {
    for (const DType dtype : {f16, bf16, f32, f64})
      for (const OpId op : {OpId::uniform, OpId::normal}) {
        Trial trial(emit_random, op, {seed, number});
        trial.output(dtype, {n});
        trials.add(std::string(info(op).name), std::move(trial));
      }
    for (const DType dtype : {i8, i32, i64, u8, f32})
      for (const std::int64_t span : {std::int64_t{6}, std::int64_t{1} << 40, std::int64_t{0}}) {
        Trial trial(emit_random, OpId::integers, {seed, number, -3, span});
        trial.output(dtype, {n});
        trials.add("integers", std::move(trial));
      }
  }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit random: permutations") {
  Trials trials;
  for (const std::int64_t n : {0, 1, 2, 63, 64, 65, 2048, 2049, 5003})
    for (const DType dtype : {i64, i32}) {
      if (dtype == i32 && n != 65) continue;
      Trial trial(emit_permutation, OpId::permutation, {99, 3});
      trial.output(dtype, {n});
      trials.add("permutation", std::move(trial));
    }
  trials.expect_bits_of_cpu();
}

TEST_CASE("emit random: values of the interpreter") {
  expect_interpreted(emit_random, {rand({7, 100})}, {});
  expect_interpreted(emit_random, {randn({700})}, {}, {2, 0, 1e-7});
  expect_interpreted(emit_random, {randn({700}, {.dtype = f64})}, {}, {4, 0, 1e-15});
  expect_interpreted(emit_random, {randint(-5, 50, {700})}, {});
  expect_interpreted(emit_permutation, {randperm(3000)}, {});
  expect_interpreted(emit_iota, {arange(0, 300, 7)}, {});
}
