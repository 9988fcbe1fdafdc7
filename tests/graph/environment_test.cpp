// The table of the environment: docs/settings.md shows it, and likenesses are told.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <weft/graph/detail/environment.h>
#include <weft/graph/error.h>

#include "support/catch.h"

namespace {

namespace fs = std::filesystem;
using namespace weft::detail;

const fs::path page = fs::path(WEFT_TESTS_DIR).parent_path() / "docs/settings.md";
constexpr const char* heads = "| variable | values | where it is not set | what it says |\n";

std::string read(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The rows below the heads, to the first line that is none.
std::string rows_of(const std::string& text) {
  const std::size_t begin = text.find(heads);
  REQUIRE(begin != std::string::npos);
  std::istringstream lines(text.substr(begin + std::string(heads).size()));
  std::string rows, line;
  while (std::getline(lines, line) && line.starts_with("|")) rows += line + "\n";
  return rows;
}

}  // namespace

TEST_CASE("docs: settings.md has exactly the variables of the table", "[docs]") {
  std::string wanted = "|---|---|---|---|\n";
  for (const EnvironmentVariable& variable : environment_variables())
    wanted += "| `" + std::string(variable.name) + "` | " + variable.values + " | " +
              variable.fallback + " | " + variable.meaning + " |\n";
  std::string text = read(page);
  const std::string found = rows_of(text);
  if (std::getenv("WEFT_UPDATE_GOLDEN"))
    std::ofstream(page) << text.replace(text.find(found), found.size(), wanted);
  else
    CHECK(found == wanted);
}

TEST_CASE("environment: a variable is in the table once, and no other is read", "[environment]") {
  std::set<std::string> names;
  for (const EnvironmentVariable& variable : environment_variables()) {
    CHECK(names.insert(variable.name).second);
    CHECK_NOTHROW(environment(variable.name));
  }
  CHECK(names.count("WEFT_NUM_THREADS") == 1);
  CHECK_THROWS_AS(environment("PATH"), weft::InternalError);
}

TEST_CASE("environment: the usual words for on and off", "[environment]") {
  for (const char* text : {"on", "ON", "1", "yes", "True"}) {
    CHECK(is_on(text));
    CHECK_FALSE(is_off(text));
  }
  for (const char* text : {"off", "Off", "0", "no", "FALSE"}) {
    CHECK(is_off(text));
    CHECK_FALSE(is_on(text));
  }
  for (const char* text : {"", "of", "offf", "2", "y", "on "}) {
    CHECK_FALSE(is_on(text));
    CHECK_FALSE(is_off(text));
  }
}

TEST_CASE("environment: a variable like one of weft's is told, others are not", "[environment]") {
  const char* const names[] = {"PATH=/bin",
                               "WEFT_NUM_THREADS=2",
                               "WEFT_NUM_THREAD=2",
                               "WEFTNUM_THREADS=2",
                               "WEFT_JOBS=2",
                               "WEFT_TESTS_GPU=required",
                               "WEFT_FUZZ_SEEDS=0:10",
                               "WEFT_NO_PACKAGES=1",
                               "WEFT_COMMIT=a",
                               "WEFT_UPDATE_GOLDEN=1",
                               "WEFT_CASH_DIR=/x",
                               "WEFT_LOG",
                               "WEFT_SYNCH",
                               nullptr};
  CHECK(unknown_variables(names) ==
        "environment: WEFT_NUM_THREAD is no variable of weft; the nearest is WEFT_NUM_THREADS\n"
        "environment: WEFT_CASH_DIR is no variable of weft; the nearest is WEFT_CACHE_DIR\n"
        "environment: WEFT_SYNCH is no variable of weft; the nearest is WEFT_SYNC\n");
}
