#pragma once

#include "../backend.h"

namespace weft::detail {

Backend& cpu_backend();

}  // namespace weft::detail
