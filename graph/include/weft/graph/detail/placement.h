// The problem of placement, apart from graphs: which device each op runs on, at the least sum of
// predicted times.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weft::detail {

/// Devices are numbers, here "labels"; the first `choices` of them may be chosen, the others hold
/// fixed vertices only. Of a placement the cost is
///   Σ over vertices of kernel(v, label of v)
/// + Σ over values u, and over the labels B ≠ label of u that at least one reader of u has, of
///   move(u, label of u, B):
/// a value moves once to each device that reads it.
struct PlacementProblem {
  static constexpr std::uint8_t undecided = 0xff;
  static constexpr std::size_t most_labels = 0xfe;

  std::uint32_t labels = 0, choices = 0;
  /// By vertex, sources before their readers: its label, or undecided.
  std::vector<std::uint8_t> fixed;
  /// By vertex and choice, in microseconds; 0 for fixed ones.
  std::vector<double> kernel;

  struct Value {
    std::uint32_t source;
    std::uint32_t first_reader, reader_count;  // in `readers`, each vertex at most once
    double bytes;                              // what a move copies
    /// The value would not touch memory, if its readers were where it is made: then a move also
    /// costs a write, a read and one more kernel.
    bool is_fused;
  };
  std::vector<Value> values;  // by ascending source
  std::vector<std::uint32_t> readers;

  // By label, and by pair of labels (from * labels + to).
  std::vector<double> kernel_us, us_per_byte;
  std::vector<double> latency_us, link_us_per_byte;

  std::size_t size() const noexcept { return fixed.size(); }
  double move(const Value& value, std::uint32_t from, std::uint32_t to) const noexcept {
    const double copy =
        latency_us[from * labels + to] + value.bytes * link_us_per_byte[from * labels + to];
    if (!value.is_fused) return copy;
    return copy + kernel_us[to] + value.bytes * (us_per_byte[from] + us_per_byte[to]);
  }
  std::span<const std::uint32_t> readers_of(const Value& value) const noexcept {
    return {readers.data() + value.first_reader, value.reader_count};
  }
  /// Of a placement of all vertices.
  double cost(std::span<const std::uint8_t> placement) const;
};

/// A label for each vertex. With two choices the cost is the least there is, in each connected
/// region of at most `window` undecided vertices; so it is, with any number of choices and of
/// vertices, where each undecided vertex and each value has at most one undecided reader (chains,
/// trees towards a root). Elsewhere pieces of a region, of a quarter of `window` where it is larger
/// than that, have been bettered in a few rounds between two labels at a time, and the cost is at
/// most that of the best single device for each region. Equal problems have equal answers. Time
/// grows with the vertices, and at most with the square of `window`.
std::vector<std::uint8_t> solve_placement(const PlacementProblem& problem,
                                          std::uint32_t window = 1024);

}  // namespace weft::detail
