// Cuts the device sources into definitions, and gives those that a kernel's text needs: NVRTC's
// time for a small kernel would otherwise go into functions that it does not call.
#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

#include <weft/codegen/kernel.h>
#include <weft/graph/error.h>

#include "device_scanner.h"
#include "device_sources.h"

namespace weft::detail {
namespace {

// A file may use what those before it define. Files that are not named follow in their own order.
constexpr const char* first_files[] = {
    "math_base",  "device",          "math_exp", "math_log", "math_trig", "math_arc", "math_erf",
    "math_gamma", "math_activation", "math",     "scalar",   "philox",    "elements"};

class Library {
 public:
  Library() {
    std::vector<const DeviceSource*> files;
    for (const char* name : first_files)
      for (std::size_t i = 0; i < device_source_count; ++i)
        if (std::strcmp(device_sources[i].name, name) == 0) files.push_back(&device_sources[i]);
    for (std::size_t i = 0; i < device_source_count; ++i)
      if (std::find(files.begin(), files.end(), &device_sources[i]) == files.end())
        files.push_back(&device_sources[i]);
    for (const DeviceSource* file : files) scan_device_source(file->text, definitions_);
    for (std::size_t i = 0; i < definitions_.size(); ++i)
      if (!definitions_[i].name.empty()) by_name_[definitions_[i].name].push_back(i);
    uses_.resize(definitions_.size());
    for (std::size_t i = 0; i < definitions_.size(); ++i)
      uses_[i] = known_in(definitions_[i].text + " " + definitions_[i].condition);
  }

  std::string needed_by(const std::string& text) const {
    std::vector<char> is_needed(definitions_.size(), 0);
    std::vector<std::size_t> pending = known_in(text);
    while (!pending.empty()) {
      const std::size_t i = pending.back();
      pending.pop_back();
      if (is_needed[i]) continue;
      is_needed[i] = 1;
      pending.insert(pending.end(), uses_[i].begin(), uses_[i].end());
    }
    std::string result;
    std::string_view condition;
    for (std::size_t i = 0; i < definitions_.size(); ++i) {
      const Definition& definition = definitions_[i];
      // What has no name is a directive, for all.
      if (!is_needed[i] && !definition.name.empty()) continue;
      if (definition.condition != condition) {
        if (!condition.empty()) result += "#endif\n";
        condition = definition.condition;
        if (!condition.empty()) result.append("#if ").append(condition).append("\n");
      }
      result += definition.text;
    }
    if (!condition.empty()) result += "#endif\n";
    return result;
  }

 private:
  std::vector<std::size_t> known_in(std::string_view text) const {
    std::vector<std::size_t> found;
    for_each_identifier(text, [&](std::string_view name) {
      const auto it = by_name_.find(name);
      if (it != by_name_.end()) found.insert(found.end(), it->second.begin(), it->second.end());
    });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  std::vector<Definition> definitions_;
  std::map<std::string_view, std::vector<std::size_t>> by_name_;
  std::vector<std::vector<std::size_t>> uses_;
};

}  // namespace

std::string device_library(const std::string& text) {
  static const Library library;
  return library.needed_by(text);
}

}  // namespace weft::detail
