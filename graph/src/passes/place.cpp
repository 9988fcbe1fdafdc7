// Placement: every vertex gets a device. Those of On(automatic) go where the sum of predicted times
// is least, and say why.
//
// Predictions: a structured op streams what it reads and writes, or computes, whichever takes
// longer, and costs one kernel. Point-wise ops of one shape that read one another are taken for one
// kernel where they share a device: what passes between them costs nothing, unless it crosses to
// another device. (The fuser may form other groups: views, and steps that lie between, are its own
// concern.) A wanted value stays where it is made; a number is at home everywhere.
#include <algorithm>
#include <map>

#include <weft/graph/detail/passes.h>
#include <weft/graph/detail/placement.h>

#include "placement_reasons.h"

namespace weft::detail {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

bool is_undecided(const Vertex& v) noexcept { return v.device.kind() == DeviceKind::automatic; }
bool is_argument(const Vertex& v) noexcept { return info(v.op).is_leaf() && v.leaf < 0; }

class Placer {
 public:
  Placer(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  void run() {
    number_vertices();
    number_devices();
    find_groups();
    add_values();
    add_kernels();
    const std::vector<std::uint8_t> placement = solve_placement(problem_);
    const PlacementReasons reasons(problem_, placement, group_of_, device_names());
    std::vector<std::uint32_t> numbers(problem_.size(), none);
    std::map<PlacementReasons::Figures, std::uint32_t> said;
    for (std::uint32_t i = 0; i < problem_.size(); ++i) {
      if (problem_.fixed[i] != PlacementProblem::undecided) continue;
      Vertex& vertex = graph_.vertices[vertices_[i]];
      vertex.device = devices_[placement[i]];
      vertex.chosen = true;
      std::uint32_t& number = numbers[reasons.piece_of(i)];
      if (number == none) {
        const auto figures = reasons.figures(i);
        const auto [it, added] = said.try_emplace(figures, none);
        if (added) it->second = graph_.add_reason(reasons.text(figures));
        number = it->second;
      }
      vertex.reason = number;
    }
  }

 private:
  // ---- what takes part: undecided vertices, what they read, and who reads them

  void number_vertices() {
    std::vector<bool> takes_part(graph_.size(), false);
    for (VertexId v = 0; v < graph_.size(); ++v) {
      const bool undecided = is_undecided(graph_.vertices[v]);
      if (undecided) takes_part[v] = true;
      for (const InEdge& edge : graph_.inputs(v)) {
        const Vertex& source = graph_.vertices[edge.source.vertex];
        if (is_argument(source) || !(undecided || is_undecided(source))) continue;
        takes_part[v] = takes_part[edge.source.vertex] = true;
      }
    }
    number_.assign(graph_.size(), none);
    for (VertexId v = 0; v < graph_.size(); ++v) {
      if (!takes_part[v]) continue;
      number_[v] = static_cast<std::uint32_t>(vertices_.size());
      vertices_.push_back(v);
    }
  }

  bool takes_part(const InEdge& edge, VertexId reader) const {
    const Vertex& source = graph_.vertices[edge.source.vertex];
    return !is_argument(source) && (is_undecided(source) || is_undecided(graph_.vertices[reader]));
  }

  void number_devices() {
    std::vector<Device> touched;
    for (const VertexId v : vertices_) {
      const Device device = graph_.vertices[v].device;
      if (device.kind() == DeviceKind::automatic) continue;
      if (std::find(touched.begin(), touched.end(), device) == touched.end())
        touched.push_back(device);
    }
    for (const Device device : context_.candidates)
      if (!has_better(device, touched)) devices_.push_back(device);
    if (devices_.empty()) devices_.push_back(Device::cpu());
    problem_.choices = static_cast<std::uint32_t>(devices_.size());
    for (const Device device : touched)
      if (std::find(devices_.begin(), devices_.end(), device) == devices_.end())
        devices_.push_back(device);
    WEFT_ENSURE(devices_.size() <= PlacementProblem::most_labels);
    problem_.labels = static_cast<std::uint32_t>(devices_.size());
    add_device_costs();
    problem_.fixed.assign(vertices_.size(), PlacementProblem::undecided);
    for (std::size_t i = 0; i < vertices_.size(); ++i)
      if (!is_undecided(graph_.vertices[vertices_[i]]))
        problem_.fixed[i] = label_of(graph_.vertices[vertices_[i]].device);
  }

  /// Of equal devices one that holds none of the data is no better than another: one that does, or
  /// the first.
  bool has_better(Device device, const std::vector<Device>& touched) const {
    if (!context_.costs.links.empty() || device.is_cpu()) return false;
    if (std::find(touched.begin(), touched.end(), device) != touched.end()) return false;
    const auto equals = [&](Device other) {
      return other.kind() == device.kind() && context_.costs.of(other) == context_.costs.of(device);
    };
    const auto end = std::find(context_.candidates.begin(), context_.candidates.end(), device);
    if (std::any_of(context_.candidates.begin(), end, equals)) return true;
    return std::any_of(end, context_.candidates.end(), [&](Device other) {
      return equals(other) && std::find(touched.begin(), touched.end(), other) != touched.end();
    });
  }

  std::uint8_t label_of(Device device) const {
    return static_cast<std::uint8_t>(std::find(devices_.begin(), devices_.end(), device) -
                                     devices_.begin());
  }

  void add_device_costs() {
    for (const Device from : devices_) {
      const DeviceCost& cost = context_.costs.of(from);
      problem_.kernel_us.push_back(cost.kernel_us);
      problem_.us_per_byte.push_back(1 / cost.bytes_per_us);
      for (const Device to : devices_) {
        const LinkCost& link = context_.costs.between(from, to);
        problem_.latency_us.push_back(from == to ? 0 : link.latency_us);
        problem_.link_us_per_byte.push_back(from == to ? 0 : 1 / link.bytes_per_us);
      }
    }
  }

  std::vector<std::string> device_names() const {
    std::vector<std::string> names;
    for (std::uint32_t label = 0; label < problem_.choices; ++label)
      names.push_back(devices_[label].str());
    return names;
  }

  // ---- groups of point-wise work

  bool fusible(const InEdge& edge, VertexId reader) const {
    const Vertex& c = graph_.vertices[reader];
    const Vertex& s = graph_.vertices[edge.source.vertex];
    return context_.options.fuse && info(c.op).is_pointwise() && info(s.op).is_pointwise() &&
           edge.map == identity_map && s.shape == c.shape;
  }

  std::uint32_t find(std::uint32_t i) {
    while (group_of_[i] != i) i = group_of_[i] = group_of_[group_of_[i]];
    return i;
  }

  void find_groups() {
    group_of_.resize(vertices_.size());
    for (std::uint32_t i = 0; i < vertices_.size(); ++i) group_of_[i] = i;
    for (const VertexId v : vertices_)
      for (const InEdge& edge : graph_.inputs(v)) {
        if (!takes_part(edge, v) || !fusible(edge, v)) continue;
        const std::uint32_t a = find(number_[edge.source.vertex]), b = find(number_[v]);
        group_of_[std::max(a, b)] = std::min(a, b);
      }
    for (std::uint32_t i = 0; i < vertices_.size(); ++i) group_of_[i] = find(i);
  }

  // ---- values that may have to move

  static double bytes_of(const Spec& spec) {
    return static_cast<double>(spec.shape.numel()) * static_cast<double>(size_of(spec.dtype));
  }
  /// What this edge reads of its source, each element once.
  double bytes_read(const InEdge& edge) const {
    const Spec spec = graph_.spec(edge.source);
    const double all = bytes_of(spec);
    if (edge.map == identity_map) return all;
    return std::min(all, bytes_of({graph_.maps[edge.map].shape, spec.dtype}));
  }

  void add_values() {
    PerValue<std::uint32_t> value_of(graph_, none);
    std::vector<std::uint32_t> last_reader;
    for (const VertexId v : vertices_)
      for (const InEdge& edge : graph_.inputs(v))
        if (takes_part(edge, v)) value_of[edge.source] = 0;
    for (const VertexId v : vertices_)
      for (std::uint32_t o = 0; o < graph_.vertices[v].output_count; ++o)
        if (std::uint32_t& value = value_of[Value{v, o}]; value != none) {
          value = static_cast<std::uint32_t>(problem_.values.size());
          problem_.values.push_back({number_[v], 0, 0, 0, false});
        }
    const auto for_each_reader = [&](auto&& visit) {
      last_reader.assign(problem_.values.size(), none);
      for (const VertexId v : vertices_)
        for (const InEdge& edge : graph_.inputs(v)) {
          if (!takes_part(edge, v)) continue;
          const std::uint32_t i = value_of[edge.source];
          const bool first = last_reader[i] != v;
          last_reader[i] = v;
          visit(problem_.values[i], edge, v, first);
        }
    };
    for_each_reader(
        [&](PlacementProblem::Value& value, const InEdge& edge, VertexId v, bool first) {
          value.reader_count += first;
          value.bytes = std::max(value.bytes, bytes_read(edge));
          value.is_fused = value.is_fused || fusible(edge, v);
        });
    std::uint32_t begin = 0;
    for (PlacementProblem::Value& value : problem_.values) {
      value.first_reader = begin;
      begin += value.reader_count;
      value.reader_count = 0;
    }
    problem_.readers.resize(begin);
    for_each_reader([&](PlacementProblem::Value& value, const InEdge&, VertexId v, bool first) {
      if (first) problem_.readers[value.first_reader + value.reader_count++] = number_[v];
    });
  }

  // ---- kernels

  struct Work {
    double kernels = 0, bytes = 0, flops = 0;
    bool is_product = false;
  };

  void add_kernels() {
    find_leaving();
    std::vector<std::uint32_t> members(vertices_.size(), 0);
    PerValue<std::uint32_t> read_in(graph_, none);
    problem_.kernel.assign(vertices_.size() * problem_.choices, 0);
    for (std::uint32_t i = 0; i < vertices_.size(); ++i) {
      const Vertex& vertex = graph_.vertices[vertices_[i]];
      const std::uint32_t place = members[group_of_[i]]++;
      if (!is_undecided(vertex)) continue;
      const bool is_pointwise = info(vertex.op).is_pointwise();
      Work work = is_pointwise ? pointwise_work(i, read_in) : structured_work(vertices_[i]);
      // A group larger than one kernel holds is several.
      if (is_pointwise) work.kernels = place % context_.options.most_group_ops == 0;
      for (std::uint32_t label = 0; label < problem_.choices; ++label) {
        const DeviceCost& cost = context_.costs.of(devices_[label]);
        const double rate =
            work.is_product ? cost.product_flops_per_us(vertex.dtype) : cost.flops_per_us;
        problem_.kernel[std::size_t(i) * problem_.choices + label] =
            work.kernels * cost.kernel_us +
            std::max(work.bytes / cost.bytes_per_us, work.flops / rate);
      }
    }
  }

  /// Values that are written to memory wherever their readers are.
  void find_leaving() {
    leaves_.assign(graph_.size(), true);
    for (const VertexId v : vertices_)
      for (const InEdge& edge : graph_.inputs(v))
        if (fusible(edge, v)) leaves_[edge.source.vertex] = false;
    for (VertexId v = 0; v < graph_.size(); ++v)
      for (const InEdge& edge : graph_.inputs(v))
        if (!fusible(edge, v)) leaves_[edge.source.vertex] = true;
    for (const Value output : graph_.outputs) leaves_[output.vertex] = true;
  }

  Work pointwise_work(std::uint32_t i, PerValue<std::uint32_t>& read_in) const {
    const VertexId v = vertices_[i];
    const Vertex& vertex = graph_.vertices[v];
    Work work;
    for (const InEdge& edge : graph_.inputs(v)) {
      if (is_argument(graph_.vertices[edge.source.vertex]) || fusible(edge, v)) continue;
      // Once in a group.
      std::uint32_t& group = read_in[edge.source];
      if (group == group_of_[i]) continue;
      group = group_of_[i];
      work.bytes += bytes_read(edge);
    }
    if (leaves_[v]) work.bytes += bytes_of({vertex.shape, vertex.dtype});
    work.flops = static_cast<double>(vertex.shape.numel()) * double(info(vertex.op).flops);
    return work;
  }

  Work structured_work(VertexId v) const {
    const Vertex& vertex = graph_.vertices[v];
    const OpInfo& row = info(vertex.op);
    Work work;
    // A view shares memory, and a move is paid for by its edge.
    if (row.is_view() || row.kind == OpKind::transfer) return work;
    work.kernels = 1;
    for (const InEdge& edge : graph_.inputs(v)) {
      work.bytes += bytes_read(edge);
      const IndexMap map = graph_.map_of(edge);
      work.flops = std::max(work.flops, static_cast<double>(map.shape.numel()));
    }
    for (std::uint32_t o = 0; o < vertex.output_count; ++o)
      work.bytes += bytes_of(graph_.spec({v, o}));
    const auto given = static_cast<double>(vertex.shape.numel());
    work.flops = std::max(work.flops, given);
    work.is_product = row.kind == OpKind::product;
    if (work.is_product)
      work.flops = 2 * given * static_cast<double>(graph_.map_of(graph_.inputs(v)[0]).shape.back());
    return work;
  }

  Graph& graph_;
  const PassContext& context_;
  PlacementProblem problem_;
  std::vector<VertexId> vertices_;     // that take part
  std::vector<std::uint32_t> number_;  // by vertex: its place in vertices_
  std::vector<std::uint32_t> group_of_;
  std::vector<bool> leaves_;
  std::vector<Device> devices_;  // by label
};

}  // namespace

Graph place(Graph&& graph, const PassContext& context) {
  if (std::any_of(graph.vertices.begin(), graph.vertices.end(), is_undecided))
    Placer(graph, context).run();
  return std::move(graph);
}

}  // namespace weft::detail
