// Kernels for tests of compilers, and tests that run in a process of their own.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include <weft/codegen/build.h>

#include "support/compile_all.h"

namespace weft::test {

using detail::KernelSource;

// Uses what kernels use: the parameter block, C++17, shuffles, shared memory, integer atomics.
inline const KernelSource rich = {"rich", R"(struct Params { unsigned long long w[4]; };
template <class T> __device__ T half_of(T x) {
  if constexpr (sizeof(T) == 4) return x * T(0.5); else return x;
}
extern "C" __global__ void rich(const __grid_constant__ Params p) {
  __shared__ float part[8];
  const float* a = reinterpret_cast<const float*>(p.w[0]);
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = i < p.w[2] ? __ldg(a + i) : 0.0f;
  for (int step = 16; step; step >>= 1) x += __shfl_xor_sync(0xffffffffu, x, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = half_of(x);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<int*>(p.w[1]), int(part[0] * p.w[3] + part[1]));
}
)"};

inline bool has_nvrtc() { return !compiled_architectures().empty(); }

inline int status_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Runs one hidden test of this program, with no kernels kept on disk.
inline int run_alone(const char* name, const char* variable = nullptr,
                     const char* value = nullptr) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("WEFT_CACHE", "off", 1);
    if (variable) setenv(variable, value, 1);
    execl("/proc/self/exe", "test", name, static_cast<char*>(nullptr));
    _exit(127);
  }
  return status_of(child);
}

inline std::shared_ptr<const KernelSource> share(const std::string& text, const char* entry = "k") {
  return std::make_shared<const KernelSource>(KernelSource{entry, text});
}

}  // namespace weft::test
