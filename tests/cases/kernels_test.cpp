// Public cases about building kernels: the cache on disk, and an NVRTC that is newer than the
// driver.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "cases/cases.h"
#include "codegen/cache_scratch.h"
#include "support/compile_all.h"
#include "support/engine_nvrtc.h"

using namespace weft;
using namespace weft::cases;
using testing::EngineCompiler;
using testing::FakeCuda;

namespace {

namespace fs = std::filesystem;

/// Σ [3,4]², which is 25, in kernels of a GPU.
float sum_of_squares(Device gpu) {
  return sum(square(tensor({3.0f, 4.0f}, {.device = gpu}))).item<float>();
}

/// What a process has: an NVRTC, the real one where there is one, a folder of kernels, and a GPU.
struct GpuProcess {
  test::WithFake fake;
  detail::Nvrtc real{testing::loader_of_nvrtc_with_texts()};
  FakeCuda gpu{{.takes_code = true}};
  EngineCompiler compiler;
  GpuProcess(const std::string& folder, bool with_real)
      : compiler(with_real ? real : fake.compiler, settings_of(folder)) {
    fake.nvrtc.path = std::getenv("WEFT_TEST_LIBRARY");
  }
  static detail::CacheSettings settings_of(const std::string& folder) {
    detail::CacheSettings settings;
    settings.folder = folder;
    return settings;
  }
};

/// A hidden test of this program in a process of its own, with this folder of kernels.
pid_t start(const char* test, const test::Scratch& scratch, const test::Scratch& host_kernels) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    setenv("WEFT_CACHE_DIR", scratch.folder().c_str(), 1);
    setenv("WEFT_CACHE", "on", 1);
    setenv("WEFT_TEST_LIBRARY", scratch.library().c_str(), 1);
    setenv("WEFT_TESTS_KERNELS", host_kernels.root().c_str(), 1);
    execl("/proc/self/exe", "test_cases", test, static_cast<char*>(nullptr));
    _exit(127);
  }
  return child;
}

/// How it ends; 0 is that of a program whose tests are none.
enum : int { right = 10, right_with_one_warning = 11, wrong = 12 };

int result_of(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// What such a process does, with a compiler that writes to disk what it has built.
template <class Compiler>
[[noreturn]] void sum_and_end(Compiler& compiler) {
  const test::CatchWarnings watch;
  const float got = sum_of_squares(Device::cuda(0));
  compiler.end();
  const std::size_t warned = test::warnings.size();
  _exit(got != 25 || warned > 1 ? wrong : warned == 1 ? right_with_one_warning : right);
}

void truncate(const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }

bool has_real_nvrtc() { return !test::compiled_architectures().empty(); }

void check_shared_folder(const char* process) {
  const test::Scratch host_kernels;  // of the GPUs of the tests
  const auto run = [&](const test::Scratch& scratch) {
    return result_of(start(process, scratch, host_kernels));
  };
  const test::Scratch scratch;
  CHECK(run(scratch) == right);
  const auto files = scratch.files(".entry");
  REQUIRE(files.size() >= 2);  // a kernel, and which compiler there is
  std::vector<std::string> contents;
  for (const fs::path& file : files) contents.push_back(test::Scratch::content(file));
  CHECK(run(scratch) == right);
  // Each of them.
  for (std::size_t i = 0; i < files.size(); ++i) {
    INFO(files[i]);
    truncate(files[i]);
    CHECK(run(scratch) == right_with_one_warning);
    CHECK(test::Scratch::content(files[i]).size() == contents[i].size());
    CHECK(run(scratch) == right);
  }
  CHECK(scratch.files(".entry") == files);
  // All of them: one warning still.
  for (const fs::path& file : files) truncate(file);
  CHECK(run(scratch) == right_with_one_warning);
  CHECK(run(scratch) == right);
  // Eight processes on a cold cache.
  const test::Scratch cold;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) children.push_back(start(process, cold, host_kernels));
  for (const pid_t child : children) CHECK(result_of(child) == right);
  CHECK(cold.files().size() == files.size());
  CHECK(run(cold) == right);
}

}  // namespace

// Run by C18 in processes of their own.
TEST_CASE("sum of squares compiled by the real NVRTC", "[.kernels-process]") {
  GpuProcess process(std::getenv("WEFT_CACHE_DIR"), true);
  sum_and_end(process.compiler);
}
TEST_CASE("sum of squares compiled by an NVRTC of the tests", "[.kernels-process]") {
  GpuProcess process(std::getenv("WEFT_CACHE_DIR"), false);
  sum_and_end(process.compiler);
}
TEST_CASE("sum of squares on a GPU", "[.kernels-process]") {
  sum_and_end(detail::kernel_builder());
}

CASE(18, "a truncated kernel file is rebuilt with one warning, and a cold cache is shared") {
  check_shared_folder("sum of squares compiled by an NVRTC of the tests");
  if (has_real_nvrtc()) check_shared_folder("sum of squares compiled by the real NVRTC");
  if (cuda::is_available()) check_shared_folder("sum of squares on a GPU");
}

CASE(19, "a newer NVRTC and an older driver: code for the GPU, or an error with both versions") {
  const auto message = [](const std::function<float()>& program) {
    return message_of<DeviceError>(program);
  };
  const auto run = [] { return sum_of_squares(Device::cuda(0)); };
  for (const int driver : {12000, 12040, 13000}) {
    INFO("driver for CUDA " << driver);
    for (const int version : {12000, 13000, 13020}) {
      // Machine code for the GPU, whatever the driver's version: nothing is left for it to compile.
      test::WithFake fake;
      fake.nvrtc.version = version;
      const FakeCuda gpu({.driver_version = driver, .takes_code = true});
      const EngineCompiler compiler(fake.compiler);
      CHECK(run() == 25);
      const std::string code =
          test::as_text(*detail::kernel_builder().wait(detail::kernel_builder().request(
              std::make_shared<const detail::KernelSource>(detail::KernelSource{"k", "text"}),
              90)));
      CHECK(names(code, "-arch=sm_90"));
      CHECK_FALSE(names(code, "compute_"));
    }
    // A driver that refuses it: no image, no binary for the GPU, too new.
    for (const int status : {200, 209, 222}) {
      test::WithFake fake;
      const FakeCuda gpu({.driver_version = driver, .takes_code = true, .refuses_code = status});
      const EngineCompiler compiler(fake.compiler);
      const std::string text = message(run);
      INFO(text);
      CHECK(
          names(text, "cuda:0", "NVRTC 13.0", "sm_90",
                "CUDA " + std::to_string(driver / 1000) + "." + std::to_string(driver % 1000 / 10),
                "update the driver", "WEFT_NVRTC_PATH"));
      CHECK((tensor({1.0f}) + 1.0f).item<float>() == 2);
    }
  }
  {  // An NVRTC that does not know the GPU: as the nearest lower one of its generation, or an
     // error.
    test::WithFake fake;
    fake.nvrtc.architectures = {80, 120};
    const FakeCuda gpu({.takes_code = true});
    const EngineCompiler compiler(fake.compiler);
    const std::string text = message(run);
    INFO(text);
    CHECK(names(text, "13.0", "sm_90", "sm_80", "sm_120", "install"));
  }
  // The real one gives an image of machine code alone: no PTX for a driver to refuse.
  if (has_real_nvrtc()) {
    const std::string image = test::as_text(
        detail::compile({"k", "extern \"C\" __global__ void k(int* p) { *p = 1; }\n"}, 90));
    CHECK(names(image,
                "\x7f"
                "ELF",
                ".text.k"));
    CHECK_FALSE(names(image, ".target"));
    CHECK_FALSE(names(image, ".nv_ptx"));
  }
  if (cuda::is_available()) CHECK(run() == 25);
}
