// Starting the work that has been recorded.
#pragma once

#include <weft/graph/args.h>
#include <weft/graph/tensor.h>

namespace weft {

/// Starts the work that computes these, as one plan; returns before it ends. Values that the
/// program holds and that are computed on the way are kept. OutOfMemoryError or CompileError leave
/// everything pending, as before.
void eval(const TensorList& roots);
template <class B, class... T>
void eval(const TensorArg& first, const B& second, const T&... rest) {
  eval(TensorList({first, TensorArg(second, first.at()), TensorArg(rest, first.at())...}, first.at()));
}
/// Starts everything pending that this thread recorded and that the program still holds.
void flush(Where at = {});

struct PendingLimits {
  /// Recorded nodes that nothing has evaluated, and bytes of host data given to nodes, past which
  /// the thread flushes itself.
  std::size_t nodes = 100000;
  std::size_t bytes = std::size_t{1} << 30;
};
void set_pending_limits(const PendingLimits& limits) noexcept;
PendingLimits pending_limits() noexcept;

}  // namespace weft
