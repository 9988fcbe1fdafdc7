#include <weft/runtime/settings.h>

#include <weft/graph/detail/environment.h>

namespace weft {

std::vector<Setting> environment_settings() {
  std::vector<Setting> settings;
  for (const detail::EnvironmentVariable& variable : detail::environment_variables()) {
    settings.push_back({variable.name, variable.values, variable.fallback, variable.meaning, {}});
    if (const char* const value = detail::environment(variable.name)) settings.back().value = value;
  }
  return settings;
}

}  // namespace weft
