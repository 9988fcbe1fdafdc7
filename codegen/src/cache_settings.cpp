// Where the kernel cache is and how large it may grow, from the environment.
#include <charconv>
#include <cstring>
#include <string_view>

#include <weft/graph/detail/environment.h>

#include "kernel_cache.h"

namespace weft::detail {
namespace {

// Bytes, or with K, M, G the binary multiples; false where the text is neither.
bool parse_size(const char* text, std::uint64_t& size) {
  const char* const end = text + std::strlen(text);
  std::uint64_t number = 0;
  const auto [rest, error] = std::from_chars(text, end, number);
  if (error != std::errc() || end - rest > 1) return false;
  int shift = 0;
  if (rest != end) {
    const char* const letters = "KMG";
    const char* const found = std::strchr(letters, *rest);
    if (!found) return false;
    shift = 10 * static_cast<int>(found - letters + 1);
  }
  if (number > UINT64_MAX >> shift) return false;
  size = number << shift;
  return true;
}

}  // namespace

CacheSettings cache_settings(Environment environment) {
  CacheSettings settings;
  const auto value_of = [environment](const char* name) {
    const char* const text = environment(name);
    return std::string(text ? text : "");
  };
  if (const std::string size = value_of("WEFT_CACHE_SIZE");
      !size.empty() && !parse_size(size.c_str(), settings.size_limit))
    settings.warning = "kernel cache: WEFT_CACHE_SIZE=" + size +
                       " is no size such as 1048576, 512M or 2G; 512M is used";
  const std::string state = value_of("WEFT_CACHE");
  if (is_off(state)) {
    settings.problem = "turned off by WEFT_CACHE=" + state;
    return settings;
  }
  if (!state.empty() && !is_on(state))
    settings.warning += (settings.warning.empty() ? "kernel cache: WEFT_CACHE=" : "; WEFT_CACHE=") +
                        state + " is neither on nor off; on is used";
  const std::string wanted = value_of("WEFT_CACHE_DIR"), user = value_of("XDG_CACHE_HOME"),
                    home = value_of("HOME");
  if (!wanted.empty() && wanted[0] != '/') {
    settings.problem = "WEFT_CACHE_DIR is no absolute path";
    settings.warning = "kernel cache: WEFT_CACHE_DIR=" + wanted +
                       " is no absolute path; no kernels are kept on disk";
  } else if (!wanted.empty()) {
    settings.folder = wanted;
  } else if (!user.empty() && user[0] == '/') {
    settings.folder = user + "/weft";
  } else if (!home.empty() && home[0] == '/') {
    settings.folder = home + "/.cache/weft";
  } else {
    settings.problem = "there is no WEFT_CACHE_DIR, XDG_CACHE_HOME or HOME";
  }
  while (settings.folder.size() > 1 && settings.folder.back() == '/') settings.folder.pop_back();
  return settings;
}

}  // namespace weft::detail
