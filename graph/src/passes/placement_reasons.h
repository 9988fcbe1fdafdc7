// Why a placement is as it is, in words.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <weft/graph/detail/placement.h>

namespace weft::detail {

/// One reason for each piece: the vertices of a group that have the same label. It compares the
/// piece where it is with the best of the other places, all else being as it is.
class PlacementReasons {
 public:
  /// `groups` gives each vertex the first vertex of its group; `names` are those of the choices.
  PlacementReasons(const PlacementProblem& problem, std::span<const std::uint8_t> placement,
                   std::span<const std::uint32_t> groups, std::vector<std::string> names);
  /// The first vertex of the piece.
  std::uint32_t piece_of(std::uint32_t vertex) const { return piece_of_[vertex]; }
  /// What the vertex's piece says: its label, the best other one or itself, and of each in turn
  /// kernels and moves in microseconds. Many pieces say the same.
  using Figures = std::array<double, 6>;
  Figures figures(std::uint32_t vertex) const;
  std::string text(const Figures& figures) const;

 private:
  void find_pieces(std::span<const std::uint32_t> groups);
  void add_moves(const PlacementProblem::Value& value);

  const PlacementProblem& problem_;
  std::span<const std::uint8_t> placement_;
  std::vector<std::string> names_;
  std::vector<std::uint32_t> piece_of_;
  std::vector<double> kernels_, moves_;    // by piece and choice, in microseconds
  std::vector<std::uint32_t> readers_in_;  // of the value at hand, by piece
  std::vector<std::uint32_t> readers_at_;  // by label
};

}  // namespace weft::detail
