// Every system call of the runtime's host side, in one table, so that tests can make each one fail.
#pragma once

#include <cstddef>

namespace weft::detail {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

struct HostCalls {
  /// Address space without memory, page aligned; null where there is none left.
  void* (*reserve)(std::size_t bytes) noexcept;
  /// Makes a reserved range readable and writable, zero at first; false where there is no memory.
  bool (*commit)(void* address, std::size_t bytes) noexcept;
  /// Gives the memory of a committed range back; it stays usable and is zero again.
  void (*discard)(void* address, std::size_t bytes) noexcept;
  void (*release)(void* address, std::size_t bytes) noexcept;
  /// 64-byte aligned; from 2 MiB on aligned to, and advised to use, huge pages. Null where there is
  /// none left.
  void* (*allocate)(std::size_t bytes) noexcept;
  /// `bytes` as they were asked for.
  void (*free)(void* block, std::size_t bytes) noexcept;
  /// How much memory this process may use at most: the machine's, or its control group's share.
  std::size_t (*memory_limit)() noexcept;
  /// A thread of its own that takes no signals and that nobody joins; false where there is none.
  bool (*start_thread)(void* (*body)(void*), void* context) noexcept;
};

/// The table in use. A test that replaces an entry does so while no other thread is in the runtime.
HostCalls& host_calls() noexcept;

}  // namespace weft::detail
