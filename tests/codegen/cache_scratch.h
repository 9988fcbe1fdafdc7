// A folder for kernels, processes that use it, and the warnings that they print.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <weft/graph/log.h>

#include "fake_nvrtc.h"
#include "kernel_cache.h"
#include "support/catch.h"
#include "system_calls.h"

namespace weft::test {

namespace fs = std::filesystem;
using detail::CacheSettings;
using detail::KernelCache;

// A folder of the test's own, with a file that stands for NVRTC's.
class Scratch {
 public:
  Scratch() {
    const fs::path memory = "/dev/shm";
    std::string name =
        (fs::is_directory(memory) ? memory : fs::temp_directory_path()) / "weft-cache-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
    std::ofstream(library()) << "version 1";
  }
  ~Scratch() { fs::remove_all(root_); }
  std::string root() const { return root_; }
  std::string library() const { return root_ + "/libnvrtc.so.13"; }
  std::string folder() const { return root_ + "/a/b/weft"; }
  std::vector<fs::path> files(const std::string& ending = "") const {
    std::vector<fs::path> result;
    if (!fs::exists(folder())) return result;
    for (const auto& entry : fs::directory_iterator(folder()))
      if (entry.path().string().ends_with(ending)) result.push_back(entry.path());
    std::sort(result.begin(), result.end());
    return result;
  }
  // The entry of a kernel, not of the compiler.
  fs::path entry_with(const std::string& text) const {
    for (const fs::path& file : files(".entry"))
      if (content(file).find(text) != std::string::npos) return file;
    FAIL("no entry has " << text);
    return {};
  }
  static std::string content(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static void rewrite(const fs::path& file, const std::string& content) {
    std::ofstream(file, std::ios::binary) << content;
  }

 private:
  std::string root_;
};

inline std::vector<std::string> warnings;

class CatchWarnings {
 public:
  CatchWarnings() {
    warnings.clear();
    before_ = set_log_sink([](LogLevel, std::string_view text) { warnings.emplace_back(text); });
  }
  ~CatchWarnings() { set_log_sink(before_); }

 private:
  LogSink before_;
};

struct RestoreSystemCalls {
  detail::SystemCalls before = detail::system_calls();
  ~RestoreSystemCalls() { detail::system_calls() = before; }
};

inline CacheSettings settings_of(const Scratch& scratch) {
  CacheSettings settings;
  settings.folder = scratch.folder();
  return settings;
}

// What a process does: a compiler and a cache of its own.
struct Process : WithFake {
  KernelCache cache;
  explicit Process(const Scratch& scratch) : Process(scratch, settings_of(scratch)) {}
  Process(const Scratch& scratch, CacheSettings settings) : cache(compiler, std::move(settings)) {
    nvrtc.path = scratch.library();
  }
  // Whether the kernel is right.
  bool obtain(const std::string& text) {
    return as_text(*cache.obtain({"k", text}, 90)) == fake_cubin(fake_options_90, text);
  }
};

}  // namespace weft::test
