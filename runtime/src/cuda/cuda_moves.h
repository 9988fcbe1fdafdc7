// Copies between GPUs.
#pragma once

#include <cstddef>

#include "driver.h"

namespace weft::detail {

class CudaDevice;

/// Appends a copy from another GPU to one of its streams: directly where the pair can, and a trial
/// copy has come out right; else through the host, waiting for it.
void append_peer_copy(CudaDevice& owner, Device target, CuAddress to, Device source, CuAddress from,
                      std::size_t bytes, CuStream stream);

}  // namespace weft::detail
