// From a kernel's text to a GPU's machine code: NVRTC, found at run time; a cache in memory and on
// disk; and workers that build what is asked for while the caller goes on. Needs no GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <weft/codegen/kernel.h>

namespace weft::detail {

// An architecture is 10 × major + minor of a compute capability: 90 for sm_90.

/// Machine code of one kernel, an ELF image.
using Cubin = std::shared_ptr<const std::vector<char>>;

/// The NVRTC that kernels are compiled with, for people.
struct NvrtcInfo {
  std::string path;                // of its file; empty where there is none
  int version = 0;                 // 1000 × major + 10 × minor: 13000; 0 where there is none
  std::vector<int> architectures;  // that it compiles for, ascending
  std::string problem;             // why there is none, every place tried, and what helps
};

/// Loads NVRTC where it can; throws nothing but std::bad_alloc.
NvrtcInfo nvrtc_info();

/// Compiles, with no cache. An architecture that NVRTC does not name is compiled for as the nearest
/// lower one of its generation, whose code it runs. Throws DeviceError where there is no NVRTC
/// (what is missing, every place tried, the remedy) or none for the architecture, CompileError with
/// NVRTC's log and the numbered text, OutOfMemoryError. From any thread.
std::vector<char> compile(const KernelSource& source, int arch);

/// Where built kernels are kept between processes, for people.
struct KernelCacheInfo {
  std::string folder;            // empty where nothing is kept
  std::uint64_t size_limit = 0;  // bytes
  std::uint64_t bytes = 0;       // in use now
  std::size_t entries = 0;
  std::string problem;  // why nothing is kept
};
KernelCacheInfo kernel_cache_info();

class KernelCache;

/// A kernel that was asked for. Equal requests share one while it is being built.
class KernelBuild;
using KernelHandle = std::shared_ptr<KernelBuild>;

/// Builds kernels on a few threads of its own, started when first needed. Everything may be called
/// from any thread, but not in a process that was forked after the first request: that throws
/// DeviceError.
class KernelBuilder {
 public:
  /// `workers` threads at most; 0: as many as the machine runs at once, up to 4.
  explicit KernelBuilder(KernelCache& cache, int workers = 0);
  /// Gives up what is queued (its waiters get a DeviceError), and waits for what is being built.
  ~KernelBuilder();
  KernelBuilder(const KernelBuilder&) = delete;
  KernelBuilder& operator=(const KernelBuilder&) = delete;

  /// Returns at once.
  KernelHandle request(std::shared_ptr<const KernelSource> source, int arch);
  /// The kernel, or what `compile` throws. Without a thread to build it, the caller does.
  Cubin wait(const KernelHandle& handle);
  /// Whether `wait` returns at once.
  static bool is_done(const KernelHandle& handle) noexcept;
  /// Gives up what is queued, and all that comes, and waits for what is being built or written.
  void end() noexcept;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

/// The process's own, over the process's cache and NVRTC. When the process ends, what is queued is
/// given up, what is being compiled is cancelled, and what is being written to disk is completed.
KernelBuilder& kernel_builder();

}  // namespace weft::detail
