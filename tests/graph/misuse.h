// What every caller's mistake is checked for: the error's type, line and file, its remedy, and that
// all is as it was.
#pragma once

#include <string>
#include <typeinfo>
#include <vector>

#include <weft/graph/detail/record.h>
#include <weft/weft.h>

namespace weft::testing {

using Parts = std::vector<std::string>;

/// Nodes of this thread that are alive.
inline std::size_t live_nodes() {
  std::size_t count = 0;
  detail::for_each_recent_node(
      [](detail::Node*, void* total) { ++*static_cast<std::size_t*>(total); }, &count);
  return count;
}

/// Of an error: its message, and what is wrong with it, "" where nothing is.
struct Told {
  std::string text, faults;
  /// The faults with the message; "" where there are none.
  std::string wrong() const { return faults.empty() ? faults : text + faults; }
};

/// What the call throws. `may_read`: it looks at values before it refuses, and what they were
/// computed from may be let go of.
template <class E, class Call>
Told told(int line, const char* file, const Call& call, bool may_read = false) {
  const Tensor probe = tensor({1, 2}) + 1;
  const std::size_t recorded = live_nodes();
  Told result;
  try {
    call();
    return {"", "nothing was thrown"};
  } catch (const Error& error) {
    result.text = error.what();
    if (typeid(error) != typeid(E)) result.faults += " [another type]";
    if (error.line() != line) result.faults += " [names line " + std::to_string(error.line()) + "]";
    if (std::string(error.file()) != file) result.faults += " [other file]";
  } catch (const std::exception& error) {
    return {error.what(), " [no weft::Error]"};
  }
  const std::size_t left = live_nodes();
  if (result.text.find("; ") == std::string::npos) result.faults += " [no remedy]";
  if (may_read ? left > recorded : left != recorded) result.faults += " [left something recorded]";
  if (!probe.is_pending()) result.faults += " [evaluated something]";
  if (probe.to_vector<int>() != std::vector<int>{2, 3})
    result.faults += " [the next result is wrong]";
  return result;
}

/// With all of these parts in the message.
inline Told& says(Told& told, const Parts& parts) {
  for (const std::string& part : parts)
    if (told.text.find(part) == std::string::npos) told.faults += " [does not say " + part + "]";
  return told;
}

/// With the message beginning so.
inline Told& begins(Told& told, const std::string& start) {
  if (told.text.find(start) != 0) told.faults += " [does not begin with " + start + "]";
  return told;
}

}  // namespace weft::testing
