// What the tests of composed functions share.
#pragma once

#include <string>

#include <weft/weft.h>

#include "graph/gradcheck.h"

namespace weft::testing {

/// "" where x has this shape, dtype and these elements, else what it has.
inline std::string unlike(const Tensor& x, const Shape& shape, DType dtype, const Values& wanted,
                          double tolerance = 0) {
  const Values got = values(x);
  if (x.shape() == shape && x.dtype() == dtype &&
      (tolerance == 0 ? got == wanted : is_near(got, wanted, tolerance)))
    return "";
  std::string text = std::string(name_of(x.dtype())) + x.shape().str();
  for (const double value : got) text += " " + std::to_string(value);
  return text;
}

/// 0, 1, 2, ... in a shape.
inline Tensor counted(const Shape& shape, DType dtype = f64) {
  return reshape(arange(shape.numel(), {.dtype = dtype}), Dims(shape));
}

/// (7 i + 3 seed) mod 11 - 5: small whole numbers without pattern.
inline Tensor mixed(const Shape& shape, int seed) {
  return reshape(((arange(shape.numel()) * 7 + seed * 3) % 11 - 5).to(f64), Dims(shape));
}

}  // namespace weft::testing
