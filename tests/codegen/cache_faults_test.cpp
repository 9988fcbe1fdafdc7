// What no trouble of the disk may break: damaged entries, failing calls, no space.
#include <algorithm>
#include <cerrno>
#include <random>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "cache_scratch.h"

namespace {

namespace fs = std::filesystem;
using namespace weft;
using namespace weft::detail;
using Catch::Matchers::ContainsSubstring;
using test::CatchWarnings;
using test::Process;
using test::RestoreSystemCalls;
using test::Scratch;
using test::warnings;

}  // namespace

TEST_CASE("cache: an entry that is cut short or changed is built again, with one warning",
          "[codegen][cache][faults]") {
  const RestoreSystemCalls restore;
  system_calls().sync = [](int) noexcept { return 0; };  // else minutes on a slow disk
  const CatchWarnings watch;
  const Scratch scratch;
  CHECK(Process(scratch).obtain("text of a"));
  const fs::path file = scratch.entry_with("text of a");
  const std::string good = Scratch::content(file);
  const auto is_mended = [&](const std::string& bad) {
    Scratch::rewrite(file, bad);
    warnings.clear();
    Process process(scratch);
    return process.obtain("text of a") && process.nvrtc.compiles == 1 && warnings.size() == 1 &&
           warnings[0].find(file.string()) != std::string::npos && Scratch::content(file) == good &&
           scratch.files().size() == 2;
  };
  int bad = 0;
  for (std::size_t length = 0; length < good.size(); ++length)
    bad += !is_mended(good.substr(0, length));
  CHECK(bad == 0);
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    std::string flipped = good;
    char& byte = flipped[static_cast<std::size_t>(i) < good.size() ? static_cast<std::size_t>(i)
                                                                   : random() % good.size()];
    byte = static_cast<char>(byte ^ static_cast<char>(1 + random() % 255));
    bad += !is_mended(flipped);
  }
  CHECK(bad == 0);
  CHECK(is_mended(good + "x"));
  CHECK(is_mended(std::string(good.size(), '\0')));
  // Several damaged entries: one warning in all.
  CHECK(Process(scratch).obtain("text of b"));
  Scratch::rewrite(scratch.entry_with("text of b"), "");
  Scratch::rewrite(file, "");
  warnings.clear();
  Process process(scratch);
  CHECK(process.obtain("text of a"));
  CHECK(process.obtain("text of b"));
  CHECK(warnings.size() == 1);
}

namespace {

// Fails the k-th system call of those that can fail, once or from then on.
struct Failing {
  int at = 0, calls = 0, problem = 0;
  bool for_good = false, failed = false;
};
Failing failing;
SystemCalls real_calls;

bool now() noexcept {
  ++failing.calls;
  if (failing.calls != failing.at && !(failing.for_good && failing.calls > failing.at))
    return false;
  failing.failed = true;
  errno = failing.problem;
  return true;
}

void install_failing() {
  real_calls = system_calls();
  SystemCalls& calls = system_calls();
  calls.open = [](int a, const char* b, int c, mode_t d) noexcept {
    return now() ? -1 : real_calls.open(a, b, c, d);
  };
  calls.make_folder = [](const char* a, mode_t b) noexcept {
    return now() ? -1 : real_calls.make_folder(a, b);
  };
  calls.stat_path = [](const char* a, struct stat* b) noexcept {
    return now() ? -1 : real_calls.stat_path(a, b);
  };
  calls.stat_open = [](int a, struct stat* b) noexcept {
    return now() ? -1 : real_calls.stat_open(a, b);
  };
  calls.stat_in = [](int a, const char* b, struct stat* c) noexcept {
    return now() ? -1 : real_calls.stat_in(a, b, c);
  };
  calls.read = [](int a, void* b, std::size_t c) noexcept {
    return now() ? ssize_t{-1} : real_calls.read(a, b, c);
  };
  calls.write = [](int a, const void* b, std::size_t c) noexcept {
    return now() ? ssize_t{-1} : real_calls.write(a, b, c);
  };
  calls.sync = [](int) noexcept { return now() ? -1 : 0; };
  calls.rename = [](int a, const char* b, const char* c) noexcept {
    return now() ? -1 : real_calls.rename(a, b, c);
  };
  calls.remove = [](int a, const char* b) noexcept { return now() ? -1 : real_calls.remove(a, b); };
  calls.touch = [](int a) noexcept { return now() ? -1 : real_calls.touch(a); };
  calls.list = [](int a, std::vector<std::string>& b) {
    return now() ? -1 : real_calls.list(a, b);
  };
}

}  // namespace

TEST_CASE("cache: no failure of the disk is one of the program", "[codegen][cache][faults]") {
  const CatchWarnings watch;
  const RestoreSystemCalls restore;
  install_failing();
  std::size_t most = 0;
  for (const int problem : {ENOSPC, EROFS, EACCES, EIO, EMFILE})
    for (const bool for_good : {false, true})
      for (int k = 1;; ++k) {
        const Scratch scratch;
        failing = {};
        CHECK(Process(scratch).obtain("a"));
        failing = {k, 0, problem, for_good, false};
        warnings.clear();
        {
          Process process(scratch);
          for (const char* text : {"a", "b", "c"})
            if (!process.obtain(text)) FAIL("call " << k << ", problem " << problem);
          CHECK(process.nvrtc.compiles <= 3);
        }
        most = std::max(most, warnings.size());
        const bool failed = failing.failed;
        failing = {};
        // What is left is sound.
        warnings.clear();
        Process process(scratch);
        for (const char* text : {"a", "b", "c"})
          if (!process.obtain(text)) FAIL("after call " << k << ", problem " << problem);
        if (!warnings.empty()) FAIL(warnings[0]);
        if (!failed) {
          CHECK(k > 20);
          break;
        }
      }
  CHECK(most == 2);  // an entry that is not read, a folder that is not written
}

TEST_CASE("cache: short and interrupted reads and writes", "[codegen][cache][faults]") {
  const CatchWarnings watch;
  const RestoreSystemCalls restore;
  static SystemCalls real;
  static int calls;
  real = restore.before;
  system_calls().read = [](int file, void* data, std::size_t bytes) noexcept -> ssize_t {
    if (++calls % 2) return errno = EINTR, -1;
    return real.read(file, data, std::min<std::size_t>(bytes, 7));
  };
  system_calls().write = [](int file, const void* data, std::size_t bytes) noexcept -> ssize_t {
    if (++calls % 2) return errno = EINTR, -1;
    return real.write(file, data, std::min<std::size_t>(bytes, 7));
  };
  const Scratch scratch;
  CHECK(Process(scratch).obtain("text"));
  Process process(scratch);
  CHECK(process.obtain("text"));
  CHECK(process.nvrtc.opens == 0);
  CHECK(warnings.empty());
}

TEST_CASE("cache: a full disk leaves no half of a file", "[codegen][cache][faults]") {
  const CatchWarnings watch;
  const RestoreSystemCalls restore;
  static SystemCalls real;
  static std::size_t left;
  real = restore.before;
  system_calls().write = [](int file, const void* data, std::size_t bytes) noexcept -> ssize_t {
    if (left == 0) return errno = ENOSPC, -1;
    const ssize_t put = real.write(file, data, std::min(bytes, left));
    left -= static_cast<std::size_t>(put);
    return put;
  };
  const Scratch scratch;
  left = 700;
  Process process(scratch);
  for (int i = 0; i < 10; ++i) CHECK(process.obtain("text " + std::to_string(i)));
  CHECK(warnings.size() == 1);
  CHECK_THAT(warnings.at(0), ContainsSubstring("No space left"));
  CHECK(scratch.files().size() == scratch.files(".entry").size());
  CHECK(scratch.files().size() > 1);
}
