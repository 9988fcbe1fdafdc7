#include "support/fake_cuda.h"

#include <sys/mman.h>

#include <algorithm>

#include "buffer_pool.h"
#include "cuda/cuda_backend.h"
#include "engine.h"
#include "support/fake_world.h"

namespace weft::testing {
namespace fake {

constinit thread_local ContextStack contexts{};

World& world() {
  static World* const made = new World;
  return *made;
}

CuStatus fault() {
  World& w = world();
  ++w.calls;
  if (w.lost) return w.lost;
  const bool now = w.fails_at != 0 && (w.forever ? w.calls >= w.fails_at : w.calls == w.fails_at);
  if (!now) return 0;
  w.failed = true;
  if (is_lost(w.failure)) w.lost = w.failure;
  return w.failure;
}

int current_gpu() {
  if (contexts.count == 0) return -1;  // as where the last is null
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(contexts.all[contexts.count - 1])) - 1;
}

// ---- doing work

namespace {

bool can_start(const Stream& stream) {
  if (stream.queue.empty()) return false;
  const Work& next = stream.queue.front();
  return (!next.waits || next.waits->happened) && !(next.is_kernel && world().holds_kernels);
}

}  // namespace

bool do_some() {
  World& w = world();
  std::vector<Stream*> ready;
  for (const auto& stream : w.streams)
    if (can_start(*stream)) ready.push_back(stream.get());
  if (ready.empty() || w.lost) return false;
  Stream& chosen = *ready[w.random() % ready.size()];
  const Work work = std::move(chosen.queue.front());
  chosen.queue.pop_front();
  if (work.run) work.run();
  return true;
}

void do_all() {
  while (do_some()) {
  }
  for (const auto& gpu : world().late_copies) do_late_copies(gpu.first);
}

void do_late_copies(int gpu) {
  std::vector<World::LateCopy>& copies = world().late_copies[gpu];
  if (!world().lost)
    for (const World::LateCopy& copy : copies)
      std::copy(copy.bytes.begin(), copy.bytes.end(), bytes_at(copy.to));
  copies.clear();
}

CuStatus append(CuStream handle, std::function<void()> run, std::shared_ptr<Event> waits,
                bool is_kernel) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  Stream& stream = stream_of(handle);
  if (current_gpu() != stream.gpu) return invalid_context;
  stream.queue.push_back({std::move(run), std::move(waits), is_kernel});
  while (!world().options.lazy && world().random() % 3 == 0 && do_some()) {
  }
  return 0;
}

// ---- the table

namespace {

int count_gpus(std::string* why_none) {
  if (world().options.gpus == 0 && why_none) *why_none = "the fake driver has none";
  return world().options.gpus;
}

const DriverCalls& calls(bool takes_texts) {
  const auto make = [](bool texts) {
    DriverCalls made;
#define WEFT_CALL(name, symbol, parameters) made.name = name;
    WEFT_DRIVER_CALLS(WEFT_CALL)
#undef WEFT_CALL
    made.count_gpus = count_gpus;
    made.takes_texts = texts;
    return made;
  };
  static const DriverCalls with_texts = make(true), with_code = make(false);
  return takes_texts ? with_texts : with_code;
}

/// As if nothing had ever been used. What a test has lost is gone with its GPUs.
void begin(const FakeCudaOptions& options) {
  World& w = world();
  w.options = options;
  w.random.seed(options.seed);
  w.streams.clear();
  w.late_copies.clear();
  w.events.clear();
  w.modules.clear();
  w.functions.clear();
  w.blocks.clear();
  w.pinned.clear();
  w.registered.clear();
  for (const auto& [address, bytes] : w.ranges) munmap(bytes_at(address), bytes);
  w.ranges.clear();
  w.mappings.clear();
  w.chunks.clear();
  w.used.clear();
  w.log.clear();
  w.launches = w.peer_copies = w.crash_after = 0;
  w.lost = 0;
  w.holds_kernels = false;
}

}  // namespace
}  // namespace fake

using fake::Lock;
using fake::world;

FakeCuda::FakeCuda(const FakeCudaOptions& options) {
  fail(0, 0);
  detail::trim_all_caches();  // of GPUs that are there but for this test
  {
    const Lock lock;
    fake::begin(options);
  }
  detail::replace_driver_calls(&fake::calls(!options.takes_code));
  detail::forget_cuda_devices();
  detail::Engine::instance().clear_plans();  // they have kernels of GPUs that were there before
}

FakeCuda::~FakeCuda() {
  fail(0, 0);
  hold_kernels(false);
  // What the pools keep is of GPUs that will not be there.
  for (int i = 0; i < detail::cuda_device_count(); ++i) {
    detail::backend(DeviceKind::cuda).synchronize(Device::cuda(i));
    detail::pool_of(Device::cuda(i)).empty();
  }
  detail::forget_cuda_devices();
  detail::Engine::instance().clear_plans();
  detail::replace_driver_calls(nullptr);
}

void FakeCuda::fail(std::int64_t k, int status, bool forever) {
  const Lock lock;
  fake::World& w = world();
  w.calls = 0;
  w.fails_at = k;
  w.failure = status;
  w.forever = forever;
  w.failed = false;
  w.lost = 0;
}

bool FakeCuda::has_failed() {
  const Lock lock;
  return world().failed;
}
int FakeCuda::fault() {
  const Lock lock;
  return fake::fault();
}
int FakeCuda::queue(void* stream, std::function<void()> work) {
  return fake::append(static_cast<detail::CuStream>(stream), std::move(work), {}, true);
}
void FakeCuda::hold_kernels(bool held) {
  const Lock lock;
  world().holds_kernels = held;
}
void FakeCuda::crash_kernel(std::int64_t k) {
  const Lock lock;
  world().crash_after = k;
}
std::int64_t FakeCuda::calls() {
  const Lock lock;
  return world().calls;
}
std::int64_t FakeCuda::queued_kernels() {
  const Lock lock;
  std::int64_t count = 0;
  for (const auto& stream : world().streams)
    for (const fake::Work& work : stream->queue) count += work.is_kernel;
  return count;
}
std::int64_t FakeCuda::launches() {
  const Lock lock;
  return world().launches;
}
std::int64_t FakeCuda::peer_copies() {
  const Lock lock;
  return world().peer_copies;
}

FakeCudaHeld FakeCuda::held() {
  const Lock lock;
  const fake::World& w = world();
  FakeCudaHeld held;
  for (const auto& [gpu, used] : w.used) held.bytes += used;
  for (const auto& [memory, chunk] : w.chunks) held.mapped += chunk.bytes;
  for (const auto& [address, block] : w.pinned) held.pinned += block.size();
  for (const auto& [address, bytes] : w.registered) held.registered += bytes;
  held.blocks = w.blocks.size();
  held.events = w.events.size();
  held.modules = w.modules.size();
  return held;
}

std::vector<FakeCuda::Done> FakeCuda::log() {
  const Lock lock;
  return world().log;
}
void FakeCuda::clear_log() {
  const Lock lock;
  world().log.clear();
}

}  // namespace weft::testing
