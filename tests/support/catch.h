// Catch2 2.13 or 3 under one set of names, those of 3; WEFT_CATCH_VERSION says which it is.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#define WEFT_CATCH_VERSION 3
#include <catch2/catch_all.hpp>
using Catch::Approx;  // as Catch2 2 has it
#else
#define WEFT_CATCH_VERSION 2
#include <catch2/catch.hpp>

namespace Catch {
using Detail::Approx;
namespace Matchers {
inline StdString::ContainsMatcher ContainsSubstring(
    const std::string& text, CaseSensitive::Choice case_sensitivity = CaseSensitive::Yes) {
  return Contains(text, case_sensitivity);
}
} // namespace Matchers
} // namespace Catch
#endif
