// What is said of a machine: in words, of a machine of the tests, and of one that has nothing.
#include <sstream>

#include <nlohmann/json.hpp>

#include <weft/weft.h>

#include "cuda/compatibility.h"
#include "support/catch.h"
#include "support/fake_cuda.h"

using namespace weft;
using namespace weft::detail;
using testing::FakeCuda;

namespace {

std::string text_of(const SystemReport& report) {
  std::ostringstream out;
  out << report;
  return out.str();
}

nlohmann::json json_of(const SystemReport& report) {
  std::ostringstream out;
  write_json(out, report);
  return nlohmann::json::parse(out.str());
}

SystemReport of_nothing() {
  SystemReport report;
  report.weft_version = "0.1.0";
  report.driver.problem = "the driver's library was not found";
  report.nvrtc.problem = "no NVRTC. Tried:\n  \"a\"\n  b";
  report.cublaslt.problem = "no cuBLASLt";
  report.kernel_folder.problem = "turned off";
  report.no_gpu_reason = "there is no driver";
  report.verdict = compatibility({});
  return report;
}

constexpr const char* nothing_text =
    R"(weft        0.1.0
driver      not usable: the driver's library was not found
NVRTC       not usable: no NVRTC. Tried:
              "a"
              b
cuBLASLt    not usable: no cuBLASLt
kernels     none are kept: turned off
GPUs        0
verdict     no usable NVIDIA driver: programs run on the cpu
)";

}  // namespace

TEST_CASE("system report: the verdict on versions", "[system]") {
  const auto verdict = [](int driver, int nvrtc, std::vector<int> capabilities) {
    return compatibility({driver, nvrtc, {75, 80, 90, 100}, std::move(capabilities)});
  };
  CHECK(verdict(12040, 12080, {90}) ==
        "NVRTC 12.8 is newer than the driver's CUDA 12.4: kernels are compiled to machine code for "
        "the GPU, so this works");
  CHECK(verdict(12040, 13010, {90}) ==
        "NVRTC 13.1 is newer than the driver's CUDA 12.4: kernels are compiled to machine code for "
        "the GPU, which may work; NVIDIA promises it within CUDA 12 alone, and each GPU was tried");
  CHECK(verdict(13000, 12040, {90}) ==
        "NVRTC 12.4 is not newer than the driver's CUDA 13.0: made for each other, so this works");
  CHECK(verdict(13000, 13000, {86, 103}) ==
        "NVRTC 13.0 is not newer than the driver's CUDA 13.0: made for each other, so this works");
  CHECK(verdict(13000, 13000, {70, 90, 120}) ==
        "NVRTC 13.0 does not compile for compute capability 7.0, 12.0: install one that does");
  CHECK(verdict(11080, 13000, {90}) ==
        "the driver supports CUDA 11.8, and weft needs 12.0 or newer: update the driver");
  CHECK(verdict(13000, 0, {90}) ==
        "no NVRTC: on a GPU only programs run whose kernels are all in the kernel folder");
  CHECK(verdict(13000, 13000, {}) == "a driver but no GPU: programs run on the cpu");
  CHECK(verdict(0, 13000, {}) == "no usable NVIDIA driver: programs run on the cpu");
}

TEST_CASE("system report: code for a lower minor of the same major runs", "[system]") {
  const std::vector<int> known{75, 80, 90};
  CHECK(covers(known, 80));
  CHECK(covers(known, 89));
  CHECK(!covers(known, 72));
  CHECK(!covers(known, 100));
  CHECK(!covers({}, 90));
}

TEST_CASE("system report: the driver's version is read from its file", "[system]") {
  CHECK(release_in("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27\n"
                   "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n") == "580.65.06");
  CHECK(release_in("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.1  Release") ==
        "570.1");
  CHECK(release_in("") == "");
  CHECK(release_in("no version here.") == "");
}

TEST_CASE("system report: a machine with nothing", "[system]") {
  SystemReport report = of_nothing();
  CHECK(text_of(report) == nothing_text);
  const nlohmann::json json = json_of(report);
  CHECK(json["nvrtc"]["problem"] == "no NVRTC. Tried:\n  \"a\"\n  b");
  CHECK(json["nvrtc"]["usable"] == false);
  CHECK(json["gpus"].empty());
  CHECK(json["kernel_folder"]["usable"] == false);
  CHECK(json["verdict"] == report.verdict);
  // Folders have any bytes for names: what is no UTF-8 is replaced, and the rest stays.
  report.kernel_folder.path =
      "/k\xc3\xa4se/\xff\xe2\x82\xac\xe2\x82/\xed\xa0\x80\xf0\x9f\x98\x80\xc0\xaf\xe4";
  CHECK(json_of(report)["kernel_folder"]["path"] ==
        "/k\xc3\xa4se/\xef\xbf\xbd\xe2\x82\xac\xef\xbf\xbd\xef\xbf\xbd/"
        "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
        "\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("system report: GPUs that can be used", "[system]") {
  const FakeCuda gpus({.gpus = 2, .memory_bytes = std::size_t{3} << 29});
  const SystemReport report = system_report();
  CHECK(report.driver.is_usable());
  CHECK(report.driver_cuda_version == 13000);
  CHECK(report.no_gpu_reason.empty());
  REQUIRE(report.gpus.size() == 2);
  for (int i = 0; i < 2; ++i) {
    const GpuReport& gpu = report.gpus[static_cast<std::size_t>(i)];
    CHECK(gpu.index == i);
    CHECK(gpu.name == "Fake GPU " + std::to_string(i));
    CHECK(gpu.total_bytes == std::size_t{3} << 29);
    CHECK(gpu.compute_capability == 90);
    CHECK(gpu.multiprocessors == 4);
    CHECK(gpu.problem == "");
  }
  CHECK_THAT(text_of(report),
             Catch::Matchers::ContainsSubstring(
                 "\n  cuda:1    Fake GPU 1, 1.5 GiB, compute capability 9.0, 4 multiprocessors: "
                 "usable\n"));
  CHECK(json_of(report)["gpus"][1]["usable"] == true);
}

TEST_CASE("system report: a GPU that fails says so, the others are tried", "[system]") {
  const FakeCuda gpus({.gpus = 2});
  FakeCuda::fail(8, 999);  // in the first GPU's trial, after its name and memory were told
  const SystemReport report = system_report();
  REQUIRE(report.gpus.size() == 2);
  CHECK(report.gpus[0].name == "Fake GPU 0");
  CHECK_THAT(report.gpus[0].problem, Catch::Matchers::ContainsSubstring("FAKE_ERROR"));
  CHECK(report.gpus[1].problem == "");
  CHECK_THAT(report.verdict,
             Catch::Matchers::StartsWith("not usable: a trial failed on cuda:0 (see above)"));
  CHECK_THAT(report.gpus[0].problem, !Catch::Matchers::ContainsSubstring(".cpp"));
  CHECK_THAT(text_of(report), Catch::Matchers::ContainsSubstring("not usable: cuda:0: "));
}

TEST_CASE("system report: a driver and no GPU", "[system]") {
  const FakeCuda gpus({.gpus = 0});
  const SystemReport report = system_report();
  CHECK(report.gpus.empty());
  CHECK(report.no_gpu_reason == "the fake driver has none");
  CHECK(report.verdict == "a driver but no GPU: programs run on the cpu");
}
