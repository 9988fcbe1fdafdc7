#include "blas_library.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <sys/stat.h>

#include <weft/codegen/build.h>
#include <weft/graph/detail/environment.h>

namespace weft::detail {

namespace {

constexpr const char* sonames[] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
constexpr std::size_t oldest_version = 120000;

void add_folder(std::vector<std::string>& places, const std::string& folder) {
  for (const char* const soname : sonames) places.push_back(folder + "/" + soname);
}

bool is_folder(const char* path) {
  struct stat status;
  return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/// What is wrong with the library at a place, or nothing.
std::string open_at(const std::string& place, BlasLibrary& library) {
  void* const handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const text = dlerror();
    return text ? text : "no reason given";
  }
#define WEFT_CALL(name, symbol, result, parameters)                                                \
  library.calls.name = reinterpret_cast<result(*) parameters>(dlsym(handle, symbol));              \
  if (!library.calls.name) return "has no function " symbol;
  WEFT_BLAS_CALLS(WEFT_CALL)
#undef WEFT_CALL
  const std::size_t version = library.calls.version();
  if (version < oldest_version)
    return "is version " + std::to_string(version / 10000) + ", and 12 or newer is needed";
  library.info.version = static_cast<int>(version);
  Dl_info where{};
  library.info.path = place;
  if (dladdr(reinterpret_cast<void*>(library.calls.version), &where) != 0 && where.dli_fname)
    library.info.path = where.dli_fname;
  return "";
}

/// The folder of the NVRTC that is found, as both come in one toolkit.
std::vector<std::string> places_beside_nvrtc() {
  std::vector<std::string> places;
  const std::string nvrtc = nvrtc_info().path;
  if (const std::size_t slash = nvrtc.rfind('/'); slash != std::string::npos)
    add_folder(places, nvrtc.substr(0, slash));
  return places;
}

BlasLibrary load_for_process() {
  const char* const wanted = environment("WEFT_CUBLASLT");
  BlasLibrary library;
  if (wanted && std::string_view(wanted) == "off") {
    library.info.problem = "cublasLt: not used, as WEFT_CUBLASLT is off";
    return library;
  }
  library = load_blas_library(blas_places(wanted));
  if (!library.complete && !(wanted && *wanted)) {
    const std::string tried = library.info.problem;
    library = load_blas_library(places_beside_nvrtc());
    if (!library.complete) library.info.problem = tried + library.info.problem;
  }
  if (!library.complete)
    library.info.problem =
        "cublasLt: no usable libcublasLt; products on GPUs run on generated kernels, which are "
        "slower. Tried:" +
        library.info.problem +
        "\nInstall cuBLAS, version 12 or newer, which is part of the CUDA toolkit; if it is "
        "elsewhere, set WEFT_CUBLASLT to its folder or file";
  return library;
}

const BlasLibrary& process_library() {
  static const BlasLibrary* const library = new BlasLibrary(load_for_process());
  return *library;
}

std::atomic<const BlasCalls*> replacement{nullptr};

}  // namespace

std::vector<std::string> blas_places(const char* wanted) {
  std::vector<std::string> places;
  if (wanted && *wanted) {
    if (is_folder(wanted))
      add_folder(places, wanted);
    else  // a name without a slash would be searched for
      places.push_back(std::strchr(wanted, '/') ? wanted : std::string("./") + wanted);
    return places;
  }
  places.assign(std::begin(sonames), std::end(sonames));
  add_folder(places, "/usr/local/cuda/lib64");
  return places;
}

BlasLibrary load_blas_library(const std::vector<std::string>& places) {
  std::string tried;
  for (const std::string& place : places) {
    BlasLibrary library;
    const std::string problem = open_at(place, library);
    library.complete = problem.empty();
    if (library.complete) return library;
    tried += "\n  " + place + ": " + problem;
  }
  BlasLibrary none;
  none.info.problem = tried;
  return none;
}

const BlasCalls* blas_calls() {
  if (const BlasCalls* const calls = replacement.load(std::memory_order_acquire)) return calls;
  const BlasLibrary& library = process_library();
  return library.complete ? &library.calls : nullptr;
}

const BlasLibraryInfo& blas_library_info() { return process_library().info; }

void replace_blas_calls(const BlasCalls* calls) noexcept {
  replacement.store(calls, std::memory_order_release);
}

bool is_blas_replaced() noexcept { return replacement.load(std::memory_order_acquire) != nullptr; }

}  // namespace weft::detail
