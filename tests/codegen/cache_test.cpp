// Kernels on disk: what is found again, and what is refused.
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_scratch.h"
#include "kernels_alone.h"
#include "support/compile_all.h"

namespace {

namespace fs = std::filesystem;
using namespace weft;
using namespace weft::detail;
using Catch::Matchers::ContainsSubstring;
using test::as_text;
using test::CatchWarnings;
using test::fake_cubin;
using test::fake_options_90;
using test::Process;
using test::RestoreSystemCalls;
using test::Scratch;
using test::settings_of;
using test::status_of;
using test::warnings;

unsigned mode_of(const fs::path& path) {
  struct stat status;
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

pid_t start_alone(const char* name, const Scratch& scratch, const char* state = "") {
  const pid_t child = fork();
  if (child == 0) {
    setenv("WEFT_CACHE_DIR", scratch.folder().c_str(), 1);
    setenv("WEFT_CACHE", state, 1);
    setenv("WEFT_TEST_LIBRARY", scratch.library().c_str(), 1);
    execl("/proc/self/exe", "test", name, static_cast<char*>(nullptr));
    _exit(127);
  }
  return child;
}

}  // namespace

TEST_CASE("cache: a later process finds what an earlier one built, without NVRTC",
          "[codegen][cache]") {
  const CatchWarnings watch;
  const Scratch scratch;
  {
    Process first(scratch);
    CHECK(first.obtain("a"));
    CHECK(first.obtain("b"));
    CHECK(first.obtain("a"));
    CHECK(first.nvrtc.compiles == 2);
    CHECK(as_text(*first.cache.obtain({"k", "a"}, 80)) !=
          as_text(*first.cache.obtain({"k", "a"}, 90)));
    CHECK(first.nvrtc.compiles == 3);
    CHECK(as_text(*first.cache.obtain({"k", "a", true}, 90)) !=
          as_text(*first.cache.obtain({"k", "a"}, 90)));
    CHECK(first.nvrtc.compiles == 4);
  }
  CHECK(scratch.files().size() == 5);
  CHECK(mode_of(scratch.folder()) == 0700);
  CHECK(mode_of(scratch.root() + "/a") == 0700);
  for (const fs::path& file : scratch.files()) CHECK(mode_of(file) == 0600);
  {
    Process second(scratch);
    CHECK(second.obtain("a"));
    CHECK(second.obtain("b"));
    CHECK(second.nvrtc.opens == 0);
    CHECK(second.nvrtc.calls == 0);
    CHECK(second.obtain("c"));
    CHECK(second.nvrtc.compiles == 1);
    const KernelCacheInfo info = second.cache.info();
    CHECK(info.folder == scratch.folder());
    CHECK(info.entries == 6);
    CHECK(info.bytes > 6 * 64);
    CHECK(info.problem.empty());
  }
  CHECK(warnings.empty());
}

TEST_CASE("cache: another NVRTC, another kernel", "[codegen][cache]") {
  const CatchWarnings watch;
  const Scratch scratch;
  CHECK(Process(scratch).obtain("a"));
  const auto compiles = [&](auto&& change) {
    Process process(scratch);
    change(process.nvrtc);
    CHECK(process.obtain("a"));
    return process.nvrtc.compiles.load();
  };
  const auto nothing = [](auto&) {};
  CHECK(compiles(nothing) == 0);
  Scratch::rewrite(scratch.library(), "version 1.1");  // the same number, another file
  CHECK(compiles(nothing) == 1);
  CHECK(compiles(nothing) == 0);
  ::utimensat(AT_FDCWD, scratch.library().c_str(), std::vector<timespec>{{5, 0}, {5, 0}}.data(), 0);
  CHECK(compiles([](auto& n) { n.version = 13010; }) == 1);
  CHECK(compiles(nothing) == 0);
  CHECK(warnings.empty());
}

TEST_CASE("cache: an entry in another's place, a link, a foreign file", "[codegen][cache]") {
  const CatchWarnings watch;
  const Scratch scratch;
  CHECK(Process(scratch).obtain("text of a"));
  CHECK(Process(scratch).obtain("text of b"));
  const fs::path a = scratch.entry_with("text of a"), b = scratch.entry_with("text of b");
  const auto warning = [&] {
    warnings.clear();
    Process process(scratch);
    CHECK(process.obtain("text of a"));
    CHECK(process.nvrtc.compiles == 1);
    REQUIRE(warnings.size() == 1);
    CHECK(mode_of(a) == 0600);
    CHECK(fs::is_regular_file(fs::symlink_status(a)));
    return warnings[0];
  };
  fs::copy_file(b, a, fs::copy_options::overwrite_existing);
  CHECK_THAT(warning(), ContainsSubstring("has another key"));
  fs::rename(a, scratch.root() + "/elsewhere");
  fs::create_symlink(scratch.root() + "/elsewhere", a);
  CHECK_THAT(warning(), ContainsSubstring("is a link"));
  fs::permissions(a, fs::perms::group_write, fs::perm_options::add);
  CHECK_THAT(warning(), ContainsSubstring("can be written to by others"));
  if (::geteuid() == 0) {
    REQUIRE(::chown(a.c_str(), 12345, 12345) == 0);
    CHECK_THAT(warning(), ContainsSubstring("belongs to another user"));
  }
  fs::remove(a);
  REQUIRE(::mkfifo(a.c_str(), 0600) == 0);
  CHECK_THAT(warning(), ContainsSubstring("is no file"));
}

TEST_CASE("cache: folders that are not used", "[codegen][cache]") {
  const CatchWarnings watch;
  const auto warning = [&](const std::function<void(const Scratch&)>& spoil) {
    const Scratch scratch;
    CHECK(Process(scratch).obtain("a"));
    spoil(scratch);
    const std::size_t before = scratch.files().size();
    warnings.clear();
    Process process(scratch);
    CHECK(process.obtain("a"));
    CHECK(process.obtain("b"));
    CHECK(process.nvrtc.compiles == 2);
    CHECK(scratch.files().size() == before);
    REQUIRE(warnings.size() == 1);
    CHECK_THAT(warnings[0], ContainsSubstring(scratch.folder()));
    CHECK_THAT(warnings[0], ContainsSubstring("; it is not used"));
    CHECK_FALSE(process.cache.info().problem.empty());
    return warnings[0];
  };
  for (const fs::perms who : {fs::perms::group_write, fs::perms::others_write})
    CHECK_THAT(warning([&](const Scratch& scratch) {
                 fs::permissions(scratch.folder(), who, fs::perm_options::add);
               }),
               ContainsSubstring("can be written to by other users"));
  CHECK_THAT(warning([](const Scratch& scratch) {
               fs::rename(scratch.folder(), scratch.root() + "/real");
               fs::create_symlink(scratch.root() + "/real", scratch.folder());
             }),
             ContainsSubstring("is a link"));
  if (::geteuid() != 0) return;
  CHECK_THAT(warning([](const Scratch& scratch) {
               REQUIRE(::chown(scratch.folder().c_str(), 12345, 12345) == 0);
             }),
             ContainsSubstring("belongs to another user"));
}

TEST_CASE("cache: a file where the folder should be", "[codegen][cache]") {
  const CatchWarnings watch;
  const Scratch scratch;
  fs::create_directories(scratch.root() + "/a/b");
  std::ofstream(scratch.folder()) << "a file";
  Process process(scratch);
  CHECK(process.obtain("a"));
  CHECK(process.obtain("b"));
  CHECK(warnings.size() == 1);
  CHECK(Scratch::content(scratch.folder()) == "a file");
}

TEST_CASE("cache: readers of a folder that cannot be written to", "[codegen][cache]") {
  const CatchWarnings watch;
  const Scratch scratch;
  CHECK(Process(scratch).obtain("a"));
  fs::permissions(scratch.folder(), fs::perms(0755));
  const RestoreSystemCalls restore;
  static SystemCalls real;
  real = restore.before;
  system_calls().open = [](int folder, const char* name, int flags, mode_t mode) noexcept {
    if ((flags & O_ACCMODE) == O_RDONLY) return real.open(folder, name, flags, mode);
    errno = EROFS;
    return -1;
  };
  system_calls().touch = [](int) noexcept {
    errno = EROFS;
    return -1;
  };
  Process process(scratch);
  CHECK(process.obtain("a"));
  CHECK(process.nvrtc.compiles == 0);
  CHECK(warnings.empty());
  CHECK(process.obtain("b"));
  CHECK(process.obtain("c"));
  REQUIRE(warnings.size() == 1);
  CHECK_THAT(warnings[0], ContainsSubstring("cannot be written to (Read-only file system)"));
}

TEST_CASE("cache: the entry used longest ago goes first", "[codegen][cache]") {
  const CatchWarnings watch;
  const Scratch scratch;
  CacheSettings settings = settings_of(scratch);
  const std::string filler(10000, 'x');
  settings.size_limit = 10 * 20500;  // nine kernels, each twice the text
  fs::create_directories(scratch.root() + "/a/b");
  const auto name = [&](int i) { return "kernel " + std::to_string(i) + "\n" + filler; };
  {
    Process process(scratch, settings);
    for (int i = 0; i < 9; ++i) CHECK(process.obtain(name(i)));
  }
  std::ofstream(scratch.folder() + "/notes.txt") << filler;
  std::ofstream(scratch.folder() + "/.new-1-old") << "left by a process that was killed";
  std::ofstream(scratch.folder() + "/.new-1-young") << "being written";
  std::int64_t second = 1000000;
  const auto age = [&](const fs::path& file) {
    const timespec times[2] = {{second, 0}, {second, 0}};
    ++second;
    ::utimensat(AT_FDCWD, file.c_str(), times, 0);
  };
  for (int i = 0; i < 9; ++i) age(scratch.entry_with("kernel " + std::to_string(i) + "\n"));
  age(scratch.folder() + "/.new-1-old");
  {
    Process process(scratch, settings);
    CHECK(process.obtain(name(0)));  // used now
    CHECK(process.nvrtc.compiles == 0);
    for (int i = 10; i < 13; ++i) CHECK(process.obtain(name(i)));
    CHECK(process.cache.info().bytes <= settings.size_limit);
  }
  Process process(scratch, settings);
  for (const int kept : {0, 8, 10, 11, 12}) CHECK(process.obtain(name(kept)));
  CHECK(process.nvrtc.compiles == 0);
  CHECK(process.obtain(name(1)));
  CHECK(process.obtain(name(2)));
  CHECK(process.nvrtc.compiles == 2);
  CHECK(fs::exists(scratch.folder() + "/notes.txt"));
  CHECK(fs::exists(scratch.folder() + "/.new-1-young"));
  CHECK_FALSE(fs::exists(scratch.folder() + "/.new-1-old"));
  CHECK(warnings.empty());
  // An entry larger than all that may be kept.
  settings.size_limit = 100;
  const Scratch small;
  settings.folder = small.folder();
  CHECK(Process(small, settings).obtain("a"));
  CHECK(small.files().empty());
}

TEST_CASE("cache: settings from the environment", "[codegen][cache]") {
  static const char *state, *dir, *size, *xdg, *home;
  const auto read = [](const char* s, const char* d, const char* b, const char* x, const char* h) {
    state = s, dir = d, size = b, xdg = x, home = h;
    return cache_settings([](const char* name) -> const char* {
      const std::string text = name;
      return text == "WEFT_CACHE"        ? state
             : text == "WEFT_CACHE_DIR"  ? dir
             : text == "WEFT_CACHE_SIZE" ? size
             : text == "XDG_CACHE_HOME"  ? xdg
             : text == "HOME"            ? home
                                         : nullptr;
    });
  };
  CHECK(read(nullptr, nullptr, nullptr, nullptr, "/home/me").folder == "/home/me/.cache/weft");
  CHECK(read("", "", "", "/x/", "/home/me").folder == "/x//weft");
  CHECK(read(nullptr, nullptr, nullptr, "relative", "/home/me").folder == "/home/me/.cache/weft");
  CHECK(read(nullptr, "/own/", nullptr, "/x", "/home/me").folder == "/own");
  CHECK(read("on", "/own", nullptr, "/x", "/home/me").folder == "/own");
  CHECK(read(nullptr, nullptr, nullptr, nullptr, nullptr).folder == "");
  CHECK_THAT(read(nullptr, nullptr, nullptr, nullptr, nullptr).problem, ContainsSubstring("HOME"));
  CHECK(read(nullptr, nullptr, nullptr, nullptr, "here").folder == "");
  const CacheSettings off = read("off", "/own", nullptr, "/x", "/home/me");
  CHECK(off.folder == "");
  CHECK(off.problem == "turned off by WEFT_CACHE=off");
  CHECK(off.warning == "");
  for (const char* text : {"OFF", "Off", "0", "no", "False"})
    CHECK(read(text, "/own", nullptr, "/x", "/home/me").folder == "");
  for (const char* text : {"", "1", "offf", "of", "yes"})
    CHECK(read(text, "/own", nullptr, "/x", "/home/me").folder == "/own");
  CHECK(read("yes", "/own", nullptr, "/x", "/home/me").warning == "");
  CHECK_THAT(read("offf", "/own", nullptr, "/x", "/home/me").warning,
             ContainsSubstring("WEFT_CACHE=offf is neither on nor off; on is used"));
  CHECK_THAT(read("offf", "/own", "-1", "/x", "/home/me").warning,
             ContainsSubstring("512M is used; WEFT_CACHE=offf"));
  const CacheSettings relative = read(nullptr, "here", nullptr, "/x", "/home/me");
  CHECK(relative.folder == "");
  CHECK_THAT(relative.warning, ContainsSubstring("WEFT_CACHE_DIR=here is no absolute path"));
  const auto limit = [&](const char* text) {
    const CacheSettings settings = read(nullptr, nullptr, text, nullptr, "/home/me");
    return settings.warning.empty() ? settings.size_limit : 1;
  };
  CHECK(limit(nullptr) == 512ull << 20);
  CHECK(limit("0") == 0);
  CHECK(limit("1000") == 1000);
  CHECK(limit("3K") == 3072);
  CHECK(limit("64M") == 64ull << 20);
  CHECK(limit("2G") == 2ull << 30);
  for (const char* bad : {"-1", "1.5G", "2GB", "G", "many", "99999999999G", "18446744073709551616"})
    CHECK(limit(bad) == 1);
}

TEST_CASE("cache: 32 processes at once on a cold cache", "[codegen][cache][processes]") {
  const Scratch scratch;
  std::vector<pid_t> children;
  for (int i = 0; i < 32; ++i)
    children.push_back(start_alone("alone: kernels on a shared cache", scratch));
  for (const pid_t child : children) CHECK(status_of(child) == 0);
  CHECK(scratch.files().size() == 21);
  CHECK(scratch.files(".entry").size() == 21);
  const CatchWarnings watch;
  Process process(scratch);
  for (int i = 0; i < 20; ++i) CHECK(process.obtain("kernel " + std::to_string(i)));
  CHECK(process.nvrtc.opens == 0);
  CHECK(warnings.empty());
}

TEST_CASE("alone: kernels on a shared cache", "[.alone]") {
  const CatchWarnings watch;
  test::WithFake with;
  with.nvrtc.path = std::getenv("WEFT_TEST_LIBRARY");
  with.nvrtc.work = std::chrono::milliseconds(1);
  KernelCache cache(with.compiler, cache_settings(detail::environment));
  KernelBuilder builder(cache, 2);
  std::vector<KernelHandle> handles;
  for (int i = 0; i < 20; ++i)
    handles.push_back(builder.request(
        std::make_shared<const KernelSource>(KernelSource{"k", "kernel " + std::to_string(i)}),
        90));
  for (int i = 0; i < 20; ++i)
    CHECK(as_text(*builder.wait(handles[static_cast<std::size_t>(i)])) ==
          fake_cubin(fake_options_90, "kernel " + std::to_string(i)));
  builder.end();
  CHECK(warnings.empty());
}

TEST_CASE("cache: of the real NVRTC, which a hit does not load", "[codegen][cache][nvrtc]") {
  if (test::compiled_architectures().empty()) return;
  const Scratch scratch;
  // NVRTC is loaded, nothing is kept; loaded, kept; not loaded.
  CHECK(status_of(start_alone("alone: a real kernel", scratch, "off")) == 10);
  CHECK(scratch.files().empty());
  CHECK(status_of(start_alone("alone: a real kernel", scratch)) == 10);
  CHECK(scratch.files().size() == 2);
  CHECK(status_of(start_alone("alone: a real kernel", scratch)) == 20);
  CHECK(status_of(start_alone("alone: a real kernel", scratch, "off")) == 10);
}

TEST_CASE("alone: a real kernel", "[.alone]") {
  const KernelHandle handle =
      kernel_builder().request(std::make_shared<const KernelSource>(
                                   KernelSource{"k", "extern \"C\" __global__ void k() {}\n"}),
                               90);
  if (as_text(*kernel_builder().wait(handle)).find(".text.k") == std::string::npos) _exit(1);
  std::ifstream maps("/proc/self/maps");
  const std::string text(std::istreambuf_iterator<char>(maps), {});
  std::exit(text.find("libnvrtc") != std::string::npos ? 10 : 20);
}
