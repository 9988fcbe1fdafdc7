// Choosing devices: dynamic programming over the graph, then minimum cuts between pairs of devices.
#include <algorithm>

#include <weft/graph/detail/placement.h>
#include <weft/graph/error.h>

#include "placement_index.h"

namespace weft::detail {

namespace {

constexpr std::uint8_t undecided = PlacementProblem::undecided;
constexpr double least_gain = 1e-6;  // microseconds

using Label = std::uint32_t;
using Placement = std::vector<std::uint8_t>;

/// The best single device of each region, or what dynamic programming finds.
class Starter {
 public:
  Starter(const PlacementProblem& problem, const PlacementIndex& index)
      : p_(problem), index_(index), seen_(256, 0) {}

  Placement run() {
    find_fixed_labels();
    choose_starts();
    return std::move(placement_);
  }

 private:
  std::size_t region_of_value(const PlacementProblem::Value& value) const {
    if (p_.fixed[value.source] == undecided) return index_.region_of(value.source);
    for (const std::uint32_t reader : p_.readers_of(value))
      if (p_.fixed[reader] == undecided) return index_.region_of(reader);
    return index_.regions().size();  // between fixed ones: the same whatever is chosen
  }

  double kernel(std::uint32_t v, Label label) const {
    return p_.kernel[std::size_t(v) * p_.choices + label];
  }

  void choose_starts() {
    placement_.assign(p_.fixed.begin(), p_.fixed.end());
    std::vector<double> least(index_.regions().size(), 0);
    for (Label label = 0; label < p_.choices; ++label)
      keep_better(std::vector<std::uint8_t>(p_.size(), static_cast<std::uint8_t>(label)), least,
                  label == 0);
    if (p_.choices > 1) keep_better(by_programming(), least, false);
  }

  void keep_better(Placement candidate, std::vector<double>& least, bool first) {
    for (std::size_t v = 0; v < p_.size(); ++v)
      if (p_.fixed[v] != undecided) candidate[v] = p_.fixed[v];
    std::vector<double> costs(index_.regions().size() + 1, 0);
    for (std::uint32_t v = 0; v < p_.size(); ++v)
      if (p_.fixed[v] == undecided) costs[index_.region_of(v)] += kernel(v, candidate[v]);
    for (const auto& value : p_.values) costs[region_of_value(value)] += moves(value, candidate);
    for (std::size_t r = 0; r < index_.regions().size(); ++r) {
      if (!first && costs[r] >= least[r] - least_gain) continue;
      least[r] = costs[r];
      for (const std::uint32_t v : index_.regions()[r]) placement_[v] = candidate[v];
    }
  }

  double moves(const PlacementProblem::Value& value, const Placement& placement) {
    const Label from = placement[value.source];
    new_labels();
    double sum = 0;
    for (const std::uint32_t reader : p_.readers_of(value)) {
      const Label to = placement[reader];
      if (to != from && note(to)) sum += p_.move(value, from, to);
    }
    return sum;
  }

  void new_labels() { ++stamp_; }
  bool note(Label label) {
    const bool is_new = seen_[label] != stamp_;
    seen_[label] = stamp_;
    return is_new;
  }
  bool noted(Label label) const { return seen_[label] == stamp_; }

  /// Least cost of what leads up to each vertex, by its label; then labels from the ends backwards.
  /// Exact in forests; where a value has several readers, each bears its part of what made it.
  Placement by_programming() {
    const Label k = p_.choices;
    std::vector<double> best(p_.size() * k, 0);
    for (std::uint32_t v = 0; v < p_.size(); ++v) {
      if (p_.fixed[v] != undecided) continue;
      for (Label d = 0; d < k; ++d) best[v * std::size_t(k) + d] = kernel(v, d);
      for (const std::uint32_t i : index_.read_by(v))
        add_input(p_.values[i], &best[v * std::size_t(k)], best);
      add_fixed_readers(v, &best[v * std::size_t(k)]);
    }
    Placement placement(p_.fixed.begin(), p_.fixed.end());
    for (auto v = static_cast<std::uint32_t>(p_.size()); v-- > 0;)
      if (p_.fixed[v] == undecided) placement[v] = choose(v, &best[v * std::size_t(k)], placement);
    return placement;
  }

  void add_input(const PlacementProblem::Value& value, double* mine,
                 const std::vector<double>& best) {
    note_fixed_readers(value);
    const auto paid = [&](Label from, Label to) {
      return from == to || noted(to) ? 0 : p_.move(value, from, to);
    };
    const std::uint32_t u = value.source;
    const Label k = p_.choices;
    if (p_.fixed[u] != undecided) {
      for (Label d = 0; d < k; ++d) mine[d] += paid(p_.fixed[u], d);
      return;
    }
    const double share = 1.0 / index_.undecided_readers(u);
    for (Label d = 0; d < k; ++d) {
      double least = std::numeric_limits<double>::infinity();
      for (Label from = 0; from < k; ++from)
        least = std::min(least, share * best[u * std::size_t(k) + from] + paid(from, d));
      mine[d] += least;
    }
  }

  void note_fixed_readers(const PlacementProblem::Value& value) {
    new_labels();
    const auto i = static_cast<std::size_t>(&value - p_.values.data());
    for (std::uint32_t f = fixed_begin_[i]; f < fixed_begin_[i + 1]; ++f) note(fixed_labels_[f]);
  }

  /// Labels of fixed readers, once for each value: it may have very many readers.
  void find_fixed_labels() {
    for (const auto& value : p_.values) {
      fixed_begin_.push_back(static_cast<std::uint32_t>(fixed_labels_.size()));
      new_labels();
      for (const std::uint32_t reader : p_.readers_of(value))
        if (p_.fixed[reader] != undecided && note(p_.fixed[reader]))
          fixed_labels_.push_back(p_.fixed[reader]);
    }
    fixed_begin_.push_back(static_cast<std::uint32_t>(fixed_labels_.size()));
  }

  void add_fixed_readers(std::uint32_t v, double* mine) {
    for (std::uint32_t i = index_.first_made(v); i < index_.first_made(v + 1); ++i) {
      new_labels();
      for (const std::uint32_t reader : p_.readers_of(p_.values[i])) {
        const Label to = p_.fixed[reader];
        if (to == undecided || !note(to)) continue;
        for (Label d = 0; d < p_.choices; ++d)
          if (d != to) mine[d] += p_.move(p_.values[i], d, to);
      }
    }
  }

  /// Its readers have been placed.
  std::uint8_t choose(std::uint32_t v, const double* best, const Placement& placement) {
    Label chosen = 0;
    double least = std::numeric_limits<double>::infinity();
    for (Label d = 0; d < p_.choices; ++d) {
      double cost = best[d];
      for (std::uint32_t i = index_.first_made(v); i < index_.first_made(v + 1); ++i) {
        const auto& value = p_.values[i];
        note_fixed_readers(value);
        for (const std::uint32_t reader : p_.readers_of(value)) {
          const Label to = placement[reader];
          if (p_.fixed[reader] == undecided && to != d && note(to)) cost += p_.move(value, d, to);
        }
      }
      if (cost < least - least_gain) {
        least = cost;
        chosen = d;
      }
    }
    return static_cast<std::uint8_t>(chosen);
  }

  const PlacementProblem& p_;
  const PlacementIndex& index_;
  Placement placement_;
  std::vector<std::uint8_t> fixed_labels_;
  std::vector<std::uint32_t> fixed_begin_;  // by value
  std::vector<std::uint32_t> seen_;         // by label: the last stamp it was noted under
  std::uint32_t stamp_ = 0;
};

}  // namespace

double PlacementProblem::cost(std::span<const std::uint8_t> placement) const {
  double sum = 0;
  for (std::size_t v = 0; v < size(); ++v)
    if (fixed[v] == undecided) sum += kernel[v * choices + placement[v]];
  std::vector<std::uint8_t> there;
  for (const Value& value : values) {
    there.clear();
    for (const std::uint32_t reader : readers_of(value)) {
      const std::uint8_t to = placement[reader];
      if (to == placement[value.source] || std::find(there.begin(), there.end(), to) != there.end())
        continue;
      there.push_back(to);
      sum += move(value, placement[value.source], to);
    }
  }
  return sum;
}

std::vector<std::uint8_t> solve_placement(const PlacementProblem& problem, std::uint32_t window) {
  WEFT_ENSURE(problem.labels <= PlacementProblem::most_labels &&
              problem.choices <= problem.labels && problem.choices > 0);
  WEFT_ENSURE(std::is_sorted(problem.values.begin(), problem.values.end(),
                             [](const auto& a, const auto& b) { return a.source < b.source; }));
  const PlacementIndex index(problem);
  Placement placement = Starter(problem, index).run();
  if (problem.choices > 1) refine_placement(problem, index, window, placement);
  return placement;
}

}  // namespace weft::detail
