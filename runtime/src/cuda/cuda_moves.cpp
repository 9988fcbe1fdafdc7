// Copies between the host and a GPU go through pinned memory in pieces: the next piece is filled
// while the last one moves, and the program's own memory need not be pinned.
#include "cuda_moves.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "cuda_backend.h"
#include "cuda_device.h"
#include "cuda_stream.h"

namespace weft::detail {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{4} << 20;
constexpr std::size_t chunk_count = 8;
constexpr unsigned for_all_contexts = 1;

}  // namespace

// ---- host and device

/// The next chunk of the ring, once what was last moved through it has gone.
char* CudaStream::staging(std::size_t chunk) {
  if (staging_.empty()) staging_.resize(chunk_count);
  StagingChunk& place = staging_[chunk];
  const DriverCalls& calls = device_.calls();
  if (!place.memory) {
    void* memory = nullptr;
    device_.check(calls.allocate_host(&memory, chunk_bytes, for_all_contexts), "cuMemHostAlloc");
    place.memory = static_cast<char*>(memory);
  }
  if (place.last_use) {
    device_.check(calls.synchronize_event(place.last_use.get()), "cuEventSynchronize");
    place.last_use = nullptr;
  }
  return place.memory;
}

void CudaStream::append_upload(CuAddress to, const char* from, std::size_t bytes) {
  const DriverCalls& calls = device_.calls();
  for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
    const std::size_t piece = std::min(chunk_bytes, bytes - done);
    const std::size_t chunk = next_chunk_;
    next_chunk_ = (next_chunk_ + 1) % chunk_count;
    char* const memory = staging(chunk);
    std::memcpy(memory, from + done, piece);
    device_.check(calls.queue_copy_to_device(to + done, memory, piece, stream_),
                  "cuMemcpyHtoDAsync");
    staging_[chunk].last_use = events_.take();
    device_.check(calls.record_event(staging_[chunk].last_use.get(), stream_), "cuEventRecord");
  }
}

void CudaStream::bring_to_host(char* to, CuAddress from, std::size_t bytes) {
  struct Piece {
    std::size_t chunk, at, bytes;
  };
  const DriverCalls& calls = device_.calls();
  std::deque<Piece> moving;
  const auto take_first = [&] {
    const Piece piece = moving.front();
    moving.pop_front();
    std::memcpy(to + piece.at, staging(piece.chunk), piece.bytes);
  };
  for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
    if (moving.size() == chunk_count) take_first();
    const Piece piece{next_chunk_, done, std::min(chunk_bytes, bytes - done)};
    next_chunk_ = (next_chunk_ + 1) % chunk_count;
    char* const memory = staging(piece.chunk);
    device_.check(calls.queue_copy_to_host(memory, from + done, piece.bytes, stream_),
                  "cuMemcpyDtoHAsync");
    staging_[piece.chunk].last_use = events_.take();
    device_.check(calls.record_event(staging_[piece.chunk].last_use.get(), stream_),
                  "cuEventRecord");
    moving.push_back(piece);
  }
  while (!moving.empty()) take_first();
}

// ---- between GPUs

namespace {

/// Some machines say that a pair of GPUs can copy directly, and then move wrong bytes.
bool copies_come_out_right(CudaDevice& source, CudaDevice& target) {
  constexpr std::size_t words = 64 * 1024, bytes = words * sizeof(std::uint32_t);
  std::vector<std::uint32_t> sent(words), came(words, 0);
  std::iota(sent.begin(), sent.end(), 0x9e3779b9u);
  const DriverCalls& calls = source.calls();
  const std::uintptr_t from = source.allocate(bytes), to = target.allocate(bytes);
  bool right = from && to;
  if (right) {
    source.copy_from_host(from, sent.data(), bytes);
    target.copy_from_host(to, came.data(), bytes);
    const WithContext with(source);
    const CuStream stream = source.stream(StreamKind::device_to_host).handle();
    right = calls.queue_peer_copy(to, target.context(), from, source.context(), bytes, stream) ==
                0 &&
            calls.synchronize_stream(stream) == 0;
  }
  if (right) target.copy_to_host(came.data(), to, bytes);
  if (from) source.deallocate(from);
  if (to) target.deallocate(to);
  return right && came == sent;
}

bool can_copy_directly(CudaDevice& source, CudaDevice& target) {
  static auto* const mutex = new ForkSafeMutex;
  static auto* const known = new std::map<std::pair<int, int>, bool>;
  const std::pair pair{source.device().index(), target.device().index()};
  {
    const ForkSafeLock lock(*mutex);
    if (const auto it = known->find(pair); it != known->end()) return it->second;
  }
  const DriverCalls& calls = source.calls();
  int can = 0;
  if (calls.can_access_peer(&can, pair.first, pair.second) != 0) can = 0;
  if (can) {
    const WithContext with(source);
    const CuStatus status = calls.enable_peer(target.context(), 0);
    can = status == 0 || status == cu_peer_already_enabled;
  }
  const bool right = can && copies_come_out_right(source, target);
  const ForkSafeLock lock(*mutex);
  return known->emplace(pair, right).first->second;
}

}  // namespace

void append_peer_copy(CudaDevice& owner, Device target, CuAddress to, Device source,
                      CuAddress from, std::size_t bytes, CuStream stream) {
  CudaDevice &giver = cuda_device(source), &taker = cuda_device(target);
  giver.start();
  taker.start();
  const DriverCalls& calls = owner.calls();
  if (can_copy_directly(giver, taker)) {
    owner.check(calls.queue_peer_copy(to, taker.context(), from, giver.context(), bytes, stream),
                "cuMemcpyPeerAsync");
    return;
  }
  owner.check(calls.synchronize_stream(stream), "cuStreamSynchronize");
  std::vector<char> host(std::min(bytes, std::size_t{64} << 20));
  for (std::size_t done = 0; done < bytes; done += host.size()) {
    const std::size_t piece = std::min(host.size(), bytes - done);
    giver.copy_to_host(host.data(), from + done, piece);
    taker.copy_from_host(to + done, host.data(), piece);
  }
}

}  // namespace weft::detail
