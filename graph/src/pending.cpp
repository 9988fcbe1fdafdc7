// Pending limits: what waits is counted, and flushed before it is too much.
#include "pending.h"

#include <weft/graph/detail/record.h>
#include <weft/graph/evaluate.h>
#include <weft/graph/scope.h>

namespace weft {

void set_pending_limits(const PendingLimits& limits) noexcept {
  detail::node_limit = limits.nodes;
  detail::byte_limit = limits.bytes;
}

PendingLimits pending_limits() noexcept { return {detail::node_limit, detail::byte_limit}; }

namespace detail {

constinit std::atomic<std::size_t> node_limit{PendingLimits{}.nodes};
constinit std::atomic<std::size_t> byte_limit{PendingLimits{}.bytes};
WEFT_FAST_THREAD_LOCAL constinit FlushSite flush_site;

void count_pending_bytes(std::size_t bytes) noexcept { flush_site.bytes += bytes; }

namespace {

struct Waiting {
  std::size_t nodes = 0, bytes = 0;
};

/// What waits in truth: of what this thread recorded, the nodes that nothing has evaluated, and the
/// host data that some op refers to.
Waiting count_waiting() {
  Waiting waiting;
  for_each_recent_node(
      [](Node* node, void* context) {
        auto& sum = *static_cast<Waiting*>(context);
        if (node->state.load(std::memory_order_acquire) == NodeState::pending)
          ++sum.nodes;
        else if (node->op == OpId::data && node->edges() > 0)
          sum.bytes += static_cast<std::size_t>(node->numel()) * size_of(node->dtype);
      },
      &waiting);
  return waiting;
}

}  // namespace

void flush_what_waits(OpId op, Where at) {
  const std::size_t nodes = pending_count();
  const std::size_t limit = node_limit.load(std::memory_order_relaxed);
  const std::size_t bytes = byte_limit.load(std::memory_order_relaxed);
  if (ambient().tracing) return;
  FlushSite& site = flush_site;
  const bool same = site.file == at.file() && site.line == at.line() && site.op == op;
  // Past the limit the next visit of the old place is waited for, up to twice the limit.
  if (site.file && !same && nodes < 2 * limit && site.bytes < 2 * bytes) return;
  // The counters also have what was read since or is dead; a walk of all nodes tells. It is not
  // worth another before a quarter of the limit has come on top.
  if (const Waiting waiting = count_waiting();
      waiting.nodes < limit - limit / 4 && waiting.bytes < bytes - bytes / 4) {
    set_pending_count(waiting.nodes);
    site.bytes = waiting.bytes;
    return;
  }
  site = {at.file(), at.line(), op, 0};
  flush(at);
}

}  // namespace detail

}  // namespace weft
