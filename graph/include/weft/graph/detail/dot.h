// Writing Graphviz DOT: one escaper and one look for captured graphs, passes and plans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include <weft/graph/detail/ir.h>

namespace weft::detail {

/// Text for a place between double quotes, shown as it is: quotes, backslashes and ampersands are
/// escaped; control characters and bytes that are not UTF-8 are spelled out (\n, \x1b). Cut past
/// 240 bytes, as Graphviz's scanner has a limit.
std::string dot_text(std::string_view text);

/// "f32[2,3]"
std::string text_of(const Spec& spec);

/// Lines of a label, escaped, one below the other.
class DotLabel {
 public:
  DotLabel& line(std::string_view text);
  /// A line for each op of a fused body: "mul f32[64,10]".
  DotLabel& ops(const Graph& body);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// What a node is, and so how it is drawn.
enum class DotLook : std::uint8_t {
  leaf,
  number,
  fused,
  pointwise,
  view,
  reduce,
  product,
  other,
  transfer,
  output,
  arrival,
  count_
};
DotLook look_of(OpKind kind) noexcept;

enum class DotEdge : std::uint8_t {
  data,
  transfer,  // bold: bytes that cross from one device to another
  event,     // dashed: one stream waits for another
};

/// A node's name: a letter and a number, so that no text of the program is part of it.
struct DotId {
  char kind;
  std::size_t number;
};

/// Writes one digraph, part by part. Not through `operator<<`, which would follow the stream's
/// locale and width.
class DotWriter {
 public:
  DotWriter(std::ostream& out, std::string_view title);
  DotWriter(const DotWriter&) = delete;
  DotWriter& operator=(const DotWriter&) = delete;

  void begin_cluster(const DotLabel& label);
  void end_cluster();
  /// `wanted`: a double outline. `tooltip` is shown by viewers of the SVG.
  void node(DotId id, DotLook look, const DotLabel& label, std::string_view tooltip = {},
            bool wanted = false);
  void edge(DotId from, DotId to, DotEdge look = DotEdge::data, std::string_view label = {});
  void finish();

 private:
  void line(std::string_view text);
  std::ostream& out_;
  std::string text_;
  std::size_t depth_ = 1;
  std::size_t clusters_ = 0;
};

/// A graph at any stage: devices as clusters, fused groups as boxes with their ops, edges between
/// devices bold with their bytes.
void write_dot(std::ostream& out, const Graph& graph);

}  // namespace weft::detail
