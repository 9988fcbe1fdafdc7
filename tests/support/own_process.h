// Hidden tests in processes of their own.
#pragma once

#include <string>
#include <vector>

namespace weft::test {

/// What a child returned; -1 where it hung, 1000 and a signal's number where that ended it.
int outcome_of(int status);

/// Runs one test of this program in a process of its own, with these settings ("NAME=value") and
/// without the variables named. Not by fork, which takes all of weft's locks: ThreadSanitizer's
/// search for deadlocks ends the program where a thread has more than 64. There it is off too, for
/// forks of that process.
int run_alone(const char* test, std::vector<std::string> settings,
              const std::vector<std::string>& without = {});

}  // namespace weft::test
