#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <weft/graph/log.h>

#include "kernel_cache.h"
#include "sha256.h"
#include "system_calls.h"

namespace weft::detail {
namespace {

constexpr char magic[9] = "weftcub1";
constexpr std::uint32_t format_version = 1;
constexpr std::size_t header_bytes = 32, sum_bytes = 32;
constexpr std::uint64_t most_entry_bytes = std::uint64_t{1} << 30;
constexpr const char* entry_suffix = ".entry";
constexpr const char* new_prefix = ".new-";
constexpr std::time_t abandoned_after_s = 3600;  // a file that was never renamed

struct File {
  int number;
  ~File() {
    if (number >= 0) system_calls().close(number);
  }
};

std::string text_of(int problem) { return std::generic_category().message(problem); }

void put(std::string& to, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) to += static_cast<char>(value >> (8 * i) & 255);
}

std::uint64_t number_at(const char* from, int bytes) noexcept {
  std::uint64_t value = 0;
  for (int i = 0; i < bytes; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
  return value;
}

std::string header_of(std::string_view key, std::uint64_t value_bytes) {
  std::string header(magic, 8);
  put(header, format_version, 4);
  put(header, 0, 4);
  put(header, key.size(), 8);
  put(header, value_bytes, 8);
  return header;
}

bool read_all(int file, char* to, std::size_t bytes) {
  while (bytes != 0) {
    const ssize_t got = system_calls().read(file, to, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) {
      errno = 0;
      return false;
    }
    to += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, const void* data, std::size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes != 0) {
    const ssize_t put_now = system_calls().write(file, from, bytes);
    if (put_now < 0 && errno == EINTR) continue;
    if (put_now <= 0) {
      if (put_now == 0) errno = EIO;
      return false;
    }
    from += put_now;
    bytes -= static_cast<std::size_t>(put_now);
  }
  return true;
}

// Makes the folder and those above it that are missing, for the user alone.
bool make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    struct stat status;
    if (system_calls().stat_path(part.c_str(), &status) != 0 &&
        system_calls().make_folder(part.c_str(), 0700) != 0 && errno != EEXIST)
      return false;
    if (end == std::string::npos) return true;
  }
}

bool is_own(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_entry(const std::string& name) {
  return name.size() == 64 + std::strlen(entry_suffix) && name.ends_with(entry_suffix) &&
         std::all_of(name.begin(), name.begin() + 64,
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string unique_name() {
  static std::atomic<std::uint64_t> counter{0};
  std::timespec now{};
  std::timespec_get(&now, TIME_UTC);
  return new_prefix + std::to_string(::getpid()) + "-" + std::to_string(now.tv_sec) + "." +
         std::to_string(now.tv_nsec) + "-" + std::to_string(counter.fetch_add(1));
}

}  // namespace

CacheFolder::CacheFolder(CacheSettings settings)
    : settings_(std::move(settings)), is_usable_(!settings_.folder.empty()), is_writable_(true) {
  if (!settings_.warning.empty()) log(LogLevel::warning, settings_.warning);
}

std::string CacheFolder::entry_name(std::string_view key) {
  return to_hex(sha256(key)) + entry_suffix;
}

void CacheFolder::warn_once(Trouble trouble, const std::string& message) {
  if (!warned_[static_cast<int>(trouble)].exchange(true))
    log(LogLevel::warning, "kernel cache: " + message);
}

void CacheFolder::refuse(const std::string& why) {
  {
    const std::lock_guard lock(refused_mutex_);
    if (refused_.empty()) refused_ = why;
  }
  is_usable_ = false;
  warn_once(Trouble::folder, settings_.folder + " " + why + "; it is not used");
}

void CacheFolder::stop_writing(int problem) {
  is_writable_ = false;
  warn_once(Trouble::writing, settings_.folder + " cannot be written to (" + text_of(problem) +
                                  "); this process keeps no more kernels there");
}

// -1 where there is none, or none that may be used. What is checked is what is then used: the
// folder behind the descriptor.
int CacheFolder::open_folder(bool make) {
  if (!is_usable_) return -1;
  const char* const path = settings_.folder.c_str();
  constexpr int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int folder = system_calls().open(AT_FDCWD, path, flags, 0);
  if (folder < 0 && errno == ENOENT) {
    if (!make) return -1;
    if (!make_folders(settings_.folder)) {
      stop_writing(errno);
      return -1;
    }
    folder = system_calls().open(AT_FDCWD, path, flags, 0);
  }
  if (folder < 0) {
    const int problem = errno;
    if (problem == ELOOP || problem == ENOTDIR)
      refuse("is a link, or no folder");
    else if (problem != EMFILE && problem != ENFILE && problem != EINTR)
      refuse("cannot be opened (" + text_of(problem) + ")");
    return -1;
  }
  struct stat status;
  if (system_calls().stat_open(folder, &status) != 0) {
    refuse("cannot be examined (" + text_of(errno) + ")");
  } else if (status.st_uid != ::geteuid()) {
    refuse("belongs to another user");
  } else if (!is_own(status)) {
    refuse("can be written to by other users (chmod go-w would help)");
  } else {
    return folder;
  }
  system_calls().close(folder);
  return -1;
}

// What is wrong with the file, or nothing.
std::string CacheFolder::read_entry(int file, std::string_view key,
                                    std::vector<char>& value) const {
  struct stat status;
  if (system_calls().stat_open(file, &status) != 0) return text_of(errno);
  if (!S_ISREG(status.st_mode)) return "is no file";
  if (!is_own(status)) return "belongs to another user, or can be written to by others";
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes < header_bytes + sum_bytes) return "is cut short";
  if (bytes > most_entry_bytes) return "is too long";
  std::vector<char> content(bytes);
  if (!read_all(file, content.data(), bytes)) return errno ? text_of(errno) : "is cut short";
  const std::uint64_t value_bytes = number_at(content.data() + 24, 8);
  if (std::string_view(content.data(), header_bytes) != header_of(key, value_bytes) ||
      bytes - header_bytes - sum_bytes < key.size() ||
      bytes - header_bytes - sum_bytes - key.size() != value_bytes)
    return "has another form or length";
  const Sha256::Digest sum = sha256({content.data(), bytes - sum_bytes});
  if (std::memcmp(sum.data(), content.data() + bytes - sum_bytes, sum_bytes) != 0)
    return "is damaged";
  if (std::string_view(content.data() + header_bytes, key.size()) != key) return "has another key";
  const auto begin = content.begin() + static_cast<std::ptrdiff_t>(header_bytes + key.size());
  value.assign(begin, begin + static_cast<std::ptrdiff_t>(value_bytes));
  return "";
}

std::optional<std::vector<char>> CacheFolder::find(std::string_view key) {
  const File folder{open_folder(false)};
  if (folder.number < 0) return {};
  const std::string name = entry_name(key);
  const File file{system_calls().open(folder.number, name.c_str(),
                                      O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0)};
  std::string wrong;
  if (file.number < 0) {
    if (errno == ENOENT || errno == EMFILE || errno == ENFILE || errno == EINTR) return {};
    wrong = errno == ELOOP ? "is a link" : text_of(errno);
  } else {
    std::vector<char> value;
    wrong = read_entry(file.number, key, value);
    if (wrong.empty()) {
      static_cast<void>(system_calls().touch(file.number));
      return value;
    }
  }
  warn_once(Trouble::entry,
            settings_.folder + "/" + name + ": " + wrong + "; the kernel is compiled again");
  return {};
}

// 0, or what failed.
int CacheFolder::write_file(int folder, const std::string& name, std::string_view key,
                            const std::vector<char>& value) const {
  const File file{system_calls().open(folder, name.c_str(),
                                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (file.number < 0) return errno;
  const std::string header = header_of(key, value.size());
  Sha256 sum;
  sum.add(header.data(), header.size());
  sum.add(key.data(), key.size());
  sum.add(value.data(), value.size());
  const Sha256::Digest digest = sum.finish();
  if (write_all(file.number, header.data(), header.size()) &&
      write_all(file.number, key.data(), key.size()) &&
      write_all(file.number, value.data(), value.size()) &&
      write_all(file.number, digest.data(), digest.size()) && system_calls().sync(file.number) == 0)
    return 0;
  return errno;
}

void CacheFolder::store(std::string_view key, const std::vector<char>& value) {
  const std::uint64_t bytes = header_bytes + key.size() + value.size() + sum_bytes;
  if (!is_writable_ || bytes > std::min(settings_.size_limit, most_entry_bytes)) return;
  const File folder{open_folder(true)};
  if (folder.number < 0) return;
  const std::string name = unique_name();
  int problem = write_file(folder.number, name, key, value);
  if (problem == 0) {
    keep_within_limit(folder.number, bytes);
    if (system_calls().rename(folder.number, name.c_str(), entry_name(key).c_str()) == 0) return;
    problem = errno;
  }
  static_cast<void>(system_calls().remove(folder.number, name.c_str()));
  stop_writing(problem);
}

// What is kept; also removes files that a process left when it was killed.
std::vector<CacheFolder::Known> CacheFolder::survey(int folder, bool tidy) const {
  std::vector<std::string> names;
  static_cast<void>(system_calls().list(folder, names));
  std::vector<Known> result;
  for (std::string& name : names) {
    const bool is_new = name.starts_with(new_prefix);
    struct stat status;
    if ((!is_new && !is_entry(name)) ||
        system_calls().stat_in(folder, name.c_str(), &status) != 0 || S_ISDIR(status.st_mode))
      continue;
    if (!is_new)
      result.push_back({std::move(name), static_cast<std::uint64_t>(status.st_size),
                        status.st_mtim.tv_sec * std::int64_t{1000000000} + status.st_mtim.tv_nsec});
    else if (tidy && status.st_mtim.tv_sec + abandoned_after_s < std::time(nullptr))
      static_cast<void>(system_calls().remove(folder, name.c_str()));
  }
  return result;
}

// Makes room for a file of so many bytes. Down to seven eighths, so that not every further file
// reads the whole folder. Processes that fill it at once may pass the limit together, by what each
// adds.
void CacheFolder::keep_within_limit(int folder, std::uint64_t added) {
  const std::lock_guard lock(size_mutex_);
  if (bytes_ && *bytes_ + added <= settings_.size_limit) {
    *bytes_ += added;
    return;
  }
  std::vector<Known> known = survey(folder, true);
  std::uint64_t bytes = added;
  for (const Known& entry : known) bytes += entry.bytes;
  if (bytes > settings_.size_limit) {
    std::sort(known.begin(), known.end(),
              [](const Known& a, const Known& b) { return a.used_ns < b.used_ns; });
    const std::uint64_t goal = settings_.size_limit - settings_.size_limit / 8;
    for (const Known& entry : known) {
      if (bytes <= goal) break;
      if (system_calls().remove(folder, entry.name.c_str()) == 0 || errno == ENOENT)
        bytes -= entry.bytes;
    }
  }
  bytes_ = bytes;
}

KernelCacheInfo CacheFolder::info() {
  KernelCacheInfo info{settings_.folder, settings_.size_limit, 0, 0, settings_.problem};
  const File folder{open_folder(false)};
  if (folder.number >= 0) {
    for (const Known& entry : survey(folder.number, false)) {
      info.bytes += entry.bytes;
      ++info.entries;
    }
  } else if (!is_usable_ && info.problem.empty()) {
    const std::lock_guard lock(refused_mutex_);
    info.problem = "it " + refused_ + "; it is not used";
  } else if (!is_writable_) {
    info.problem = "it cannot be made or written to";
  }
  return info;
}

}  // namespace weft::detail
