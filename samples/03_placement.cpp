// Placement and transfers: work annotated with a device, and the copies that the planner inserts.
// Two simulated devices stand for two GPUs, so that this runs anywhere.
#include <iostream>

#include <weft/weft.h>

#include "expect.h"

using namespace weft;

namespace {

struct Values {
  Tensor x = rand({128, 64});
  Tensor w = rand({64, 32});
  Tensor v = rand({32, 16});
};

/// A network whose halves live on two devices.
Tensor in_two_halves(const Values& values) {
  Tensor hidden, out;
  {
    const Scope name("first half");
    const On there("sim:0");  // its inputs live on the cpu: the planner copies them
    hidden = relu(matmul(values.x, values.w));
  }
  {
    const Scope name("second half");
    const On there("sim:1");
    out = tanh(matmul(hidden, values.v)) + hidden.slice(1, 0, 16);
  }
  return out;
}

void annotated(const Values& values) {
  std::cout << "-- an annotation asks for the transfers\n";
  const Tensor out = in_two_halves(values);
  expect(out.device() == Device("sim:1"), "work is where the annotation says");
  const Tensor result = sum(out.cpu());
  const Plan plan = make_plan({result});
  std::cout << plan;
  // x, w and v go in; hidden goes across once, although it is read twice; out comes back.
  expect(plan.count(StepKind::transfer) == 5, "each value moves once to each device");
  expect(plan.peak_bytes("sim:0") > 0, "each device's memory is known before running");

  sim::reset_counters();
  const double value = result.item<double>();
  const Tensor hidden = relu(matmul(values.x, values.w));
  const Tensor expected = sum(tanh(matmul(hidden, values.v)) + hidden.slice(1, 0, 16));
  std::cout << "sum " << value << ", on the cpu alone " << expected.item<double>() << '\n';
  expect(allclose(result, expected, 1e-5), "placement changes no result");

  const sim::Counters first = sim::counters(0), second = sim::counters(1);
  std::cout << "to sim:0 " << first.bytes_to_device << " bytes, on to sim:1 "
            << first.bytes_between_devices + second.bytes_between_devices << ", back "
            << second.bytes_to_host << '\n';
  expect(first.bytes_to_device == (128 * 64 + 64 * 32) * sizeof(float), "x and w, once each");
  expect(first.bytes_between_devices + second.bytes_between_devices == 128 * 32 * sizeof(float),
         "hidden, once");
}

void round_trip(const Values& values) {
  std::cout << "-- a round trip is not made\n";
  const Tensor x = values.x.to("sim:0");
  x.wait();
  const Tensor doubled = x * 2;
  const Tensor back = (doubled.cpu().to("sim:0") + 1).cpu();
  const Plan plan = make_plan({back});
  std::cout << plan;
  expect(plan.count(StepKind::transfer) == 1, "only the result leaves the device");
  expect(equal(back, values.x * 2 + 1), "and it is right");
}

void chosen() {
  std::cout << "-- the planner chooses by cost, and says why\n";
  // Devices are chosen among the cpu, all GPUs, and simulated devices that the table names: one
  // that is as quick as a GPU, and as far away.
  CostTable costs;
  costs.devices.push_back({Device("sim:0"), costs.gpu});
  set_cost_table(costs);
  for (const std::int64_t n : {16, 512}) {
    const Tensor x = rand({n, n}), w = rand({n, n});
    eval(x, w);
    Tensor y;
    {
      const On planner(automatic);
      y = relu(matmul(x, w));  // no device yet
    }
    const Plan plan = make_plan({y});
    std::cout << plan;
    bool says_why = false;
    for (const Step& step : plan.steps())
      says_why = says_why || step.reason.find("automatic: ") != std::string::npos;
    expect(says_why, "a choice carries its reason");
    // A small product is done before it could be copied; a large one is worth the journey.
    if (n == 16) expect(y.device() == Device::cpu(), "small work stays");
    if (n == 512) expect(!y.device().is_cpu(), "large work goes to the accelerator");
    expect(y.is_pending(), "asking for the device runs nothing");
    expect(allclose(y.cpu(), relu(matmul(x, w)), 1e-4, 1e-4), "and the result is the same");
  }
  set_cost_table({});
}

}  // namespace

int main() {
  sim::enable(2);
  manual_seed(7);
  const Values values;
  eval(values.x, values.w, values.v);
  annotated(values);
  round_trip(values);
  chosen();
  return outcome();
}
