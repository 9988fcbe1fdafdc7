// The least that a program does with a GPU; how long it takes from its start is measured by
// benchmarks/compare.py, which gives it the kernel folder that it finds.
//   first_result [--product] [--device cpu]     prints the monotonic clock when the value is there
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>

#include <weft/weft.h>

#include "measure.h"

int main(int argc, char** argv) {
  using namespace weft;
  bool product = false;
  for (int i = 1; i < argc; ++i) product = product || std::strcmp(argv[i], "--product") == 0;
  try {
    const Device device =
        bench::options_of(argc, argv).device == "cpu" ? Device::cpu() : Device::cuda(0);
    if (device.is_cuda() && !cuda::is_available()) {
      std::fputs("first_result: passed over: no GPU\n", stderr);
      return 0;
    }
    float value = 0, wanted = 0;
    if (product) {
      const Tensor a = full({256, 256}, 2.0f, {.device = device});
      value = sum(matmul(a, a + 1.0f)).item<float>();
      wanted = 256.0f * 256 * 256 * 6;
    } else {
      const Tensor x = tensor({1.0f, 2.0f, 3.0f}, {.device = device});
      value = relu(x * 2.0f - 3.0f).to_vector<float>()[2];
      wanted = 3;
    }
    std::timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    std::printf("%.6f\n",
                static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec));
    return value == wanted ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "first_result: %s\n", error.what());
    return 1;
  }
}
