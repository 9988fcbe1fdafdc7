// A CUDA driver of the tests: GPUs made of host memory, whose streams do their work late and in a
// random order, as far as events allow. Kernels are run on the host from their texts, each compiled
// once a process.
//
// To try every failure of what a program calls, make each of its calls fail in turn:
//
//   for (std::int64_t k = 1;; ++k) {
//     const FakeCuda gpu;
//     FakeCuda::fail(k, status);
//     ... the program: a typed error, or the right result ...
//     const bool failed = FakeCuda::has_failed();
//     FakeCuda::fail(0, 0);
//     ... the program again: right; FakeCuda::held() after empty_cache() as in a run without ...
//     if (!failed) break;
//   }
//
// A table of another library (cuBLASLt's, NVRTC's) whose functions begin with
// `if (CuStatus status = FakeCuda::fault())` counts its calls among these; `status` is then 1, 2 or
// one that loses the device, to be told in the library's own terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::testing {

struct FakeCudaOptions {
  int gpus = 1;
  std::size_t memory_bytes = std::size_t{1} << 30;  // of each
  std::uint64_t seed = 1;                           // of the order of work
  bool peers = true;                                // copy directly
  bool wrong_peers = false;                         // and move wrong bytes
  bool lazy = false;                                // does nothing until somebody waits
  int processors = 4;
  int driver_version = 13000;
  /// Kernels are asked of kernel_builder(), for sm_90, and what comes of it has its text in it
  /// (support/code_with_text.h); else texts are taken as they are.
  bool takes_code = false;
  int refuses_code = 0;  // the status of loading any
};

/// What exists on all GPUs.
struct FakeCudaHeld {
  std::size_t bytes = 0, blocks = 0;  // of device memory
  std::size_t mapped = 0;             // bytes of reserved ranges; in `bytes` too
  std::size_t pinned = 0;             // bytes of the host
  std::size_t registered = 0;         // and of its pool that are pinned
  std::size_t events = 0, modules = 0;
};

/// While it lives there are such GPUs, cuda:0 and so on, and no others.
class FakeCuda {
 public:
  explicit FakeCuda(const FakeCudaOptions& options = {});
  ~FakeCuda();
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  /// The k-th call from now on, of those that can fail, returns this status; 0: none does. A status
  /// that loses the device is returned by all calls after it, until this is called again.
  static void fail(std::int64_t k, int status, bool forever = false);
  static bool has_failed();
  /// Counts a call of another library: the status that it is to return.
  static int fault();
  /// Queues another library's work on a stream (a CuStream), as a kernel is; the status, which may
  /// be that of a failure.
  static int queue(void* stream, std::function<void()> work);
  /// No kernel starts until they are let go.
  static void hold_kernels(bool held);
  /// The k-th kernel to run from now on crashes, and the device is lost.
  static void crash_kernel(std::int64_t k);
  /// Calls that could have failed, since the last `fail`.
  static std::int64_t calls();
  static std::int64_t launches();
  /// Kernels that streams have before them.
  static std::int64_t queued_kernels();
  static std::int64_t peer_copies();
  static FakeCudaHeld held();
  /// What the streams did, in order: "kernel", "upload", "download", "copy" or "fill", and its
  /// number of bytes (a kernel's: 0).
  struct Done {
    std::string what;
    std::size_t bytes = 0;
  };
  static std::vector<Done> log();
  static void clear_log();
};

}  // namespace weft::testing
