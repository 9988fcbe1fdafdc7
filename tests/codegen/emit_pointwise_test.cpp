// Every point-wise op in every dtype as kernel text, next to the interpreter and the cpu.
#include <set>

#include "codegen/fused_trials.h"
#include "codegen/pointwise_groups.h"

using namespace weft;
using namespace weft::testing;

namespace {

FusedTrial trial_of(const PointwiseGroup& group) {
  FusedTrial trial;
  trial.what = group.what;
  trial.program = group.program;
  for (const HostValue& value : group.inputs) {
    trial.arrays.push_back(std::make_shared<Array>(value.dtype, value.shape));
    std::memcpy(trial.arrays.back()->memory.data(), value.bytes.data(), value.bytes.size());
    trial.inputs.push_back(trial.arrays.back()->dense());
  }
  trial.outputs(group.inputs[0].shape);
  return trial;
}

HostValue value_of(const Array& array) {
  HostValue value(array.dtype, array.shape);
  std::memcpy(value.bytes.data(), array.memory.data(), value.bytes.size());
  return value;
}

}  // namespace

TEST_CASE("emit fused: every op in every dtype, as the interpreter and the cpu have it") {
  const std::vector<PointwiseGroup> groups = pointwise_groups();
  std::vector<FusedTrial> trials;
  for (const PointwiseGroup& group : groups) trials.push_back(trial_of(group));
  expect_bits_of_cpu(trials);
  std::set<std::string> tried;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t r = 0; r < groups[g].results.size(); ++r) {
      const PointwiseGroup::Result& result = groups[g].results[r];
      std::string why;
      const bool is_right = matches(value_of(*trials[g].got[r]), result.expected,
                                    {.ulp = result.ulp, .zero_sign = true}, &why);
      INFO(result.op << ", " << groups[g].what << ": " << why);
      REQUIRE(is_right);
      tried.insert(result.op);
    }
  for (const std::string& name : pointwise_names()) REQUIRE(tried.count(name) == 1);
}
