// Whether a driver, an NVRTC and GPUs work together, in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

/// "13.0" for 13000.
std::string cuda_version_text(int version);

/// What is found on a machine. Versions as 13000 for 13.0, 0 where there is none.
struct CudaParts {
  int driver = 0;
  int nvrtc = 0;
  std::vector<int> architectures;  // that NVRTC compiles for, 90 for sm_90
  std::vector<int> capabilities;   // of the GPUs
};

/// The verdict, one line.
std::string compatibility(const CudaParts& parts);

/// Whether code for one of these runs on a GPU: an equal or lower minor of the same major.
bool covers(const std::vector<int>& architectures, int capability) noexcept;

/// The driver's own version: of NVML, or of the driver's file; empty where neither has it.
std::string driver_release();
/// The version in the text of /proc/driver/nvidia/version: its first word of numbers and dots.
std::string release_in(std::string_view text);

}  // namespace weft::detail
