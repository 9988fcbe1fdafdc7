// Why a placement is as it is, in words.
#include "placement_reasons.h"

#include <charconv>
#include <unordered_map>

namespace weft::detail {

PlacementReasons::PlacementReasons(const PlacementProblem& problem,
                                   std::span<const std::uint8_t> placement,
                                   std::span<const std::uint32_t> groups,
                                   std::vector<std::string> names)
    : problem_(problem), placement_(placement), names_(std::move(names)) {
  find_pieces(groups);
  kernels_.assign(problem.size() * problem.choices, 0);
  moves_.assign(problem.size() * problem.choices, 0);
  for (std::uint32_t v = 0; v < problem.size(); ++v)
    for (std::uint32_t d = 0; d < problem.choices; ++d)
      kernels_[std::size_t(piece_of_[v]) * problem.choices + d] +=
          problem.kernel[std::size_t(v) * problem.choices + d];
  readers_in_.assign(problem.size(), 0);
  readers_at_.assign(problem.labels, 0);
  for (const PlacementProblem::Value& value : problem.values) add_moves(value);
}

void PlacementReasons::find_pieces(std::span<const std::uint32_t> groups) {
  std::unordered_map<std::uint64_t, std::uint32_t> first;
  for (std::uint32_t v = 0; v < problem_.size(); ++v)
    piece_of_.push_back(
        first.try_emplace(std::uint64_t(groups[v]) << 8 | placement_[v], v).first->second);
}

/// What moving the value would cost each piece that makes or reads it, were the piece elsewhere.
void PlacementReasons::add_moves(const PlacementProblem::Value& value) {
  const std::uint32_t k = problem_.choices, maker = piece_of_[value.source];
  const std::uint8_t from = placement_[value.source];
  for (const std::uint32_t reader : problem_.readers_of(value)) {
    ++readers_in_[piece_of_[reader]];
    ++readers_at_[placement_[reader]];
  }
  if (problem_.fixed[value.source] == PlacementProblem::undecided)
    for (std::uint32_t to = 0; to < problem_.labels; ++to) {
      const std::uint32_t own = to == from ? readers_in_[maker] : 0;
      if (readers_at_[to] == own) continue;
      for (std::uint32_t d = 0; d < k; ++d)
        if (d != to) moves_[std::size_t(maker) * k + d] += problem_.move(value, d, to);
    }
  for (const std::uint32_t reader : problem_.readers_of(value)) {
    const std::uint32_t piece = piece_of_[reader];
    std::uint32_t& own = readers_in_[piece];
    if (own != 0 && piece != maker && problem_.fixed[reader] == PlacementProblem::undecided)
      for (std::uint32_t d = 0; d < k; ++d) {
        const bool there = readers_at_[d] > (d == placement_[reader] ? own : 0);
        if (d != from && !there)
          moves_[std::size_t(piece) * k + d] += problem_.move(value, from, d);
      }
    own = 0;
  }
  for (const std::uint32_t reader : problem_.readers_of(value)) readers_at_[placement_[reader]] = 0;
}

PlacementReasons::Figures PlacementReasons::figures(std::uint32_t vertex) const {
  const std::size_t row = std::size_t(piece_of_[vertex]) * problem_.choices;
  const std::uint32_t here = placement_[vertex];
  const auto sum = [&](std::uint32_t d) { return kernels_[row + d] + moves_[row + d]; };
  std::uint32_t other = here;
  for (std::uint32_t d = 0; d < problem_.choices; ++d)
    if (d != here && (other == here || sum(d) < sum(other))) other = d;
  return {double(here),       double(other),         kernels_[row + here],
          moves_[row + here], kernels_[row + other], moves_[row + other]};
}

std::string PlacementReasons::text(const Figures& figures) const {
  std::string text = "automatic: ";
  const auto add_number = [&](double us) {
    char digits[400];
    text.append(digits,
                std::to_chars(digits, digits + sizeof digits, us, std::chars_format::fixed, 1).ptr);
  };
  const auto add_estimate = [&](double label, double kernels, double moves) {
    text += names_[static_cast<std::size_t>(label)] + ", est. ";
    add_number(kernels);
    text += " us + ";
    add_number(moves);
    text += " us transfers";
  };
  add_estimate(figures[0], figures[2], figures[3]);
  if (figures[0] == figures[1]) return text + "; there is no other device";
  text += "; ";
  add_estimate(figures[1], figures[4], figures[5]);
  return text;
}

}  // namespace weft::detail
