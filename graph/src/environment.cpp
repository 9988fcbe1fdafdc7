#include <weft/graph/detail/environment.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <unistd.h>

#include <weft/graph/error.h>
#include <weft/graph/log.h>

namespace weft::detail {
namespace {

constexpr EnvironmentVariable variables[] = {
    {"WEFT_CACHE", "`on`, `off`", "`on`", "whether built kernels are kept on disk"},
    {"WEFT_CACHE_DIR", "an absolute path; with another, none are kept",
     "`$XDG_CACHE_HOME/weft`, else `$HOME/.cache/weft`", "the folder of built kernels"},
    {"WEFT_CACHE_SIZE", "bytes; `K`, `M`, `G` are powers of 1024", "`512M`",
     "most that is kept there; the kernel used longest ago goes first"},
    {"WEFT_CPU_ISA", "`v2`, `v3`, `v4` (x86-64-v2 and so on), as far as the processor has them",
     "the best that the processor has", "the instruction set of the CPU's loops"},
    {"WEFT_CUBLASLT", "a file, a folder, or `off`", "where the loader finds it, then beside NVRTC",
     "cuBLASLt; with `off`, products on GPUs run on weft's own kernels"},
    {"WEFT_LOG", "`off`, `error`, `warning`, `info`", "`warning`",
     "what is said on the standard error, or to `set_log_sink`"},
    {"WEFT_NUM_THREADS", "1 to 1024", "as many as the process may run on",
     "threads that share the work of an op on the CPU, until `set_num_threads`"},
    {"WEFT_NVRTC_PATH", "a file or a folder",
     "where the loader finds it, then the toolkit's folders",
     "NVRTC, the compiler of kernels; nothing else is tried"},
    {"WEFT_SYNC", "`on`, `off`", "`off`",
     "on a GPU each step is waited for, so that an error names it"},
    // Those of others.
    {"CUDA_HOME", "a folder", "", "a CUDA toolkit, where NVRTC is searched for"},
    {"CUDA_PATH", "a folder", "", "another, after it"},
    {"CUDA_VISIBLE_DEVICES", "numbers or UUIDs, with commas", "all", "the GPUs that there are"},
    {"HOME", "a folder", "", "see `WEFT_CACHE_DIR`"},
    {"LD_LIBRARY_PATH", "folders, with colons", "",
     "kept with the kernels: under another one, another NVRTC may be found"},
    {"XDG_CACHE_HOME", "a folder", "", "see `WEFT_CACHE_DIR`"},
};

// Of the project's scripts, samples and tests.
constexpr const char* project_names[] = {
    "WEFT_COMMIT",      "WEFT_GOLDEN_DIR",   "WEFT_JOBS",          "WEFT_KEEP_KERNELS",
    "WEFT_NO_PACKAGES", "WEFT_SAMPLE_QUICK", "WEFT_UPDATE_GOLDEN", "WEFT_WITHOUT_GRAPHVIZ"};
constexpr const char* project_prefixes[] = {"WEFT_FUZZ_", "WEFT_TEST_", "WEFT_TESTS_"};

struct Value {
  std::once_flag read;
  bool is_set = false;
  std::string text;
};

// Never destroyed: threads may ask while the process ends.
Value& value_of(std::size_t i) {
  static auto* const values = new std::array<Value, std::size(variables)>;
  return (*values)[i];
}

bool is_word(std::string_view text, std::initializer_list<std::string_view> words) noexcept {
  return std::any_of(words.begin(), words.end(), [text](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; });
  });
}

/// How many letters have to be put in, left out or changed (Levenshtein).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, changed}));
    }
  }
  return row.back();
}

bool is_known(std::string_view name) {
  return std::any_of(std::begin(variables), std::end(variables),
                     [&](const EnvironmentVariable& each) { return name == each.name; }) ||
         std::any_of(std::begin(project_names), std::end(project_names),
                     [&](const char* each) { return name == each; }) ||
         std::any_of(std::begin(project_prefixes), std::end(project_prefixes),
                     [&](const char* each) { return name.starts_with(each); });
}

void warn_of_unknown_ones() {
  static std::atomic<bool> done{false};
  if (done.exchange(true) || !environ) return;
  const std::string text = unknown_variables(environ);
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = text.find('\n', from);
    log(LogLevel::warning, std::string_view(text).substr(from, end - from));
    from = end + 1;
  }
}

}  // namespace

std::span<const EnvironmentVariable> environment_variables() noexcept { return variables; }

std::string unknown_variables(const char* const* names) {
  std::string text;
  for (; *names; ++names) {
    const std::string_view entry = *names, name = entry.substr(0, entry.find('='));
    if (!name.starts_with("WEFT_") || is_known(name)) continue;
    const auto nearest = std::min_element(std::begin(variables), std::end(variables),
                                          [&](const auto& a, const auto& b) {
                                            return distance(name, a.name) < distance(name, b.name);
                                          });
    text += "environment: " + std::string(name) + " is no variable of weft; the nearest is " +
            nearest->name + "\n";
  }
  return text;
}

const char* environment(const char* name) {
  const auto* const variable =
      std::find_if(std::begin(variables), std::end(variables),
                   [&](const auto& each) { return std::strcmp(each.name, name) == 0; });
  WEFT_ENSURE(variable != std::end(variables));
  Value& value = value_of(static_cast<std::size_t>(variable - variables));
  std::call_once(value.read, [&] {
    if (const char* const text = ::secure_getenv(name)) {
      value.text = text;
      value.is_set = true;
    }
  });
  warn_of_unknown_ones();
  return value.is_set ? value.text.c_str() : nullptr;
}

bool is_off(std::string_view text) noexcept { return is_word(text, {"off", "0", "no", "false"}); }
bool is_on(std::string_view text) noexcept { return is_word(text, {"on", "1", "yes", "true"}); }

bool environment_flag(const char* name, bool fallback) {
  const char* const text = environment(name);
  if (!text || !*text) return fallback;
  if (is_on(text)) return true;
  if (is_off(text)) return false;
  warn_of_value(name, text, fallback ? "on" : "off");
  return fallback;
}

void warn_of_value(const char* name, const char* value, const std::string& used) {
  const auto* const variable =
      std::find_if(std::begin(variables), std::end(variables),
                   [&](const auto& each) { return std::strcmp(each.name, name) == 0; });
  std::string wanted = variable != std::end(variables) ? variable->values : "";
  std::erase(wanted, '`');
  // A value may be anything, of any length.
  log(LogLevel::warning, std::string(name) + "=" + std::string(value).substr(0, 64) +
                             " is none of: " + wanted + "; used is " + used);
}

}  // namespace weft::detail
