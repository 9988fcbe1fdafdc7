// Plans with a planted hazard, and the sound ones beside them.
#include "hazards.h"

#include <algorithm>
#include <string>

#include "frozen_plans.h"
#include "support/catch.h"

namespace {

using namespace weft;
using detail::find_hazard;
using test::PlanBuilder;

constexpr StreamKind compute = StreamKind::compute;
constexpr StreamKind in = StreamKind::host_to_device;
constexpr StreamKind out = StreamKind::device_to_host;
const Device cpu, sim0 = Device::sim(0), sim1 = Device::sim(1);

bool says(const detail::FrozenPlan& plan, const std::string& part) {
  const std::string hazard = find_hazard(plan);
  INFO(hazard);
  CHECK(hazard.find(part) != std::string::npos);
  return hazard.find(part) != std::string::npos;
}

// A leaf brought to the device, worked on there, and brought back; without some of the waits.
detail::FrozenPlan round_trip(bool wait_for_upload, bool wait_for_kernel) {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 8), there = b.scratch(sim0, 0, 8), y = b.scratch(sim0, 64, 8);
  const auto back = b.output(cpu, 8);
  b.step(StepKind::transfer, sim0, in, {x}, {there});
  b.record(sim0, in, 0);
  if (wait_for_upload) b.wait(sim0, compute, 0);
  b.step(StepKind::kernel, sim0, compute, {there}, {y});
  b.record(sim0, compute, 1);
  if (wait_for_kernel) b.wait(sim0, out, 1);
  b.step(StepKind::transfer, sim0, out, {y}, {back});
  return b.plan;
}

}  // namespace

TEST_CASE("hazards: reads wait for what another stream writes", "[hazards]") {
  CHECK(find_hazard(round_trip(true, true)).empty());
  CHECK(says(round_trip(false, true),
             "step 2 (kernel on sim:0 compute) reads bytes 0 to 32 of buffer 1, written by step 0 "
             "(transfer on sim:0"));
  CHECK(says(round_trip(true, false), "without a wait"));
}

TEST_CASE("hazards: one stream needs no events", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 4), s = b.scratch(cpu, 0, 4), t = b.scratch(cpu, 64, 4);
  const auto y = b.output(cpu, 4);
  b.step(StepKind::kernel, cpu, compute, {x}, {s});
  b.step(StepKind::kernel, cpu, compute, {s, x}, {t});
  b.step(StepKind::kernel, cpu, compute, {t}, {y});
  CHECK(find_hazard(b.plan).empty());
}

TEST_CASE("hazards: a wait covers what the recording stream had waited for", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 4), s = b.scratch(sim0, 0, 4), t = b.scratch(sim0, 64, 4);
  const auto y = b.output(sim1, 4);
  b.step(StepKind::transfer, sim0, in, {x}, {s});
  b.record(sim0, in, 0);
  b.wait(sim0, compute, 0);
  b.step(StepKind::kernel, sim0, compute, {s}, {t});
  b.record(sim0, compute, 1);
  b.wait(sim1, in, 1);
  b.step(StepKind::transfer, sim1, in, {s}, {y});  // s by way of event 1
  CHECK(find_hazard(b.plan).empty());
  // An event recorded before the step says nothing about it.
  std::swap(b.plan.steps[3], b.plan.steps[4]);
  b.plan.steps.back().inputs[0].buffer = t;
  CHECK(says(b.plan, "without a wait"));
}

TEST_CASE("hazards: memory is not taken while another stream still uses it", "[hazards]") {
  const auto plan = [](bool wait) {
    PlanBuilder b;
    const auto x = b.leaf(sim0, 4), s = b.scratch(sim0, 0, 4), back = b.output(cpu, 4);
    const auto reused = b.scratch(sim0, 0, 4), y = b.output(sim0, 4);
    b.step(StepKind::kernel, sim0, compute, {x}, {s});
    b.record(sim0, compute, 0);
    b.wait(sim0, out, 0);
    b.step(StepKind::transfer, sim0, out, {s}, {back});
    b.record(sim0, out, 1);
    if (wait) b.wait(sim0, compute, 1);
    b.step(StepKind::kernel, sim0, compute, {x}, {reused});
    b.step(StepKind::kernel, sim0, compute, {reused}, {y});
    return b.plan;
  };
  CHECK(find_hazard(plan(true)).empty());
  CHECK(says(plan(false), "writes bytes 0 to 16 of buffer 3, which step 3 (transfer on sim:0 "));
}

TEST_CASE("hazards: two writers on two streams", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 4), s = b.scratch(sim0, 0, 8), t = b.scratch(sim0, 16, 8);
  b.step(StepKind::transfer, sim0, in, {x}, {s});
  b.plan.steps[0].outputs[0].spec.shape = {8};
  b.step(StepKind::transfer, sim0, out, {x}, {t});
  CHECK(says(b.plan, "writes bytes 0 to 32 of buffer 2, which step 0"));
}

TEST_CASE("hazards: memory reused while its value is alive, on one stream", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 4), s = b.scratch(cpu, 0, 4), t = b.scratch(cpu, 8, 4);
  const auto y = b.output(cpu, 4);
  b.step(StepKind::kernel, cpu, compute, {x}, {s});
  b.step(StepKind::kernel, cpu, compute, {x}, {t});
  b.step(StepKind::kernel, cpu, compute, {s, t}, {y});
  CHECK(says(b.plan, "whose memory buffer 2 took at step 1"));
  b.plan.buffers[t].offset = 16;
  b.plan.peaks[0].scratch = 32;
  CHECK(find_hazard(b.plan).empty());
}

TEST_CASE("hazards: what nothing has written", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 4), s = b.scratch(cpu, 0, 4), y = b.output(cpu, 4);
  SECTION("scratch") {
    b.step(StepKind::kernel, cpu, compute, {s}, {y});
    CHECK(says(b.plan, "step 0 (kernel on cpu compute) reads bytes 0 to 16 of buffer 1, which "
                       "nothing has written"));
  }
  SECTION("its end") {
    b.step(StepKind::kernel, cpu, compute, {x}, {s});
    b.plan.steps[0].outputs[0].spec.shape = {3};
    b.step(StepKind::kernel, cpu, compute, {s}, {y});
    CHECK(says(b.plan, "which nothing has written"));
  }
  SECTION("after it was freed") {
    b.step(StepKind::kernel, cpu, compute, {x}, {s});
    b.step(StepKind::free, cpu, compute, {s}, {});
    b.step(StepKind::kernel, cpu, compute, {s}, {y});
    CHECK(says(b.plan, "which nothing has written"));
  }
  SECTION("an output") {
    b.step(StepKind::kernel, cpu, compute, {x}, {s});
    CHECK(says(b.plan, "output 0, bytes 0 to 16 of buffer 2, is not there when all has run"));
  }
  SECTION("an output in scratch memory") {
    b.step(StepKind::kernel, cpu, compute, {x}, {s});
    b.step(StepKind::kernel, cpu, compute, {s}, {y});
    b.plan.outputs[0].buffer = s;
    CHECK(says(b.plan, "output 0 lies in scratch memory"));
  }
}

TEST_CASE("hazards: views read only what they reach", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 8), s = b.scratch(cpu, 0, 8), y = b.output(cpu, 2);
  b.step(StepKind::kernel, cpu, compute, {x}, {s});
  b.plan.steps[0].outputs[0].spec.shape = {5};
  detail::StepInput& input = b.step(StepKind::kernel, cpu, compute, {s}, {y}).inputs[0];
  input.dense = false;
  input.map.shape = {2};
  input.map.strides[0] = -3;  // elements 4 and 1
  input.map.offset = 4;
  CHECK(find_hazard(b.plan).empty());
  input.map.offset = 5;
  CHECK(says(b.plan, "reads bytes 8 to 24 of buffer 1, which nothing has written"));
  input.map.offset = 2;
  CHECK(says(b.plan, "touches"));
  input.map.offset = 8;
  CHECK(says(b.plan, "touches bytes 20 to 36 of buffer 1, which has 32"));
  input.map.offset = 0;
  input.map.strides[0] = 1;
  input.map.terms = {{0, 1}};  // a start known only to the run
  CHECK(find_hazard(b.plan).empty());
}

TEST_CASE("hazards: a step in place", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 8), s = b.scratch(cpu, 0, 8), t = b.scratch(cpu, 0, 8);
  const auto y = b.output(cpu, 8);
  b.step(StepKind::kernel, cpu, compute, {x}, {s});
  b.step(StepKind::kernel, cpu, compute, {s}, {t}).program =
      std::make_shared<const detail::Program>();
  b.step(StepKind::kernel, cpu, compute, {t}, {y});
  CHECK(find_hazard(b.plan).empty());
  const std::string over = "writes buffer 2 over buffer 1, which it still reads";
  SECTION("of a step that does not go element by element") {
    b.plan.steps[1].program = nullptr;
    CHECK(says(b.plan, over));
  }
  SECTION("read in another order") {
    b.plan.steps[1].inputs[0].dense = false;
    CHECK(says(b.plan, over));
  }
  SECTION("shifted") {
    b.plan.buffers[t].offset = 4;
    b.plan.peaks[0].scratch = 36;
    CHECK(says(b.plan, over));
  }
  SECTION("the old value is gone") {
    b.plan.steps[2].inputs[0].buffer = s;
    CHECK(says(b.plan, "whose memory buffer 2 took at step 1"));
  }
}

TEST_CASE("hazards: a Variable's new value in the place of the old one", "[hazards]") {
  PlanBuilder b;
  const auto w = b.leaf(cpu, 8), s = b.scratch(cpu, 0, 8), next = b.output(cpu, 8);
  b.plan.buffers[next].replaces = 0;
  b.step(StepKind::kernel, cpu, compute, {w}, {s});
  b.step(StepKind::kernel, cpu, compute, {w, s}, {next}).program =
      std::make_shared<const detail::Program>();
  CHECK(find_hazard(b.plan).empty());
  SECTION("the old value is read later") {
    b.step(StepKind::kernel, cpu, compute, {w}, {s});
    CHECK(says(b.plan, "reads bytes 0 to 32 of buffer 0, whose memory buffer 2 took at step 1"));
  }
  SECTION("the old value is read meanwhile") {
    b.plan.steps[0].stream = out;
    b.record(cpu, out, 0);
    b.wait(cpu, compute, 0);
    std::rotate(b.plan.steps.begin() + 1, b.plan.steps.begin() + 2, b.plan.steps.end());
    CHECK(find_hazard(b.plan).empty());
    b.plan.steps.erase(b.plan.steps.begin() + 2);
    b.plan.steps[2].inputs.pop_back();
    CHECK(says(b.plan, "writes bytes 0 to 32 of buffer 2, which step 0"));
  }
  SECTION("the old value is an output too") {
    b.plan.outputs.push_back({w, detail::IndexMap::dense({8}), f32});
    CHECK(says(b.plan, "output 1, bytes 0 to 32 of buffer 0, is not there when all has run"));
  }
  SECTION("two new values") {
    const auto another = b.output(cpu, 8);
    b.plan.buffers[another].replaces = 0;
    b.step(StepKind::kernel, cpu, compute, {s}, {another});
    CHECK(says(b.plan, "output 0, bytes 0 to 32 of buffer 2, is not there"));
    b.plan.buffers[another].replaces = -1;
    CHECK(find_hazard(b.plan).empty());
  }
  SECTION("not element by element") {
    b.plan.steps[1].program = nullptr;
    CHECK(says(b.plan, "writes buffer 2 over buffer 0, which it still reads"));
    b.plan.buffers[next].replaces = -1;
    CHECK(find_hazard(b.plan).empty());
  }
}

TEST_CASE("hazards: malformed plans", "[hazards]") {
  PlanBuilder b;
  const auto x = b.leaf(cpu, 4), s = b.scratch(sim0, 0, 4), y = b.output(cpu, 4);
  SECTION("a kernel on another device's memory") {
    b.step(StepKind::kernel, sim0, compute, {x}, {s});
    CHECK(says(b.plan, "touches buffer 0 on cpu"));
  }
  SECTION("a wait for nothing") {
    b.wait(sim0, compute, 0);
    CHECK(says(b.plan, "waits for event 0, which no earlier step records"));
  }
  SECTION("an event twice") {
    b.record(sim0, compute, 0);
    b.record(sim0, in, 0);
    CHECK(says(b.plan, "records event 0 a second time"));
  }
  SECTION("no such buffer") {
    b.step(StepKind::transfer, sim0, out, {s}, {y}).inputs[0].buffer = 9;
    CHECK(says(b.plan, "names buffer 9 of 3"));
  }
  SECTION("scratch beyond the arena") {
    b.plan.peaks[0].scratch = 12;
    CHECK(says(b.plan, "buffer 1 ends beyond the 12 bytes of sim:0's scratch memory"));
  }
  SECTION("outputs on top of each other") {
    const auto t = b.scratch(sim0, 8, 4);
    b.step(StepKind::kernel, sim0, compute, {}, {s, t});
    CHECK(says(b.plan, "has two outputs in the same memory"));
  }
}

TEST_CASE("hazards: a large plan is checked in time near its size", "[hazards]") {
  PlanBuilder b;
  constexpr std::uint32_t steps = 20000;
  std::uint32_t last = b.leaf(cpu, 4);
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint32_t next = i + 1 < steps ? b.scratch(cpu, 64 * (i % 3), 4) : b.output(cpu, 4);
    b.step(StepKind::kernel, cpu, compute, {last}, {next});
    last = next;
  }
  CHECK(find_hazard(b.plan).empty());
}
