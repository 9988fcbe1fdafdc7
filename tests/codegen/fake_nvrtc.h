// An NVRTC of the tests, under the loader: its machine code is the options and the text, its calls
// are counted, and any one of them can fail.
#pragma once

#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <weft/codegen/build.h>

#include "device_compiler.h"
#include "support/code_with_text.h"

namespace weft::test {

struct FakeProgram {
  std::string text, cubin, log;
};

struct FakeNvrtc {
  int version = 13000;
  std::vector<int> architectures = {80, 90, 120};
  std::string path = "/nowhere/libnvrtc.so.13";
  std::string missing;  // a function that it does not have
  bool is_there = true;
  bool knows_minimal = true;
  // Set while builder threads may still be in calls.
  std::atomic<int> fails_at{0}, code{11};  // the call of that number, from 1, returns the code
  std::chrono::microseconds work{0};
  std::atomic<int> calls{0}, opens{0}, compiles{0}, programs{0};
  std::atomic<bool> for_good{false};         // as do all after it
  std::atomic<const char*> failed{nullptr};  // name of the call that did, the first
  std::string failed_call() const {
    const char* const name = failed;
    return name ? name : "";
  }
};

inline FakeNvrtc* fake = nullptr;

// Whether this call is the one that fails.
inline bool fails(const char* name) {
  const int call = ++fake->calls;
  const int first = fake->fails_at;
  const bool now = first != 0 && (fake->for_good ? call >= first : call == first);
  const char* none = nullptr;
  if (now) fake->failed.compare_exchange_strong(none, name);
  return now;
}

inline std::string fake_cubin(std::string_view options, std::string_view text) {
  return testing::fake_code_begin + std::string(options) + "\n" + std::string(text) + '\0';
}

namespace fake_calls {

inline const char* GetErrorString(int code) {
  return code == 11 ? "INTERNAL_ERROR" : "OTHER_ERROR";
}
inline int Version(int* major, int* minor) {
  if (fails("Version")) return fake->code;
  *major = fake->version / 1000;
  *minor = fake->version % 1000 / 10;
  return 0;
}
inline int GetNumSupportedArchs(int* count) {
  if (fails("GetNumSupportedArchs")) return fake->code;
  *count = static_cast<int>(fake->architectures.size());
  return 0;
}
inline int GetSupportedArchs(int* archs) {
  if (fails("GetSupportedArchs")) return fake->code;
  for (const int arch : fake->architectures) *archs++ = arch;
  return 0;
}
inline int CreateProgram(void** program, const char* text, const char*, int, const char* const*,
                         const char* const*) {
  if (fails("CreateProgram")) return fake->code;
  *program = new FakeProgram{text, "", ""};
  ++fake->programs;
  return 0;
}
inline int DestroyProgram(void** program) {
  delete static_cast<FakeProgram*>(*program);
  *program = nullptr;
  --fake->programs;
  return fails("DestroyProgram") ? fake->code.load() : 0;
}
inline int CompileProgram(void* program, int count, const char* const* options) {
  if (fails("CompileProgram")) return fake->code;
  auto& own = *static_cast<FakeProgram*>(program);
  std::string line;
  for (int i = 0; i < count; ++i) {
    if (!fake->knows_minimal && !std::strcmp(options[i], "--minimal")) return 5;
    line += std::string(i ? " " : "") + options[i];
  }
  ++fake->compiles;
  std::this_thread::sleep_for(fake->work);
  if (own.text.find("wrong") != std::string::npos) {
    own.log = "k.cu(2): error: wrong";
    return 6;
  }
  own.cubin = fake_cubin(line, own.text);
  return 0;
}
inline int GetProgramLogSize(void* program, std::size_t* bytes) {
  if (fails("GetProgramLogSize")) return fake->code;
  *bytes = static_cast<FakeProgram*>(program)->log.size() + 1;
  return 0;
}
inline int GetProgramLog(void* program, char* log) {
  if (fails("GetProgramLog")) return fake->code;
  std::strcpy(log, static_cast<FakeProgram*>(program)->log.c_str());
  return 0;
}
inline int GetCUBINSize(void* program, std::size_t* bytes) {
  if (fails("GetCUBINSize")) return fake->code;
  *bytes = static_cast<FakeProgram*>(program)->cubin.size();
  return 0;
}
inline int GetCUBIN(void* program, char* cubin) {
  if (fails("GetCUBIN")) return fake->code;
  const std::string& own = static_cast<FakeProgram*>(program)->cubin;
  std::memcpy(cubin, own.data(), own.size());
  return 0;
}

}  // namespace fake_calls

inline void* fake_function(const char* name) {
#define WEFT_FAKE(function)                                                                        \
  if (!std::strcmp(name, "nvrtc" #function)) return reinterpret_cast<void*>(fake_calls::function)
  WEFT_FAKE(GetErrorString);
  WEFT_FAKE(Version);
  WEFT_FAKE(GetNumSupportedArchs);
  WEFT_FAKE(GetSupportedArchs);
  WEFT_FAKE(CreateProgram);
  WEFT_FAKE(DestroyProgram);
  WEFT_FAKE(CompileProgram);
  WEFT_FAKE(GetProgramLogSize);
  WEFT_FAKE(GetProgramLog);
  WEFT_FAKE(GetCUBINSize);
  WEFT_FAKE(GetCUBIN);
#undef WEFT_FAKE
  return nullptr;
}

inline weft::detail::LibraryCalls fake_library() {
  weft::detail::LibraryCalls calls;
  calls.open = [](const char* file) noexcept -> void* {
    if (std::strstr(file, "builtins")) return nullptr;
    ++fake->opens;
    return fake->is_there ? fake : nullptr;
  };
  calls.problem = [] { return std::string("no such file"); };
  calls.find = [](void*, const char* name) noexcept -> void* {
    return name == fake->missing ? nullptr : fake_function(name);
  };
  calls.path_of = [](void*) { return fake->path; };
  return calls;
}

// A compiler over a fake of its own, which is the fake in use until it goes.
struct WithFake {
  FakeNvrtc nvrtc;
  weft::detail::Nvrtc compiler{fake_library(), {"libnvrtc.so.13", "/opt/cuda/libnvrtc.so"}};
  WithFake() { fake = &nvrtc; }
  ~WithFake() { fake = nullptr; }
};

inline std::string as_text(const std::vector<char>& bytes) { return {bytes.begin(), bytes.end()}; }

inline const char* const fake_options_90 = "-arch=sm_90 -fmad=false -std=c++17 --minimal";

}  // namespace weft::test
