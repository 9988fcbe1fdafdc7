#pragma once

#include "../backend.h"

namespace weft::detail {

Backend& sim_backend();

}  // namespace weft::detail
