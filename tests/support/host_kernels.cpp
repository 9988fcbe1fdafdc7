// Compiles kernel texts into shared objects, and walks grids over them.
#include "support/host_kernels.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "sha256.h"
#include "support/fibers.h"
#include "support/gpu_machine.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;
using detail::KernelLaunch;
using detail::KernelSource;
using detail::ParamWord;

struct Loaded {
  shim::Entry entry{};
  shim::Variables variables{};
  bool has_barriers = false;
};

using Texts = std::vector<const KernelSource*>;

/// Never destroyed: at the end of a process there may be work in flight.
std::map<std::string, Loaded>& loaded() {
  static auto* const kernels = new std::map<std::string, Loaded>;
  return *kernels;
}

// A namespace for each text: they share names of the device library.
std::string program(const Texts& texts) {
  std::string source = "#include \"support/gpu_shim.h\"\n";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string space = "k" + std::to_string(i);
    const std::string& entry = texts[i]->entry;
    source += "namespace { namespace " + space + " {\n#define " + entry + " " + entry + "_" +
              space + "\n" + texts[i]->text + "\nvoid run(const void* words) { shim::call(" +
              entry + ", words); }\n#undef " + entry +
              "\n} }\nextern \"C\" __attribute__((visibility(\"default\"))) shim::Entry weft_" +
              space + "() { return {" + space + "::run, sizeof(" + space + "::Params) / 8}; }\n";
  }
  return source;
}

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Where objects of earlier processes are kept, if WEFT_TESTS_KERNELS names a folder: most of the
/// time of these tests is the compiler's.
fs::path kept_object(const std::string& source, const std::string& options) {
  const char* const folder = std::getenv("WEFT_TESTS_KERNELS");
  if (!folder || !*folder) return {};
  std::string all = source + options;
  for (const char* const header : {"gpu_shim.h", "gpu_machine.h"})
    all += contents(fs::path(WEFT_TESTS_DIR) / "support" / header);
  std::error_code error;
  fs::create_directories(folder, error);
  return fs::path(folder) / (detail::to_hex(detail::sha256(all)) + ".so");
}

void compile(const fs::path& stem, const Texts& texts) {
  const std::string name = stem.string(), source = program(texts);
  const std::string options =
      std::string(WEFT_TESTS_CXX) +
      " -std=c++17 -O1 -ffp-contract=off -fno-math-errno -fno-strict-aliasing"
      " -w -fPIC -shared -fvisibility=hidden -I" WEFT_TESTS_DIR " ";
  const fs::path kept = kept_object(source, options);
  std::error_code error;
  if (!kept.empty() && fs::copy_file(kept, name + ".so", error)) return;
  std::ofstream(name + ".cpp") << source;
  const std::string command = options + name + ".cpp -o " + name + ".so 2> " + name + ".log";
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("a kernel's text is no host C++:\n" +
                             contents(name + ".log").substr(0, 4000) + "\n" + texts[0]->text);
  if (kept.empty()) return;
  // Under another name first: several processes may do this at once.
  const fs::path whole = kept.string() + "." + std::to_string(getpid());
  if (fs::copy_file(name + ".so", whole, error)) fs::rename(whole, kept, error);
}

template <class F>
F symbol(void* object, const std::string& name) {
  void* const address = dlsym(object, name.c_str());
  if (!address) throw std::runtime_error("no symbol " + name);
  F function;
  std::memcpy(&function, &address, sizeof function);
  return function;
}

void load(const fs::path& stem, const Texts& texts) {
  void* const object = dlopen((stem.string() + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object) throw std::runtime_error(dlerror());
  const shim::Variables variables = symbol<shim::Variables (*)()>(object, "weft_shim_variables")();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    Loaded kernel;
    kernel.entry = symbol<shim::Entry (*)()>(object, "weft_k" + std::to_string(i))();
    kernel.variables = variables;
    // Every word of CUDA C++ by which threads wait ends so, or begins so.
    kernel.has_barriers = texts[i]->text.find("__sync") != std::string::npos ||
                          texts[i]->text.find("_sync(") != std::string::npos;
    loaded()[texts[i]->text] = kernel;
  }
}

void compile_all(const Texts& texts) {
  static std::atomic<int> number{0};
  const fs::path folder = fs::temp_directory_path() / ("weft_kernels_" + std::to_string(getpid()) +
                                                       "_" + std::to_string(number++));
  fs::create_directory(folder);
  const std::size_t workers = std::max(1u, std::thread::hardware_concurrency());
  // Few enough for a compiler that slows with the size of a file, and work for all processors.
  const std::size_t each = std::clamp<std::size_t>((texts.size() + workers - 1) / workers, 1, 32);
  std::vector<Texts> parts;
  for (std::size_t i = 0; i < texts.size(); i += each)
    parts.emplace_back(texts.begin() + static_cast<std::ptrdiff_t>(i),
                       texts.begin() +
                           static_cast<std::ptrdiff_t>(std::min(i + each, texts.size())));
  const auto stem = [&](std::size_t part) { return folder / ("kernels" + std::to_string(part)); };
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(parts.size());
  std::vector<std::thread> threads;
  for (std::size_t w = 0; w < std::min(workers, parts.size()); ++w)
    threads.emplace_back([&] {
      for (std::size_t part; (part = next++) < parts.size();) try {
          compile(stem(part), parts[part]);
        } catch (...) {
          errors[part] = std::current_exception();
        }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  for (std::size_t part = 0; part < parts.size(); ++part) load(stem(part), parts[part]);
  if (!std::getenv("WEFT_KEEP_KERNELS")) fs::remove_all(folder);
}

struct Addresses {
  std::span<const std::uintptr_t> inputs, outputs;
  std::span<const std::uint64_t> arguments;
  std::uintptr_t workspace, error;
  std::uint32_t step;
  std::uintptr_t counters;
};

template <class T>
T element(std::span<const T> values, std::uint64_t i) {
  if (i >= values.size()) throw std::runtime_error("a parameter word names what is not there");
  return values[i];
}

std::uint64_t value_of(const ParamWord& word, const Addresses& at) {
  switch (word.kind) {
    case ParamWord::Kind::constant: return word.value;
    case ParamWord::Kind::input: return element(at.inputs, word.value);
    case ParamWord::Kind::output: return element(at.outputs, word.value);
    case ParamWord::Kind::argument: return element(at.arguments, word.value);
    case ParamWord::Kind::workspace: return at.workspace + word.value;
    case ParamWord::Kind::counters: return at.counters;
    case ParamWord::Kind::error: return at.error;
    case ParamWord::Kind::step: return at.step + 1;
  }
  throw std::runtime_error("a parameter word of no kind");
}

void run_block(const Loaded& kernel, const void* words, shim::Machine& machine) {
  static BlockFibers& fibers = *new BlockFibers;  // as `loaded`
  const shim::Variables& variables = kernel.variables;
  std::fill(variables.shared_begin, variables.shared_end, static_cast<unsigned char>(0xa5));
  if (kernel.has_barriers) {
    fibers.run(variables, kernel.entry.run, words, machine);
    return;
  }
  const shim::Index threads = *variables.threads;
  shim::Index& thread = *variables.thread;
  for (thread.z = 0; thread.z < threads.z; ++thread.z)
    for (thread.y = 0; thread.y < threads.y; ++thread.y)
      for (thread.x = 0; thread.x < threads.x; ++thread.x) {
        machine.lane = (thread.x + threads.x * (thread.y + threads.y * thread.z)) % 32;
        kernel.entry.run(words);
      }
}

void run_launch(const KernelLaunch& launch, const Addresses& at) {
  const Loaded& kernel = loaded().at(launch.source->text);
  if (kernel.entry.words != launch.params.size())
    throw std::runtime_error("a launch has not as many words as its text");
  if (launch.block[0] * launch.block[1] * launch.block[2] > 1024 || launch.grid[1] > 65535 ||
      launch.grid[2] > 65535)
    throw std::runtime_error("a launch is greater than a GPU takes");
  std::vector<std::uint64_t> words;
  for (const ParamWord& word : launch.params) words.push_back(value_of(word, at));
  // As large as was asked for, so that a checker of addresses sees what goes beyond.
  std::vector<std::uint64_t> shared((launch.shared_bytes + 7) / 8);
  shim::Machine machine{};
  machine.dynamic_shared = reinterpret_cast<unsigned char*>(shared.data());
  const shim::Variables& variables = kernel.variables;
  *variables.machine = &machine;
  *variables.threads = {launch.block[0], launch.block[1], launch.block[2]};
  *variables.blocks = {launch.grid[0], launch.grid[1], launch.grid[2]};
  shim::Index& block = *variables.block;
  for (block.z = 0; block.z < launch.grid[2]; ++block.z)
    for (block.y = 0; block.y < launch.grid[1]; ++block.y)
      for (block.x = 0; block.x < launch.grid[0]; ++block.x) {
        std::fill(shared.begin(), shared.end(), 0xa5a5a5a5a5a5a5a5u);
        run_block(kernel, words.data(), machine);
      }
}

}  // namespace

void compile_for_host(const std::vector<detail::KernelSequence>& sequences) {
  std::map<std::string, const KernelSource*> missing;
  for (const detail::KernelSequence& sequence : sequences)
    for (const KernelLaunch& launch : sequence.launches)
      if (!loaded().contains(launch.source->text))
        missing[launch.source->text] = launch.source.get();
  Texts texts;
  for (const auto& [text, source] : missing) texts.push_back(source);
  if (!texts.empty()) compile_all(texts);
}

void run_on_host(const detail::KernelSequence& sequence, std::span<const std::uintptr_t> inputs,
                 std::span<const std::uintptr_t> outputs, std::span<const std::uint64_t> arguments,
                 std::uintptr_t workspace, detail::ErrorBlock* error, std::uint32_t step) {
  compile_for_host({sequence});
  std::vector<std::uint32_t> counters(sequence.counters);
  const Addresses at{inputs,
                     outputs,
                     arguments,
                     workspace,
                     reinterpret_cast<std::uintptr_t>(error),
                     step,
                     reinterpret_cast<std::uintptr_t>(counters.data())};
  for (const KernelLaunch& launch : sequence.launches) run_launch(launch, at);
  for (const std::uint32_t count : counters)
    if (count != 0) throw std::runtime_error("a counter is not 0 at the end of its step");
}

}  // namespace weft::testing
