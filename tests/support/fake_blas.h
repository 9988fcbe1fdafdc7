// A cuBLASLt of the tests: computes on the host, in plain loops, what the descriptors that it was
// given say, and refuses what the library would refuse. Its work goes to the streams of FakeCuda.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::testing {

/// While it lives, GPUs have this library.
class FakeBlas {
 public:
  FakeBlas();
  ~FakeBlas();
  FakeBlas(const FakeBlas&) = delete;
  FakeBlas& operator=(const FakeBlas&) = delete;

  /// Products that were carried out; and objects of the library that live.
  static std::int64_t products();
  static std::int64_t objects();
  /// Algorithms that were asked for.
  static std::int64_t choices();
  /// Calls of the function of that name in the library return this status from now on; 0: none
  /// does. With a number k, from 1: the k-th call from now on alone does.
  static void fail(const std::string& function, int status, std::int64_t k = 0);
  /// Whether one has, since then.
  static bool has_failed();
  /// Says "no algorithm" from now on.
  static void refuse(bool on);
};

}  // namespace weft::testing
