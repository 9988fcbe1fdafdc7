#include "support/gpu.h"

#include <cstdlib>
#include <iostream>
#include <string>

#include <weft/runtime/device.h>

#include "support/catch.h"

namespace weft::testing {

namespace {

int required_gpus() {
  const char* const text = std::getenv("WEFT_TESTS_GPU");
  if (!text || !*text) return 0;
  return std::string(text) == "required" ? 1 : std::atoi(text);
}

}  // namespace

bool has_gpus(int count) {
  const int there = cuda::device_count();
  if (there >= count) return true;
  INFO("needs " << count << " GPUs, and there are " << there);
  CHECK(required_gpus() < count);
  std::cout << "passed over: needs " << count << " GPUs, and there are " << there << '\n';
  return false;
}

}  // namespace weft::testing
