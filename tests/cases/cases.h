// What the public cases share: devices to run on, values to compare, and the register of cases.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <weft/weft.h>

#include "support/catch.h"
#ifndef WEFT_TESTS_WITHOUT_CUDA
#include "support/fake_blas.h"
#include "support/fake_cuda.h"
#endif

namespace weft::cases {

/// How many public cases there are: C1 ... C50.
inline constexpr int case_count = 50;

/// Enters a case into the register of those that have a test.
struct Registration {
  explicit Registration(int number);
};
std::vector<int>& registered_cases();

/// The devices that a case may mean by "gpu": a simulated one, and a GPU where there is one.
std::vector<Device> accelerators();
#ifndef WEFT_TESTS_WITHOUT_CUDA
/// While it lives, there are two GPUs of the tests, and no others.
struct GpusOfTheTests {
  testing::FakeCuda gpus{{.gpus = 2}};
  testing::FakeBlas blas;
};
#endif

/// The cpu and those.
std::vector<Device> every_device();
/// Two devices of a kind: simulated ones, and GPUs where there are two.
std::vector<std::pair<Device, Device>> device_pairs();

using Values = std::vector<double>;

inline constexpr double NaN = __builtin_nan("");
inline constexpr double infinity = __builtin_huge_val();

Values values(const Tensor& x);
/// "" where dtype, shape, device and elements are these (NaN equals NaN, -0 equals 0), else what
/// the tensor is.
std::string differs(const Tensor& x, DType dtype, const Shape& shape, const Values& expected,
                    Device device = {});
/// "" where each element is within the tolerance, else the elements.
std::string far(const Tensor& x, const Values& expected, double tolerance);

/// The message of the error of this type that f throws, or what happened instead.
template <class E, class F>
std::string message_of(const F& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another type: ") + error.what();
  }
  return "nothing was thrown";
}

/// Whether the text has all of these parts.
template <class... Part>
bool names(const std::string& text, const Part&... parts) {
  return ((text.find(std::string(parts)) != std::string::npos) && ...);
}

}  // namespace weft::cases

/// A test named C<number>, entered into the register.
#define CASE(number, text)                                                                         \
  namespace {                                                                                      \
  const ::weft::cases::Registration case_##number(number);                                         \
  }                                                                                                \
  static void body_of_case_##number();                                                             \
  TEST_CASE("C" #number " " text) { body_of_case_##number(); }                                     \
  static void body_of_case_##number()

#ifdef WEFT_TESTS_WITHOUT_CUDA
#define CASE_ON_GPUS_OF_THE_TESTS(number)
#else
/// The same once more, after the case: with two GPUs whose driver and cuBLASLt are those of the
/// tests, which run the generated kernels on the host.
#define CASE_ON_GPUS_OF_THE_TESTS(number)                                                          \
  TEST_CASE("C" #number " on GPUs of the tests", "[fake]") {                                       \
    const ::weft::cases::GpusOfTheTests gpus;                                                      \
    body_of_case_##number();                                                                       \
  }
#endif
