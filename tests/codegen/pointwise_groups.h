// Groups made of the table of ops, and what the interpreter says of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <weft/codegen/program.h>

#include "support/interpreter.h"

namespace weft::testing {

/// One group of several results over inputs that it shares.
struct PointwiseGroup {
  struct Result {
    std::string op;
    HostValue expected;
    double ulp;  // greatest distance from it
  };
  std::string what;
  std::vector<HostValue> inputs;
  std::shared_ptr<const detail::Program> program;
  std::vector<Result> results;
};

/// Every op in every dtype that it is legal in, on special and on drawn numbers.
std::vector<PointwiseGroup> pointwise_groups();
/// Names of all point-wise ops but the cast, which goes by "cast to DTYPE".
std::vector<std::string> pointwise_names();

}  // namespace weft::testing
