// What solving a placement asks of the problem's structure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <weft/graph/detail/placement.h>

namespace weft::detail {

class PlacementIndex {
 public:
  explicit PlacementIndex(const PlacementProblem& problem);
  /// Values that a vertex reads, by number.
  std::span<const std::uint32_t> read_by(std::uint32_t v) const {
    return {read_.data() + read_begin_[v], read_begin_[v + 1] - read_begin_[v]};
  }
  /// The values that it makes are those from `first_made(v)` up to `first_made(v + 1)`.
  std::uint32_t first_made(std::uint32_t v) const { return made_begin_[v]; }
  /// Edges to undecided readers.
  std::uint32_t undecided_readers(std::uint32_t v) const { return undecided_readers_[v]; }

  /// The undecided vertices, in regions that do not bear on each other: no value is made and read,
  /// or read, in two of them. In order within each.
  const std::vector<std::vector<std::uint32_t>>& regions() const { return regions_; }
  std::uint32_t region_of(std::uint32_t undecided) const { return region_of_[undecided]; }
  /// No vertex and no value has two undecided readers.
  bool is_forest(std::uint32_t region) const { return is_forest_[region]; }

 private:
  void index_values();
  void find_regions();
  void find_forests();
  std::uint32_t find(std::uint32_t v);

  const PlacementProblem& p_;
  std::vector<std::uint32_t> read_begin_, read_, made_begin_;
  std::vector<std::uint32_t> region_of_, undecided_readers_;
  std::vector<std::vector<std::uint32_t>> regions_;
  std::vector<bool> is_forest_;
};

/// Lowers the cost of a placement by minimum cuts between two labels at a time, over windows of the
/// regions that are no forests.
void refine_placement(const PlacementProblem& problem, const PlacementIndex& index,
                      std::uint32_t window, std::vector<std::uint8_t>& placement);

}  // namespace weft::detail
