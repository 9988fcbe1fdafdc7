// Every case of the golden files on every backend.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <set>

#include "golden.h"
#include "support/catch.h"
#include "support/gpu.h"

namespace {

namespace fs = std::filesystem;
using golden::Case;
using golden::Verdict;

const std::set<std::string> known = {"unary",  "binary", "ternary", "cast",  "reduce",      "shape",
                                     "matmul", "grad",   "nn",      "optim", "second_order"};

fs::path path_of(const std::string& name) { return golden::folder() / (name + ".jsonl.gz"); }

// Another set may lack a file of ours; ours may not.
void run_file(const std::string& name, const std::string& backend_name) {
  const fs::path file = path_of(name);
  if (!golden::is_own_folder() && !fs::exists(file)) {
    std::cout << "golden: " << name << ": not in this set\n";
    return;
  }
  const golden::Backend backend = golden::backend(backend_name);
  if (!backend.run) {
    std::cout << "golden: " << backend_name << ": not in this build\n";
    return;
  }
  std::size_t passed = 0, missing = 0;
  std::map<std::string, std::vector<std::string>> by_rule;
  for (const Case& one : golden::load_cases(file)) {
    const Verdict verdict = golden::run_case(one, backend, golden::registry());
    if (!verdict.rule.empty()) by_rule[verdict.rule].push_back(one.id);
    if (verdict.kind == Verdict::Kind::not_there) ++missing;
    if (verdict.kind == Verdict::Kind::passed) ++passed;
    if (verdict.kind == Verdict::Kind::failed)
      FAIL_CHECK(one.id << " on " << backend_name << ": " << one.op << " " << one.attrs.dump()
                        << " " << verdict.message);
  }
  CHECK(passed + missing > 0);
  std::cout << "golden: " << name << " on " << backend_name << ": " << passed << " right, "
            << missing << " not there yet\n";
  for (const auto& [rule, ids] : by_rule)
    for (const std::string& id : ids)
      std::cout << "golden: " << id << ": by " << rule << ", against the reference\n";
}

std::vector<std::string> other_files() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(golden::folder())) {
    const std::string file = entry.path().filename().string();
    const auto end = file.find(".jsonl.gz");
    if (end != std::string::npos && !known.contains(file.substr(0, end)))
      names.push_back(file.substr(0, end));
  }
  std::ranges::sort(names);
  return names;
}

}  // namespace

#define GOLDEN_FILE(file)                                                                          \
  TEST_CASE("golden: " file " on cpu", "[golden][cpu]") { run_file(file, "cpu"); }                 \
  TEST_CASE("golden: " file " on interpreter", "[golden][interpreter]") {                          \
    run_file(file, "interpreter");                                                                 \
  }                                                                                                \
  TEST_CASE("golden: " file " on sim", "[golden][sim]") { run_file(file, "sim"); }                 \
  TEST_CASE("golden: " file " on cuda", "[golden][gpu]") {                                         \
    if (weft::testing::has_gpus(1)) run_file(file, "cuda");                                        \
  }

GOLDEN_FILE("unary")
GOLDEN_FILE("binary")
GOLDEN_FILE("ternary")
GOLDEN_FILE("cast")
GOLDEN_FILE("reduce")
GOLDEN_FILE("shape")
GOLDEN_FILE("matmul")
GOLDEN_FILE("grad")
GOLDEN_FILE("nn")
GOLDEN_FILE("optim")
GOLDEN_FILE("second_order")

TEST_CASE("golden: files that only another set has", "[golden]") {
  for (const std::string& name : other_files())
    for (const char* backend : {"cpu", "interpreter", "sim"}) run_file(name, backend);
}

TEST_CASE("golden: ops that are not there yet", "[golden]") {
  std::map<std::string, std::size_t> missing;
  std::size_t cases = 0, covered = 0;
  for (const auto& entry : fs::directory_iterator(golden::folder())) {
    if (entry.path().extension() != ".gz") continue;
    for (const Case& one : golden::load_cases(entry.path())) {
      ++cases;
      if (golden::registry().contains(one.op))
        ++covered;
      else
        ++missing[one.op];
    }
  }
  CHECK(covered > 0);
  // Of the set that is committed here; an op that goes missing is no case that waits.
  if (cases >= 2671) CHECK(covered >= 2641);
  std::cout << "golden: " << covered << " of " << cases << " cases run; not there yet:\n";
  for (const auto& [op, count] : missing)
    std::cout << "  " << std::left << std::setw(36) << op << std::right << std::setw(5) << count
              << '\n';
}
