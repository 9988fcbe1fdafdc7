// How exact results are to be: modes of the whole program.
#pragma once

#include <cstdint>

#include <weft/graph/error.h>

namespace weft {

/// standard: IEEE arithmetic with one rounding an operation, as written; point-wise results, sums,
///   random numbers and the like have the same bits on every device. Products may be a library's:
///   right within a tolerance, and the same from run to run on one machine.
/// strict: products too are computed in one order of sums, given by shapes alone: the same bits on
///   the CPU, whatever its threads and instruction set, and on every GPU. Slower.
/// fast: on a GPU, a·b+c may be rounded once, numbers too small to be normal may become 0, and
///   divisions and roots are approximated. Bits differ from device to device. On the CPU as
///   `standard`.
enum class Numerics : std::uint8_t { standard, strict, fast };

/// What f32 products of a library are computed in. tf32: factors are rounded to 10 bits of
/// significand, sums are f32; for GPUs, in the modes `standard` and `fast`. f64, f16 and bf16
/// products stay as they are; those of halves sum in f32.
enum class MatmulPrecision : std::uint8_t { f32, tf32 };

inline constexpr Numerics standard = Numerics::standard, strict = Numerics::strict,
                          fast = Numerics::fast;
inline constexpr MatmulPrecision tf32 = MatmulPrecision::tf32;

/// For all work of the process that is started from now on, on any thread; what was recorded before
/// but not yet started is included. Part of what a plan is cached by: a change plans again, and
/// changing back finds the old plans. ValueError for a number that is none of the modes.
void set_numerics(Numerics mode, Where at = {});
Numerics numerics() noexcept;
void set_matmul_precision(MatmulPrecision precision, Where at = {});
MatmulPrecision matmul_precision() noexcept;

}  // namespace weft
