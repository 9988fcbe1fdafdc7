// The helper that other tests compile their kernels with.
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/compile_all.h"

using namespace weft;
using detail::KernelSource;

namespace {

KernelSource scale(const std::string& name, const std::string& factor) {
  return {name, "struct Params { unsigned long long w[3]; };\n"
                "extern \"C\" __global__ void " +
                    name +
                    "(const __grid_constant__ Params p) {\n"
                    "  const unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + "
                    "threadIdx.x;\n"
                    "  if (i < p.w[2]) ((float*)p.w[1])[i] = " +
                    factor + " * ((const float*)p.w[0])[i];\n}\n"};
}

}  // namespace

TEST_CASE("compile_all: compiles for several architectures, and fails where one does not",
          "[codegen][nvrtc]") {
  const std::vector<KernelSource> good = {scale("twice", "2.0f"), scale("thrice", "3.0f"),
                                          scale("twice", "2.0f")};
  if (!test::compile_all(good)) return;
  CHECK(test::compiled_architectures().size() == 3);
  CHECK(test::compile_all(good));
  std::vector<KernelSource> bad = good;
  bad.push_back(scale("worse", "no_such_name"));
  for (int i = 0; i < 2; ++i) {
    try {
      test::compile_all(bad);
      FAIL("no_such_name is no name");
    } catch (const CompileError& error) {
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring("no_such_name"));
    }
  }
}
