// What a program may set, and what the environment says: in processes of their own, as each
// variable is read once.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <weft/weft.h>

#include "cpu/pool.h"
#include "graph/misuse.h"
#include "support/catch.h"
#include "support/own_process.h"

namespace {

using namespace weft;
using namespace std::chrono_literals;
using detail::limit_threads;
using detail::parallel_for;

struct RestoreThreads {
  ~RestoreThreads() { limit_threads(0); }
};

/// Whether so many threads are in one loop at the same time.
bool meet(int threads) {
  std::atomic<int> inside{0};
  std::atomic<bool> have_met{false};
  const auto end = std::chrono::steady_clock::now() + 20s;
  parallel_for(threads, [&](std::int64_t) {
    if (++inside == threads) have_met = true;
    while (!have_met && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  });
  return have_met;
}

std::size_t threads_in_a_loop() {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  parallel_for(200, [&](std::int64_t) {
    std::this_thread::sleep_for(100us);
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  return seen.size();
}

std::vector<float> results() {
  const Tensor x = (arange(300'000).to(f32) * 0.001f - 100.0f).reshape({300, 1000});
  std::vector<float> all = tanh(x * 0.3f).to_vector<float>();
  for (const Tensor& each : {sum(x), sum(exp(-square(x)), 0), sum(x, 1), softmax(x, 1),
                             matmul(x, transpose(x, 0, 1)), cumsum(x, 0)}) {
    const std::vector<float> values = each.to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/// A hidden test of this program in a process of its own, where these are set ("NAME=value").
int alone(const char* name, const std::vector<std::string>& settings) {
  return test::run_alone(name, settings, {"WEFT_NUM_THREADS", "WEFT_LOG", "WEFT_CPU_ISA"});
}

/// What weft says while it lives.
struct Heard {
  std::mutex mutex;
  std::vector<std::string> lines;
  Heard() {
    set_log_sink([this](LogLevel level, std::string_view text) {
      const std::lock_guard lock(mutex);
      lines.push_back(std::to_string(static_cast<int>(level)) + " " + std::string(text));
    });
  }
  ~Heard() { set_log_sink({}); }
  /// Lines that begin so.
  int count(const std::string& text) const {
    int count = 0;
    for (const std::string& line : lines) count += line.starts_with(text);
    return count;
  }
};

// Names without commas, which would be several: a process that finds no test ends well.
constexpr const char* three_threads = "alone: settings: three threads";
constexpr const char* wrong_values =
    "alone: settings: wrong values are told once and the defaults hold";
constexpr const char* wrong_count = "alone: settings: a wrong number of threads";
constexpr const char* nothing_said = "alone: settings: nothing is said";
constexpr const char* facts_said = "alone: settings: facts are said";
constexpr const char* in_report = "alone: settings: a report has them";

void compute() { CHECK(sum(ones({200'000})).item<float>() == 200'000); }

}  // namespace

TEST_CASE("settings: more threads and fewer, with the same bits", "[settings][threads]") {
  const RestoreThreads restore;
  set_num_threads(1);
  CHECK(num_threads() == 1);
  CHECK(threads_in_a_loop() == 1);
  const std::vector<float> wanted = results();
  for (const int count : {2, 5, 3, 1, 4}) {
    set_num_threads(count);
    CHECK(num_threads() == count);
    CHECK(meet(count));
    CHECK(threads_in_a_loop() <= static_cast<std::size_t>(count));
    CHECK(results() == wanted);
  }
  set_num_threads(5000);
  CHECK(num_threads() == 1024);
}

TEST_CASE("settings: threads may be set while others compute", "[settings][threads]") {
  const RestoreThreads restore;
  const std::vector<float> wanted = results();
  std::atomic<bool> done{false};
  std::thread other([&] {
    for (int i = 0; !done; ++i) {
      set_num_threads(1 + i % 4);
      std::this_thread::sleep_for(50us);
    }
  });
  for (int i = 0; i < 10; ++i) CHECK(results() == wanted);
  done = true;
  other.join();
}

TEST_CASE("settings: a number of threads below 1", "[settings][misuse]") {
  for (const int count : {0, -3}) {
    const int before = num_threads();
    testing::Told told =
        testing::told<ValueError>(__LINE__, __FILE__, [&] { set_num_threads(count); });
    CHECK(
        testing::says(told, {"set_num_threads: " + std::to_string(count), "at least 1"}).wrong() ==
        "");
    CHECK(num_threads() == before);
  }
}

TEST_CASE("settings: caches are emptied, device by device", "[settings]") {
  sim::enable(1);
  const auto fill = [](Device device) { ones({1000}, {.device = device}).wait(); };
  fill("cpu");
  CHECK(memory_stats().cached > 0);
  fill("sim:0");
  empty_cache("sim:0");
  CHECK(memory_stats().cached > 0);
  empty_cache();
  CHECK(memory_stats().cached == 0);
}

// ---- in processes of their own

TEST_CASE(three_threads, "[.][settings-alone]") {
  const Heard heard;
  CHECK(num_threads() == 3);
  CHECK(meet(3));
  setenv("WEFT_NUM_THREADS", "2", 1);
  CHECK(num_threads() == 3);
  for (const Setting& setting : environment_settings())
    if (setting.name == "WEFT_NUM_THREADS") CHECK(setting.value == "3");
  CHECK(heard.lines.empty());
}

TEST_CASE(wrong_values, "[.][settings-alone]") {
  const Heard heard;
  for (int i = 0; i < 2; ++i) compute();
  const std::string processors = std::to_string(std::thread::hardware_concurrency());
  CHECK(std::to_string(num_threads()) == processors);
  CHECK(heard.lines.size() == 4);
  CHECK(heard.count("2 WEFT_LOG=loud is none of: off, error, warning, info; used is warning") == 1);
  CHECK(heard.count("2 WEFT_NUM_THREADS=many is none of: 1 to 1024; used is " + processors) == 1);
  CHECK(heard.count("2 environment: WEFT_THREADS is no variable of weft; the nearest is "
                    "WEFT_NUM_THREADS") == 1);
  CHECK(heard.count("2 WEFT_CPU_ISA=v9 is none of ") == 1);
}

TEST_CASE(wrong_count, "[.][settings-alone]") {
  const Heard heard;
  compute();
  CHECK(heard.lines.size() == 1);
  CHECK(heard.count("2 WEFT_NUM_THREADS=") == 1);
}

TEST_CASE(nothing_said, "[.][settings-alone]") {
  const Heard heard;
  compute();
  CHECK(heard.lines.empty());
}

TEST_CASE(facts_said, "[.][settings-alone]") {
  const Heard heard;
  compute();
  CHECK(heard.count("3 cpu: threads: 2") == 1);
  CHECK(heard.count("3 cpu: the instruction set is ") == 1);
  CHECK(heard.lines.size() == 2);
  set_log_level(LogLevel::off);
  CHECK(log_level() == LogLevel::off);
}

TEST_CASE(in_report, "[.][settings-alone]") {
  const SystemReport report = system_report();
  std::ostringstream text, json;
  text << report;
  write_json(json, report);
  CHECK_THAT(text.str(),
             Catch::Matchers::ContainsSubstring("\nsettings    WEFT_CACHE            = off\n"));
  CHECK_THAT(text.str(), Catch::Matchers::ContainsSubstring(
                             "\n            WEFT_LOG              not set: warning\n"));
  const nlohmann::json settings = nlohmann::json::parse(json.str())["settings"];
  CHECK(settings.size() == report.settings.size());
  CHECK(settings["WEFT_CACHE"] == "off");
  CHECK(settings["WEFT_LOG"].is_null());
}

TEST_CASE("settings: the environment's hold from the start", "[settings]") {
  CHECK(alone(three_threads, {"WEFT_NUM_THREADS=3"}) == 0);
  CHECK(alone(wrong_values, {"WEFT_NUM_THREADS=many", "WEFT_LOG=loud", "WEFT_CPU_ISA=v9",
                             "WEFT_THREADS=2"}) == 0);
  for (const char* wrong : {"0", "-1", "1025", "2x", "99999999999", " 2"}) {
    INFO(wrong);
    CHECK(alone(wrong_count, {std::string("WEFT_NUM_THREADS=") + wrong}) == 0);
  }
  CHECK(alone(nothing_said, {}) == 0);
  CHECK(alone(nothing_said,
              {"WEFT_NUM_THREADS=many", "WEFT_LOG=off", "WEFT_CPU_ISA=v9", "WEFT_THREADS=2"}) == 0);
  CHECK(alone(nothing_said, {"WEFT_NUM_THREADS=", "WEFT_LOG="}) == 0);
  CHECK(alone(facts_said, {"WEFT_NUM_THREADS=2", "WEFT_LOG=info"}) == 0);
  CHECK(alone(in_report, {"WEFT_CACHE=off"}) == 0);
}
