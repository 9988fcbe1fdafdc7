// The files of codegen/kernels, embedded when the library is built.
#pragma once

#include <cstddef>

namespace weft::detail {

struct DeviceSource {
  const char* name;  // of the file, without its ending
  const char* text;
};

/// In the order of their names.
extern const DeviceSource device_sources[];
extern const std::size_t device_source_count;

}  // namespace weft::detail
