// Finds NVRTC and takes its functions.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <sys/stat.h>

#include "device_compiler.h"

namespace weft::detail {
namespace {

constexpr const char* sonames[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
constexpr int oldest_version = 12000;

void* open_library(const char* file) noexcept { return ::dlopen(file, RTLD_NOW | RTLD_LOCAL); }

std::string open_problem() {
  const char* text = ::dlerror();
  return text ? text : "unknown reason";
}

void* find_function(void* library, const char* name) noexcept { return ::dlsym(library, name); }

std::string path_of(void* function) {
  Dl_info info;
  if (::dladdr(function, &info) == 0 || !info.dli_fname) return "";
  char* const real = ::realpath(info.dli_fname, nullptr);
  std::string path = real ? real : info.dli_fname;
  std::free(real);
  return path;
}

bool is_folder(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

template <class Function>
void take(const LibraryCalls& calls, void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(calls.find(library, name));
}

// The name of the first function that is missing, or null.
const char* take_functions(const LibraryCalls& calls, void* library, NvrtcCalls& to) {
  const char* missing = nullptr;
#define WEFT_TAKE(name)                                                                            \
  take(calls, library, "nvrtc" #name, to.name);                                                    \
  if (!to.name && !missing) missing = "nvrtc" #name
  WEFT_TAKE(GetErrorString);
  WEFT_TAKE(Version);
  WEFT_TAKE(GetNumSupportedArchs);
  WEFT_TAKE(GetSupportedArchs);
  WEFT_TAKE(CreateProgram);
  WEFT_TAKE(DestroyProgram);
  WEFT_TAKE(CompileProgram);
  WEFT_TAKE(GetProgramLogSize);
  WEFT_TAKE(GetProgramLog);
  WEFT_TAKE(GetCUBINSize);
  WEFT_TAKE(GetCUBIN);
#undef WEFT_TAKE
  take(calls, library, "nvrtcSetFlowCallback", to.SetFlowCallback);
  return missing;
}

// What went wrong, or nothing.
std::string ask_facts(const NvrtcCalls& calls, NvrtcInfo& info) {
  int major = 0, minor = 0, count = 0;
  if (calls.Version(&major, &minor) != 0) return "nvrtcVersion fails";
  info.version = 1000 * major + 10 * minor;
  if (info.version < oldest_version)
    return "is version " + std::to_string(major) + "." + std::to_string(minor) +
           ", and 12.0 or newer is needed";
  if (calls.GetNumSupportedArchs(&count) != 0 || count < 1)
    return "nvrtcGetNumSupportedArchs fails";
  info.architectures.resize(static_cast<std::size_t>(count));
  if (calls.GetSupportedArchs(info.architectures.data()) != 0)
    return "nvrtcGetSupportedArchs fails";
  std::sort(info.architectures.begin(), info.architectures.end());
  return "";
}

// NVRTC opens its second library by soname; where the loader's path lacks the folder, it finds the
// one that is loaded already.
void open_builtins(const LibraryCalls& calls, const NvrtcInfo& info) {
  const std::size_t slash = info.path.rfind('/');
  if (slash == std::string::npos) return;
  const std::string name = info.path.substr(0, slash) + "/libnvrtc-builtins.so." +
                           std::to_string(info.version / 1000) + "." +
                           std::to_string(info.version % 1000 / 10);
  static_cast<void>(calls.open(name.c_str()));
}

}  // namespace

LibraryCalls system_library_calls() noexcept {
  return {open_library, open_problem, find_function, path_of};
}

std::vector<std::string> nvrtc_places(Environment environment) {
  std::vector<std::string> places;
  const auto add_folder = [&places](const std::string& folder) {
    for (const char* soname : sonames) places.push_back(folder + "/" + soname);
  };
  if (const char* wanted = environment("WEFT_NVRTC_PATH"); wanted && *wanted) {
    if (is_folder(wanted)) {
      add_folder(wanted);
    } else {
      // A name without a slash would be searched for.
      places.push_back(std::strchr(wanted, '/') ? wanted : std::string("./") + wanted);
    }
    return places;
  }
  places.assign(std::begin(sonames), std::end(sonames));
  add_folder("/usr/local/cuda/lib64");
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* root = environment(variable); root && *root)
      add_folder(std::string(root) + "/lib64");
  return places;
}

Nvrtc::Nvrtc(LibraryCalls library, std::vector<std::string> places)
    : loader_(library), places_(std::move(places)) {}

Nvrtc::~Nvrtc() = default;

// What went wrong, or nothing.
std::string Nvrtc::open(Library& library, const std::string& place) const {
  void* const handle = loader_.open(place.c_str());
  if (!handle) return loader_.problem();
  if (const char* missing = take_functions(loader_, handle, library.calls))
    return std::string("has no function ") + missing;
  std::string problem = ask_facts(library.calls, library.info);
  if (!problem.empty()) return problem;
  library.info.path = loader_.path_of(reinterpret_cast<void*>(library.calls.Version));
  if (library.info.path.empty()) library.info.path = place;
  open_builtins(loader_, library.info);
  return "";
}

std::unique_ptr<Nvrtc::Library> Nvrtc::search() const {
  std::string tried;
  for (const std::string& place : places_) {
    auto library = std::make_unique<Library>();
    const std::string problem = open(*library, place);
    if (problem.empty()) return library;
    tried += "\n  " + place + ": " + problem;
  }
  fail<DeviceError>(
      no_place,
      "nvrtc: no usable libnvrtc, the compiler of GPU kernels. Tried:" + tried +
          "\nInstall the CUDA toolkit, or its NVRTC package alone, version 12 or newer; if it "
          "is elsewhere, set WEFT_NVRTC_PATH to its folder or file");
}

const Nvrtc::Library& Nvrtc::library() {
  if (const Library* loaded = loaded_.load(std::memory_order_acquire)) return *loaded;
  const std::lock_guard lock(mutex_);
  if (!owner_) {
    const InsideNvrtc guard;
    owner_ = search();
    loaded_.store(owner_.get(), std::memory_order_release);
  }
  return *owner_;
}

NvrtcInfo Nvrtc::info() {
  try {
    return load();
  } catch (const DeviceError& error) {
    NvrtcInfo none;
    none.problem = error.what();
    return none;
  }
}

}  // namespace weft::detail
