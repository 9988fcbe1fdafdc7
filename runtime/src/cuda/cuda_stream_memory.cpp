// What a stream keeps for its steps: workspace, and counters that each step leaves at 0.
#include <utility>

#include "cuda_device.h"
#include "cuda_stream.h"

namespace weft::detail {

namespace {

constexpr std::size_t fewest_counter_bytes = 16384;

}  // namespace

/// Grows by doubling. The one before is in use until the segments that have it are done.
std::shared_ptr<const CudaBlock> CudaStream::workspace(std::size_t bytes) {
  std::shared_ptr<const CudaBlock> room = kept(workspace_);
  if (room && bytes <= room->bytes) return room;
  std::size_t wanted = std::size_t{1} << 20;
  while (wanted < bytes) wanted *= 2;
  keep(workspace_, room = nullptr);
  keep(workspace_, room = allocate(wanted));
  return room;
}

/// Each step leaves them at 0, and steps of a stream run one after the other.
std::shared_ptr<const CudaBlock> CudaStream::counters(std::size_t count) {
  std::size_t bytes = fewest_counter_bytes;
  while (bytes < count * sizeof(std::uint32_t)) bytes *= 2;
  if (auto room = kept(counters_); room && bytes <= room->bytes) return room;
  std::shared_ptr<const CudaBlock> made = allocate(bytes);
  device_.call("cuMemsetD8Async",
               [&] { return device_.calls().queue_fill(made->address, 0, bytes, stream_); });
  keep(counters_, made);
  return made;
}

std::shared_ptr<const CudaBlock> CudaStream::allocate(std::size_t bytes) {
  auto block = std::make_unique<CudaBlock>();
  device_.check(device_.calls().allocate(&block->address, bytes), "cuMemAlloc");
  block->bytes = bytes;
  return {block.release(), [device = &device_](const CudaBlock* gone) {
            device->deallocate(gone->address);
            delete gone;
          }};
}

std::shared_ptr<const CudaBlock> CudaStream::kept(const std::shared_ptr<const CudaBlock>& place) {
  const ForkSafeLock lock(kept_mutex_);
  return place;
}

/// What was kept before goes outside the lock.
void CudaStream::keep(std::shared_ptr<const CudaBlock>& place,
                      std::shared_ptr<const CudaBlock> block) noexcept {
  const ForkSafeLock lock(kept_mutex_);
  place.swap(block);
}

void CudaStream::trim() noexcept {
  keep(workspace_, nullptr);
  keep(counters_, nullptr);
}

void CudaStream::forget() noexcept {
  stream_ = nullptr;
  events_.forget();
  trim();
  staging_.clear();
  next_chunk_ = 0;
  has_chunk_ = false;
}

}  // namespace weft::detail
