// Device sources as a list of definitions.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// A definition at the top level of a device source: a function, a type, a variable or a macro.
struct Definition {
  std::string name;       // empty: a directive that defines nothing, for every text
  std::string condition;  // of preprocessing, under which it stands; empty: none
  std::string text;       // without comments, ended by a newline
};

/// Appends the definitions of a source in their order. Include guards and includes are left out. A
/// macro that a source undefines again at its top level is one that makes definitions: each of its
/// uses there is replaced by what it makes. Throws InternalError where the source is cut short.
void scan_device_source(std::string_view source, std::vector<Definition>& definitions);

inline bool is_word(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Calls f with each identifier or keyword of a text, in order.
template <class F>
void for_each_identifier(std::string_view text, F f) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    if (std::isdigit(static_cast<unsigned char>(text[i])) == 0) f(text.substr(i, end - i));
    i = end;
  }
}

}  // namespace weft::detail
