// GPUs as a backend.
#pragma once

#include <string>

#include "../backend.h"

namespace weft::detail {

class CudaDevice;

Backend& cuda_backend();
/// One of the GPUs that there are, started or not.
CudaDevice& cuda_device(Device device);
/// How many GPUs the program may use, asked once; and why there are none.
int cuda_device_count(std::string* why_none = nullptr);
/// For tests that replace the driver: forgets devices and counts. Nothing may be running.
void forget_cuda_devices();

}  // namespace weft::detail
