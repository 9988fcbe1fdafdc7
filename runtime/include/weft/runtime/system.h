// What weft finds on this machine: the driver, the compiler of kernels, libraries, the kernel cache
// and the GPUs; for people who ask why a GPU is not used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <weft/runtime/settings.h>

namespace weft {

/// A library that is looked for when it is first needed.
struct LibraryReport {
  std::string version;  // as its makers write it, "13.0"; empty where it is not known
  std::string path;     // of its file, links resolved; empty where there is none
  std::string problem;  // why it cannot be used, and what was tried; empty where it can be
  bool is_usable() const noexcept { return problem.empty(); }
};

/// Where built kernels are kept between processes.
struct KernelFolderReport {
  std::string path;
  std::uint64_t bytes = 0, size_limit = 0;
  std::size_t kernels = 0;
  std::string problem;  // why none are kept; empty where they are
};

struct GpuReport {
  int index = 0;
  std::string name;
  std::size_t total_bytes = 0;
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  std::string problem;  // why it cannot be used; empty where a kernel was built, ran there, and
                        // gave the right value
};

struct SystemReport {
  std::string weft_version;
  LibraryReport driver;         // its version is the driver's own, "580.65.06"
  int driver_cuda_version = 0;  // the newest CUDA that it supports, 13000 for 13.0; 0 where absent
  LibraryReport nvrtc;
  LibraryReport cublaslt;
  KernelFolderReport kernel_folder;
  std::vector<GpuReport> gpus;
  std::string no_gpu_reason;      // where there are none
  std::string verdict;            // in one line: whether these work together, and why
  std::vector<Setting> settings;  // the environment's
};

/// Looks for all of it, and has each GPU run a kernel, which makes its context. Throws nothing for
/// want of anything, but std::bad_alloc; not in a process that was forked after a GPU was used.
SystemReport system_report();

/// A line for each part, those that are missing with the reason.
std::ostream& operator<<(std::ostream& out, const SystemReport& report);
/// One object, its names those of the fields.
void write_json(std::ostream& out, const SystemReport& report);

}  // namespace weft
