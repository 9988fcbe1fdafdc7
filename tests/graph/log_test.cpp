// The log: where messages go, which, and what a sink may do.
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include <weft/graph/log.h>

#include "support/catch.h"

namespace {

using namespace weft;
using detail::log;

/// The standard error goes to a file while it lives.
class CaughtError {
 public:
  CaughtError() : file_(std::tmpfile()), before_(dup(2)) {
    REQUIRE(file_);
    dup2(fileno(file_), 2);
  }
  ~CaughtError() {
    dup2(before_, 2);
    close(before_);
    std::fclose(file_);
  }
  std::string text() const {
    std::fflush(stderr);
    std::string text(10000, '\0');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }

 private:
  std::FILE* file_;
  int before_;
};

struct Restore {
  LogSink sink = set_log_sink({});
  LogLevel level = log_level();
  ~Restore() {
    set_log_sink(sink);
    set_log_level(level);
  }
};

}  // namespace

TEST_CASE("log: warnings are printed, and go to a sink where there is one", "[log]") {
  const Restore restore;
  set_log_level(LogLevel::warning);
  const CaughtError error;
  log(LogLevel::warning, "a");
  log(LogLevel::error, "b");
  log(LogLevel::info, "not this");
  CHECK(error.text() == "weft: a\nweft: b\n");
  std::vector<std::pair<LogLevel, std::string>> got;
  const LogSink none =
      set_log_sink([&](LogLevel level, std::string_view text) { got.emplace_back(level, text); });
  CHECK_FALSE(none);
  log(LogLevel::warning, "c");
  log(LogLevel::info, "nor this");
  CHECK(got == std::vector<std::pair<LogLevel, std::string>>{{LogLevel::warning, "c"}});
  const LogSink before = set_log_sink({});
  REQUIRE(before);
  before(LogLevel::error, "d");
  CHECK(got.size() == 2);
  log(LogLevel::warning, "e");
  CHECK(error.text() == "weft: a\nweft: b\nweft: e\n");
}

TEST_CASE("log: the level says what is said", "[log]") {
  const Restore restore;
  std::string got;
  set_log_sink([&](LogLevel, std::string_view text) { got += text; });
  const auto said_at = [&](LogLevel level) {
    set_log_level(level);
    CHECK(log_level() == level);
    got.clear();
    log(LogLevel::error, "e");
    log(LogLevel::warning, "w");
    log(LogLevel::info, "i");
    return got;
  };
  CHECK(said_at(LogLevel::off) == "");
  CHECK(said_at(LogLevel::error) == "e");
  CHECK(said_at(LogLevel::warning) == "ew");
  CHECK(said_at(LogLevel::info) == "ewi");
}

TEST_CASE("log: what a sink throws goes no further, and what it says is printed", "[log]") {
  const Restore restore;
  set_log_level(LogLevel::warning);
  const CaughtError error;
  set_log_sink([](LogLevel, std::string_view) { throw std::runtime_error("no"); });
  log(LogLevel::warning, "lost nowhere");
  CHECK(error.text() == "weft: lost nowhere\n");
  set_log_sink([](LogLevel, std::string_view text) {
    log(LogLevel::warning, "again " + std::string(text));
  });
  log(LogLevel::warning, "x");
  CHECK(error.text() == "weft: lost nowhere\nweft: again x\n");
}

TEST_CASE("log: a sink may be replaced while others are in it", "[log][threads]") {
  const Restore restore;
  set_log_level(LogLevel::warning);
  std::atomic<int> got{0};
  const auto sink = [&](LogLevel, std::string_view) { ++got; };
  set_log_sink(sink);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        log(LogLevel::warning, "x");
        if (i % 10 == 0) set_log_sink(sink);
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(got == 2000);
}
