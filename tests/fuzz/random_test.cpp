// Random programs, each on the interpreter and under several plans. WEFT_FUZZ_SEEDS=begin:end says
// which: a long run is as many shorter ones.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>

#include <weft/graph/detail/passes.h>
#include <weft/weft.h>

#include "check.h"
#include "generate.h"
#include "shrink.h"
#include "support/catch.h"
#include "support/gpu.h"

using namespace weft;

namespace {

struct Seeds {
  std::uint64_t begin = 0, end;
};

Seeds wanted_seeds() {
#ifdef NDEBUG
  Seeds seeds{0, 5000};  // enough for every cell of the coverage
#else
  Seeds seeds{0, 200};  // debug builds, sanitizers
#endif
  if (const char* text = std::getenv("WEFT_FUZZ_SEEDS"))
    REQUIRE(std::sscanf(text, "%" SCNu64 ":%" SCNu64, &seeds.begin, &seeds.end) == 2);
  return seeds;
}

void start() {
  sim::enable(2);
  detail::set_verification(true);
}

using Check = std::function<std::string(const fuzz::Program&, fuzz::RoleCoverage*)>;

/// What is wrong with a program; "refused: ..." for one that the library does not take.
std::string problem_of(const fuzz::Program& program, const Check& check = fuzz::problem,
                       fuzz::RoleCoverage* coverage = nullptr) {
  try {
    return check(program, coverage);
  } catch (const Error& error) {
    return std::string("refused: ") + error.what();
  }
}

/// The smallest program found that fails in the same way.
fuzz::Program smaller(const fuzz::Program& program, const std::string& problem,
                      const Check& check = fuzz::problem) {
  const std::string kind = problem.substr(0, problem.find(':'));
  return fuzz::shrink(program, [&](const fuzz::Program& candidate) {
    try {
      fuzz::require_valid(candidate);
    } catch (const InternalError&) {
    } catch (const Error&) {
      return false;
    }
    const std::string now = problem_of(candidate, check);
    return now.substr(0, now.find(':')) == kind;
  });
}

void run_seeds(const Seeds& seeds, const Check& check, bool poison = true) {
  fuzz::RoleCoverage coverage;
  int failures = 0;
  for (std::uint64_t seed = seeds.begin; seed < seeds.end && failures < 3; ++seed) {
    INFO("WEFT_FUZZ_SEEDS=" << seed << ":" << seed + 1);
    sim::configure({.seed = seed, .max_delay_us = seed % 4 ? 0 : 5, .poison = poison});
    const fuzz::Program program = fuzz::generate(seed);
    const std::string problem = problem_of(program, check, &coverage);
    if ((seed + 1) % 10000 == 0) std::cout << "fuzz: done up to seed " << seed + 1 << std::endl;
    if (problem.empty()) continue;
    ++failures;
    const fuzz::Program small = smaller(program, problem, check);
    FAIL_CHECK("WEFT_FUZZ_SEEDS=" << seed << ":" << seed + 1 << ": " << problem
                                  << "\nmade smaller: " << problem_of(small, check) << "\n"
                                  << fuzz::source(small));
  }
  std::cout << coverage.table();
  if ((seeds.end - seeds.begin) * fuzz::targets_of_a_program > 12 * fuzz::all_cells().size())
    CHECK(coverage.missing() == "");
}

}  // namespace

TEST_CASE("fuzz: random programs give what the interpreter says, under every plan", "[fuzz]") {
  start();
  run_seeds(wanted_seeds(), fuzz::problem);
}

namespace {

/// What nothing places is on the GPU; the cpu and another device have the rest.
void run_on_gpus(const Seeds& seeds) {
  const fuzz::Places places{.cpu = Device::cuda(0),
                            .sim0 = Device::cpu(),
                            .sim1 = cuda::device_count() > 1 ? Device::cuda(1) : Device::sim(1)};
  const auto check = [&](const fuzz::Program& program, fuzz::RoleCoverage* coverage) {
    return fuzz::problem_at(places, program, coverage);
  };
  run_seeds(seeds, check, false);  // what a GPU brings to a simulated device must not be poisoned
}

/// Products have one order of sums while it lives.
struct Strict {
  Strict() { set_numerics(Numerics::strict); }
  ~Strict() { set_numerics(Numerics::standard); }
};

}  // namespace

TEST_CASE("fuzz: random programs give on GPUs what they give on the cpu", "[fuzz][gpu]") {
  if (!testing::has_gpus(1)) return;
  start();
  run_on_gpus(wanted_seeds());
}

TEST_CASE("fuzz: in strict mode products have the cpu's bits on GPUs, too", "[fuzz][gpu][strict]") {
  if (!testing::has_gpus(1)) return;
  start();
  const Strict strict;
  run_on_gpus(wanted_seeds());
}

TEST_CASE("fuzz: in strict mode products have the same bits under every plan", "[fuzz][strict]") {
  start();
  const Strict strict;
  const Seeds all = wanted_seeds();
  run_seeds({all.begin, std::min(all.end, all.begin + 500)}, fuzz::problem);
}

TEST_CASE("fuzz: a program is a function of its seed", "[fuzz]") {
  start();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string text = fuzz::source(fuzz::generate(seed));
    CHECK(text == fuzz::source(fuzz::generate(seed)));
    CHECK(text != fuzz::source(fuzz::generate(seed + 1)));
  }
}

TEST_CASE("fuzz: a wrong value is found, and the program made small", "[fuzz]") {
  start();
  const std::pair<detail::OpId, DType> falsified[] = {
      {detail::OpId::tanh, f32},    {detail::OpId::bitwise_xor, i8},  {detail::OpId::sum, f64},
      {detail::OpId::matmul, bf16}, {detail::OpId::slice_update, u8}, {detail::OpId::permute, f16},
      {detail::OpId::topk, i32},    {detail::OpId::uniform, f32},       {detail::OpId::cumsum, i64},
      {detail::OpId::sort, bool_},  {detail::OpId::cummax, f16},        {detail::OpId::logcumsumexp, f32},
      {detail::OpId::searchsorted, i64}};
  for (const auto& [op, dtype] : falsified) {
    fuzz::falsify(op, dtype);
    const std::string name(detail::info(op).name);
    INFO(name);
    std::uint64_t seed = 0;
    std::string problem;
    for (; seed < 2000 && problem.empty(); ++seed) problem = problem_of(fuzz::generate(seed));
    CHECK(problem.find("interpreter: " + name + " ") == 0);
    const fuzz::Program small = smaller(fuzz::generate(seed - 1), problem);
    fuzz::falsify_nothing();
    INFO(fuzz::source(small));
    CHECK(small.code.size() <= 4);
    for (const fuzz::Instruction& it : small.code) CHECK(it.shape.numel() <= 4);
    CHECK(problem_of(small) == "");
  }
}
