// Bettering a placement between two labels at a time, which is a minimum cut (Greig, Porteous and
// Seheult, 1989): vertices on the sink's side have the lower label. A value with several readers is
// moved once: a node of its own, which follows any one of them to the other side, has the price of
// the move on its edge.
#include <algorithm>
#include <cmath>

#include "min_cut.h"
#include "placement_index.h"

namespace weft::detail {

namespace {

constexpr int most_rounds = 4;
constexpr double least_gain = 1e-6;  // microseconds

using Label = std::uint32_t;
using Placement = std::vector<std::uint8_t>;

class Refiner {
 public:
  Refiner(const PlacementProblem& problem, const PlacementIndex& index, std::uint32_t window,
          Placement& placement)
      : p_(problem), index_(index), window_(std::max(window, 1u)), placement_(placement),
        counts_(problem.values.size() * problem.labels, 0) {}

  void run() {
    count_readers();
    for (std::uint32_t r = 0; r < index_.regions().size(); ++r)
      if (!index_.is_forest(r)) refine(index_.regions()[r]);
  }

 private:
  double kernel(std::uint32_t v, Label label) const {
    return p_.kernel[std::size_t(v) * p_.choices + label];
  }

  void count_readers() {
    for (std::size_t i = 0; i < p_.values.size(); ++i)
      for (const std::uint32_t reader : p_.readers_of(p_.values[i]))
        ++counts_[i * p_.labels + placement_[reader]];
    slot_.assign(p_.values.size(), ~0u);
    node_.assign(p_.size(), 0);
  }

  void refine(const std::vector<std::uint32_t>& region) {
    const bool whole = region.size() <= window_;
    // A cut takes time by the square of its depth at worst: long regions in shorter pieces.
    const std::size_t window = whole ? window_ : std::max<std::size_t>(1, window_ / 4);
    const int rounds = whole && p_.choices == 2 ? 1 : most_rounds;
    for (int round = 0; round < rounds; ++round) {
      bool better = false;
      // Every other round the windows lie across the borders of those before.
      const std::size_t shift = whole || round % 2 == 0 ? 0 : window / 2;
      for (std::size_t begin = 0; begin < region.size();) {
        const std::size_t end =
            std::min<std::size_t>(region.size(), begin == 0 && shift ? shift : begin + window);
        for (Label a = 0; a < p_.choices; ++a)
          for (Label b = a + 1; b < p_.choices; ++b)
            better |= cut({region.data() + begin, end - begin}, a, b);
        begin = end;
      }
      if (!better) return;
    }
  }

  struct Touched {
    std::uint32_t value;
    std::vector<std::uint32_t> readers;  // of the window, that have one of the two labels
  };

  /// The best labels, a or b, of those of the vertices that have one of them; all else stays.
  bool cut(std::span<const std::uint32_t> vertices, Label a, Label b) {
    movable_.clear();
    touched_.clear();
    network_.clear();
    for (const std::uint32_t v : vertices) {
      if (placement_[v] != a && placement_[v] != b) continue;
      movable_.push_back(v);
      node_[v] = network_.add_node();
    }
    if (movable_.empty()) return false;
    for (const std::uint32_t v : movable_) {
      for (const std::uint32_t i : index_.read_by(v)) touch(i).readers.push_back(v);
      for (std::uint32_t i = index_.first_made(v); i < index_.first_made(v + 1); ++i) touch(i);
    }
    const double before = cost_here();
    double bound = 0;
    for (const std::uint32_t v : movable_) bound += std::min(kernel(v, a), kernel(v, b));
    if (before <= bound + least_gain) {
      forget();
      return false;
    }
    for (const std::uint32_t v : movable_) prefer(v, kernel(v, a), kernel(v, b));
    for (const Touched& touched : touched_) add_value(touched, a, b);
    const std::vector<bool>& is_b = network_.solve();
    old_.clear();
    for (const std::uint32_t v : movable_) {
      old_.push_back(placement_[v]);
      set(v, is_b[node_[v]] ? b : a);
    }
    const bool better = cost_here() < before - least_gain;
    if (!better)
      for (std::size_t i = 0; i < movable_.size(); ++i) set(movable_[i], old_[i]);
    forget();
    return better;
  }

  void forget() {
    for (const Touched& touched : touched_) slot_[touched.value] = ~0u;
    for (const std::uint32_t v : movable_) node_[v] = 0;
  }

  Touched& touch(std::uint32_t value) {
    if (slot_[value] == ~0u) {
      slot_[value] = static_cast<std::uint32_t>(touched_.size());
      touched_.push_back({value, {}});
    }
    return touched_[slot_[value]];
  }

  void set(std::uint32_t v, Label label) {
    for (const std::uint32_t i : index_.read_by(v)) {
      --counts_[i * std::size_t(p_.labels) + placement_[v]];
      ++counts_[i * std::size_t(p_.labels) + label];
    }
    placement_[v] = static_cast<std::uint8_t>(label);
  }

  double cost_here() const {
    double sum = 0;
    for (const std::uint32_t v : movable_) sum += kernel(v, placement_[v]);
    for (const Touched& touched : touched_) {
      const auto& value = p_.values[touched.value];
      const Label from = placement_[value.source];
      for (Label to = 0; to < p_.labels; ++to)
        if (to != from && counts_[touched.value * std::size_t(p_.labels) + to])
          sum += p_.move(value, from, to);
    }
    return sum;
  }

  static std::int64_t capacity(double us) {
    // 15 picoseconds each; sums stay below 2^63.
    return static_cast<std::int64_t>(std::min(std::round(us * 65536), 0x1p51));
  }

  /// What a vertex pays if it is at a (the sink's side), or at b (the source's).
  void prefer(std::uint32_t v, double at_a, double at_b) {
    network_.add_edge(MinCut::source, node_[v], capacity(std::max(at_a - at_b, 0.0)));
    network_.add_edge(node_[v], MinCut::sink, capacity(std::max(at_b - at_a, 0.0)));
  }

  /// How many readers of the value have this label and keep it.
  std::uint32_t staying(const Touched& touched, Label label) const {
    std::uint32_t count = counts_[touched.value * std::size_t(p_.labels) + label];
    for (const std::uint32_t reader : touched.readers) count -= placement_[reader] == label;
    return count;
  }

  void add_value(const Touched& touched, Label a, Label b) {
    const auto& value = p_.values[touched.value];
    const std::uint32_t u = value.source;
    const bool goes_along = node_[u] != 0;
    const bool stay_a = staying(touched, a) != 0, stay_b = staying(touched, b) != 0;
    if (!goes_along) {
      const Label from = placement_[u];
      if (from != a && !stay_a) any_at_a(touched.readers, MinCut::source, p_.move(value, from, a));
      if (from != b && !stay_b) any_at_b(touched.readers, MinCut::sink, p_.move(value, from, b));
      return;
    }
    double at_a = stay_b ? p_.move(value, a, b) : 0, at_b = stay_a ? p_.move(value, b, a) : 0;
    for (Label to = 0; to < p_.labels; ++to) {
      if (to == a || to == b || !counts_[touched.value * std::size_t(p_.labels) + to]) continue;
      at_a += p_.move(value, a, to);
      at_b += p_.move(value, b, to);
    }
    prefer(u, at_a, at_b);
    if (!stay_a) any_at_a(touched.readers, node_[u], p_.move(value, b, a));
    if (!stay_b) any_at_b(touched.readers, node_[u], p_.move(value, a, b));
  }

  /// A price to pay where the maker is on the source's side and a reader on the sink's.
  void any_at_a(const std::vector<std::uint32_t>& readers, MinCut::Node maker, double us) {
    if (readers.empty()) return;
    if (readers.size() == 1) return network_.add_edge(maker, node_[readers[0]], capacity(us));
    const MinCut::Node some = network_.add_node();
    network_.add_edge(maker, some, capacity(us));
    for (const std::uint32_t reader : readers)
      network_.add_edge(some, node_[reader], MinCut::unlimited);
  }

  /// Where the maker is on the sink's side and a reader on the source's.
  void any_at_b(const std::vector<std::uint32_t>& readers, MinCut::Node maker, double us) {
    if (readers.empty()) return;
    if (readers.size() == 1) return network_.add_edge(node_[readers[0]], maker, capacity(us));
    const MinCut::Node some = network_.add_node();
    network_.add_edge(some, maker, capacity(us));
    for (const std::uint32_t reader : readers)
      network_.add_edge(node_[reader], some, MinCut::unlimited);
  }

  const PlacementProblem& p_;
  const PlacementIndex& index_;
  const std::uint32_t window_;
  Placement& placement_;
  std::vector<std::uint32_t> counts_;  // readers by value and label
  // Of the cut at hand.
  MinCut network_;
  std::vector<std::uint32_t> movable_, slot_;
  std::vector<MinCut::Node> node_;
  std::vector<Touched> touched_;
  std::vector<std::uint8_t> old_;
};

}  // namespace

void refine_placement(const PlacementProblem& problem, const PlacementIndex& index,
                      std::uint32_t window, std::vector<std::uint8_t>& placement) {
  Refiner(problem, index, window, placement).run();
}

}  // namespace weft::detail
