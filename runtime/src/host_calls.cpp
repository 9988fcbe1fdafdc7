// The system's own calls.
#include "host_calls.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

namespace weft::detail {
namespace {

constexpr std::size_t line = 64;
constexpr std::size_t largest = std::numeric_limits<std::size_t>::max() / 4;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

void* map(std::size_t bytes, int protection) {
  // Not MAP_NORESERVE: what can not be had is to be refused here, not to end the process later.
  void* address = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void* reserve(std::size_t bytes) noexcept { return map(bytes, PROT_NONE); }

bool commit(void* address, std::size_t bytes) noexcept {
  if (mprotect(address, bytes, PROT_READ | PROT_WRITE) != 0) return false;
  madvise(address, bytes, MADV_HUGEPAGE);  // only advice: kernels without it refuse
  return true;
}

void discard(void* address, std::size_t bytes) noexcept { madvise(address, bytes, MADV_DONTNEED); }

void release(void* address, std::size_t bytes) noexcept { munmap(address, bytes); }

void* allocate(std::size_t bytes) noexcept {
  if (bytes > largest) return nullptr;
  if (bytes < huge_page) return std::aligned_alloc(line, round_up(bytes + (bytes == 0), line));
  // Not from the C library: its thresholds move, and its sanitized forms abort on absurd sizes.
  const std::size_t size = round_up(bytes, huge_page);
  void* const mapped = map(size + huge_page, PROT_READ | PROT_WRITE);
  if (!mapped) return nullptr;
  char* const start = static_cast<char*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(mapped);
  const std::size_t head = round_up(address, huge_page) - address;
  if (head > 0) munmap(start, head);
  munmap(start + head + size, huge_page - head);
  madvise(start + head, size, MADV_HUGEPAGE);
  return start + head;
}

void free_block(void* block, std::size_t bytes) noexcept {
  if (bytes < huge_page)
    std::free(block);
  else
    munmap(block, round_up(bytes, huge_page));
}

// A control group's file holds a number, or a word where there is no limit.
std::size_t limit_in(const char* path) {
  std::FILE* const file = std::fopen(path, "re");
  if (!file) return largest;
  unsigned long long bytes = largest;
  if (std::fscanf(file, "%llu", &bytes) != 1) bytes = largest;
  std::fclose(file);
  return static_cast<std::size_t>(bytes);
}

std::size_t memory_limit() noexcept {
  static const std::size_t limit = [] {
    struct sysinfo machine = {};
    std::size_t bytes = largest;
    if (sysinfo(&machine) == 0)
      bytes = static_cast<std::size_t>(machine.totalram + machine.totalswap) * machine.mem_unit;
    bytes = std::min(bytes, limit_in("/sys/fs/cgroup/memory.max"));
    return std::min(bytes, limit_in("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  }();
  return limit;
}

bool start_thread(void* (*body)(void*), void* context) noexcept {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, body, context) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return started;
}

constinit HostCalls table = {reserve,  commit,     discard,      release,
                             allocate, free_block, memory_limit, start_thread};

}  // namespace

HostCalls& host_calls() noexcept { return table; }

}  // namespace weft::detail
