// One compilation by NVRTC, and its failures as typed errors.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

#include "device_compiler.h"

namespace weft::detail {
namespace {

// NVRTC's codes that mean something of their own here.
enum : int {
  success = 0,
  out_of_memory = 1,
  invalid_option = 5,
  does_not_compile = 6,
  cancelled = 16
};

int ask_to_cancel(void*, void*) noexcept { return is_process_ending(); }

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string numbered(const std::string& text) {
  std::string result;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    char label[16];
    std::snprintf(label, sizeof label, "%5d  ", ++number);
    result += label + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return result;
}

std::string log_of(const NvrtcCalls& calls, NvrtcCalls::Program program) {
  std::size_t bytes = 0;
  if (calls.GetProgramLogSize(program, &bytes) != success || bytes <= 1)
    return "(NVRTC gives no log)";
  std::string log(bytes, '\0');
  if (calls.GetProgramLog(program, log.data()) != success) return "(NVRTC gives no log)";
  log.resize(std::min(log.find('\0'), log.size()));
  return log;
}

// The architecture itself, or the nearest lower one with the same major number; 0 where none.
int usable_arch(const std::vector<int>& known, int arch) {
  int best = 0;
  for (const int candidate : known)
    if (candidate <= arch && candidate / 10 == arch / 10) best = std::max(best, candidate);
  return best;
}

[[noreturn]] void fail_arch(const NvrtcInfo& info, int arch) {
  std::string known;
  for (const int each : info.architectures) known += " sm_" + std::to_string(each);
  fail<DeviceError>({}, "nvrtc: version " + version_text(info.version) + " (" + info.path +
                            ") does not compile for sm_" + std::to_string(arch) + ", only for" +
                            known + "; install a CUDA toolkit that knows this GPU");
}

// One program: made, compiled, read, destroyed.
class Compilation {
 public:
  Compilation(const NvrtcCalls& calls, const KernelSource& source, int arch)
      : calls_(calls), source_(source), arch_(arch) {
    const std::string name = source.entry + ".cu";
    check("nvrtcCreateProgram",
          calls_.CreateProgram(&program_, source.text.c_str(), name.c_str(), 0, nullptr, nullptr));
    if (calls_.SetFlowCallback)  // without it, the end of the process waits longer
      static_cast<void>(calls_.SetFlowCallback(program_, ask_to_cancel, nullptr));
  }
  // What was compiled is none the worse for a program that stays.
  ~Compilation() {
    if (program_) static_cast<void>(calls_.DestroyProgram(&program_));
  }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  int compile(const std::vector<std::string>& options) const {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    return calls_.CompileProgram(program_, static_cast<int>(texts.size()), texts.data());
  }

  void require_success(int code) const {
    if (code == success) return;
    if (code == out_of_memory || code == cancelled) check("nvrtcCompileProgram", code);
    const std::string what = code == does_not_compile
                                 ? "does not compile"
                                 : std::string("is not compiled: ") + text_of(code);
    const std::string whose =
        source_.own_name.empty()
            ? "; this is a mistake of weft\n"
            : ". It has the source of " + source_.own_name +
                  ", whose lines are told as source(LINE); correct that\n";
    fail<CompileError>({}, "nvrtc: kernel '" + source_.entry + "' " + what + ", for sm_" +
                               std::to_string(arch_) + whose +
                               log_of(calls_, program_) + "\n" + numbered(source_.text));
  }

  std::vector<char> cubin() const {
    std::size_t bytes = 0;
    check("nvrtcGetCUBINSize", calls_.GetCUBINSize(program_, &bytes));
    if (bytes == 0)
      fail<CompileError>({}, "nvrtc: kernel '" + source_.entry + "' has no machine code for sm_" +
                                 std::to_string(arch_));
    std::vector<char> result(bytes);
    check("nvrtcGetCUBIN", calls_.GetCUBIN(program_, result.data()));
    return result;
  }

 private:
  std::string text_of(int code) const {
    const char* text = calls_.GetErrorString(code);
    return text ? text : "error " + std::to_string(code);
  }

  void check(const char* function, int code) const {
    if (code == success) return;
    if (code == cancelled) fail_process_ending();
    const std::string message = std::string(function) + ": " + text_of(code) + ", at kernel '" +
                                source_.entry + "' for sm_" + std::to_string(arch_);
    if (code == out_of_memory) fail<OutOfMemoryError>({}, message);
    fail<CompileError>({}, message);
  }

  const NvrtcCalls& calls_;
  const KernelSource& source_;
  const int arch_;
  NvrtcCalls::Program program_ = nullptr;
};

}  // namespace

std::vector<std::string> nvrtc_options(const KernelSource& source) {
  return {source.fast ? "-use_fast_math" : "-fmad=false", "-std=c++17", "--minimal"};
}

std::vector<char> Nvrtc::compile(const KernelSource& source, int arch) {
  const Library& library = this->library();
  const int usable = usable_arch(library.info.architectures, arch);
  if (usable == 0) fail_arch(library.info, arch);
  const InsideNvrtc guard;
  std::vector<std::string> options = nvrtc_options(source);
  options.insert(options.begin(), "-arch=sm_" + std::to_string(usable));
  {
    const Compilation compilation(library.calls, source, usable);
    const int code = compilation.compile(options);
    if (code != invalid_option) {
      compilation.require_success(code);
      InsideNvrtc::has_compiled_once();
      return compilation.cubin();
    }
  }
  // Older versions do not know the last one, and need not.
  options.pop_back();
  const Compilation compilation(library.calls, source, usable);
  compilation.require_success(compilation.compile(options));
  return compilation.cubin();
}

namespace {

std::atomic<Nvrtc*> replacement{nullptr};

}  // namespace

void replace_nvrtc(Nvrtc* compiler) noexcept { replacement.store(compiler); }

Nvrtc& nvrtc() {
  if (Nvrtc* const compiler = replacement.load(std::memory_order_acquire)) return *compiler;
  static Nvrtc* const instance = new Nvrtc;
  return *instance;
}

NvrtcInfo nvrtc_info() { return nvrtc().info(); }

std::vector<char> compile(const KernelSource& source, int arch) {
  try {
    return nvrtc().compile(source, arch);
  } catch (const std::bad_alloc&) {
    fail_memory("compiling a kernel", {});
  }
}

}  // namespace weft::detail
