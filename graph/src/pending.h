// How much waits to be evaluated, and the flush that a thread makes by itself.
#pragma once

#include <atomic>
#include <cstddef>

#include <weft/graph/detail/node.h>

#include "fast_thread_local.h"

namespace weft::detail {

/// Where this thread flushed itself last: it does so again at the same place, so that the pieces
/// of a loop are alike and their plan is found again.
struct FlushSite {
  const char* file = nullptr;
  int line = 0;
  OpId op{};
  std::size_t bytes = 0;
};
extern WEFT_FAST_THREAD_LOCAL constinit FlushSite flush_site;
extern std::atomic<std::size_t> node_limit;
extern std::atomic<std::size_t> byte_limit;

/// Counts what really waits, and flushes if that is too much, here or at the place of last time.
void flush_what_waits(OpId op, Where at);

inline void flush_if_full(OpId op, Where at) {
  if (pending_count() >= node_limit.load(std::memory_order_relaxed) ||
      flush_site.bytes >= byte_limit.load(std::memory_order_relaxed)) [[unlikely]]
    flush_what_waits(op, at);
}

}  // namespace weft::detail
