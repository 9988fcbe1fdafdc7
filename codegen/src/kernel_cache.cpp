// Kernels by everything that they depend on.
#include "kernel_cache.h"

#include <new>
#include <utility>

#include <weft/graph/detail/environment.h>

#include "system_calls.h"

namespace weft::detail {
namespace {

constexpr std::size_t most_kept_bytes = std::size_t{64} << 20;

// Size and time of last change tell versions apart that give themselves the same number.
std::string file_text(const std::string& path) {
  struct stat status;
  if (path.empty() || system_calls().stat_path(path.c_str(), &status) != 0) return "";
  return std::to_string(status.st_size) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
         std::to_string(status.st_mtim.tv_nsec);
}

}  // namespace

KernelCache::KernelCache(Nvrtc& compiler, CacheSettings settings)
    : compiler_(compiler), folder_(std::move(settings)) {}

std::string KernelCache::key_of(const KernelSource& source, int arch) {
  std::string key = "kernel of generator " + std::to_string(kernel_generator_version) + "\nentry " +
                    source.entry + "\narch " + std::to_string(arch) + "\noptions";
  for (const std::string& option : nvrtc_options(source)) key += " " + option;
  return key + "\n\n" + source.text;
}

Cubin KernelCache::find_in_memory(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return found->second->cubin;
}

// Another thread's may be there already; that one is as good.
Cubin KernelCache::keep(const std::string& key, Cubin cubin) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second->cubin;
  kept_.push_front({key, std::move(cubin)});
  try {
    by_key_.emplace(kept_.front().key, kept_.begin());
  } catch (...) {
    kept_.pop_front();
    throw;
  }
  const auto bytes_of = [](const Kept& kept) { return kept.key.size() + kept.cubin->size(); };
  kept_bytes_ += bytes_of(kept_.front());
  while (kept_bytes_ > most_kept_bytes && kept_.size() > 1) {
    kept_bytes_ -= bytes_of(kept_.back());
    by_key_.erase(kept_.back().key);
    kept_.pop_back();
  }
  return kept_.front().cubin;
}

// Of the entry that says which NVRTC is used where NVRTC is searched for in these places.
std::string KernelCache::compiler_key() const {
  const char* const loader_path = environment("LD_LIBRARY_PATH");
  std::string key = std::string("compiler\nLD_LIBRARY_PATH ") + (loader_path ? loader_path : "");
  for (const std::string& place : compiler_.places()) key += "\n" + place;
  return key;
}

// "version size time" of the NVRTC in use; empty where only loading would tell. The folder has an
// entry "path\nversion size time" from the process that loaded it last: it holds as long as that
// file is unchanged. A library that is installed later in a better place is noticed when a kernel
// has to be compiled; until then, code of the one before is as good.
std::string KernelCache::known_compiler() {
  {
    const std::lock_guard lock(compiler_mutex_);
    if (!compiler_text_.empty()) return compiler_text_;
  }
  if (compiler_.is_loaded()) return loaded_compiler();
  const std::optional<std::vector<char>> entry = folder_.find(compiler_key());
  if (!entry) return "";
  const std::string text(entry->begin(), entry->end());
  const std::size_t line = text.find('\n');
  if (line == std::string::npos) return "";
  const std::string identity = text.substr(line + 1), file = file_text(text.substr(0, line));
  if (file.empty() || !identity.ends_with(" " + file)) return "";
  const std::lock_guard lock(compiler_mutex_);
  if (compiler_text_.empty()) compiler_text_ = identity;
  return compiler_text_;
}

// After NVRTC was loaded. Corrects the folder's entry where it is not so.
std::string KernelCache::loaded_compiler() {
  {
    const std::lock_guard lock(compiler_mutex_);
    if (compiler_is_loaded_) return compiler_text_;
  }
  const NvrtcInfo& info = compiler_.load();
  const std::string identity = std::to_string(info.version) + " " + file_text(info.path);
  const std::string text = info.path + "\n" + identity;
  const std::vector<char> value(text.begin(), text.end());
  if (folder_.find(compiler_key()) != value) folder_.store(compiler_key(), value);
  const std::lock_guard lock(compiler_mutex_);
  compiler_is_loaded_ = true;
  return compiler_text_ = identity;
}

Cubin KernelCache::find(const std::string& key) {
  if (Cubin cubin = find_in_memory(key)) return cubin;
  const std::string compiler = known_compiler();
  if (compiler.empty()) return nullptr;
  std::optional<std::vector<char>> cubin = folder_.find("nvrtc " + compiler + "\n" + key);
  if (!cubin) return nullptr;
  return keep(key, std::make_shared<const std::vector<char>>(std::move(*cubin)));
}

Cubin KernelCache::build(const std::string& key, const KernelSource& source, int arch) {
  return keep(key, std::make_shared<const std::vector<char>>(compiler_.compile(source, arch)));
}

void KernelCache::publish(const std::string& key, const Cubin& cubin) {
  try {
    folder_.store("nvrtc " + loaded_compiler() + "\n" + key, *cubin);
  } catch (const std::bad_alloc&) {
    // The kernel is there all the same.
  }
}

Cubin KernelCache::obtain(const KernelSource& source, int arch) {
  const std::string key = key_of(source, arch);
  Cubin cubin = find(key);
  if (!cubin) {
    cubin = build(key, source, arch);
    publish(key, cubin);
  }
  return cubin;
}

KernelCache& kernel_cache() {
  static KernelCache* const instance = new KernelCache(nvrtc(), cache_settings(environment));
  return *instance;
}

KernelCacheInfo kernel_cache_info() { return kernel_cache().info(); }

}  // namespace weft::detail
