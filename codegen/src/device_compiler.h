// NVRTC as this library uses it: found with dlopen, called through tables that tests can replace.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <weft/codegen/build.h>
#include <weft/graph/detail/environment.h>

namespace weft::detail {

/// The system's loader.
struct LibraryCalls {
  void* (*open)(const char* file) noexcept;  // dlopen; null on failure
  std::string (*problem)();                  // why the last `open` of this thread failed
  void* (*find)(void* library, const char* name) noexcept;
  std::string (*path_of)(void* function);  // the file that it came from, links resolved
};
LibraryCalls system_library_calls() noexcept;

/// The functions of NVRTC that are called, by their names without "nvrtc". They return 0 or a code.
struct NvrtcCalls {
  using Program = void*;
  const char* (*GetErrorString)(int code) = nullptr;
  int (*Version)(int* major, int* minor) = nullptr;
  int (*GetNumSupportedArchs)(int* count) = nullptr;
  int (*GetSupportedArchs)(int* archs) = nullptr;
  int (*CreateProgram)(Program* program, const char* text, const char* name, int header_count,
                       const char* const* headers, const char* const* header_names) = nullptr;
  int (*DestroyProgram)(Program* program) = nullptr;
  int (*CompileProgram)(Program program, int option_count, const char* const* options) = nullptr;
  int (*GetProgramLogSize)(Program program, std::size_t* bytes) = nullptr;
  int (*GetProgramLog)(Program program, char* log) = nullptr;
  int (*GetCUBINSize)(Program program, std::size_t* bytes) = nullptr;
  int (*GetCUBIN)(Program program, char* cubin) = nullptr;
  /// Newer versions only: asks `callback(payload, null)` now and then; 1 cancels the compilation.
  int (*SetFlowCallback)(Program program, int (*callback)(void*, void*), void* payload) = nullptr;
};

/// A variable of the environment, or null: detail::environment, or a test's.
using Environment = const char* (*)(const char* name);

/// Files and sonames to try, in order: of WEFT_NVRTC_PATH (a file, or a folder) alone if it is set;
/// else what the loader finds by soname, /usr/local/cuda, CUDA_HOME and CUDA_PATH.
std::vector<std::string> nvrtc_places(Environment environment);

/// Options of every compilation, besides the architecture.
///   --minimal       no language features that kernels do not use: 6 ms less of about 50
///   -fmad=false     a*b+c keeps its two roundings, the CPU's bits
///   -use_fast_math  instead, for a fast one: contraction, subnormals as 0, approximated division
///   -std=c++17      what the texts are written in, whatever the version's default
std::vector<std::string> nvrtc_options(const KernelSource& source);

/// Thread-safe. Loads when first needed, and again on the next need if that failed; never unloads.
class Nvrtc {
 public:
  explicit Nvrtc(LibraryCalls library = system_library_calls(),
                 std::vector<std::string> places = nvrtc_places(environment));
  ~Nvrtc();

  const std::vector<std::string>& places() const noexcept { return places_; }
  bool is_loaded() const noexcept { return loaded_.load(std::memory_order_acquire) != nullptr; }
  /// As `nvrtc_info`, but throws the DeviceError.
  const NvrtcInfo& load() { return library().info; }
  NvrtcInfo info();
  /// As detail::compile.
  std::vector<char> compile(const KernelSource& source, int arch);

 private:
  struct Library {
    NvrtcCalls calls;
    NvrtcInfo info;
  };
  const Library& library();
  std::unique_ptr<Library> search() const;
  std::string open(Library& library, const std::string& place) const;

  const LibraryCalls loader_;
  const std::vector<std::string> places_;
  std::mutex mutex_;
  std::unique_ptr<const Library> owner_;
  std::atomic<const Library*> loaded_{nullptr};
};

/// A thread's stay in NVRTC. Throws DeviceError once the process is ending.
class InsideNvrtc {
 public:
  InsideNvrtc();
  ~InsideNvrtc();
  InsideNvrtc(const InsideNvrtc&) = delete;
  InsideNvrtc& operator=(const InsideNvrtc&) = delete;
  /// From now on NVRTC registers no further exit handlers.
  static void has_compiled_once() noexcept;

 private:
  void leave() noexcept;
  std::shared_ptr<std::atomic<bool>> is_done_;
};

/// Cancels what is being compiled, refuses what is not yet, and returns when no thread is inside.
void end_compilations() noexcept;
bool is_process_ending() noexcept;
[[noreturn]] void fail_process_ending();

/// The process's own.
Nvrtc& nvrtc();

// For tests, while no kernel is asked for: what nvrtc() and kernel_builder() return instead; null:
// the process's own again.
void replace_nvrtc(Nvrtc* compiler) noexcept;
void replace_kernel_builder(KernelBuilder* builder) noexcept;

}  // namespace weft::detail
