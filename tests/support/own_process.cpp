#include "support/own_process.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::test {

int outcome_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return WTERMSIG(status) == SIGALRM ? -1 : 1000 + WTERMSIG(status);
}

int run_alone(const char* test, std::vector<std::string> settings,
              const std::vector<std::string>& without) {
  settings.push_back("TSAN_OPTIONS=detect_deadlocks=0");
  std::vector<std::string> names = without;
  for (const std::string& setting : settings) names.push_back(setting.substr(0, setting.find('=')));
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (std::find(names.begin(), names.end(), name) == names.end()) environment.push_back(*entry);
  }
  environment.push_back(nullptr);
  char program[] = "test";
  char* const arguments[] = {program, const_cast<char*>(test), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environment.data()) != 0)
    return 127;
  int status = 0;
  for (int i = 0; waitpid(child, &status, WNOHANG) == 0; ++i) {
    if (i == 12000) kill(child, SIGALRM);  // it hangs
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return outcome_of(status);
}

}  // namespace weft::test
