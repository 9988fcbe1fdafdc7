#define CATCH_CONFIG_RUNNER
#include "support/catch.h"

#include <unistd.h>

// A forked child has none of the threads whose stacks hold what was in flight: LeakSanitizer would
// call that lost.
namespace {
const pid_t process = getpid();
}
extern "C" int __lsan_is_turned_off();
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() {
  return getpid() != process;
}

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
