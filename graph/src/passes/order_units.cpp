// The order of groups and of the vertices outside them.
#include <algorithm>
#include <queue>

#include "fuse_groups.h"

namespace weft::detail {

namespace {
constexpr VertexId none = ~VertexId{0};
}  // namespace

std::vector<VertexId> order_units(const Graph& old, const Groups& groups) {
  const auto first_group = static_cast<VertexId>(old.size());
  const std::size_t n = old.size() + groups.members.size();
  std::vector<std::uint32_t> waiting(n, 0);
  std::vector<std::uint32_t> begin(n + 1, 0);
  const auto for_each_link = [&](auto&& visit) {
    for (VertexId v = 0; v < old.size(); ++v)
      for (const InEdge& edge : old.inputs(v)) {
        const VertexId from = unit_of(groups, edge.source.vertex), to = unit_of(groups, v);
        if (from != to) visit(from, to);
      }
  };
  for_each_link([&](VertexId from, VertexId to) {
    ++begin[from + 1];
    ++waiting[to];
  });
  for (std::size_t i = 0; i < n; ++i) begin[i + 1] += begin[i];
  std::vector<VertexId> readers(begin[n]), next(begin.begin(), begin.end() - 1);
  for_each_link([&](VertexId from, VertexId to) { readers[next[from]++] = to; });

  const auto assigns = [&](VertexId unit) {
    const std::vector<VertexId>& members = groups.members[unit - first_group];
    return std::any_of(members.begin(), members.end(),
                       [&](VertexId v) { return old.vertices[v].assigns; });
  };
  // Assignments come when nothing else is left, so that all who read the old value have done so
  // and it can be written in place.
  const auto place = [&](VertexId unit) {
    const bool group = unit >= first_group;
    const VertexId last = group ? groups.members[unit - first_group].back() : unit;
    return last + (group && assigns(unit) ? old.size() : 0);
  };
  using Entry = std::pair<std::size_t, VertexId>;  // place, unit
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<VertexId> order;
  for (VertexId v = 0; v < old.size(); ++v)
    if (groups.of[v] == none && waiting[v] == 0) ready.emplace(v, v);
  for (std::size_t g = 0; g < groups.members.size(); ++g) {
    const auto unit = static_cast<VertexId>(old.size() + g);
    if (waiting[unit] == 0) ready.emplace(place(unit), unit);
  }
  while (!ready.empty()) {
    const VertexId unit = ready.top().second;
    ready.pop();
    order.push_back(unit);
    for (std::uint32_t i = begin[unit]; i < begin[unit + 1]; ++i)
      if (--waiting[readers[i]] == 0) ready.emplace(place(readers[i]), readers[i]);
  }
  const std::size_t units =
      groups.members.size() +
      static_cast<std::size_t>(std::count(groups.of.begin(), groups.of.end(), none));
  WEFT_ENSURE(order.size() == units);  // else a group was not convex
  return order;
}

}  // namespace weft::detail
