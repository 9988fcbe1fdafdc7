// Smaller programs that fail as well.
#pragma once

#include <functional>

#include "program.h"

namespace weft::fuzz {

/// Whether a program fails; false for one that is not valid.
using Fails = std::function<bool(const Program&)>;

/// Drops what is looked at, drops instructions, puts leaves in place of results, shrinks shapes and
/// plainer data, as long as the program still fails.
Program shrink(Program program, const Fails& fails);

}  // namespace weft::fuzz
