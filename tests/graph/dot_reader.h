// A reader of the DOT that weft writes: strict about its syntax, so that tests can ask for
// structure.
#pragma once

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace weft::testing {

struct DotNode {
  std::map<std::string, std::string> attributes;
  std::vector<std::string> clusters;  // labels of those around it, outermost first
  std::string label() const { return attributes.at("label"); }
};

struct DotArrow {
  std::string from, to;
  std::map<std::string, std::string> attributes;
  bool is_bold() const { return has("style", "bold"); }
  bool is_dashed() const { return has("style", "dashed"); }
  std::string label() const {
    const auto it = attributes.find("label");
    return it == attributes.end() ? "" : it->second;
  }

 private:
  bool has(const std::string& key, const std::string& value) const {
    const auto it = attributes.find(key);
    return it != attributes.end() && it->second == value;
  }
};

/// A digraph, read. Labels are as a viewer shows them, their lines ended by '\n'.
class DotPicture {
 public:
  std::map<std::string, DotNode> nodes;
  std::vector<DotArrow> edges;
  std::vector<std::vector<std::string>> clusters;  // each with those around it

  explicit DotPicture(std::string text) : text_(std::move(text)) {
    expect("digraph");
    word();
    expect("{");
    statements();
    if (!token().empty()) throw std::runtime_error("text after the digraph");
  }

  /// Nodes whose label has this part.
  std::vector<std::string> named(const std::string& part) const {
    std::vector<std::string> ids;
    for (const auto& [id, node] : nodes)
      if (node.label().find(part) != std::string::npos) ids.push_back(id);
    return ids;
  }
  std::size_t bold_edges() const {
    std::size_t count = 0;
    for (const DotArrow& edge : edges) count += edge.is_bold();
    return count;
  }
  std::size_t dashed_edges() const {
    std::size_t count = 0;
    for (const DotArrow& edge : edges) count += edge.is_dashed();
    return count;
  }

 private:
  /// The next token, quoted strings with their opening quote; "" at the end.
  std::string token() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    if (at_ == text_.size()) return {};
    const std::size_t start = at_;
    if (text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\n') throw std::runtime_error("a line ends inside quotes");
        if (text_[at_] == '\\') ++at_;
      }
      if (at_ >= text_.size()) throw std::runtime_error("quotes are not closed");
      ++at_;
      return text_.substr(start, at_ - start - 1);
    }
    if (text_.compare(at_, 2, "->") == 0) {
      at_ += 2;
      return "->";
    }
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    if (at_ == start) ++at_;
    return text_.substr(start, at_ - start);
  }

  void expect(const std::string& wanted) {
    const std::string found = token();
    if (found != wanted) throw std::runtime_error("expected " + wanted + ", found " + found);
  }

  std::string word() {
    const std::string found = token();
    if (found.empty() || (!std::isalpha(static_cast<unsigned char>(found[0]))))
      throw std::runtime_error("no name: " + found);
    return found;
  }

  static std::string shown(std::string_view quoted) {
    std::string result;
    for (std::size_t i = 0; i < quoted.size(); ++i) {
      if (quoted[i] == '&') {
        if (quoted.substr(i, 5) != "&amp;") throw std::runtime_error("a bare ampersand");
        result += '&';
        i += 4;
      } else if (quoted[i] != '\\') {
        result += quoted[i];
      } else if (quoted[++i] == 'l') {
        result += '\n';
      } else if (quoted[i] == '"' || quoted[i] == '\\') {
        result += quoted[i];
      } else {
        throw std::runtime_error("an escape that means something to Graphviz");
      }
    }
    return result;
  }

  static std::string value_of(const std::string& token) {
    return token[0] == '"' ? shown(std::string_view(token).substr(1)) : token;
  }

  std::map<std::string, std::string> attributes() {
    std::map<std::string, std::string> result;
    if (text_.find_first_not_of(" \n", at_) == std::string::npos ||
        text_[text_.find_first_not_of(" \n", at_)] != '[')
      return result;
    expect("[");
    for (std::string name = token(); name != "]"; name = token()) {
      expect("=");
      result[name] = value_of(token());
    }
    return result;
  }

  void statements() {
    std::vector<std::string> around;
    for (;;) {
      const std::string first = token();
      if (first.empty()) throw std::runtime_error("braces are not closed");
      if (first == "}") {
        if (around.empty()) return;
        around.pop_back();
      } else if (first == "subgraph") {
        if (word().rfind("cluster_", 0) != 0) throw std::runtime_error("no cluster");
        expect("{");
        around.emplace_back();
        clusters.push_back(around);
      } else {
        statement(first, around);
      }
    }
  }

  void statement(const std::string& first, std::vector<std::string>& around) {
    const std::size_t before = at_;
    const std::string next = token();
    if (next == "->") {
      DotArrow edge{first, word(), {}};
      edge.attributes = attributes();
      if (!nodes.contains(edge.from) || !nodes.contains(edge.to))
        throw std::runtime_error("an edge of no node: " + edge.from + " -> " + edge.to);
      edges.push_back(std::move(edge));
      return;
    }
    if (next == "=") {  // an attribute of the cluster
      const std::string value = value_of(token());
      if (first == "label" && !around.empty()) around.back() = clusters.back().back() = value;
      return;
    }
    at_ = before;
    const auto found = attributes();
    if (first == "graph" || first == "node" || first == "edge") return;
    if (!nodes.emplace(first, DotNode{found, around}).second)
      throw std::runtime_error("a node twice: " + first);
  }

  std::string text_;
  std::size_t at_ = 0;
};

/// A machine without Graphviz must say so, or the tests of pictures fail there.
inline bool may_lack_graphviz() { return std::getenv("WEFT_WITHOUT_GRAPHVIZ") != nullptr; }

/// The SVG that Graphviz makes of it, or "" where Graphviz is not installed. Throws where Graphviz
/// fails or warns.
inline std::string drawn(const std::string& dot) {
  if (std::system("dot -V >/dev/null 2>&1") != 0) return {};
  const std::filesystem::path base =
      std::filesystem::temp_directory_path() / ("weft-dot-test-" + std::to_string(::getpid()));
  const std::string in = base.string() + ".dot", out = base.string() + ".svg",
                    log = base.string() + ".log";
  std::ofstream(in) << dot;
  const int status =
      std::system(("dot -Tsvg '" + in + "' -o '" + out + "' 2>'" + log + "'").c_str());
  const auto contents = [](const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  const std::string svg = contents(out), messages = contents(log);
  for (const std::string& file : {in, out, log}) std::filesystem::remove(file);
  // Fonts are the machine's affair.
  if (status != 0 || messages.find("syntax") != std::string::npos ||
      messages.find("UTF-8") != std::string::npos)
    throw std::runtime_error("dot: " + messages);
  return svg;
}

}  // namespace weft::testing
