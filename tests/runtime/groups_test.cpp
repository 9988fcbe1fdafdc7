// How far point-wise ops are fused: what one kernel can be given.
#include <weft/runtime/plan.h>
#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

TEST_CASE("groups: each takes at most a hundred numbers of the program") {
  Tensor x = tensor({0.0f, 1.0f});
  double expected = 0;
  for (int i = 0; i < 250; ++i) {
    x = x * 1.0f + static_cast<float>(i % 7);
    expected += i % 7;
  }
  const Plan plan = make_plan({x});
  CHECK(plan.count(StepKind::kernel) == 500 / 100);
  CHECK(x.to_vector<double>() == std::vector<double>{expected, expected + 1});
}
