// Cuts a device source at its top-level definitions. Knows as much of C++ as those files use.
#include "device_scanner.h"

#include <map>

#include <weft/graph/error.h>

namespace weft::detail {
namespace {

// Past the string literal that begins at text[i].
std::size_t past_string(std::string_view text, std::size_t i) {
  ++i;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  WEFT_ENSURE(i < text.size());
  return i + 1;
}

std::string without_comments(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size();) {
    const std::string_view rest = source.substr(i);
    if (rest.starts_with("//")) {
      i = std::min(source.find('\n', i), source.size());
    } else if (rest.starts_with("/*")) {
      i = source.find("*/", i + 2);
      WEFT_ENSURE(i != std::string_view::npos);
      i += 2;
      text += ' ';
    } else if (source[i] == '"') {
      const std::size_t end = past_string(source, i);
      text += source.substr(i, end - i);
      i = end;
    } else {
      text += source[i++];
    }
  }
  return text;
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view first_word(std::string_view text) {
  text = trimmed(text);
  std::size_t n = 0;
  while (n < text.size() && is_word(text[n])) ++n;
  return text.substr(0, n);
}

std::string_view last_word(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && !is_word(text[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// Past the `close` that ends what opens at or after text[i].
std::size_t past_close(std::string_view text, std::size_t i, char open, char close) {
  int depth = 0;
  while (i < text.size()) {
    if (text[i] == open) ++depth;
    if (text[i] == close && --depth == 0) return i + 1;
    i = text[i] == '"' ? past_string(text, i) : i + 1;
  }
  WEFT_ENSURE(!"a device source is cut short");
  return i;
}

std::string name_of_definition(std::string_view text) {
  text = trimmed(text);
  while (first_word(text) == "template") text = trimmed(text.substr(past_close(text, 0, '<', '>')));
  const std::string_view word = first_word(text);
  if (word == "typedef") return std::string(last_word(text));
  if (word == "using") return std::string(last_word(text.substr(0, text.find('='))));
  if (word == "struct" || word == "union" || word == "enum" || word == "class")
    return std::string(last_word(text.substr(0, text.find_first_of("{:;"))));
  return std::string(last_word(text.substr(0, text.find_first_of("([={;"))));
}

struct Macro {
  std::vector<std::string> parameters;
  std::string body;
};

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += (c == '(' || c == '{') - (c == ')' || c == '}');
    if (c != ',' || depth != 0) continue;
    parts.emplace_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return parts;
}

std::string expanded(const Macro& macro, const std::vector<std::string>& arguments) {
  WEFT_ENSURE(arguments.size() == macro.parameters.size());
  std::string text;
  for (std::size_t i = 0; i < macro.body.size();) {
    std::size_t end = i;
    while (end < macro.body.size() && is_word(macro.body[end])) ++end;
    if (end == i) {
      text += macro.body[i++];
      continue;
    }
    std::string word = macro.body.substr(i, end - i);
    for (std::size_t p = 0; p < arguments.size(); ++p)
      if (word == macro.parameters[p]) {
        word = arguments[p];
        break;
      }
    text += word;
    i = end;
  }
  for (std::size_t at; (at = text.find("##")) != std::string::npos;) {
    std::size_t begin = at, end = at + 2;
    while (begin > 0 && text[begin - 1] == ' ') --begin;
    while (end < text.size() && text[end] == ' ') ++end;
    text.erase(begin, end - begin);
  }
  return text;
}

class Scanner {
 public:
  Scanner(std::string text, std::vector<Definition>& definitions)
      : text_(std::move(text)), definitions_(definitions) {}

  void run() {
    for (;;) {
      while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
      if (at_ == text_.size()) break;
      if (text_[at_] == '#') {
        directive();
        continue;
      }
      const auto macro = macros_.find(std::string(first_word(rest())));
      if (macro != macros_.end())
        use(macro->second);
      else
        definition();
    }
    WEFT_ENSURE(conditions_.empty());
  }

 private:
  struct Condition {
    std::string before;  // those of the branches before this one, each negated
    std::string own;
    std::string text() const {
      return before.empty() ? own : own.empty() ? before : before + " && " + own;
    }
  };

  std::string_view rest() const { return std::string_view(text_).substr(at_); }

  std::string condition() const {
    std::string all;
    for (const Condition& c : conditions_) {
      const std::string one = c.text();
      if (!one.empty()) all += (all.empty() ? "" : " && ") + one;
    }
    return all;
  }

  void add(std::string name, std::string_view text) {
    definitions_.push_back({std::move(name), condition(), std::string(trimmed(text)) + "\n"});
  }

  void directive() {
    std::size_t end = at_;
    do {
      end = std::min(text_.find('\n', end + 1), text_.size());
    } while (end < text_.size() && text_[end - 1] == '\\');
    const std::string_view line = trimmed(rest().substr(0, end - at_));
    const std::string_view body = trimmed(line.substr(1));
    const std::string_view word = first_word(body);
    const std::string operand(trimmed(body.substr(word.size())));
    at_ = end;
    if (word == "define")
      define(operand, line);
    else if (word == "undef")
      WEFT_ENSURE(macros_.erase(operand) == 1);
    else if (word == "pragma")
      add("", line);
    else if (word != "include" && word != "error")
      conditional(word, operand);
  }

  void conditional(std::string_view word, const std::string& operand) {
    if (word == "endif") {
      WEFT_ENSURE(!conditions_.empty());
      conditions_.pop_back();
    } else if (word == "else" || word == "elif") {
      WEFT_ENSURE(!conditions_.empty());
      Condition& last = conditions_.back();
      last.before += (last.before.empty() ? "!" : " && !") + last.own;
      last.own = word == "elif" ? "(" + operand + ")" : "";
    } else if (word == "ifndef" && operand.starts_with("WEFT_") && operand.ends_with("_CUH")) {
      conditions_.push_back({});
    } else {
      WEFT_ENSURE(word == "if" || word == "ifdef" || word == "ifndef");
      conditions_.push_back({"", word == "if"      ? "(" + operand + ")"
                                 : word == "ifdef" ? "defined(" + operand + ")"
                                                   : "!defined(" + operand + ")"});
    }
  }

  void define(const std::string& operand, std::string_view line) {
    const std::string name(first_word(operand));
    if (name.starts_with("WEFT_") && name.ends_with("_CUH")) return;
    if (rest().find("\n#undef " + name + "\n") == std::string_view::npos) {
      add(name, line);
      return;
    }
    WEFT_ENSURE(operand[name.size()] == '(');
    const std::size_t end = past_close(operand, name.size(), '(', ')');
    Macro macro;
    macro.parameters =
        split_arguments(std::string_view(operand).substr(name.size() + 1, end - name.size() - 2));
    for (const char c : operand.substr(end))
      if (c != '\\') macro.body += c;
    macros_[name] = std::move(macro);
  }

  void use(const Macro& macro) {
    const std::size_t open = text_.find('(', at_);
    const std::size_t end = past_close(text_, at_, '(', ')');
    const std::string made =
        expanded(macro, split_arguments(std::string_view(text_).substr(open + 1, end - open - 2)));
    text_.replace(at_, end - at_, made);
  }

  void definition() {
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != ';' && text_[end] != '{') ++end;
    WEFT_ENSURE(end < text_.size());
    if (text_[end] == '{') {
      end = past_close(text_, end, '{', '}');
      std::size_t next = end;
      while (next < text_.size() && std::isspace(static_cast<unsigned char>(text_[next])) != 0)
        ++next;
      if (next < text_.size() && text_[next] == ';') end = next + 1;
    } else {
      ++end;
    }
    const std::string_view text = rest().substr(0, end - at_);
    add(name_of_definition(text), text);
    at_ = end;
  }

  std::string text_;
  std::size_t at_ = 0;
  std::vector<Definition>& definitions_;
  std::vector<Condition> conditions_;
  std::map<std::string, Macro> macros_;
};

}  // namespace

void scan_device_source(std::string_view source, std::vector<Definition>& definitions) {
  Scanner(without_comments(source), definitions).run();
}

}  // namespace weft::detail
