// Valid random programs: a function of the seed alone.
#pragma once

#include "program.h"

namespace weft::fuzz {

/// Each program tries this many cells of the coverage on purpose, one after another by seed.
inline constexpr std::uint64_t targets_of_a_program = 6;

Program generate(std::uint64_t seed);

}  // namespace weft::fuzz
