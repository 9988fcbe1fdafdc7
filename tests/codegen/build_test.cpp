// Kernels compiled by the real NVRTC where there is one, and every way in which a compiler fails.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <weft/codegen/build.h>

#include "device_compiler.h"
#include "fake_nvrtc.h"
#include "kernel_cache.h"
#include "kernels_alone.h"
#include "sha256.h"
#include "support/catch.h"
#include "support/compile_all.h"

namespace {

using namespace weft;
using namespace weft::detail;
using Catch::Matchers::ContainsSubstring;
using test::as_text;
using test::fake_cubin;
using test::fake_options_90;
using test::has_nvrtc;
using test::rich;
using test::run_alone;
using test::share;
using test::WithFake;

const KernelSource plain = {"k", "extern \"C\" __global__ void k() {}\n"};

template <class E>
std::string message(Nvrtc& compiler, const KernelSource& source, int arch) {
  try {
    compiler.compile(source, arch);
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("sha256: the standard's examples", "[codegen]") {
  const auto hex = [](const std::string& text) { return to_hex(sha256(text)); };
  CHECK(hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  // Around a block's end, and in pieces.
  CHECK(hex(std::string(55, 'a')) ==
        "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  CHECK(hex(std::string(56, 'a')) ==
        "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  CHECK(hex(std::string(64, 'a')) ==
        "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
  Sha256 sum;
  for (int i = 0; i < 64; ++i) sum.add("aaa", i % 3 == 0 ? 3 : 0);
  CHECK(sum.finish() == sha256(std::string(66, 'a')));
}

TEST_CASE("nvrtc: found where the toolkit is", "[codegen][nvrtc]") {
  const NvrtcInfo info = nvrtc_info();
  if (std::filesystem::exists("/usr/local/cuda/lib64/libnvrtc.so")) REQUIRE(info.version >= 12000);
  if (info.version == 0) {
    CHECK_THAT(info.problem, ContainsSubstring("no usable libnvrtc"));
    return;
  }
  CHECK(info.problem.empty());
  CHECK(std::filesystem::exists(info.path));
  CHECK(std::is_sorted(info.architectures.begin(), info.architectures.end()));
  CHECK(std::count(info.architectures.begin(), info.architectures.end(), 90) == 1);
}

TEST_CASE("nvrtc: kernels for several architectures", "[codegen][nvrtc]") {
  if (!has_nvrtc()) return;
  for (const int arch : test::compiled_architectures())
    for (const KernelSource& source : {plain, rich}) {
      const std::vector<char> cubin = compile(source, arch);
      REQUIRE(cubin.size() > 64);
      CHECK(as_text(cubin).substr(0, 4) == "\x7f"
                                           "ELF");
      CHECK(static_cast<unsigned char>(cubin[18]) == 190);  // the ELF machine of CUDA
      CHECK_THAT(as_text(cubin), ContainsSubstring(".text." + source.entry));
      CHECK(compile(source, arch) == cubin);
    }
}

TEST_CASE("nvrtc: products are not contracted", "[codegen][nvrtc]") {
  if (!has_nvrtc()) return;
  const auto body = [](const std::string& statement) {
    return KernelSource{"k", "extern \"C\" __global__ void k(float* p) { " + statement + " }\n"};
  };
  // Rounded twice by intrinsics; the operators must give the same code.
  const std::vector<char> twice =
      compile(body("p[0] = __fadd_rn(__fmul_rn(p[1], p[2]), p[3]);"), 90);
  CHECK(compile(body("p[0] = p[1] * p[2] + p[3];"), 90) == twice);
  CHECK(compile(body("p[0] = __fmaf_rn(p[1], p[2], p[3]);"), 90) != twice);
  // But in fast kernels they are.
  const auto fast_body = [&body](const std::string& statement) {
    KernelSource source = body(statement);
    source.fast = true;
    return source;
  };
  CHECK(compile(fast_body("p[0] = p[1] * p[2] + p[3];"), 90) ==
        compile(fast_body("p[0] = __fmaf_rn(p[1], p[2], p[3]);"), 90));
}

TEST_CASE("nvrtc: a text that does not compile", "[codegen][nvrtc]") {
  if (!has_nvrtc()) return;
  const KernelSource bad = {"bad", "extern \"C\" __global__ void bad() {\n  int x = nowhere;\n}\n"};
  const std::string text = message<CompileError>(nvrtc(), bad, 90);
  CHECK_THAT(text, ContainsSubstring("nvrtc: kernel 'bad' does not compile, for sm_90"));
  CHECK_THAT(text, ContainsSubstring("bad.cu(2): error: identifier \"nowhere\" is undefined"));
  CHECK_THAT(text, ContainsSubstring("    2    int x = nowhere;\n"));
}

TEST_CASE("nvrtc: from several threads", "[codegen][nvrtc][threads]") {
  if (!has_nvrtc()) return;
  const std::vector<char> expected = compile(rich, 90);
  std::atomic<int> same{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) same += compile(rich, 90) == expected;
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(same == 12);
}

TEST_CASE("nvrtc: not in the place that WEFT_NVRTC_PATH names", "[codegen][nvrtc]") {
  const std::string folder = std::filesystem::temp_directory_path() / "weft-no-nvrtc";
  std::filesystem::create_directories(folder);
  CHECK(run_alone("alone: no nvrtc", "WEFT_NVRTC_PATH", folder.c_str()) == 0);
  const std::string file = folder + "/libnvrtc.so.13";
  std::ofstream(file) << "this is no library";
  CHECK(run_alone("alone: no nvrtc", "WEFT_NVRTC_PATH", folder.c_str()) == 0);
  CHECK(run_alone("alone: no nvrtc", "WEFT_NVRTC_PATH", file.c_str()) == 0);
  CHECK(run_alone("alone: no nvrtc", "WEFT_NVRTC_PATH", "weft-no-such-file") == 0);
  std::filesystem::remove_all(folder);
  if (has_nvrtc()) {
    const std::string real = nvrtc_info().path;
    CHECK(run_alone("alone: nvrtc", "WEFT_NVRTC_PATH", real.c_str()) == 0);
    CHECK(run_alone("alone: nvrtc", "WEFT_NVRTC_PATH",
                    std::filesystem::path(real).parent_path().c_str()) == 0);
  }
}

TEST_CASE("alone: no nvrtc", "[.alone]") {
  const std::string place = std::getenv("WEFT_NVRTC_PATH");
  const NvrtcInfo info = nvrtc_info();
  CHECK(info.version == 0);
  CHECK(info.path.empty());
  CHECK_THAT(info.problem, ContainsSubstring("no usable libnvrtc, the compiler of GPU kernels"));
  CHECK_THAT(info.problem, ContainsSubstring(place));
  CHECK_THAT(info.problem, !ContainsSubstring("/usr/local/cuda/"));
  CHECK_THAT(info.problem, ContainsSubstring("set WEFT_NVRTC_PATH to its folder or file"));
  CHECK_THROWS_AS(compile(plain, 90), DeviceError);
  const KernelHandle handle = kernel_builder().request(share(plain.text), 90);
  CHECK_THROWS_AS(kernel_builder().wait(handle), DeviceError);
  CHECK_THROWS_AS(kernel_builder().wait(handle), DeviceError);
}

TEST_CASE("alone: nvrtc", "[.alone]") { CHECK_FALSE(compile(plain, 90).empty()); }

TEST_CASE("nvrtc: places, in order", "[codegen]") {
  const auto none = [](const char*) -> const char* { return nullptr; };
  const std::vector<std::string> usual = {"libnvrtc.so.13",
                                          "libnvrtc.so.12",
                                          "libnvrtc.so",
                                          "/usr/local/cuda/lib64/libnvrtc.so.13",
                                          "/usr/local/cuda/lib64/libnvrtc.so.12",
                                          "/usr/local/cuda/lib64/libnvrtc.so"};
  CHECK(nvrtc_places(none) == usual);
  const std::vector<std::string> more = nvrtc_places([](const char* name) -> const char* {
    return !std::strcmp(name, "CUDA_HOME") ? "/a" : !std::strcmp(name, "CUDA_PATH") ? "/b" : "";
  });
  REQUIRE(more.size() == 12);
  CHECK(more[6] == "/a/lib64/libnvrtc.so.13");
  CHECK(more[11] == "/b/lib64/libnvrtc.so");
  const auto named = [](const char* name) -> const char* {
    return !std::strcmp(name, "WEFT_NVRTC_PATH") ? "mine.so" : "/a";
  };
  CHECK(nvrtc_places(named) == std::vector<std::string>{"./mine.so"});
}

TEST_CASE("nvrtc: options and the nearest architecture", "[codegen]") {
  WithFake with;
  CHECK(as_text(with.compiler.compile(plain, 90)) == fake_cubin(fake_options_90, plain.text));
  CHECK(as_text(with.compiler.compile(plain, 89)) ==
        fake_cubin("-arch=sm_80 -fmad=false -std=c++17 --minimal", plain.text));
  KernelSource quick = plain;
  quick.fast = true;
  CHECK(as_text(with.compiler.compile(quick, 90)) ==
        fake_cubin("-arch=sm_90 -use_fast_math -std=c++17 --minimal", plain.text));
  CHECK_THAT(message<DeviceError>(with.compiler, plain, 75),
             ContainsSubstring("does not compile for sm_75, only for sm_80 sm_90 sm_120"));
  with.nvrtc.knows_minimal = false;
  CHECK(as_text(with.compiler.compile(plain, 90)) ==
        fake_cubin("-arch=sm_90 -fmad=false -std=c++17", plain.text));
  CHECK(with.nvrtc.programs == 0);
  CHECK(with.nvrtc.opens == 1);
}

TEST_CASE("nvrtc: a library that cannot be used", "[codegen]") {
  const auto problem = [](auto&& spoil) {
    WithFake with;
    spoil(with.nvrtc);
    const std::string text = message<DeviceError>(with.compiler, plain, 90);
    CHECK(with.compiler.info().problem == text.substr(0, with.compiler.info().problem.size()));
    CHECK_THAT(text, ContainsSubstring("\n  libnvrtc.so.13: "));
    CHECK_THAT(text, ContainsSubstring("\n  /opt/cuda/libnvrtc.so: "));
    return text;
  };
  CHECK_THAT(problem([](auto& n) { n.is_there = false; }), ContainsSubstring("no such file"));
  CHECK_THAT(problem([](auto& n) { n.missing = "nvrtcGetCUBIN"; }),
             ContainsSubstring("has no function nvrtcGetCUBIN"));
  CHECK_THAT(problem([](auto& n) { n.version = 11080; }),
             ContainsSubstring("is version 11.8, and 12.0 or newer is needed"));
  // Later it may be there.
  WithFake with;
  with.nvrtc.is_there = false;
  CHECK_THROWS_AS(with.compiler.compile(plain, 90), DeviceError);
  with.nvrtc.is_there = true;
  CHECK_FALSE(with.compiler.compile(plain, 90).empty());
}

TEST_CASE("nvrtc: each call's failure is typed", "[codegen][faults]") {
  for (const int code : {1, 11, 16}) {
    for (int k = 1;; ++k) {
      WithFake with;
      with.nvrtc.fails_at = k;
      with.nvrtc.code = code;
      std::string thrown = "nothing";
      try {
        static_cast<void>(with.compiler.compile(plain, 90));
      } catch (const OutOfMemoryError&) {
        thrown = "memory";
      } catch (const CompileError& error) {
        thrown = "compile";
        CHECK_THAT(error.what(), ContainsSubstring("INTERNAL_ERROR"));
      } catch (const DeviceError&) {
        thrown = "device";
      }
      const std::string failed = with.nvrtc.failed_call();
      INFO("call " << k << " " << failed << " code " << code);
      CHECK(with.nvrtc.programs == 0);
      if (failed.empty()) {
        CHECK(k > 8);
        break;
      }
      // The second place is tried where the first fails.
      const bool is_quiet = failed == "DestroyProgram" || k <= 3;
      CHECK(thrown == (is_quiet     ? "nothing"
                       : code == 1  ? "memory"
                       : code == 11 ? "compile"
                                    : "device"));
      CHECK(as_text(with.compiler.compile(plain, 90)) == fake_cubin(fake_options_90, plain.text));
    }
  }
  // No log is no reason to say nothing.
  for (int k = 6; k <= 7; ++k) {
    WithFake with;
    with.nvrtc.fails_at = k;
    const std::string text = message<CompileError>(with.compiler, {"k", "wrong"}, 90);
    CHECK_THAT(text, ContainsSubstring("(NVRTC gives no log)\n    1  wrong"));
  }
}
