// Machine code of kernels that has their texts behind it: what a driver of the tests, which runs
// texts, is given where a GPU is given code.
#pragma once

#include <string>

#include "device_compiler.h"

namespace weft::testing {

/// How code begins that no compiler made: then follow a line, the text, and a zero byte.
inline const std::string fake_code_begin = "\x7f"
                                           "ELF of ";

/// The text behind the code, which ends with a zero byte; null where it is no such code.
const char* text_behind(const void* code);

/// The system's loader, but for NVRTC's functions: behind an ELF image these put its text.
detail::LibraryCalls loader_of_nvrtc_with_texts();

}  // namespace weft::testing
