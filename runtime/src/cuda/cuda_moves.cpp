// Copies between the host and a GPU. Large blocks of weft's own are pinned when they are first
// copied; others go through pinned memory in pieces: the next piece is filled while the last one
// moves.
#include "cuda_moves.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../buffer_pool.h"
#include "cuda_backend.h"
#include "cuda_device.h"
#include "cuda_stream.h"
#include "host_registry.h"

namespace weft::detail {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;
constexpr std::size_t chunk_count = 8;
constexpr unsigned for_all_contexts = 1;
constexpr std::size_t fewest_direct_bytes = std::size_t{1} << 20;
constexpr std::size_t fewest_pinned_bytes = std::size_t{2}
                                            << 20;  // from there on in pages of its own

}  // namespace

// ---- host and device

/// Whether a copy of so many bytes may go directly. Pinning costs about as much as copying once
/// through the ring.
bool CudaStream::is_pinned(const Run& run, std::uint32_t buffer, std::size_t bytes) {
  const PlanBuffer& known = run.plan().buffers[buffer];
  if (!known.device.is_cpu() || known.home == PlanBuffer::Home::scratch ||
      bytes < fewest_direct_bytes)
    return false;
  const Storage& storage =
      known.home == PlanBuffer::Home::leaf ? run.leaf(known.index) : run.output(known.index);
  const Buffer& block = *storage.buffer.pointer();
  const std::size_t size = size_class_of(block.bytes()).bytes;
  // The program's own memory may go at any time; smaller blocks share pages with others.
  return block.is_writable() && size >= fewest_pinned_bytes &&
         HostRegistry::instance().pin(device_, block.address(), size);
}

std::unique_ptr<CudaStream::StagingChunk> CudaStream::make_chunk() {
  auto chunk = std::make_unique<StagingChunk>();
  chunk->moved = events_.take();
  void* memory = nullptr;
  device_.check(device_.calls().allocate_host(&memory, chunk_bytes, for_all_contexts),
                "cuMemHostAlloc");
  chunk->memory = static_cast<char*>(memory);
  return chunk;
}

/// The next chunk of the ring, which what was last moved through it may still be in. The ring grows
/// where all are in use, as long as there is pinned memory: one chunk does.
CudaStream::StagingChunk& CudaStream::next_chunk() {
  if (next_chunk_ >= staging_.size()) next_chunk_ = 0;
  const StagingChunk& next = *staging_[next_chunk_];
  if (next.is_moving && staging_.size() < chunk_count &&
      device_.calls().query_event(next.moved.get()) != 0) {
    try {
      staging_.reserve(staging_.size() + 1);
      staging_.insert(staging_.begin() + static_cast<std::ptrdiff_t>(next_chunk_), make_chunk());
    } catch (const DeviceLostError&) {
      throw;
    } catch (const std::exception&) {  // then with those that there are
    }
  }
  return *staging_[next_chunk_++];
}

void CudaStream::await_chunk(StagingChunk& chunk) {
  if (!chunk.is_moving) return;
  device_.call("cuEventSynchronize", [&] { return device_.await(chunk.moved.get()); });
  chunk.is_moving = false;
}

/// Appends a copy from or to a chunk, and the event that says that it is over.
template <class F>
void CudaStream::move_through(StagingChunk& chunk, const char* call, F copy) {
  device_.call(call, copy);
  try {
    device_.call("cuEventRecord",
                 [&] { return device_.calls().record_event(chunk.moved.get(), stream_); });
    chunk.is_moving = true;
  } catch (...) {
    if (!device_.await(stream_)) throw;
  }
}

void CudaStream::append_upload(CuAddress to, const char* from, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
    const std::size_t piece = std::min(chunk_bytes, bytes - done);
    StagingChunk& chunk = next_chunk();
    await_chunk(chunk);
    std::memcpy(chunk.memory, from + done, piece);
    move_through(chunk, "cuMemcpyHtoDAsync", [&] {
      return device_.calls().queue_copy_to_device(to + done, chunk.memory, piece, stream_);
    });
  }
}

void CudaStream::bring_to_host(char* to, CuAddress from, std::size_t bytes) {
  struct Piece {
    StagingChunk* chunk;
    std::size_t at, bytes;
  };
  std::deque<Piece> moving;
  const auto take_first = [&] {
    const Piece piece = moving.front();
    moving.pop_front();
    await_chunk(*piece.chunk);
    std::memcpy(to + piece.at, piece.chunk->memory, piece.bytes);
  };
  for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
    const std::size_t piece = std::min(chunk_bytes, bytes - done);
    StagingChunk& chunk = next_chunk();
    if (!moving.empty() && moving.front().chunk == &chunk) take_first();
    await_chunk(chunk);
    move_through(chunk, "cuMemcpyDtoHAsync", [&] {
      return device_.calls().queue_copy_to_host(chunk.memory, from + done, piece, stream_);
    });
    moving.push_back({&chunk, done, piece});
  }
  while (!moving.empty()) take_first();
}

// ---- between GPUs

namespace {

/// A device's memory for as long as it is needed.
struct Block {
  CudaDevice& device;
  const std::uintptr_t address;
  Block(CudaDevice& where, std::size_t bytes) : device(where), address(where.allocate(bytes)) {}
  ~Block() {
    if (address) device.deallocate(address);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
};

/// Some machines say that a pair of GPUs can copy directly, and then move wrong bytes. Throws where
/// this can not be found out.
bool copies_come_out_right(CudaDevice& source, CudaDevice& target) {
  constexpr std::size_t words = 64 * 1024, bytes = words * sizeof(std::uint32_t);
  std::vector<std::uint32_t> sent(words), came(words, 0);
  std::iota(sent.begin(), sent.end(), 0x9e3779b9u);
  const Block from(source, bytes), to(target, bytes);
  if (!from.address || !to.address)
    fail<OutOfMemoryError>(no_place, "no memory to try a copy between GPUs");
  source.copy_from_host(from.address, sent.data(), bytes);
  target.copy_from_host(to.address, came.data(), bytes);
  const DriverCalls& calls = source.calls();
  {
    const WithContext with(source);
    const CuStream stream = source.stream(StreamKind::device_to_host).handle();
    const CuStatus status = calls.queue_peer_copy(to.address, target.context(), from.address,
                                                  source.context(), bytes, stream);
    const bool is_done = source.await(stream);
    source.check(status, "cuMemcpyPeerAsync");
    if (!is_done) source.require_not_lost();
  }
  target.copy_to_host(came.data(), to.address, bytes);
  return came == sent;
}

bool finds_direct_copies(CudaDevice& source, CudaDevice& target) {
  const DriverCalls& calls = source.calls();
  int can = 0;
  source.check(calls.can_access_peer(&can, source.device().index(), target.device().index()),
               "cuDeviceCanAccessPeer");
  if (!can) return false;
  {
    const WithContext with(source);
    const CuStatus status = calls.enable_peer(target.context(), 0);
    if (status != cu_peer_already_enabled) source.check(status, "cuCtxEnablePeerAccess");
  }
  return copies_come_out_right(source, target);
}

/// Once it is known it stays so; what has failed to be found out is asked again.
bool can_copy_directly(CudaDevice& source, CudaDevice& target) {
  const int other = target.device().index();
  if (const auto known = source.copies_directly_to(other)) return *known;
  try {
    const bool can = finds_direct_copies(source, target);
    source.set_copies_directly_to(other, can);
    return can;
  } catch (const DeviceLostError&) {
    throw;
  } catch (const std::exception&) {
    return false;  // this time
  }
}

}  // namespace

void append_peer_copy(CudaDevice& owner, Device target, CuAddress to, Device source, CuAddress from,
                      std::size_t bytes, CuStream stream) {
  CudaDevice &giver = cuda_device(source), &taker = cuda_device(target);
  giver.start();
  taker.start();
  const DriverCalls& calls = owner.calls();
  if (can_copy_directly(giver, taker)) {
    owner.call("cuMemcpyPeerAsync", [&] {
      return calls.queue_peer_copy(to, taker.context(), from, giver.context(), bytes, stream);
    });
    return;
  }
  owner.call("cuStreamSynchronize", [&] { return calls.synchronize_stream(stream); });
  std::vector<char> host(std::min(bytes, std::size_t{64} << 20));
  for (std::size_t done = 0; done < bytes; done += host.size()) {
    const std::size_t piece = std::min(host.size(), bytes - done);
    giver.copy_to_host(host.data(), from + done, piece);
    taker.copy_from_host(to + done, host.data(), piece);
  }
}

}  // namespace weft::detail
