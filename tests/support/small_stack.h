// Work on a thread with little stack: recursion over a program's graph would overflow it.
#pragma once

#include <functional>

namespace weft::test {

/// Runs the work on a thread with a stack of 256 KiB, waits for it, and throws what it throws. The
/// calling thread asserts nothing meanwhile, so the work may.
void on_small_stack(const std::function<void()>& work);

}  // namespace weft::test
