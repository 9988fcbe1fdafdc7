// Whether the engine does what a program says: op by op against the interpreter, and plan against
// plan.
#pragma once

#include <string>

#include "coverage.h"
#include "program.h"

namespace weft::fuzz {

/// "" where all is right, else what is wrong. Coverage is counted where given. Throws what the
/// library throws for a program that is not valid (a smaller one of a failed one may not be).
std::string problem(const Program& program, RoleCoverage* coverage = nullptr);

/// The same of the program at other places, as on a GPU, against its values on the cpu.
std::string problem_at(const Places& places, const Program& program,
                       RoleCoverage* coverage = nullptr);

/// Falsifies the engine's values as the check reads them, for tests of the check itself: the first
/// element of every result of the op in this dtype is changed.
void falsify(detail::OpId op, DType dtype);
void falsify_nothing();

}  // namespace weft::fuzz
