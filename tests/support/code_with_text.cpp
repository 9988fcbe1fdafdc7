#include "support/code_with_text.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

namespace weft::testing {

namespace {

using detail::NvrtcCalls;

/// What of NVRTC is called through here, and the texts of its programs.
struct Behind {
  std::mutex mutex;
  NvrtcCalls real;
  std::map<void*, std::string> texts;
};
Behind& behind() {
  static Behind* const made = new Behind;
  return *made;
}

std::string text_of(void* program) {
  const std::lock_guard lock(behind().mutex);
  return behind().texts[program];
}

int create(void** program, const char* text, const char* name, int count,
           const char* const* headers, const char* const* names) {
  const int status = behind().real.CreateProgram(program, text, name, count, headers, names);
  const std::lock_guard lock(behind().mutex);
  if (status == 0) behind().texts[*program] = text;
  return status;
}

int destroy(void** program) {
  {
    const std::lock_guard lock(behind().mutex);
    behind().texts.erase(*program);
  }
  return behind().real.DestroyProgram(program);
}

int size_of_code(void* program, std::size_t* bytes) {
  const int status = behind().real.GetCUBINSize(program, bytes);
  *bytes += text_of(program).size() + 1;
  return status;
}

int get_code(void* program, char* code) {
  std::size_t bytes = 0;
  if (const int status = behind().real.GetCUBINSize(program, &bytes)) return status;
  const std::string text = text_of(program);
  std::memcpy(code + bytes, text.c_str(), text.size() + 1);
  return behind().real.GetCUBIN(program, code);
}

template <class Function>
void* in_place_of(void* function, Function*& real, Function* own) {
  real = reinterpret_cast<Function*>(function);
  return function ? reinterpret_cast<void*>(own) : nullptr;
}

void* find(void* library, const char* name) noexcept {
  void* const function = detail::system_library_calls().find(library, name);
  NvrtcCalls& real = behind().real;
  const std::string which = name;
  if (which == "nvrtcCreateProgram") return in_place_of(function, real.CreateProgram, &create);
  if (which == "nvrtcDestroyProgram") return in_place_of(function, real.DestroyProgram, &destroy);
  if (which == "nvrtcGetCUBINSize") return in_place_of(function, real.GetCUBINSize, &size_of_code);
  if (which == "nvrtcGetCUBIN") return in_place_of(function, real.GetCUBIN, &get_code);
  return function;
}

/// Where an ELF image ends: with its last section or its last table.
std::size_t bytes_of_elf(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  std::size_t end = std::max(header.e_shoff + header.e_shnum * header.e_shentsize,
                             header.e_phoff + header.e_phnum * header.e_phentsize);
  for (int i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, image + header.e_shoff + std::size_t(i) * header.e_shentsize,
                sizeof section);
    if (section.sh_type != SHT_NOBITS)
      end = std::max<std::size_t>(end, section.sh_offset + section.sh_size);
  }
  return end;
}

}  // namespace

const char* text_behind(const void* code) {
  const auto* const bytes = static_cast<const char*>(code);
  if (std::strncmp(bytes, fake_code_begin.c_str(), fake_code_begin.size()) == 0)
    return std::strchr(bytes, '\n') + 1;
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) return nullptr;
  return bytes + bytes_of_elf(bytes);
}

detail::LibraryCalls loader_of_nvrtc_with_texts() {
  detail::LibraryCalls calls = detail::system_library_calls();
  calls.find = find;
  return calls;
}

}  // namespace weft::testing
