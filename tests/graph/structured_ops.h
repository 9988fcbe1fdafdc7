// Programs that go through every structured op in every dtype that it is legal in.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/op_table.h"

namespace weft::testing {

struct StructuredCases {
  std::string name;
  std::vector<Case> cases;
  /// What the cases are made of, with the dtype of the first operand, or of the op where it has
  /// none.
  std::vector<std::pair<OpId, DType>> covers;
};

std::vector<StructuredCases> structured_cases();

}  // namespace weft::testing
