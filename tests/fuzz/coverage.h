// What the programs must have tried: every op in every dtype in every role beside fused work.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <weft/graph/detail/ir.h>

#include "support/op_table.h"

namespace weft::fuzz {

/// Of a point-wise op its place in the group: fed by leaves or from outside it, between two of its
/// members, feeding what is outside it, or without another. Of another op whether point-wise work
/// feeds it, or it feeds point-wise work.
enum class Role : std::uint8_t { first, inner, last, alone, feeds, fed };
const char* name_of(Role role) noexcept;

struct Cell {
  detail::OpId op;
  DType dtype;
  Role role;
  friend auto operator<=>(const Cell&, const Cell&) = default;
};

/// All that must be tried, in a fixed order.
const std::vector<Cell>& all_cells();

class RoleCoverage {
 public:
  /// Counts the point-wise ops of a planned graph.
  void count_groups(const detail::Graph& planned);
  /// Counts the other ops, as they were recorded.
  void count_recorded(const detail::Graph& captured);
  /// A line for each op: times each dtype was tried in each role.
  std::string table() const;
  /// "" or the cells that no program tried.
  std::string missing() const;

 private:
  std::map<Cell, std::uint64_t> times_;
};

}  // namespace weft::fuzz
