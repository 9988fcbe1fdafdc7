#include "system_calls.h"

#include <csignal>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

namespace weft::detail {
namespace {

constexpr std::size_t stack_bytes = std::size_t{16} << 20;

int open_at(int folder, const char* name, int flags, mode_t mode) noexcept {
  return ::openat(folder, name, flags, mode);
}
int make_folder(const char* path, mode_t mode) noexcept { return ::mkdir(path, mode); }
int stat_path(const char* path, struct stat* result) noexcept { return ::stat(path, result); }
int stat_open(int file, struct stat* result) noexcept { return ::fstat(file, result); }
int stat_in(int folder, const char* name, struct stat* result) noexcept {
  return ::fstatat(folder, name, result, AT_SYMLINK_NOFOLLOW);
}
ssize_t read_some(int file, void* data, std::size_t bytes) noexcept {
  return ::read(file, data, bytes);
}
ssize_t write_some(int file, const void* data, std::size_t bytes) noexcept {
  return ::write(file, data, bytes);
}
int sync(int file) noexcept { return ::fsync(file); }
int rename_in(int folder, const char* from, const char* to) noexcept {
  return ::renameat(folder, from, folder, to);
}
int remove_in(int folder, const char* name) noexcept { return ::unlinkat(folder, name, 0); }
int touch(int file) noexcept { return ::futimens(file, nullptr); }

int list(int folder, std::vector<std::string>& names) {
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return -1;
  DIR* const stream = ::fdopendir(own);
  if (!stream) {
    ::close(own);
    return -1;
  }
  struct Close {
    DIR* stream;
    ~Close() { ::closedir(stream); }
  } const guard{stream};
  while (const dirent* entry = ::readdir(stream)) names.emplace_back(entry->d_name);
  return 0;
}

void close_file(int file) noexcept { ::close(file); }

bool start_thread(void* (*body)(void*), void* context) noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, context) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

constinit SystemCalls table = {open_at,   make_folder, stat_path,  stat_open,   stat_in,
                               read_some, write_some,  sync,       rename_in,   remove_in,
                               touch,     list,        close_file, start_thread};

}  // namespace

SystemCalls& system_calls() noexcept { return table; }

}  // namespace weft::detail
