// The variables of the environment that weft heeds: one table, which docs/settings.md shows.
// Nothing else reads the environment.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft::detail {

struct EnvironmentVariable {
  const char* name;
  const char* values;
  const char* fallback;  // what holds where it is not set
  const char* meaning;
};
std::span<const EnvironmentVariable> environment_variables() noexcept;

/// The value of a variable of the table, as it was when it was first asked for; null where it was
/// not set, and in a program that runs with another user's rights. The first call of all warns of
/// variables that are like one of weft's and are none.
const char* environment(const char* name);
/// Of one that is on or off, in the usual words.
bool environment_flag(const char* name, bool fallback);
/// Whether the text is a usual word for off, or for on.
bool is_off(std::string_view text) noexcept;
bool is_on(std::string_view text) noexcept;
/// Says that the value cannot be used, and what is.
void warn_of_value(const char* name, const char* value, const std::string& used);

/// What to say of these names ("NAME" or "NAME=value"): a line for each that begins with WEFT_ and
/// is neither in the table nor one of the project's scripts and tests.
std::string unknown_variables(const char* const* names);

}  // namespace weft::detail
