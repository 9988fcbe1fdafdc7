// The machine on which kernel texts are tried: threads, barriers, warps, parameter words.
#include <numeric>

#include "support/catch.h"
#include "support/host_kernels.h"

using namespace weft;
using namespace weft::detail;

namespace {

KernelSequence kernel(const std::string& body, std::uint32_t words) {
  KernelLaunch launch;
  launch.source = std::make_shared<KernelSource>(KernelSource{
      "entry",
      device_library(body) + "struct Params { unsigned long long w[" + std::to_string(words) +
          "]; };\nextern \"C\" __global__ void entry(const __grid_constant__ Params p) {\n" + body +
          "\n}\n"});
  launch.params.resize(words);
  launch.params[0] = {ParamWord::Kind::output, 0};
  KernelSequence sequence;
  sequence.launches.push_back(launch);
  return sequence;
}

void run(const KernelSequence& sequence, std::vector<int>& output) {
  const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(output.data());
  ErrorBlock error;
  weft::testing::run_on_host(sequence, {}, {&address, 1}, {}, 0, &error, 6);
}

}  // namespace

TEST_CASE("host kernels: a grid of blocks of threads") {
  KernelSequence sequence =
      kernel("unsigned at = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;\n"
             "at = at * 12 + (threadIdx.z * 2 + threadIdx.y) * 3 + threadIdx.x;\n"
             "((int*)p.w[0])[at] = (int)(at * p.w[1] + p.w[2]);",
             3);
  KernelLaunch& launch = sequence.launches[0];
  launch.grid[0] = 2, launch.grid[1] = 3, launch.grid[2] = 2;
  launch.block[0] = 3, launch.block[1] = 2, launch.block[2] = 2;
  launch.params[1] = {ParamWord::Kind::constant, 5};
  launch.params[2] = {ParamWord::Kind::step, 0};
  std::vector<int> output(144, -1);
  run(sequence, output);
  for (int i = 0; i < 144; ++i) REQUIRE(output[static_cast<std::size_t>(i)] == 5 * i + 7);
  launch.params.pop_back();
  REQUIRE_THROWS_AS(run(sequence, output), std::runtime_error);
}

TEST_CASE("host kernels: barriers, shared memory, atomics") {
  KernelSequence sequence =
      kernel("__shared__ int row[100];\n"
             "WF_DYNAMIC_SHARED(bytes);\n"
             "int* total = (int*)bytes;\n"
             "const int t = threadIdx.x;\n"
             "if (t == 0) *total = row[50] == (int)0xa5a5a5a5 ? 0 : 1000000;\n"
             "__syncthreads();\n"
             "row[t] = t;\n"
             "__syncthreads();\n"
             "atomicAdd(total, row[99 - t] - (t == 3 ? 1 : 0));\n"
             "const int even = __syncthreads_count(t % 2 == 0);\n"
             "((int*)p.w[0])[blockIdx.x * 100 + t] = *total + even;",
             1);
  sequence.launches[0].grid[0] = 2;
  sequence.launches[0].block[0] = 100;
  sequence.launches[0].shared_bytes = 4;
  std::vector<int> output(200);
  run(sequence, output);
  for (const int value : output) REQUIRE(value == 4950 - 1 + 50);
}

TEST_CASE("host kernels: lanes of a warp") {
  KernelSequence sequence =
      kernel("const int t = threadIdx.x;\n"
             "int sum = t;\n"
             "for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);\n"
             "const int up = __shfl_up_sync(0xffffffffu, t, 1), down = "
             "__shfl_down_sync(0xffffffffu, t, 2, 8);\n"
             "int* out = (int*)p.w[0] + 5 * t;\n"
             "out[0] = sum, out[1] = up, out[2] = down;\n"
             "out[3] = __shfl_sync(0xffffffffu, t, 33, 16);\n"
             "out[4] = (int)__ballot_sync(0xffffffffu, t % 4 == 0);",
             1);
  sequence.launches[0].block[0] = 64;
  std::vector<int> output(5 * 64);
  run(sequence, output);
  for (int t = 0; t < 64; ++t) {
    const int* out = output.data() + 5 * t;
    REQUIRE(out[0] == (t < 32 ? 496 : 496 + 1024));
    REQUIRE(out[1] == (t % 32 == 0 ? t : t - 1));
    REQUIRE(out[2] == (t % 8 < 6 ? t + 2 : t));
    REQUIRE(out[3] == t / 16 * 16 + 1);
    REQUIRE(out[4] == 0x11111111);
  }
}

TEST_CASE("host kernels: threads that wait in vain are found") {
  std::vector<int> output(1);
  KernelSequence alone = kernel("if (threadIdx.x < 5) __syncthreads(); else __syncwarp();", 1);
  alone.launches[0].block[0] = 32;
  REQUIRE_THROWS_AS(run(alone, output), std::runtime_error);
  KernelSequence ended = kernel("if (threadIdx.x < 5) return; __syncwarp();", 1);
  ended.launches[0].block[0] = 32;
  REQUIRE_THROWS_AS(run(ended, output), std::runtime_error);
}
