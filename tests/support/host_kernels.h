// Runs generated kernels on the host: compiles their texts with the compiler of the tests, and
// walks the grid block by block. Blocks run in order; threads of a block too, from barrier to
// barrier.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <weft/codegen/kernel.h>

namespace weft::testing {

/// Compiles the texts that were not compiled before, many at a time; run_on_host would compile
/// them one by one. Throws std::runtime_error with the compiler's words.
void compile_for_host(const std::vector<detail::KernelSequence>& sequences);

/// Carries out a step. Addresses are of host memory; `workspace` is that of
/// sequence.workspace_bytes bytes. Throws std::runtime_error where threads wait for each other in
/// vain or a text's parameters are not those of its launch.
void run_on_host(const detail::KernelSequence& sequence, std::span<const std::uintptr_t> inputs,
                 std::span<const std::uintptr_t> outputs, std::span<const std::uint64_t> arguments,
                 std::uintptr_t workspace, detail::ErrorBlock* error, std::uint32_t step);

}  // namespace weft::testing
