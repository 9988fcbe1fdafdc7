// What a program may set while it runs, and what was set in the environment before
// (docs/settings.md). Of messages see weft/graph/log.h, of memory weft/runtime/memory.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <weft/graph/error.h>

namespace weft {

/// How many threads share the work of an op on the cpu, the one that computes among them; from the
/// next loop over elements on, for the whole process. At first WEFT_NUM_THREADS, or as many as the
/// process may run on; 1024 at most. Results have the same bits with any number. Any thread may
/// call it at any time. ValueError for less than 1.
void set_num_threads(int count, Where at = {});
int num_threads();

/// A variable of the environment that weft heeds. Its texts are those of docs/settings.md.
struct Setting {
  std::string name;
  std::string values;    // which it may have
  std::string fallback;  // what holds where it is not set
  std::string meaning;
  std::optional<std::string> value;  // as weft found it
};
/// All of them; those that were not read yet are read now.
std::vector<Setting> environment_settings();

}  // namespace weft
