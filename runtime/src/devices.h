// Whether a device may be used.
#pragma once

#include <weft/graph/device.h>

namespace weft::detail {

/// DeviceError, saying what there is, unless tensors can live on this device.
void require_device(Device device, Where at);

}  // namespace weft::detail
