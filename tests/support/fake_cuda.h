// A CUDA driver of the tests: GPUs made of host memory, whose streams do their work late and in a
// random order, as far as events allow. Kernels are run on the host from their texts.
#pragma once

#include <cstdint>
#include <string>

namespace weft::testing {

struct FakeCudaOptions {
  int gpus = 1;
  std::size_t memory_bytes = std::size_t{1} << 30;  // of each
  std::uint64_t seed = 1;    // of the order of work
  bool peers = true;         // copy directly
  bool wrong_peers = false;  // and move wrong bytes
};

/// While it lives there are such GPUs, cuda:0 and so on, and no others.
class FakeCuda {
 public:
  explicit FakeCuda(const FakeCudaOptions& options = {});
  ~FakeCuda();
  FakeCuda(const FakeCuda&) = delete;
  FakeCuda& operator=(const FakeCuda&) = delete;

  /// The k-th call from now on, of those that can fail, returns this status; 0: none does.
  static void fail(std::int64_t k, int status, bool forever = false);
  static bool has_failed();
  /// Calls that could have failed, since the last `fail`.
  static std::int64_t calls();
  static std::int64_t launches();
  static std::int64_t peer_copies();
  /// Bytes that are allocated on all GPUs.
  static std::size_t allocated();
};

}  // namespace weft::testing
