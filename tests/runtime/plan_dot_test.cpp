// Pictures of plans: devices and streams as clusters, moves bold once with their bytes, events
// dashed, names of the program escaped.
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "engine.h"
#include "frozen_plans.h"
#include "graph/dot_reader.h"
#include "support/catch.h"

using namespace weft;
using testing::DotArrow;
using testing::DotNode;
using testing::DotPicture;

namespace {

std::string text_of(const Plan& plan) {
  std::ostringstream out;
  write_dot(out, plan);
  return out.str();
}

Plan by_hand(const test::PlanBuilder& builder) {
  auto bound = std::make_shared<detail::BoundPlan>();
  bound->plan = builder.share();
  return Plan(bound);
}

bool starts_with(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

std::size_t count_kind(const DotPicture& picture, char kind) {
  std::size_t count = 0;
  for (const auto& [id, node] : picture.nodes) count += id[0] == kind;
  return count;
}

const DotArrow* find_edge(const DotPicture& picture, const std::string& from,
                          const std::string& to) {
  for (const DotArrow& edge : picture.edges)
    if (edge.from == from && edge.to == to) return &edge;
  return nullptr;
}

}  // namespace

TEST_CASE("plan picture: leaves, steps, outputs on one device") {
  const Tensor x = ones({8, 4}), w = ones({4, 2});
  eval(x, w);
  const Tensor y = relu(matmul(x, w) + 1) * 2;
  const Plan plan = make_plan({y});
  const DotPicture picture(text_of(plan));
  REQUIRE(picture.clusters.size() == 2);
  CHECK(starts_with(picture.clusters[0][0], "cpu\npeak " + std::to_string(plan.peak_bytes())));
  CHECK(picture.clusters[1][1] == "compute\n");
  CHECK(count_kind(picture, 's') == plan.steps().size());
  CHECK(count_kind(picture, 'l') == 2);
  CHECK(count_kind(picture, 'o') == 1);
  CHECK(picture.named("f32[8,4]\nplan_dot_test.cpp:").size() == 1);
  CHECK(picture.named("add f32[8,2]\nrelu f32[8,2]\nmul f32[8,2]\n").size() == 1);
  const auto product = picture.named("matmul f32[8,2]\n");
  REQUIRE(product.size() == 1);
  CHECK(picture.nodes.at(product[0]).clusters.size() == 2);
  CHECK(picture.nodes.at(product[0]).label().find("plan_dot_test.cpp:") != std::string::npos);
  CHECK(picture.edges.size() == 4);
  CHECK(picture.bold_edges() + picture.dashed_edges() == 0);
  // Leaves, steps and outputs are told apart by their shapes.
  CHECK(picture.nodes.at("o0").attributes.at("shape") == "ellipse");
  CHECK(picture.nodes.at(picture.named("leaf ")[0]).attributes.at("shape") == "cylinder");
  CHECK(picture.nodes.at(product[0]).attributes.at("shape") == "box");
}

TEST_CASE("plan picture: scopes are named, whatever their names are") {
  const Tensor x = ones({8});
  eval(x);
  Tensor y;
  {
    const Scope outer("en\"coder");
    const Scope inner("a\\N\n<b>&amp;\xff");
    y = exp(x);
  }
  const Tensor z = y * 2;
  const DotPicture picture(text_of(make_plan({z})));
  CHECK(picture.named("en\"coder/a\\N\\n<b>&amp;\\xff\n").size() == 1);
  const std::string svg = testing::drawn(text_of(make_plan({z})));
  if (svg.empty() && testing::may_lack_graphviz()) return;
  CHECK(svg.find("<svg") != std::string::npos);
  CHECK(svg.find("<b>") == std::string::npos);
}

TEST_CASE("plan table: what the program named reaches no terminal as it is") {
  const Tensor x = ones({8});
  eval(x);
  Tensor y;
  {
    const Scope scope("a\n\x1b[31mX");
    y = exp(x);
  }
  std::ostringstream table;
  table << make_plan({y});
  CHECK(table.str().find("a\\x0a\\x1b[31mX: exp") != std::string::npos);
  CHECK(table.str().find('\x1b') == std::string::npos);
}

TEST_CASE("plan picture: each transfer is one bold edge across devices") {
  sim::enable(2);
  const Tensor x = ones({16, 8}), w = ones({8, 4});
  eval(x, w);
  Tensor hidden, y;
  {
    const On there("sim:0");
    hidden = relu(matmul(x, w));
  }
  {
    const On there("sim:1");
    y = exp(hidden) + sum(hidden, 1, keepdim);
  }
  const Tensor back = y.cpu() - 1;
  const Plan plan = make_plan({back});
  const DotPicture picture(text_of(plan));
  std::vector<std::string> bytes;
  for (const DotArrow& edge : picture.edges) {
    if (!edge.is_bold()) continue;
    bytes.push_back(edge.label());
    const DotNode& from = picture.nodes.at(edge.from);
    const DotNode& to = picture.nodes.at(edge.to);
    CHECK(from.clusters[0] != to.clusters[0]);
  }
  std::sort(bytes.begin(), bytes.end());
  CHECK(bytes == std::vector<std::string>{"128 bytes", "256 bytes", "256 bytes", "512 bytes"});
  CHECK(picture.bold_edges() == plan.count(StepKind::transfer));
  // A node for each step but events, and dashed edges for these.
  const std::size_t events = plan.count(StepKind::record) + plan.count(StepKind::wait);
  CHECK(count_kind(picture, 's') == plan.steps().size() - events);
  CHECK(picture.dashed_edges() == plan.count(StepKind::wait));
  CHECK(picture.named("event").empty());
  for (const DotArrow& edge : picture.edges)
    if (edge.is_dashed()) {
      CHECK(starts_with(edge.label(), "event "));
      CHECK(picture.nodes.at(edge.from).clusters != picture.nodes.at(edge.to).clusters);
    }
  std::size_t devices = 0;
  for (const auto& cluster : picture.clusters) devices += cluster.size() == 1;
  CHECK(devices == 3);
  const std::string svg = testing::drawn(text_of(plan));
  if (!svg.empty()) CHECK(svg.find("sim:1") != std::string::npos);
}

TEST_CASE("plan picture: an upload is bold too") {
  sim::enable(1);
  const Tensor x = tensor({1.0, 2.0, 3.0}, {.device = "sim:0"});
  const Plan plan = make_plan({x * 2});
  const DotPicture picture(text_of(plan));
  REQUIRE(plan.count(StepKind::upload) == 1);
  REQUIRE(picture.bold_edges() == 1);
  for (const DotArrow& edge : picture.edges)
    if (edge.is_bold()) CHECK(edge.label() == "12 bytes");
}

TEST_CASE("plan picture: what an output is") {
  Variable w = variable(ones({4}));
  const Tensor x = ones({4});
  eval(w, x);
  w = w * 2;
  const Tensor part = x.reshape({2, 2});
  const Plan plan = make_plan({w, part});
  const DotPicture picture(text_of(plan));
  CHECK(picture.named("a Variable's new value\nf32[4]\nin place\n").size() == 1);
  const auto result = picture.named("result\nf32[2,2]\n");
  REQUIRE(result.size() == 1);
  const auto view = picture.named("reshape");
  REQUIRE(view.size() == 1);
  CHECK(find_edge(picture, view[0], result[0]) != nullptr);
}

TEST_CASE("plan picture: plans made by hand") {
  const Device cpu, sim0 = Device::sim(0);
  test::PlanBuilder b;
  const auto x = b.leaf(cpu, 8), there = b.scratch(sim0, 0, 8), y = b.scratch(sim0, 64, 8);
  const auto back = b.output(cpu, 8);
  b.step(StepKind::transfer, sim0, StreamKind::host_to_device, {x}, {there}).bytes = 32;
  b.record(sim0, StreamKind::host_to_device, 0);
  b.wait(sim0, StreamKind::compute, 0);
  b.step(StepKind::kernel, sim0, StreamKind::compute, {there, there}, {y});
  b.record(sim0, StreamKind::compute, 1);
  b.wait(sim0, StreamKind::device_to_host, 1);
  b.step(StepKind::transfer, sim0, StreamKind::device_to_host, {y}, {back}).bytes = 32;
  b.plan.steps.back().reason = "because \"so\"";
  const DotPicture picture(text_of(by_hand(b)));
  CHECK(count_kind(picture, 's') == 3);
  CHECK(find_edge(picture, "l0", "s0")->is_bold());
  CHECK(find_edge(picture, "s6", "a6")->is_bold());
  CHECK(find_edge(picture, "a6", "o0") != nullptr);
  CHECK(picture.nodes.at("a6").clusters == std::vector<std::string>{"cpu\n"});
  CHECK(picture.nodes.at("s6").attributes.at("tooltip") == "because \"so\"");
  REQUIRE(picture.bold_edges() == 2);
  REQUIRE(picture.dashed_edges() == 2);
  // Read twice, drawn once; the dashed edges stand beside those of the data.
  CHECK(picture.edges.size() == 2 + 2 + 3);
  CHECK(picture.clusters.size() == 5);
}

TEST_CASE("plan picture: an empty plan, and a long one") {
  test::PlanBuilder none;
  CHECK(DotPicture(text_of(by_hand(none))).nodes.empty());
  const Device cpu;
  test::PlanBuilder chain;
  std::uint32_t last = chain.leaf(cpu, 4);
  constexpr std::size_t n = 100000;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t next = chain.scratch(cpu, 0, 4);
    chain.step(StepKind::kernel, cpu, StreamKind::compute, {last}, {next});
    last = next;
  }
  const DotPicture picture(text_of(by_hand(chain)));
  CHECK(picture.nodes.size() == n + 1);
  CHECK(picture.edges.size() == n);
}
