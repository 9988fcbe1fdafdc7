// Failures of NVRTC, one by one, through the engine: a typed error, nothing done or lost, and the
// kernels are built when they are asked for again.
#include <set>
#include <string>

#include <weft/weft.h>

#include "support/catch.h"
#include "support/engine_nvrtc.h"
#include "support/fake_cuda.h"

namespace {

using namespace weft;
using testing::EngineCompiler;
using testing::FakeCuda;
using Floats = std::vector<float>;

const Device gpu0 = Device::cuda(0);

/// What a plan with a few kernels leaves behind, before and after.
struct Program {
  Variable w{tensor({1.0f, 2.0f}, {.device = gpu0})};
  Tensor picked, total;
  Program() {
    w += tensor({3.0f, 4.0f}).cuda() * 2.0f;
    picked = gather(w, 0, tensor({1}, {.device = gpu0})).cpu();
    total = sum(w.value()) + 1.0f;
  }
  void run() { eval(picked, total, w); }
  bool is_pending() const { return picked.is_pending() && total.is_pending(); }
  void check() {
    CHECK(w.to_vector<float>() == Floats{7, 10});
    CHECK(picked.to_vector<float>() == Floats{10});
    CHECK(total.item<float>() == 18);
  }
};

enum class Outcome { right, no_device, no_memory, no_kernel };

Outcome outcome_of(Program& program, std::string& said) {
  try {
    program.run();
    return Outcome::right;
  } catch (const CompileError& error) {
    said = error.what();
    return Outcome::no_kernel;
  } catch (const OutOfMemoryError& error) {
    said = error.what();
    return Outcome::no_memory;
  } catch (const DeviceError& error) {
    said = error.what();
    return Outcome::no_device;
  }
}

}  // namespace

TEST_CASE("cuda compiler: the engine runs what NVRTC makes", "[cuda][compiler]") {
  const FakeCuda gpu({.takes_code = true});
  test::WithFake with;
  const EngineCompiler compiler(with.compiler);
  Program program;
  program.check();
  CHECK(with.nvrtc.opens == 1);
  const int compiles = with.nvrtc.compiles;
  CHECK(compiles >= 3);
  CHECK(with.nvrtc.programs == 0);
  Program again;
  again.check();
  CHECK(with.nvrtc.compiles == compiles);
  CHECK(cuda::nvrtc_version() == with.nvrtc.version);
}

TEST_CASE("cuda compiler: any call of NVRTC may fail", "[cuda][compiler]") {
  // An internal error, and no memory.
  const int code = GENERATE(11, 1);
  const bool for_good = GENERATE(false, true);
  std::set<std::string> failed;
  for (int k = 1;; ++k) {
    const FakeCuda gpu({.seed = static_cast<std::uint64_t>(k), .takes_code = true});
    test::WithFake with;
    const EngineCompiler compiler(with.compiler);
    with.nvrtc.fails_at = k;
    with.nvrtc.code = code;
    with.nvrtc.for_good = for_good;
    INFO("call " << k << " returns " << code << (for_good ? " for good" : ""));
    Program program;
    std::string said;
    const Outcome outcome = outcome_of(program, said);
    const std::string call = with.nvrtc.failed_call();
    INFO(call << ": " << said);
    if (call.empty()) {  // more than there are
      CHECK(outcome == Outcome::right);
      break;
    }
    failed.insert(call);
    if (call == "Version" || call == "GetNumSupportedArchs" || call == "GetSupportedArchs") {
      // This place is none, and the next is tried.
      CHECK((outcome == Outcome::right || outcome == Outcome::no_device));
    } else if (call == "DestroyProgram" && !for_good) {
      CHECK(outcome == Outcome::right);
    } else if (code == 1 && !for_good) {  // emptied caches are enough
      CHECK(outcome == Outcome::right);
    } else if (outcome == Outcome::right) {  // it was the last that the program needed
      CHECK(call == "DestroyProgram");
    } else {
      CHECK(outcome == (code == 1 ? Outcome::no_memory : Outcome::no_kernel));
      CHECK(said.find("sm_90") != std::string::npos);
      CHECK(program.is_pending());
      CHECK(FakeCuda::launches() == 0);
    }
    with.nvrtc.fails_at = 0;
    program.check();
    Program().check();
    REQUIRE(k < 1000);
  }
  CHECK(failed == std::set<std::string>{"Version", "GetNumSupportedArchs", "GetSupportedArchs",
                                        "CreateProgram", "CompileProgram", "DestroyProgram",
                                        "GetCUBINSize", "GetCUBIN"});
}

TEST_CASE("cuda compiler: without NVRTC everything stays pending until there is one",
          "[cuda][compiler]") {
  const FakeCuda gpu({.takes_code = true});
  test::WithFake with;
  const EngineCompiler compiler(with.compiler);
  with.nvrtc.is_there = false;
  Program program;
  std::string said;
  for (int i = 0; i < 3; ++i) {
    CHECK(outcome_of(program, said) == Outcome::no_device);
    CHECK_THAT(said, Catch::Matchers::ContainsSubstring("libnvrtc.so.13") &&
                         Catch::Matchers::ContainsSubstring("WEFT_NVRTC_PATH"));
    CHECK(program.is_pending());
  }
  CHECK((tensor({1.0f}) + 1.0f).item<float>() == 2);  // the cpu needs none
  with.nvrtc.is_there = true;
  program.check();
}
