// Random programs whose undecided ops are placed under random costs: on the cpu and on simulated
// devices, in every mixture.
#include <cmath>
#include <random>
#include <string>

#include <weft/graph/detail/passes.h>
#include <weft/weft.h>

#include "check.h"
#include "generate.h"
#include "support/catch.h"

using namespace weft;

namespace {

CostTable random_table(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  // Programs are small: fixed costs of the size of a copy, give or take much.
  const auto any = [&](double middle) {
    return middle * std::exp2(static_cast<double>(random() % 13) - 6);
  };
  const auto device = [&] {
    return DeviceCost{any(1), any(100), any(100), any(100), any(100), any(100), any(100)};
  };
  CostTable table;
  table.cpu = device();
  table.devices = {{Device::sim(0), device()}, {Device::sim(1), device()}};
  table.host_to_device = {any(0.1), any(1000)};
  table.device_to_host = {any(0.1), any(1000)};
  table.device_to_device = {any(0.1), any(1000)};
  return table;
}

}  // namespace

TEST_CASE("fuzz: under any costs", "[placement]") {
  sim::enable(2);
  detail::set_verification(true);
  for (std::uint64_t seed = 100000; seed < 100300; ++seed) {
    INFO("seed " << seed);
    set_cost_table(random_table(seed));
    std::string problem;
    try {
      problem = fuzz::problem(fuzz::generate(seed));
    } catch (const Error& error) {
      problem = std::string("refused: ") + error.what();
    }
    CHECK(problem == "");
  }
  set_cost_table({});
}
