// Texts of kernels, through the real compiler.
#pragma once

#include <span>
#include <vector>

#include <weft/codegen/build.h>

namespace weft::test {

/// sm_80, sm_90, and the newest that NVRTC names; empty where there is no NVRTC, or under a thread
/// sanitizer, which reports races in it.
const std::vector<int>& compiled_architectures();

/// Compiles each text for each of these, two at a time; a text that was compiled in this process is
/// not again. Throws the CompileError of one that does not compile. False, with a warning of the
/// test, where there are no architectures; no NVRTC throws the DeviceError if
/// WEFT_TESTS_NVRTC=required.
bool compile_all(std::span<const detail::KernelSource> sources);

}  // namespace weft::test
