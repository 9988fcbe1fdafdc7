// On(automatic): where work goes under given costs, what the plan says of it, and that values do
// not depend on it.
#include <weft/graph/detail/evaluator.h>
#include <weft/runtime/counters.h>
#include <weft/weft.h>

#include <sstream>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/fake_cuda.h"
#include "support/sanitized.h"

using namespace weft;
using testing::FakeCuda;

namespace {

using Floats = std::vector<float>;

/// Sets a table while it lives.
class Costs {
 public:
  explicit Costs(const CostTable& table) : before_(cost_table()) { set_cost_table(table); }
  ~Costs() { set_cost_table(before_); }
  Costs(const Costs&) = delete;
  Costs& operator=(const Costs&) = delete;

 private:
  CostTable before_;
};

/// 1 us a kernel; 1 byte, or operation, each us on the cpu and `speed` times that on sim devices.
CostTable simple_table(double speed, double link_bytes_per_us, int sims = 1) {
  sim::enable(2);
  CostTable table;
  table.cpu = {1, 1, 1, 1, 1, 1, 1};
  const DeviceCost quick{1, speed, speed, speed, speed, speed, speed};
  for (int i = 0; i < sims; ++i) table.devices.push_back({Device::sim(i), quick});
  table.host_to_device = table.device_to_host = table.device_to_device = {2, link_bytes_per_us};
  return table;
}

Tensor evaluated(Tensor x) {
  eval(x);
  return x;
}

std::string reason_of(const Plan& plan, const std::string& what) {
  for (const Step& step : plan.steps())
    if (step.what == what) return step.reason;
  return "no such step";
}

Tensor automatic_relu(const Tensor& x) {
  const On planner(automatic);
  return relu(x);
}

}  // namespace

TEST_CASE("automatic: big products go to the accelerator, small ones stay", "[placement]") {
  const testing::FakeCuda no_gpus({.gpus = 0});
  sim::enable(2);
  CostTable table;
  table.devices.push_back({Device::sim(0), table.gpu});
  const Costs costs(table);
  for (const std::int64_t n : {16, 512}) {
    const Tensor a = evaluated(rand({n, n})), b = evaluated(rand({n, n}));
    Tensor y;
    {
      const On planner(automatic);
      y = matmul(a, b);
    }
    CHECK(y.device() == (n == 16 ? Device::cpu() : Device::sim(0)));
    CHECK(allclose(y.cpu(), matmul(a, b), 1e-4, 1e-4));
  }
}

TEST_CASE("automatic: reasons give the predictions of both sides", "[placement]") {
  const testing::FakeCuda no_gpus({.gpus = 0});
  // 4 floats: read and written, 32 bytes; a move is 2 + 16 / 16 = 3 us.
  const Costs costs(simple_table(32, 16));
  const Tensor x = evaluated(tensor({1.0f, -2.0f, 3.0f, -4.0f}));
  const Plan there = make_plan({automatic_relu(x)});
  CHECK(there.steps().back().device == Device::sim(0));
  const std::string reason =
      "automatic: sim:0, est. 2.0 us + 3.0 us transfers; cpu, est. 33.0 us + 0.0 us transfers";
  CHECK(there.steps().back().reason == reason);
  std::ostringstream table, dot;
  table << there;
  write_dot(dot, there);
  CHECK(table.str().find(reason) != std::string::npos);
  CHECK(dot.str().find("est. 33.0 us") != std::string::npos);
  // Of a fused group too.
  Tensor y;
  {
    const On planner(automatic);
    y = relu(x) * 2.0f;
  }
  // Reads and writes 32 bytes in all; the 8 operations hide behind them, or add to them.
  CHECK(reason_of(make_plan({y}), "relu mul").find("; automatic: sim:0, est. ") !=
        std::string::npos);
}

TEST_CASE("automatic: a slow link keeps work where its data is", "[placement]") {
  const testing::FakeCuda no_gpus({.gpus = 0});
  // A move is 2 + 16 / 0.5 = 34 us, more than the 31 us that it saves.
  const Costs costs(simple_table(32, 0.5));
  const Tensor x = evaluated(tensor({1.0f, -2.0f, 3.0f, -4.0f}));
  const Plan plan = make_plan({automatic_relu(x)});
  CHECK(plan.count(StepKind::transfer) == 0);
  CHECK(plan.steps().back().reason ==
        "automatic: cpu, est. 33.0 us + 0.0 us transfers; sim:0, est. 2.0 us + 34.0 us transfers");
  // And data on the device keeps it there.
  const Tensor z = evaluated(x.to("sim:0"));
  CHECK(automatic_relu(z).device() == Device::sim(0));
}

TEST_CASE("automatic: simulated devices are chosen only where the table names them",
          "[placement]") {
  const testing::FakeCuda no_gpus({.gpus = 0});
  sim::enable(2);
  const Tensor x = evaluated(tensor({1.0f, -2.0f}).to("sim:1"));
  const Plan plan = make_plan({automatic_relu(x)});
  CHECK(plan.steps().back().device == Device::cpu());
  CHECK(plan.steps().back().reason.find("; there is no other device") != std::string::npos);
}

TEST_CASE("automatic: a change of costs plans again what it may concern", "[placement]") {
  const testing::FakeCuda no_gpus({.gpus = 0});
  const Tensor x = evaluated(tensor({1.0f, -2.0f, 3.0f, -4.0f}));
  const auto plans_of = [&](bool is_automatic) {
    const std::uint64_t before = counters().plans_made;
    eval(is_automatic ? automatic_relu(x) : relu(x));
    return counters().plans_made - before;
  };
  const Costs quick(simple_table(32, 16));
  plans_of(true);
  plans_of(false);
  CHECK(plans_of(true) == 0);
  {
    const Costs slow(simple_table(32, 0.5));
    CHECK(plans_of(true) == 1);
    CHECK(plans_of(true) == 0);
    CHECK(plans_of(false) == 0);
    CHECK(automatic_relu(x).device() == Device::cpu());
  }
  CHECK(automatic_relu(x).device() == Device::sim(0));
  // What the program looks at has the times of the table in force.
  const double before = make_plan({relu(x)}).steps().back().predicted_us;
  const Costs other(simple_table(1, 1));
  CHECK(make_plan({relu(x)}).steps().back().predicted_us == before);
  CostTable slower = simple_table(1, 1);
  slower.cpu.kernel_us = 101;
  const Costs later(slower);
  CHECK(make_plan({relu(x)}).steps().back().predicted_us == before + 100);
}

TEST_CASE("automatic: asking for the device runs nothing, and what it says stays", "[placement]") {
  const testing::FakeCuda no_gpus({.gpus = 0});
  const Tensor x = evaluated(tensor({1.0f, -2.0f, 3.0f, -4.0f}));
  Tensor y, other;
  {
    const Costs quick(simple_table(32, 16));
    y = automatic_relu(x);
    other = automatic_relu(x);
    CHECK(y.device() == Device::sim(0));
    CHECK(y.is_pending());
  }
  const Costs slow(simple_table(32, 0.5));
  CHECK(y.device() == Device::sim(0));
  CHECK(other.device() == Device::cpu());
  // It still mixes: asking changes no program's meaning.
  const Tensor sum = y + x;
  CHECK(sum.to_vector<float>() == Floats{2, -2, 6, -4});
  CHECK_FALSE(y.is_pending());
  CHECK(y.device() == Device::sim(0));
  CHECK(y.to_vector<float>() == Floats{1, 0, 3, 0});
}

namespace {

/// A little training with an undecided middle.
Floats train() {
  manual_seed(3);
  const Tensor x = evaluated(rand({8, 5})), target = evaluated(rand({8, 2}));
  Variable w(evaluated(rand({5, 6}))), v(evaluated(rand({6, 2})));
  for (int i = 0; i < 3; ++i) {
    Tensor loss;
    {
      const On planner(automatic);
      const auto [best, where] = topk(matmul(relu(matmul(x, w)), v), 2, 1);
      loss = mean(square(best - target + where.to(f32).sum(1, true)));
    }
    const auto [dw, dv] = grad(loss, {w, v});
    w.assign(w - 0.01f * dw);
    v -= 0.01f * dv;
  }
  Floats result = w.to_vector<float>();
  const Floats more = v.to_vector<float>();
  result.insert(result.end(), more.begin(), more.end());
  return result;
}

}  // namespace

TEST_CASE("automatic: values are the same wherever they are made", "[placement]") {
  const Floats want = train();
  for (const double speed : {0.01, 1.0, 4.0, 1000.0})
    for (const double link : {0.01, 10.0, 1e6})
      for (const int sims : {1, 2}) {
        const Costs costs(simple_table(speed, link, sims));
        const Floats got = train();
        REQUIRE(got.size() == want.size());
        for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-5));
      }
}

TEST_CASE("automatic: a value with no device yet may be assigned to a Variable", "[placement]") {
  const Costs costs(simple_table(1000, 1e6));
  Variable state(tensor({1.0f, 2.0f}));
  state.assign(automatic_relu(state + 1.0f));
  CHECK(state.device() == Device::cpu());
  CHECK(state.to_vector<float>() == Floats{2, 3});
}

TEST_CASE("automatic: a table is checked where it is set", "[placement]") {
  const auto message = [](const CostTable& table) {
    try {
      set_cost_table(table);
    } catch (const ValueError& error) {
      CHECK(std::string(error.file()) == __FILE__);
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CostTable table;
  table.cpu.bytes_per_us = 0;
  CHECK(message(table).find("cpu's bytes_per_us is 0") != std::string::npos);
  table = {};
  table.gpu.kernel_us = -1;
  CHECK(message(table).find("at least 0") != std::string::npos);
  table = {};
  table.host_to_device.bytes_per_us = std::numeric_limits<double>::quiet_NaN();
  CHECK(message(table).find("host_to_device's bytes_per_us") != std::string::npos);
  table = {};
  table.devices = {{Device::sim(0), table.gpu}, {Device::sim(0), table.cpu}};
  CHECK(message(table).find("sim:0 has two rows") != std::string::npos);
  table = {};
  table.links = {{Device::cpu(), Device::cpu(), {1, 1}}};
  CHECK(message(table).find("leads nowhere") != std::string::npos);
  table = {};
  table.devices = {{Device(DeviceKind::automatic, 0), table.gpu}};
  CHECK(message(table).find("no device") != std::string::npos);
  CHECK(cost_table() == CostTable{});
}

TEST_CASE("automatic: a GPU takes big work and leaves the small", "[placement][cuda]") {
  const FakeCuda gpu;
  const Tensor a = evaluated(rand({256, 256})), small = evaluated(rand({4, 4}));
  Tensor big_product, small_product;
  {
    const On planner(automatic);
    big_product = relu(matmul(a, a));
    small_product = relu(matmul(small, small));
  }
  const Plan plan = make_plan({big_product});
  CHECK(reason_of(plan, "matmul").find("automatic: cuda:0, est. ") == 0);
  CHECK(reason_of(plan, "relu").find("automatic: cuda:0, est. ") == 0);
  CHECK(big_product.device() == Device::cuda(0));
  CHECK(small_product.device() == Device::cpu());
  CHECK(allclose(big_product.cpu(), relu(matmul(a, a)), 1e-4, 1e-4));
}

TEST_CASE("automatic: of several GPUs the one that has the data", "[placement][cuda]") {
  const FakeCuda gpus({.gpus = 3});
  const Tensor a = evaluated(rand({128, 128}));
  const Tensor there = evaluated(a.to("cuda:2"));
  CHECK(automatic_relu(there).device() == Device::cuda(2));
}

TEST_CASE("automatic: costs can be measured", "[placement]") {
  const CostTable table = measure_costs();
  CHECK(table.cpu.kernel_us > 0);
  const double least = test::scaled(100, 5);
  CHECK(table.cpu.bytes_per_us > least);
  CHECK(table.cpu.flops_per_us > least);
  CHECK(table.cpu.product_f32 > least);
  const Costs costs(table);
  CHECK(automatic_relu(tensor({1.0f, -1.0f})).to_vector<float>() == Floats{1, 0});
}
