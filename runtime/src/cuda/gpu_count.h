// How many GPUs a program may see, asked without initialising CUDA: through NVML, or the driver's
// files. CUDA_VISIBLE_DEVICES is respected.
#pragma once

#include <string>
#include <vector>

namespace weft::detail {

/// For DriverCalls::count_gpus.
int count_visible_gpus(std::string* why_none);

/// How many of these GPUs (their UUIDs, "GPU-…", in the driver's order) the value of
/// CUDA_VISIBLE_DEVICES leaves: entries are numbers or beginnings of UUIDs, the first that names no
/// GPU or one already named ends the list; null is all of them.
int count_named(const char* visible, const std::vector<std::string>& uuids);

}  // namespace weft::detail
