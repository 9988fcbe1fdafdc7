// How evaluation enters: graph owns this interface, the runtime implements it.
#pragma once

#include <cstddef>
#include <mutex>
#include <span>

#include <weft/graph/detail/buffer.h>
#include <weft/graph/detail/ref.h>
#include <weft/graph/device.h>
#include <weft/graph/error.h>

namespace weft::detail {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Plans and starts. On an exception nothing has changed.
  virtual void evaluate(std::span<const Ref> roots, Where at) = 0;
  /// Where the value of an undecided node is, or will be made: chosen now, and fixed.
  virtual Device place(Node* node, Where at) = 0;
  /// Waits for an issued node's value; throws what went wrong with it on the device.
  virtual void wait(Node* node, Where at) = 0;
  /// Starts everything pending that the calling thread recorded and the program holds.
  virtual void flush(Where at) = 0;
  /// Evaluates, waits, and copies the dense value to the host.
  virtual void read(Ref ref, void* destination, Where at) = 0;
  /// Memory of the cpu with a copy of these bytes.
  virtual BufferRef host_copy(const void* data, std::size_t bytes, Where at) = 0;
  /// The caller's memory; `release` is called when the last holder is gone.
  virtual BufferRef host_borrow(void* data, std::size_t bytes, void (*release)(void*),
                                void* context) = 0;
  /// Whether a tensor may be placed there; else DeviceError saying why not and what there is.
  virtual void require_device(Device device, Where at) = 0;
};

/// The runtime's; InternalError where none is linked in.
Evaluator& evaluator();
void install_evaluator(Evaluator* evaluator) noexcept;

/// Held from capture to issue, and while the history of nodes is walked: an evaluated node may let
/// go of its inputs only under it.
std::recursive_mutex& engine_mutex();

}  // namespace weft::detail
