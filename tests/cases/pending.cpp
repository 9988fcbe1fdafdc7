// The public cases that have no test yet, and what each waits for.
#include <iostream>
#include <set>
#include <string_view>

#include "cases/cases.h"

namespace {

struct Pending {
  int number;
  std::string_view text;
  std::string_view waits_for;
};

constexpr Pending pending[] = {
#ifdef WEFT_TESTS_WITHOUT_CUDA
    {18, "a truncated kernel file is rebuilt with one warning", "a build with a CUDA backend"},
    {19, "a newer NVRTC and an older driver", "a build with a CUDA backend"},
#endif
    {50, "a file saved on a GPU loads without one", "save and load"},
};

}  // namespace

TEST_CASE("every public case has a test or waits for something named") {
  std::multiset<int> numbers(weft::cases::registered_cases().begin(),
                             weft::cases::registered_cases().end());
  for (const Pending& one : pending) {
    std::cout << "C" << one.number << " " << one.text << ": waits for " << one.waits_for << '\n';
    CHECK_FALSE(one.waits_for.empty());
    numbers.insert(one.number);
  }
  for (int number = 1; number <= weft::cases::case_count; ++number) {
    INFO("C" << number);
    CHECK(numbers.count(number) == 1);
  }
  CHECK(numbers.size() == weft::cases::case_count);
}
