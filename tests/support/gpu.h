// Tests that need GPUs: passed over where there are none, unless they are required.
#pragma once

namespace weft::testing {

/// Whether this many GPUs are there. Where not, says why; with WEFT_TESTS_GPU=required (or, where
/// more than one is needed, =2 and so on) the test fails.
bool has_gpus(int count);

}  // namespace weft::testing
