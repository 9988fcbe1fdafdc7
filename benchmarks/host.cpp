// What the host pays beside the kernels: recording, finding a plan again, making one. Medians.
//   host [--json] [--quick]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <weft/weft.h>

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

struct Row {
  std::string name;
  double value;
  const char* unit;
  double target;  // 0: none
};

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double measure(int repeats, const std::function<double()>& once) {
  std::vector<double> values;
  once();
  for (int i = 0; i < repeats; ++i) values.push_back(once());
  return median(std::move(values));
}

// ---- recording: a node's record and its end, in chains that are dropped unevaluated

template <class Step>
double record_ns(int repeats, int nodes_a_step, Step step) {
  constexpr int steps = 1000;
  return measure(repeats, [&] {
    const Tensor start = ones({4});
    const auto begin = Clock::now();
    {
      Tensor x = start;
      for (int i = 0; i < steps; ++i) x = step(x);
    }
    return ns_since(begin) / (steps * nodes_a_step);
  });
}

// ---- plans

Tensor chain(const Tensor& start, int nodes) {
  Tensor x = start;
  for (int i = 0; i < nodes; ++i) x = x + start;
  return x;
}

/// The calling thread's time in eval, the plan being there: capture, look-up, bind, submit,
/// publish. The kernels run on the device's thread, and are waited for outside.
double hit_ns(int repeats, int nodes) {
  const Tensor start = tensor({1.0f});
  return measure(repeats, [&] {
    const Tensor x = chain(start, nodes);
    const auto begin = Clock::now();
    eval(x);
    const double took = ns_since(begin);
    x.wait();
    return took;
  });
}

/// Capture, all passes and scheduling of a program that was not seen before.
double cold_us(int repeats, int nodes) {
  static std::int64_t extent = 1;
  return measure(repeats,
                 [&] {
                   const Tensor start = zeros({++extent});
                   Tensor x = chain(start, nodes);
                   const auto begin = Clock::now();
                   const Plan plan = make_plan(x);
                   return ns_since(begin);
                 }) /
         1000 / nodes;
}

std::vector<Row> run_all(bool quick) {
  set_pending_limits({std::size_t{1} << 40, std::size_t{1} << 60});
  const int many = quick ? 51 : 301;
  std::vector<Row> rows;
  const Tensor other = ones({4});
  rows.push_back(
      {"record unary", record_ns(many, 1, [](const Tensor& x) { return exp(x); }), "ns/node", 100});
  rows.push_back({"record binary", record_ns(many, 1, [&](const Tensor& x) { return x + other; }),
                  "ns/node", 100});
  rows.push_back({"record with a number (2 nodes)",
                  record_ns(many, 2, [](const Tensor& x) { return x + 1.5f; }), "ns/node", 100});
  for (const int nodes : {1, 10, 100, 1000}) {
    const double ns = hit_ns(many, nodes);
    rows.push_back(
        {"plan hit, " + std::to_string(nodes) + " nodes", ns / 1000, "us", 4 + 0.06 * nodes});
  }
  std::vector<int> sizes{100, 1000, 10'000, 100'000};
  if (!quick) sizes.push_back(1'000'000);
  for (const int nodes : sizes)
    rows.push_back({"cold plan, " + std::to_string(nodes) + " nodes",
                    cold_us(nodes >= 100'000 ? 1 : 11, nodes), "us/node", 10});
  return rows;
}

void print(const std::vector<Row>& rows, bool json) {
  if (json) {
    std::puts("[");
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::printf("  {\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\", \"target\": %.4g}%s\n",
                  rows[i].name.c_str(), rows[i].value, rows[i].unit, rows[i].target,
                  i + 1 < rows.size() ? "," : "");
    std::puts("]");
    return;
  }
  std::printf("%-34s %12s  %-8s %9s\n", "what", "median", "unit", "target");
  for (const Row& row : rows)
    std::printf("%-34s %12.3f  %-8s %9.1f%s\n", row.name.c_str(), row.value, row.unit, row.target,
                row.value > row.target ? "  missed" : "");
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false, quick = false;
  for (int i = 1; i < argc; ++i) {
    json = json || std::strcmp(argv[i], "--json") == 0;
    quick = quick || std::strcmp(argv[i], "--quick") == 0;
  }
  try {
    print(run_all(quick), json);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "host: %s\n", error.what());
    return 1;
  }
}
