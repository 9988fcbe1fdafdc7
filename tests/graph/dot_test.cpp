// Pictures of graphs: structure, escaping, size.
#include <weft/graph/detail/dot.h>

#include <algorithm>
#include <iomanip>
#include <locale>
#include <sstream>
#include <streambuf>
#include <string>

#include <weft/graph/detail/capture.h>
#include <weft/graph/detail/passes.h>
#include <weft/weft.h>

#include "graph/dot_reader.h"
#include "support/catch.h"

using namespace weft;
using namespace std::string_literals;
using testing::DotArrow;
using testing::DotPicture;

namespace {

std::string text_of(const Graph& graph) {
  std::ostringstream out;
  write_dot(out, graph);
  return out.str();
}

DotPicture picture_of(const detail::Graph& graph) {
  std::ostringstream out;
  detail::write_dot(out, graph);
  return DotPicture(out.str());
}

detail::Graph passed(const TensorList& roots, const std::string& until) {
  detail::Graph graph = capture(roots).ir();
  for (const detail::Pass& pass : detail::passes()) {
    graph = pass.run(std::move(graph), detail::PassContext{});
    if (until == pass.name) break;
  }
  return graph;
}

}  // namespace

TEST_CASE("dot: text is escaped") {
  using detail::dot_text;
  CHECK(dot_text("plain f32[2,3] <b>") == "plain f32[2,3] <b>");
  CHECK(dot_text("a\"b") == "a\\\"b");
  CHECK(dot_text("\\N \\l \\") == "\\\\N \\\\l \\\\");
  CHECK(dot_text("R&D &lt;") == "R&amp;D &amp;lt;");
  CHECK(dot_text("two\nlines\tand\rmore") == "two\\\\nlines\\\\tand\\\\rmore");
  CHECK(dot_text("\x1b[31m\0\x7f"s) == "\\\\x1b[31m\\\\x00\\\\x7f");
  CHECK(dot_text("größe 層 \U0001F9F5") == "größe 層 \U0001F9F5");
}

TEST_CASE("dot: bytes that are not UTF-8 are spelled out") {
  using detail::dot_text;
  CHECK(dot_text("\xff") == "\\\\xff");
  CHECK(dot_text("\xc3(") == "\\\\xc3(");  // a sequence that breaks off
  CHECK(dot_text("\xc3") == "\\\\xc3");
  CHECK(dot_text("\xc0\xaf") == "\\\\xc0\\\\xaf");                        // overlong
  CHECK(dot_text("\xed\xa0\x80") == "\\\\xed\\\\xa0\\\\x80");             // a surrogate
  CHECK(dot_text("\xf4\x90\x80\x80") == "\\\\xf4\\\\x90\\\\x80\\\\x80");  // past U+10FFFF
  CHECK(dot_text("\xef\xbf\xbf") == "\\\\xef\\\\xbf\\\\xbf");  // U+FFFF, which XML may not hold
  CHECK(dot_text("\xef\xbf\xbd") == "\xef\xbf\xbd");
}

TEST_CASE("dot: long text is cut between characters") {
  const std::string cut = detail::dot_text(std::string(100000, 'x'));
  CHECK(cut == std::string(240, 'x') + "...");
  std::string wide;
  for (int i = 0; i < 200; ++i) wide += "層";
  const std::string cut_wide = detail::dot_text(wide);
  CHECK(cut_wide == wide.substr(0, 240) + "...");
}

TEST_CASE("dot: a graph's values, by dtype and shape") {
  const Tensor x = ones({2, 3}), w = tensor({{1.0}, {2.0}, {3.0}});
  eval(x, w);
  const Tensor y = relu(matmul(x, w) * 0.5);
  const Graph graph = capture({y});
  const DotPicture picture(text_of(graph));
  CHECK(picture.nodes.size() == graph.size());
  CHECK(picture.clusters == std::vector<std::vector<std::string>>{{"cpu\n"}});
  CHECK(picture.named("data\n").size() == 2);
  REQUIRE(picture.named("matmul\nf32[2,1]\n").size() == 1);
  REQUIRE(picture.named("relu\nf32[2,1]\n").size() == 1);
  const auto& product = picture.nodes.at(picture.named("matmul")[0]);
  const auto& root = picture.nodes.at(picture.named("relu")[0]);
  CHECK(root.attributes.count("peripheries") == 1);  // wanted
  CHECK(product.attributes.count("peripheries") == 0);
  CHECK(picture.nodes.at(picture.named("data\n")[0]).attributes.at("shape") == "cylinder");
  std::size_t inputs = 0;
  for (const detail::Vertex& v : graph.ir().vertices) inputs += v.in_count;
  CHECK(picture.edges.size() == inputs);
  CHECK(picture.bold_edges() == 0);
}

TEST_CASE("dot: an assignment is a leaf with an input") {
  Variable w = variable(ones({4}));
  eval(w);
  w = w * 2;
  const DotPicture picture(text_of(capture({w})));
  const auto assigned = picture.named("a Variable's new value\n");
  REQUIRE(assigned.size() == 1);
  CHECK(picture.nodes.at(assigned[0]).attributes.at("shape") == "cylinder");
  CHECK(picture.named("scalar\nf32[]\n").size() == 1);
  CHECK(picture.nodes.at(picture.named("scalar")[0]).attributes.at("shape") == "plain");
}

TEST_CASE("dot: both outputs of one op are told apart") {
  const auto [values, indices] = topk(arange(8), 3);
  const DotPicture picture(text_of(capture({values + 1, indices + 1})));
  REQUIRE(picture.named("topk\ni64[3]\ni64[3]\n").size() == 1);
  std::vector<std::string> labels;
  for (const DotArrow& edge : picture.edges)
    if (edge.from == picture.named("topk")[0]) labels.push_back(edge.label());
  std::sort(labels.begin(), labels.end());
  CHECK(labels == std::vector<std::string>{"output 0", "output 1"});
}

TEST_CASE("dot: devices are clusters, edges between them bold with bytes") {
  sim::enable(2);
  const Tensor x = ones({8, 4});
  eval(x);
  Tensor y;
  {
    const On there("sim:1");
    y = x * 3;
  }
  const detail::Graph transferred = passed({y}, "transfers");
  const DotPicture picture = picture_of(transferred);
  REQUIRE(picture.clusters.size() == 2);
  CHECK(picture.clusters[0] == std::vector<std::string>{"cpu\n"});
  CHECK(picture.clusters[1] == std::vector<std::string>{"sim:1\n"});
  REQUIRE(picture.bold_edges() == 1);
  for (const DotArrow& edge : picture.edges) {
    if (!edge.is_bold()) continue;
    CHECK(edge.label() == "128 bytes");
    CHECK(picture.nodes.at(edge.from).clusters[0] == "cpu\n");
    CHECK(picture.nodes.at(edge.to).clusters[0] == "sim:1\n");
    CHECK(picture.nodes.at(edge.to).attributes.at("tooltip") == "made on cpu, read on sim:1");
  }
  // Before the transfers are there, the same edge shows that there will be one.
  CHECK(DotPicture(text_of(capture({y}))).bold_edges() == 1);
}

TEST_CASE("dot: what has no device yet stands in a cluster of its own") {
  const Tensor x = ones({4});
  eval(x);
  Tensor y;
  {
    const On planner(automatic);
    y = x * 2;
  }
  const DotPicture picture(text_of(capture({y})));
  REQUIRE(picture.clusters.size() == 2);
  CHECK(picture.clusters[1][0].find("automatic") == 0);
  CHECK(picture.bold_edges() == 0);
}

TEST_CASE("dot: a fused group is a box that lists its ops") {
  const Tensor x = ones({16});
  eval(x);
  const Tensor y = relu(x * 2 + x);
  const DotPicture picture = picture_of(passed({y}, "fuse"));
  const auto fused = picture.named("mul f32[16]\nadd f32[16]\nrelu f32[16]\n");
  REQUIRE(fused.size() == 1);
  CHECK(picture.nodes.at(fused[0]).attributes.at("shape") == "box");
}

TEST_CASE("dot: the stream's locale and width change nothing") {
  struct Grouped : std::numpunct<char> {
    char do_thousands_sep() const override { return ','; }
    std::string do_grouping() const override { return "\1"; }
  };
  const Tensor y = ones({12, 3456}) + 1;
  std::ostringstream out;
  out.imbue(std::locale(std::locale::classic(), new Grouped));
  out << std::hex << std::setfill('*') << std::setw(40);
  write_dot(out, capture({y}));
  CHECK(out.str() == text_of(capture({y})));
}

TEST_CASE("dot: Graphviz draws it") {
  const Tensor x = ones({2, 3});
  eval(x);
  const std::string svg =
      testing::drawn(text_of(capture({sum(exp(x.transpose(0, 1)), 0), topk(x, 2).first})));
  if (svg.empty() && testing::may_lack_graphviz()) return;
  CHECK(svg.find("<svg") != std::string::npos);
  CHECK(svg.find("f32[2]") != std::string::npos);
}

TEST_CASE("dot: hostile names survive Graphviz") {
  std::ostringstream out;
  detail::DotWriter dot(out, "title \" \\ &amp; <b>");
  const std::string name = "\"]; evil [label=\"\\N & <i>\n\xff\x01";
  dot.begin_cluster(detail::DotLabel().line(name));
  dot.node({'v', 0}, detail::DotLook::fused, detail::DotLabel().line(name).line("second"), name);
  dot.end_cluster();
  dot.edge({'v', 0}, {'v', 0}, detail::DotEdge::transfer, name);
  dot.finish();
  const DotPicture picture(out.str());
  CHECK(picture.nodes.size() == 1);
  CHECK(picture.nodes.at("v0").label() == "\"]; evil [label=\"\\N & <i>\\n\\xff\\x01\nsecond\n");
  const std::string svg = testing::drawn(out.str());
  if (svg.empty() && testing::may_lack_graphviz()) return;
  CHECK(svg.find("&lt;i&gt;") != std::string::npos);
  CHECK(svg.find("<i>") == std::string::npos);
  CHECK(svg.find("class=\"node\"") == svg.rfind("class=\"node\""));
}

TEST_CASE("dot: a million vertices") {
  struct Counter : std::streambuf {
    std::size_t bytes = 0, lines = 0;
    std::streamsize xsputn(const char*, std::streamsize n) override {
      bytes += static_cast<std::size_t>(n);
      return n;
    }
    int overflow(int c) override {
      ++bytes;
      lines += c == '\n';
      return c;
    }
  };
  constexpr std::size_t n = 1000000;
  detail::Graph graph = capture({ones({4}) + 1}).ir();
  detail::GraphBuilder builder(n);
  detail::Vertex vertex = graph.vertices.back();
  vertex.in_count = 0;
  vertex.reason = 0;
  detail::InEdge edge{{builder.add(vertex, {}), 0}, detail::identity_map};
  for (std::size_t i = 1; i < n; ++i) edge.source.vertex = builder.add(vertex, {&edge, 1});
  Counter counter;
  std::ostream out(&counter);
  detail::write_dot(out, std::move(builder).take());
  CHECK(counter.lines > 2 * n);
  CHECK(counter.bytes < 250 * n);
}
