// The structure of a placement problem: who reads what, and which parts are apart.
#include "placement_index.h"

#include <algorithm>

namespace weft::detail {

namespace {
constexpr std::uint8_t undecided = PlacementProblem::undecided;
}

PlacementIndex::PlacementIndex(const PlacementProblem& problem) : p_(problem) {
  index_values();
  find_regions();
}

void PlacementIndex::index_values() {
  read_begin_.assign(p_.size() + 1, 0);
  made_begin_.assign(p_.size() + 1, 0);
  for (const std::uint32_t reader : p_.readers) ++read_begin_[reader + 1];
  for (const auto& value : p_.values) ++made_begin_[value.source + 1];
  for (std::size_t v = 0; v < p_.size(); ++v) {
    read_begin_[v + 1] += read_begin_[v];
    made_begin_[v + 1] += made_begin_[v];
  }
  read_.resize(p_.readers.size());
  std::vector<std::uint32_t> next(read_begin_.begin(), read_begin_.end() - 1);
  for (std::uint32_t i = 0; i < p_.values.size(); ++i)
    for (const std::uint32_t reader : p_.readers_of(p_.values[i])) read_[next[reader]++] = i;
}

std::uint32_t PlacementIndex::find(std::uint32_t v) {
  while (region_of_[v] != v) v = region_of_[v] = region_of_[region_of_[v]];
  return v;
}

void PlacementIndex::find_regions() {
  const auto n = static_cast<std::uint32_t>(p_.size());
  region_of_.resize(n);
  for (std::uint32_t v = 0; v < n; ++v) region_of_[v] = v;
  for (const auto& value : p_.values) {
    std::uint32_t first = ~0u;
    const auto join = [&](std::uint32_t v) {
      if (p_.fixed[v] != undecided) return;
      if (first == ~0u) first = find(v);
      const std::uint32_t a = find(first), b = find(v);
      region_of_[std::max(a, b)] = std::min(a, b);
    };
    join(value.source);
    for (const std::uint32_t reader : p_.readers_of(value)) join(reader);
  }
  std::vector<std::uint32_t> number(n, ~0u);
  for (std::uint32_t v = 0; v < n; ++v) {
    const std::uint32_t root = find(v);
    if (p_.fixed[v] != undecided) continue;
    if (number[root] == ~0u) {
      number[root] = static_cast<std::uint32_t>(regions_.size());
      regions_.emplace_back();
    }
    regions_[number[root]].push_back(v);
  }
  for (std::uint32_t r = 0; r < regions_.size(); ++r)
    for (const std::uint32_t v : regions_[r]) region_of_[v] = r;
  find_forests();
}

void PlacementIndex::find_forests() {
  is_forest_.assign(regions_.size(), true);
  undecided_readers_.assign(p_.size(), 0);
  for (const auto& value : p_.values) {
    std::uint32_t mine = 0, last = 0;
    for (const std::uint32_t reader : p_.readers_of(value))
      if (p_.fixed[reader] == undecided) ++mine, last = reader;
    undecided_readers_[value.source] += mine;
    if (mine > 1) is_forest_[region_of_[last]] = false;
  }
  for (std::uint32_t v = 0; v < p_.size(); ++v)
    if (p_.fixed[v] == undecided && undecided_readers_[v] > 1) is_forest_[region_of_[v]] = false;
}

}  // namespace weft::detail
