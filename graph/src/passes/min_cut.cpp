// Minimum cuts by Boost.Graph's algorithm of Boykov and Kolmogorov (PAMI 26, 2004).
#include "min_cut.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>

namespace weft::detail {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;

struct NodeState {
  boost::default_color_type color{};
  long distance = 0;
  Traits::edge_descriptor predecessor{};
};
struct EdgeState {
  std::int64_t capacity = 0, residual = 0;
  Traits::edge_descriptor reverse{};
};
using Network =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, NodeState, EdgeState>;

}  // namespace

void MinCut::clear() {
  node_count_ = 2;
  edges_.clear();
}

void MinCut::add_edge(Node from, Node to, std::int64_t capacity) {
  if (capacity > 0) edges_.push_back({from, to, capacity});
}

const std::vector<bool>& MinCut::solve() {
  Network network(node_count_);
  for (const Edge& edge : edges_) {
    const auto there = boost::add_edge(edge.from, edge.to, network).first;
    const auto back = boost::add_edge(edge.to, edge.from, network).first;
    network[there].capacity = edge.capacity;
    network[there].reverse = back;
    network[back].reverse = there;
  }
  boost::boykov_kolmogorov_max_flow(
      network, boost::get(&EdgeState::capacity, network), boost::get(&EdgeState::residual, network),
      boost::get(&EdgeState::reverse, network), boost::get(&NodeState::predecessor, network),
      boost::get(&NodeState::color, network), boost::get(&NodeState::distance, network),
      boost::get(boost::vertex_index, network), Traits::vertex_descriptor{source},
      Traits::vertex_descriptor{sink});
  source_side_.assign(node_count_, false);
  for (Node node = 0; node < node_count_; ++node)
    source_side_[node] = network[node].color == boost::black_color;
  return source_side_;
}

}  // namespace weft::detail
