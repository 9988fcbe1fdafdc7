// What the GPU itself can do, past weft: kernels written by hand, copies of the driver, timed by
// the driver's events. Ceilings that figures of the same run are held against.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>

#include <weft/codegen/build.h>

#include "measure.h"

namespace bench {

class RawGpu {
 public:
  using Address = std::uint64_t;

  /// The first GPU's primary context, current for the calling thread. Throws std::runtime_error.
  explicit RawGpu(int architecture) {
    library_ = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library_) throw std::runtime_error("no libcuda.so.1");
    int device = 0;
    call<unsigned>("cuInit", 0u);
    call<int*, int>("cuDeviceGet", &device, 0);
    call<void**, int>("cuDevicePrimaryCtxRetain", &context_, device);
    call<void*>("cuCtxSetCurrent", context_);
    call<void**, unsigned>("cuStreamCreate", &stream_, 1u);
    call<void**, unsigned>("cuEventCreate", &begin_, 0u);
    call<void**, unsigned>("cuEventCreate", &end_, 0u);
    const weft::detail::KernelSource source{"ceilings", text};
    const std::vector<char> image = weft::detail::compile(source, architecture);
    call<void**, const void*>("cuModuleLoadData", &module_, image.data());
  }
  RawGpu(const RawGpu&) = delete;
  RawGpu& operator=(const RawGpu&) = delete;

  Address allocate(std::size_t bytes) {
    Address address = 0;
    call<Address*, std::size_t>("cuMemAlloc_v2", &address, bytes);
    call<Address, unsigned, std::size_t>("cuMemsetD32_v2", address, 0x3f800000u, bytes / 4);
    return address;
  }
  void free(Address address) { call<Address>("cuMemFree_v2", address); }
  void* allocate_host(std::size_t bytes) {
    void* address = nullptr;
    call<void**, std::size_t, unsigned>("cuMemHostAlloc", &address, bytes, 0u);
    return address;
  }
  void free_host(void* address) { call<void*>("cuMemFreeHost", address); }

  /// Kernel over `vectors` pieces of 16 bytes.
  void launch(const char* name, std::vector<Address> words, std::size_t vectors,
              unsigned blocks = 0) {
    void* function = nullptr;
    call<void**, void*, const char*>("cuModuleGetFunction", &function, module_, name);
    words.push_back(vectors);
    std::size_t bytes = words.size() * sizeof(Address);
    void* extra[] = {reinterpret_cast<void*>(1), words.data(), reinterpret_cast<void*>(2), &bytes,
                     nullptr};
    const unsigned grid = blocks ? blocks : static_cast<unsigned>((vectors + 255) / 256);
    call<void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
         void**>("cuLaunchKernel", function, grid, 1u, 1u, 256u, 1u, 1u, 0u, stream_, nullptr,
                 extra);
  }
  void copy(Address to, Address from, std::size_t bytes) {
    call<Address, Address, std::size_t, void*>("cuMemcpyDtoDAsync_v2", to, from, bytes, stream_);
  }
  void copy_in(Address to, const void* from, std::size_t bytes) {
    call<Address, const void*, std::size_t, void*>("cuMemcpyHtoDAsync_v2", to, from, bytes,
                                                   stream_);
  }
  void copy_out(void* to, Address from, std::size_t bytes) {
    call<void*, Address, std::size_t, void*>("cuMemcpyDtoHAsync_v2", to, from, bytes, stream_);
  }

  /// Median seconds of one call's work, by events.
  double seconds(int samples, int calls, const std::function<void()>& work) {
    std::vector<double> values;
    for (int i = -2; i < samples; ++i) {
      call<void*, void*>("cuEventRecord", begin_, stream_);
      for (int k = 0; k < calls; ++k) work();
      call<void*, void*>("cuEventRecord", end_, stream_);
      call<void*>("cuEventSynchronize", end_);
      float ms = 0;
      call<float*, void*, void*>("cuEventElapsedTime", &ms, begin_, end_);
      if (i >= 0) values.push_back(ms / 1000.0 / calls);
    }
    return median(std::move(values));
  }

 private:
  static constexpr const char* text = R"(
struct alignas(16) V { float x, y, z, w; };
struct P2 { const V* a; V* out; unsigned long long n; };
struct P4 { const V *a, *b, *c; V* out; unsigned long long n; };
__device__ __forceinline__ unsigned long long place() {
  return blockIdx.x * 256ull + threadIdx.x;
}
extern "C" __global__ void __launch_bounds__(256) copy(const P2 p) {
  const unsigned long long i = place();
  if (i < p.n) p.out[i] = p.a[i];
}
extern "C" __global__ void __launch_bounds__(256) stream(const P4 p) {
  const unsigned long long i = place();
  if (i >= p.n) return;
  const V a = p.a[i], b = p.b[i], c = p.c[i];
  p.out[i] = V{a.x + b.x + c.x, a.y + b.y + c.y, a.z + b.z + c.z, a.w + b.w + c.w};
}
// Each thread reads 8 vectors at a time; what it finds is written where it is not a number, never
// here, so that nothing but reading takes time.
extern "C" __global__ void __launch_bounds__(256) read(const P2 p) {
  const unsigned long long step = gridDim.x * 256ull;
  float s = 0;
  unsigned long long i = place();
  for (; i + 7 * step < p.n; i += 8 * step) {
    V v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = p.a[i + k * step];
#pragma unroll
    for (int k = 0; k < 8; ++k) s += (v[k].x + v[k].y) + (v[k].z + v[k].w);
  }
  for (; i < p.n; i += step) s += p.a[i].x;
  if (s != s) p.out[0].x = s;
}
extern "C" __global__ void ceilings(const P2 p) {}
)";

  template <class... Parameters>
  void call(const char* name, Parameters... parameters) {
    const auto function = reinterpret_cast<int (*)(Parameters...)>(::dlsym(library_, name));
    if (!function) throw std::runtime_error(std::string("the driver has no ") + name);
    if (const int status = function(parameters...))
      throw std::runtime_error(std::string(name) + " gives " + std::to_string(status));
  }

  void* library_ = nullptr;
  void *context_ = nullptr, *stream_ = nullptr, *begin_ = nullptr, *end_ = nullptr,
       *module_ = nullptr;
};

}  // namespace bench
