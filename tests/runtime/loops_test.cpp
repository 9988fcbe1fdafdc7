// Training loops in their usual forms: each runs from a few plans, however long it gets.
#include <cmath>

#include <weft/runtime/counters.h>
#include <weft/weft.h>

#include "support/catch.h"

using namespace weft;

namespace {

enum class Reads { loss, loss_and_weight, nothing };

/// w, by steps of 1/16 along the gradient of (2 w - 6)^2: each takes away half of the error.
double trained(int steps, Reads reads, std::size_t& plans) {
  const Tensor x = tensor({2.0, 2.0}), target = tensor({6.0, 6.0});
  Variable w = variable(tensor({0.0}));
  const std::size_t before = counters().plans_made;
  for (int i = 0; i < steps; ++i) {
    w.zero_grad();
    const Tensor loss = mean(square(x * w - target));
    loss.backward();
    {
      const NoGrad off;
      w.assign(w - 0.0625 * w.grad());
    }
    const double error = 6.0 * std::pow(0.5, i);  // exact as long as f32 has digits for it
    if (reads != Reads::nothing) {
      const double read = loss.item<double>();
      if (i < 11) CHECK(read == error * error);
    }
    if (reads == Reads::loss_and_weight) {
      const double read = w.value().item<double>();
      if (i < 20) CHECK(read == 3 - error / 4);
    }
  }
  const double last = w.value().item<double>();
  plans = counters().plans_made - before;
  return last;
}

}  // namespace

TEST_CASE("loops: what is read in each step does not make the next ones longer", "[loops]") {
  for (const Reads reads : {Reads::loss, Reads::loss_and_weight, Reads::nothing}) {
    std::size_t few = 0, many = 0;
    const double after_few = trained(12, reads, few), after_many = trained(40, reads, many);
    CHECK(after_few == 3 - 3 * std::pow(0.5, 12));
    CHECK(after_many == 3);
    if (reads != Reads::nothing) CHECK(many <= few);
  }
}
