// The problem of placement alone: optima by hand, and all placements tried out.
#include <weft/graph/detail/placement.h>

#include <random>
#include <vector>

#include "support/catch.h"

using weft::detail::PlacementProblem;
using weft::detail::solve_placement;

namespace {

using Placement = std::vector<std::uint8_t>;
constexpr std::uint8_t open = PlacementProblem::undecided;

/// Vertices with their costs by label, and values with their readers.
struct Problem : PlacementProblem {
  explicit Problem(std::uint32_t all, std::uint32_t may = 0) {
    labels = all;
    choices = may ? may : all;
    kernel_us.assign(labels, 0);
    us_per_byte.assign(labels, 0);
    latency_us.assign(labels * labels, 0);
    link_us_per_byte.assign(labels * labels, 1);
    for (std::uint32_t a = 0; a < labels; ++a) link_us_per_byte[a * labels + a] = 0;
  }
  std::uint32_t add(std::vector<double> costs) {
    fixed.push_back(open);
    kernel.insert(kernel.end(), costs.begin(), costs.end());
    return static_cast<std::uint32_t>(fixed.size() - 1);
  }
  std::uint32_t add_fixed(std::uint8_t label) {
    fixed.push_back(label);
    kernel.resize(kernel.size() + choices, 0);
    return static_cast<std::uint32_t>(fixed.size() - 1);
  }
  /// Moving it costs `us`.
  void read(std::uint32_t source, std::vector<std::uint32_t> by, double us) {
    values.push_back({source, static_cast<std::uint32_t>(readers.size()),
                      static_cast<std::uint32_t>(by.size()), us, false});
    readers.insert(readers.end(), by.begin(), by.end());
  }
};

/// The least cost of all placements.
double least_cost(const PlacementProblem& problem) {
  std::vector<std::uint32_t> free;
  for (std::uint32_t v = 0; v < problem.size(); ++v)
    if (problem.fixed[v] == open) free.push_back(v);
  Placement placement = problem.fixed;
  std::size_t count = 1;
  for (std::size_t i = 0; i < free.size(); ++i) count *= problem.choices;
  double least = 1e300;
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t rest = n;
    for (const std::uint32_t v : free) {
      placement[v] = static_cast<std::uint8_t>(rest % problem.choices);
      rest /= problem.choices;
    }
    least = std::min(least, problem.cost(placement));
  }
  return least;
}

struct Shape {
  std::uint32_t labels = 2, choices = 2, vertices = 10;
  std::uint32_t most_inputs = 3;
  bool is_tree = false;
  bool is_fused = true;
};

Problem random_problem(const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Problem problem(shape.labels, shape.choices);
  for (std::uint32_t i = 0; i < shape.labels * shape.labels; ++i)
    if (problem.link_us_per_byte[i] != 0) {
      problem.link_us_per_byte[i] = 1 + below(3);
      problem.latency_us[i] = below(4);
    }
  for (std::uint32_t i = 0; i < shape.labels; ++i) {
    problem.kernel_us[i] = below(3);
    problem.us_per_byte[i] = below(2);
  }
  const std::uint32_t leaves = 1 + below(4);
  for (std::uint32_t i = 0; i < leaves; ++i)
    problem.add_fixed(static_cast<std::uint8_t>(below(shape.labels)));
  for (std::uint32_t i = 0; i < shape.vertices; ++i) {
    std::vector<double> costs;
    for (std::uint32_t d = 0; d < shape.choices; ++d) costs.push_back(below(30));
    problem.add(costs);
  }
  const std::uint32_t ends = 1 + below(2);
  for (std::uint32_t i = 0; i < ends; ++i)
    problem.add_fixed(static_cast<std::uint8_t>(below(shape.labels)));
  const auto n = static_cast<std::uint32_t>(problem.size());
  std::vector<std::vector<std::uint32_t>> read_by(n);
  for (std::uint32_t v = leaves; v < n; ++v) {
    const std::uint32_t inputs = 1 + below(shape.most_inputs);
    for (std::uint32_t i = 0; i < inputs; ++i) {
      const std::uint32_t u = below(std::min(v, n - ends));
      // In a tree all that has been read stays unread, but by fixed ones.
      if (shape.is_tree && v < n - ends && !read_by[u].empty()) continue;
      if (read_by[u].empty() || read_by[u].back() != v) read_by[u].push_back(v);
    }
  }
  for (std::uint32_t u = 0; u < n; ++u) {
    if (read_by[u].empty()) continue;
    problem.read(u, read_by[u], 1 + below(12));
    problem.values.back().is_fused = shape.is_fused && below(2) == 0;
  }
  return problem;
}

}  // namespace

TEST_CASE("placement: a transfer may cost more than it gains", "[placement]") {
  // One op on data of device 0: 10 us there, 1 us on device 1.
  for (const double move : {8.0, 10.0}) {
    Problem problem(2);
    const auto x = problem.add_fixed(0), y = problem.add({10, 1});
    problem.read(x, {y}, move);
    const Placement placement = solve_placement(problem);
    CHECK(placement == Placement{0, static_cast<std::uint8_t>(move < 9 ? 1 : 0)});
    CHECK(problem.cost(placement) == (move < 9 ? 9 : 10));
  }
}

TEST_CASE("placement: equal costs stay on the first device", "[placement]") {
  Problem problem(2);
  const auto x = problem.add_fixed(0), y = problem.add({9, 1});
  problem.read(x, {y}, 8);
  CHECK(solve_placement(problem) == Placement{0, 0});
}

TEST_CASE("placement: a chain does not go back and forth", "[placement]") {
  // Every other op is a little quicker on device 1, by less than the moves.
  Problem problem(2);
  auto last = problem.add_fixed(0);
  for (int i = 0; i < 8; ++i) {
    const auto next = problem.add(i % 2 ? std::vector<double>{4, 3} : std::vector<double>{3, 4});
    problem.read(last, {next}, 2);
    last = next;
  }
  CHECK(solve_placement(problem) == Placement(9, 0));
  // A long quick part in the middle is worth one journey: 1 + 8 * 1 + 2 * 2 < 8 * 3.
  Problem journey(2);
  last = journey.add_fixed(0);
  for (int i = 0; i < 8; ++i) {
    const auto next = journey.add({3, 1});
    journey.read(last, {next}, 2);
    last = next;
  }
  const auto end = journey.add_fixed(0);
  journey.read(last, {end}, 2);
  CHECK(solve_placement(journey) == Placement{0, 1, 1, 1, 1, 1, 1, 1, 1, 0});
}

TEST_CASE("placement: a value moves once for all its readers", "[placement]") {
  // Each of three readers would save 4 us; the move costs 10: worth it for three, not for two.
  for (const std::uint32_t readers : {2u, 3u}) {
    Problem problem(2);
    const auto x = problem.add_fixed(0);
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < readers; ++i) all.push_back(problem.add({5, 1}));
    problem.read(x, all, 10);
    Placement expected(1 + readers, readers == 3 ? 1 : 0);
    expected[0] = 0;
    CHECK(solve_placement(problem) == expected);
  }
  // One that has to be there pays for the others.
  Problem problem(2);
  const auto x = problem.add_fixed(0), y = problem.add({5, 1}), z = problem.add_fixed(1);
  problem.read(x, {y, z}, 10);
  CHECK(solve_placement(problem) == Placement{0, 1, 1});
}

TEST_CASE("placement: fixed devices that may not be chosen", "[placement]") {
  Problem problem(3, 2);
  const auto x = problem.add_fixed(2), y = problem.add({1, 2}), z = problem.add_fixed(2);
  problem.read(x, {y}, 1);
  problem.read(y, {z}, 1);
  const Placement placement = solve_placement(problem);
  CHECK(placement == Placement{2, 0, 2});
  CHECK(problem.cost(placement) == 3);
}

TEST_CASE("placement: leaving a fused kernel costs a write, a read and a kernel", "[placement]") {
  Problem problem(2);
  problem.kernel_us = {1, 3};
  problem.us_per_byte = {2, 0.5};
  problem.latency_us = {0, 7, 7, 0};
  const auto x = problem.add({1, 1});
  const auto y = problem.add({1, 1});
  problem.read(x, {y}, 10);
  problem.values[0].is_fused = true;
  CHECK(problem.move(problem.values[0], 0, 1) == 7 + 10 + 3 + 25);
  CHECK(problem.move(problem.values[0], 1, 0) == 7 + 10 + 1 + 25);
}

TEST_CASE("placement: two devices get the best there is", "[placement]") {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    INFO("seed " << seed);
    const Shape shape{.labels = 2 + std::uint32_t(seed % 2),
                      .vertices = 1 + std::uint32_t(seed % 10),
                      .most_inputs = 1 + std::uint32_t(seed % 4)};
    const Problem problem = random_problem(shape, seed);
    CHECK(problem.cost(solve_placement(problem)) == Approx(least_cost(problem)).margin(1e-3));
  }
}

TEST_CASE("placement: trees get the best there is on any number of devices", "[placement]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const std::uint32_t devices = 2 + seed % 3;
    const Problem problem = random_problem({.labels = devices,
                                            .choices = devices,
                                            .vertices = 1 + std::uint32_t(seed % 7),
                                            .is_tree = true},
                                           seed);
    // Windows of one vertex, so that programming alone finds it.
    CHECK(problem.cost(solve_placement(problem, 1)) == Approx(least_cost(problem)).margin(1e-3));
  }
}

TEST_CASE("placement: three devices come within a tenth of the best", "[placement]") {
  double sum = 0, best = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    INFO("seed " << seed);
    const Problem problem =
        random_problem({.labels = 3, .choices = 3, .vertices = 1 + std::uint32_t(seed % 9)}, seed);
    const double found = problem.cost(solve_placement(problem)), least = least_cost(problem);
    CHECK(found >= least - 1e-3);
    CHECK(found <= 1.1 * least + 1e-3);
    sum += found;
    best += least;
  }
  CHECK(sum <= 1.005 * best);
}

TEST_CASE("placement: never worse than one device, whatever the size", "[placement]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::uint32_t devices = 2 + seed % 3;
    const Problem problem =
        random_problem({.labels = devices, .choices = devices, .vertices = 3000}, seed);
    for (const std::uint32_t window : {64u, 1024u}) {
      const Placement placement = solve_placement(problem, window);
      CHECK(placement == solve_placement(problem, window));
      for (std::uint32_t d = 0; d < devices; ++d) {
        Placement uniform = problem.fixed;
        for (std::uint8_t& label : uniform)
          if (label == open) label = static_cast<std::uint8_t>(d);
        CHECK(problem.cost(placement) <= problem.cost(uniform) + 1e-3);
      }
    }
  }
}
