// Every system call of the kernel cache and its workers, in one table, so that tests can make each
// one fail. They return and set errno as POSIX has it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <sys/types.h>

namespace weft::detail {

struct SystemCalls {
  int (*open)(int folder, const char* name, int flags, mode_t mode) noexcept;
  int (*make_folder)(const char* path, mode_t mode) noexcept;
  int (*stat_path)(const char* path, struct stat* result) noexcept;
  int (*stat_open)(int file, struct stat* result) noexcept;
  int (*stat_in)(int folder, const char* name, struct stat* result) noexcept;  // no links followed
  ssize_t (*read)(int file, void* data, std::size_t bytes) noexcept;
  ssize_t (*write)(int file, const void* data, std::size_t bytes) noexcept;
  int (*sync)(int file) noexcept;
  int (*rename)(int folder, const char* from, const char* to) noexcept;
  int (*remove)(int folder, const char* name) noexcept;
  int (*touch)(int file) noexcept;  // last change: now
  /// Names of a folder's entries; -1 where it cannot be read.
  int (*list)(int folder, std::vector<std::string>& names);
  void (*close)(int file) noexcept;
  /// A thread that takes no signals and that nobody joins, with a stack that compilers need; false
  /// where there is none.
  bool (*start_thread)(void* (*body)(void*), void* context) noexcept;
};

/// The table in use. A test that replaces an entry does so while no other thread uses it.
SystemCalls& system_calls() noexcept;

}  // namespace weft::detail
