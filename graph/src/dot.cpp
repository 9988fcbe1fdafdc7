// DOT: the writer, and pictures of graphs.
#include <weft/graph/detail/dot.h>

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include <weft/graph/graph.h>

namespace weft::detail {

namespace {

constexpr std::size_t longest_line = 240;

/// Length of the valid UTF-8 sequence at the front (Unicode 15, table 3-7); 0 where there is none,
/// or where no XML may hold its character.
std::size_t utf8_length(std::string_view text) noexcept {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto continues = [&](std::size_t i) { return (at(i) & 0xC0) == 0x80; };
  const unsigned a = at(0), b = at(1);
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a <= 0xDF) return continues(1) ? 2 : 0;
  if (a >= 0xE0 && a <= 0xEF) {
    if (!continues(1) || !continues(2)) return 0;
    if ((a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F)) return 0;
    return a == 0xEF && b == 0xBF && at(2) >= 0xBE ? 0 : 3;
  }
  if (a >= 0xF0 && a <= 0xF4) {
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    return (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F) ? 0 : 4;
  }
  return 0;
}

/// One character that can not be shown, as text.
std::string spelled_out(char c) {
  if (c == '\n') return "\\\\n";
  if (c == '\t') return "\\\\t";
  if (c == '\r') return "\\\\r";
  constexpr char digits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'\\', '\\', 'x', digits[byte >> 4], digits[byte & 15]};
}

constexpr std::array<std::string_view, static_cast<std::size_t>(DotLook::count_)> looks = {
    "shape=cylinder fillcolor=\"#e8e8e8\"",                          // leaf
    "shape=plain fillcolor=none",                                    // number
    "shape=box fillcolor=\"#cfe2f3\"",                               // fused
    "shape=box style=\"rounded,filled\" fillcolor=\"#e3eefa\"",      // pointwise
    "shape=box style=\"rounded,dashed\"",                            // view
    "shape=box style=\"rounded,filled\" fillcolor=\"#fbe5cd\"",      // reduce
    "shape=box style=\"rounded,filled\" fillcolor=\"#d5ead0\"",      // product
    "shape=box style=\"rounded,filled\" fillcolor=\"#eee3f5\"",      // other
    "shape=box fillcolor=\"#fff0b3\" color=\"#b45f06\" penwidth=2",  // transfer
    "shape=ellipse fillcolor=\"#ffffff\" peripheries=2",             // output
    "shape=point",                                                   // arrival
};

constexpr std::array<std::string_view, 3> edge_looks = {
    "", "style=bold penwidth=3 color=\"#b45f06\"",
    "style=dashed color=\"#777777\" constraint=false"};

std::string name_of(DotId id) { return id.kind + std::to_string(id.number); }

}  // namespace

std::string dot_text(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    if (i >= longest_line) return result + "...";
    const char c = text[i];
    const std::size_t length = utf8_length(text.substr(i));
    const bool is_control = (c >= 0 && c < ' ') || c == 127;
    if (length == 0 || is_control)
      result += spelled_out(c);
    else if (c == '"')
      result += "\\\"";
    else if (c == '\\')
      result += "\\\\";
    else if (c == '&')
      result += "&amp;";
    else
      result += text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return result;
}

std::string text_of(const Spec& spec) {
  return std::string(weft::name_of(spec.dtype)) + spec.shape.str();
}

DotLabel& DotLabel::line(std::string_view text) {
  text_ += dot_text(text);
  text_ += "\\l";
  return *this;
}

DotLabel& DotLabel::ops(const Graph& body) {
  for_each_member(body, [&](const Graph& graph, VertexId v) {
    line(std::string(info(graph.vertices[v].op).name) + " " + text_of(graph.spec({v, 0})));
  });
  return *this;
}

DotLook look_of(OpKind kind) noexcept {
  switch (kind) {
    case OpKind::leaf: return DotLook::leaf;
    case OpKind::fused: return DotLook::fused;
    case OpKind::pointwise: return DotLook::pointwise;
    case OpKind::view: return DotLook::view;
    case OpKind::reduce: return DotLook::reduce;
    case OpKind::product: return DotLook::product;
    case OpKind::transfer: return DotLook::transfer;
    default: return DotLook::other;
  }
}

DotWriter::DotWriter(std::ostream& out, std::string_view title) : out_(out) {
  text_ =
      "digraph weft {\n  graph [label=\"" + dot_text(title) +
      "\" labelloc=t fontname=\"Helvetica\" compound=true nodesep=0.3]\n"
      "  node [shape=box style=filled fontname=\"Helvetica\" fontsize=11 margin=\"0.12,0.06\"]\n"
      "  edge [fontname=\"Helvetica\" fontsize=10]\n";
  out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
}

void DotWriter::line(std::string_view text) {
  const std::string indent(2 * depth_, ' ');
  out_.write(indent.data(), static_cast<std::streamsize>(indent.size()));
  out_.write(text.data(), static_cast<std::streamsize>(text.size()));
  out_.put('\n');
}

void DotWriter::begin_cluster(const DotLabel& label) {
  line("subgraph cluster_" + std::to_string(clusters_++) + " {");
  ++depth_;
  line("label=\"" + label.text() + "\" labeljust=l style=\"rounded" +
       (depth_ > 2 ? ",dashed" : "") + "\" color=\"#999999\"");
}

void DotWriter::end_cluster() {
  --depth_;
  line("}");
}

void DotWriter::node(DotId id, DotLook look, const DotLabel& label, std::string_view tooltip,
                     bool wanted) {
  text_ = name_of(id) + " [label=\"" + label.text() + "\" ";
  text_ += looks[static_cast<std::size_t>(look)];
  if (!tooltip.empty()) text_ += " tooltip=\"" + dot_text(tooltip) + "\"";
  if (wanted) text_ += " peripheries=2";
  line(text_ += "]");
}

void DotWriter::edge(DotId from, DotId to, DotEdge look, std::string_view label) {
  text_ = name_of(from) + " -> " + name_of(to);
  std::string attributes(edge_looks[static_cast<std::size_t>(look)]);
  if (!label.empty()) attributes += " label=\"" + dot_text(label) + "\"";
  if (!attributes.empty()) text_ += " [" + attributes + "]";
  line(text_);
}

void DotWriter::finish() { out_.write("}\n", 2); }

namespace {

/// A C++ number, which is at home everywhere; not an assignment to a Variable, which has an input.
bool is_argument(const Vertex& v) noexcept {
  return info(v.op).is_leaf() && v.leaf < 0 && v.in_count == 0;
}

class GraphPicture {
 public:
  GraphPicture(std::ostream& out, const Graph& graph)
      : graph_(graph), dot_(out, "graph of " + std::to_string(graph.size()) + " values") {}

  void run() {
    std::vector<bool> wanted(graph_.size(), false);
    for (const Value output : graph_.outputs) wanted[output.vertex] = true;
    std::map<std::uint32_t, std::vector<VertexId>> devices;
    for (VertexId v = 0; v < graph_.size(); ++v)
      devices[graph_.vertices[v].device.code()].push_back(v);
    for (const auto& [code, members] : devices) {
      const Device device = graph_.vertices[members[0]].device;
      dot_.begin_cluster(DotLabel().line(
          is_undecided(device) ? std::string("automatic: the planner chooses") : device.str()));
      for (const VertexId v : members) add_node(v, wanted[v]);
      dot_.end_cluster();
    }
    for (VertexId v = 0; v < graph_.size(); ++v)
      for (const InEdge& edge : graph_.inputs(v)) add_edge(edge, v);
    dot_.finish();
  }

 private:
  static bool is_undecided(Device device) noexcept {
    return device.kind() == DeviceKind::automatic;
  }

  void add_node(VertexId v, bool wanted) {
    const Vertex& vertex = graph_.vertices[v];
    const OpInfo& row = info(vertex.op);
    DotLabel label;
    if (vertex.body >= 0) {
      label.ops(graph_.bodies[static_cast<std::size_t>(vertex.body)]);
    } else {
      label.line(row.name);
      for (std::uint32_t o = 0; o < vertex.output_count; ++o)
        label.line(text_of(graph_.spec({v, o})));
    }
    if (vertex.assigns) label.line("a Variable's new value");
    dot_.node({'v', v}, is_argument(vertex) ? DotLook::number : look_of(row.kind), label,
              graph_.reasons[vertex.reason], wanted);
  }

  void add_edge(const InEdge& edge, VertexId consumer) {
    const Vertex& source = graph_.vertices[edge.source.vertex];
    const Device to = graph_.vertices[consumer].device;
    const bool crosses = source.device != to && !is_argument(source) &&
                         !is_undecided(source.device) && !is_undecided(to);
    std::string label;
    if (source.output_count > 1) label = "output " + std::to_string(edge.source.output);
    if (edge.map != identity_map) label += label.empty() ? "view" : ", view";
    if (crosses) {
      const Spec spec = graph_.spec(edge.source);
      const auto bytes = static_cast<std::size_t>(spec.shape.numel()) * size_of(spec.dtype);
      label += (label.empty() ? "" : ", ") + std::to_string(bytes) + " bytes";
    }
    dot_.edge({'v', edge.source.vertex}, {'v', consumer},
              crosses ? DotEdge::transfer : DotEdge::data, label);
  }

  const Graph& graph_;
  DotWriter dot_;
};

}  // namespace

void write_dot(std::ostream& out, const Graph& graph) { GraphPicture(out, graph).run(); }

}  // namespace weft::detail

namespace weft {

void write_dot(std::ostream& out, const Graph& graph) { detail::write_dot(out, graph.ir()); }

}  // namespace weft
