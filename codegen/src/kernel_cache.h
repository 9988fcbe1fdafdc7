// Kernels that were built before: in this process's memory, and in a folder on disk that only the
// user can write to.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <weft/codegen/build.h>

#include "device_compiler.h"

namespace weft::detail {

/// Grows when what kernels are launched with changes its meaning under an unchanged text.
inline constexpr int kernel_generator_version = 1;
inline constexpr std::uint64_t default_cache_bytes = std::uint64_t{512} << 20;

struct CacheSettings {
  std::string folder;  // absolute; empty: nothing is kept on disk
  std::uint64_t size_limit = default_cache_bytes;
  std::string problem;  // why there is no folder
  std::string warning;  // of a variable that is not understood
};

/// From WEFT_CACHE, WEFT_CACHE_DIR, WEFT_CACHE_SIZE, XDG_CACHE_HOME, HOME: see docs/gpu.md.
CacheSettings cache_settings(Environment environment);

/// A folder of entries, each a file of one key and its value, named by the key's SHA-256:
///   8 bytes "weftcub1"; u32 format; u32 0; u64 key bytes; u64 value bytes (little-endian);
///   the key; the value; SHA-256 of all before.
/// Files appear complete, under a lasting name, by rename. No function fails: what cannot be read
/// is a miss, what cannot be written is not kept, and the first of each kind of trouble is warned
/// of. Only std::bad_alloc is thrown.
class CacheFolder {
 public:
  explicit CacheFolder(CacheSettings settings);

  /// The value; the entry's time of last use becomes now.
  std::optional<std::vector<char>> find(std::string_view key);
  void store(std::string_view key, const std::vector<char>& value);
  KernelCacheInfo info();
  static std::string entry_name(std::string_view key);

 private:
  enum class Trouble { folder, entry, writing, count };
  struct Known {
    std::string name;
    std::uint64_t bytes;
    std::int64_t used_ns;
  };
  int open_folder(bool make);
  void refuse(const std::string& why);
  void warn_once(Trouble trouble, const std::string& message);
  std::string read_entry(int file, std::string_view key, std::vector<char>& value) const;
  int write_file(int folder, const std::string& name, std::string_view key,
                 const std::vector<char>& value) const;
  std::vector<Known> survey(int folder, bool tidy) const;
  void keep_within_limit(int folder, std::uint64_t added);
  void stop_writing(int problem);

  CacheSettings settings_;
  std::atomic<bool> is_usable_, is_writable_;
  std::atomic<bool> warned_[static_cast<int>(Trouble::count)] = {};
  std::mutex refused_mutex_;
  std::string refused_;  // why the folder is not used
  std::mutex size_mutex_;
  std::optional<std::uint64_t> bytes_;  // as last surveyed, plus what this process added since
};

/// Memory, then disk, then NVRTC. From any thread.
class KernelCache {
 public:
  KernelCache(Nvrtc& compiler, CacheSettings settings);

  /// What a kernel depends on besides the compiler: the whole text, in a form that is compared in
  /// full.
  static std::string key_of(const KernelSource& source, int arch);

  /// A kernel of this process; null where there is none.
  Cubin find_in_memory(const std::string& key);
  /// Memory and disk; null where neither has it. Does not load NVRTC on a hit.
  Cubin find(const std::string& key);
  /// Compiles and keeps in memory.
  Cubin build(const std::string& key, const KernelSource& source, int arch);
  /// Keeps on disk; throws nothing, once the kernel was built.
  void publish(const std::string& key, const Cubin& cubin);
  /// All of it.
  Cubin obtain(const KernelSource& source, int arch);
  KernelCacheInfo info() { return folder_.info(); }

 private:
  struct Kept {
    std::string key;
    Cubin cubin;
  };
  Cubin keep(const std::string& key, Cubin cubin);
  std::string known_compiler();
  std::string loaded_compiler();
  std::string compiler_key() const;

  Nvrtc& compiler_;
  CacheFolder folder_;
  std::mutex mutex_;
  std::list<Kept> kept_;  // last used first
  std::unordered_map<std::string_view, std::list<Kept>::iterator> by_key_;
  std::size_t kept_bytes_ = 0;
  std::mutex compiler_mutex_;
  std::string compiler_text_;        // of the disk's keys; empty until known
  bool compiler_is_loaded_ = false;  // and the text is from it
};

/// The process's own, over nvrtc() and the environment's folder.
KernelCache& kernel_cache();

}  // namespace weft::detail
