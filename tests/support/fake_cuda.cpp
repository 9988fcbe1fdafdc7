#include "support/fake_cuda.h"

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "buffer_pool.h"
#include "cuda/cuda_backend.h"
#include "cuda/driver.h"
#include "support/host_kernels.h"

namespace weft::testing {
namespace {

using namespace weft::detail;

constexpr CuStatus invalid_value = 1, invalid_context = 201, invalid_handle = 400;

struct Event {
  bool recorded = false, happened = true;
  std::uint64_t number = 0;
};

struct Work {
  std::function<void()> run;
  std::shared_ptr<Event> waits;  // may start when it has happened
};

struct Stream {
  int gpu;
  std::deque<Work> queue;
};

struct Module {
  std::string text;
};
struct Function {
  const Module* module;
  std::string entry;
};

/// All that exists, under one lock.
struct World {
  std::recursive_mutex mutex;
  FakeCudaOptions options;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Stream>> streams;
  std::map<CuEvent, std::shared_ptr<Event>> events;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<Function>> functions;
  std::map<CuAddress, std::pair<int, std::vector<char>>> blocks;
  std::map<CuAddress, std::vector<char>> ranges;  // reserved
  std::map<void*, std::vector<char>> pinned;
  std::map<int, std::size_t> used;
  std::int64_t calls = 0, fails_at = 0, launches = 0, peer_copies = 0;
  CuStatus failure = 0, lost = 0;
  bool failed = false, forever = false;
};

World& world() {
  static World* const made = new World;
  return *made;
}

thread_local std::vector<CuContext> contexts;

struct Lock {
  std::lock_guard<std::recursive_mutex> guard{world().mutex};
};

/// The status that this call is to return; not 0: it does nothing.
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
  if (contexts.empty() || !contexts.back()) return -1;
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(contexts.back())) - 1;
}
CuContext context_of(int gpu) {
  return reinterpret_cast<CuContext>(static_cast<std::uintptr_t>(gpu) + 1);
}
Stream& stream_of(CuStream handle) { return *reinterpret_cast<Stream*>(handle); }

// ---- doing work

bool can_start(const Stream& stream) {
  return !stream.queue.empty() &&
         (!stream.queue.front().waits || stream.queue.front().waits->happened);
}

/// One piece of some stream's work; false where none can start.
bool do_some() {
  World& w = world();
  std::vector<Stream*> ready;
  for (const auto& stream : w.streams)
    if (can_start(*stream)) ready.push_back(stream.get());
  if (ready.empty()) return false;
  Stream& chosen = *ready[w.random() % ready.size()];
  const Work work = std::move(chosen.queue.front());
  chosen.queue.pop_front();
  if (work.run) work.run();
  return true;
}

template <class Done>
CuStatus work_until(Done done) {
  while (!done()) {
    if (world().lost) return world().lost;
    if (!do_some()) return invalid_handle;  // a wait for what nobody has queued
  }
  return 0;
}

CuStatus append(CuStream handle, std::function<void()> run, std::shared_ptr<Event> waits = {}) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  Stream& stream = stream_of(handle);
  if (current_gpu() != stream.gpu) return invalid_context;
  stream.queue.push_back({std::move(run), std::move(waits)});
  while (world().random() % 3 == 0 && do_some()) {
  }
  return 0;
}

char* bytes_at(CuAddress address) { return reinterpret_cast<char*>(address); }

// ---- the driver

CuStatus init(unsigned) { const Lock lock; return fault(); }
CuStatus driver_version(int* version) { *version = 13000; return 0; }
CuStatus device_count(int* count) { *count = world().options.gpus; return 0; }
CuStatus device_get(CuDevice* device, int ordinal) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  if (ordinal < 0 || ordinal >= world().options.gpus) return 101;
  *device = ordinal;
  return 0;
}
CuStatus device_name(char* name, int size, CuDevice device) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU %d", device);
  return 0;
}
CuStatus device_memory(std::size_t* bytes, CuDevice) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  *bytes = world().options.memory_bytes;
  return 0;
}
CuStatus device_attribute(int* value, int attribute, CuDevice) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 4 : 227 * 1024;
  return 0;
}
CuStatus can_access_peer(int* can, CuDevice, CuDevice) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  *can = world().options.peers;
  return 0;
}
CuStatus retain_context(CuContext* context, CuDevice device) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  *context = context_of(device);
  return 0;
}
CuStatus push_context(CuContext context) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  contexts.push_back(context);
  return 0;
}
CuStatus pop_context(CuContext* context) {
  if (contexts.empty()) return invalid_context;
  *context = contexts.back();
  contexts.pop_back();
  return 0;
}
CuStatus set_context(CuContext context) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  contexts.assign(1, context);
  return 0;
}
CuStatus enable_peer(CuContext, unsigned) { const Lock lock; return fault(); }
CuStatus memory_info(std::size_t* free, std::size_t* total) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  *total = world().options.memory_bytes;
  *free = *total - world().used[current_gpu()];
  return 0;
}

bool reserve_memory(int gpu, std::size_t bytes) {
  World& w = world();
  if (w.used[gpu] + bytes > w.options.memory_bytes) return false;
  w.used[gpu] += bytes;
  return true;
}

CuStatus allocate(CuAddress* address, std::size_t bytes) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  const int gpu = current_gpu();
  if (gpu < 0) return invalid_context;
  if (!reserve_memory(gpu, bytes)) return cu_out_of_memory;
  std::vector<char> block(bytes + 256, static_cast<char>(0xa5));
  const CuAddress start = (reinterpret_cast<CuAddress>(block.data()) + 255) / 256 * 256;
  world().blocks.emplace(start, std::pair(gpu, std::move(block)));
  *address = start;
  return 0;
}
CuStatus deallocate(CuAddress address) {
  const Lock lock;
  World& w = world();
  const auto it = w.blocks.find(address);
  if (it == w.blocks.end()) return invalid_value;
  // The driver waits for all work before memory goes.
  while (do_some()) {
  }
  w.used[it->second.first] -= it->second.second.size() - 256;
  w.blocks.erase(it);
  return 0;
}
CuStatus allocate_host(void** address, std::size_t bytes, unsigned) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  std::vector<char> block(bytes);
  *address = block.data();
  world().pinned.emplace(*address, std::move(block));
  return 0;
}
CuStatus deallocate_host(void* address) {
  const Lock lock;
  return world().pinned.erase(address) ? 0 : invalid_value;
}
CuStatus reserve(CuAddress* address, std::size_t bytes, std::size_t, CuAddress,
                 unsigned long long) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  std::vector<char> range(bytes / 8 + 256, static_cast<char>(0xa5));  // as much as tests use
  *address = (reinterpret_cast<CuAddress>(range.data()) + 255) / 256 * 256;
  world().ranges.emplace(*address, std::move(range));
  return 0;
}
CuStatus granularity(std::size_t* bytes, const CuMemoryProperties*, int) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  *bytes = 2 << 20;
  return 0;
}
CuStatus create_memory(CuMemory* memory, std::size_t bytes, const CuMemoryProperties* properties,
                       unsigned long long) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  if (!reserve_memory(properties->location, bytes)) return cu_out_of_memory;
  *memory = 1;
  return 0;
}
CuStatus release_memory(CuMemory) { return 0; }
CuStatus map(CuAddress, std::size_t, std::size_t, CuMemory, unsigned long long) {
  const Lock lock;
  return fault();
}
CuStatus unmap(CuAddress, std::size_t) { return 0; }
CuStatus set_access(CuAddress, std::size_t, const CuMemoryAccess*, std::size_t) {
  const Lock lock;
  return fault();
}
CuStatus copy_to_device(CuAddress to, const void* from, std::size_t bytes) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  std::memcpy(bytes_at(to), from, bytes);
  return 0;
}
CuStatus copy_to_host(void* to, CuAddress from, std::size_t bytes) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  std::memcpy(to, bytes_at(from), bytes);
  return 0;
}
CuStatus queue_copy_to_device(CuAddress to, const void* from, std::size_t bytes, CuStream stream) {
  return append(stream, [=] { std::memcpy(bytes_at(to), from, bytes); });
}
CuStatus queue_copy_to_host(void* to, CuAddress from, std::size_t bytes, CuStream stream) {
  return append(stream, [=] { std::memcpy(to, bytes_at(from), bytes); });
}
CuStatus queue_copy(CuAddress to, CuAddress from, std::size_t bytes, CuStream stream) {
  return append(stream, [=] { std::memmove(bytes_at(to), bytes_at(from), bytes); });
}
CuStatus queue_peer_copy(CuAddress to, CuContext, CuAddress from, CuContext, std::size_t bytes,
                         CuStream stream) {
  return append(stream, [=] {
    ++world().peer_copies;
    std::memcpy(bytes_at(to), bytes_at(from), bytes);
    if (world().options.wrong_peers && bytes > 0) bytes_at(to)[bytes / 2] ^= 1;
  });
}
CuStatus queue_fill(CuAddress address, unsigned char value, std::size_t bytes, CuStream stream) {
  return append(stream, [=] { std::memset(bytes_at(address), value, bytes); });
}
CuStatus create_stream(CuStream* stream, unsigned) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  world().streams.push_back(std::make_unique<Stream>(Stream{current_gpu(), {}}));
  *stream = reinterpret_cast<CuStream>(world().streams.back().get());
  return 0;
}
CuStatus wait_event(CuStream stream, CuEvent event, unsigned) {
  const Lock lock;
  return append(stream, {}, world().events.at(event));
}
CuStatus synchronize_stream(CuStream stream) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  return work_until([&] { return stream_of(stream).queue.empty(); });
}
CuStatus create_event(CuEvent* event, unsigned) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  static std::uintptr_t number = 0;
  *event = reinterpret_cast<CuEvent>(++number);
  world().events.emplace(*event, std::make_shared<Event>());
  return 0;
}
/// Each record is an event of its own, as those who wait take the record that was last.
CuStatus record_event(CuEvent event, CuStream stream) {
  const Lock lock;
  auto recorded = std::make_shared<Event>();
  recorded->happened = false;
  const CuStatus status = append(stream, [recorded] { recorded->happened = true; });
  if (status == 0) world().events.at(event) = recorded;
  return status;
}
CuStatus query_event(CuEvent event) {
  const Lock lock;
  do_some();
  return world().events.at(event)->happened ? 0 : cu_not_ready;
}
CuStatus synchronize_event(CuEvent event) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  const std::shared_ptr<Event> awaited = world().events.at(event);
  return work_until([&] { return awaited->happened; });
}
CuStatus destroy_event(CuEvent event) {
  const Lock lock;
  return world().events.erase(event) ? 0 : invalid_handle;
}
CuStatus load_module(CuModule* module, const void* image) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  world().modules.push_back(
      std::make_unique<Module>(Module{static_cast<const char*>(image)}));
  *module = reinterpret_cast<CuModule>(world().modules.back().get());
  return 0;
}
CuStatus unload_module(CuModule) { return 0; }
CuStatus get_function(CuFunction* function, CuModule module, const char* name) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  world().functions.push_back(
      std::make_unique<Function>(Function{reinterpret_cast<const Module*>(module), name}));
  *function = reinterpret_cast<CuFunction>(world().functions.back().get());
  return 0;
}
CuStatus set_function_attribute(CuFunction, int, int) {
  const Lock lock;
  return fault();
}
CuStatus launch(CuFunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                CuStream stream, void** parameters, void** extra) {
  if (parameters || !extra || extra[0] != reinterpret_cast<void*>(1) || !grid_x || !grid_y ||
      !grid_z || block_x * block_y * block_z > 1024 || grid_y > 65535 || grid_z > 65535)
    return invalid_value;
  const auto& function = *reinterpret_cast<const Function*>(handle);
  KernelLaunch one;
  one.source = std::make_shared<const KernelSource>(
      KernelSource{function.entry, function.module->text});
  const std::uint32_t grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
  std::memcpy(one.grid, grid, sizeof grid);
  std::memcpy(one.block, block, sizeof block);
  one.shared_bytes = shared_bytes;
  const auto* words = static_cast<const std::uint64_t*>(extra[1]);
  for (std::size_t i = 0; i < *static_cast<const std::size_t*>(extra[3]) / 8; ++i)
    one.params.push_back({ParamWord::Kind::constant, words[i]});
  auto sequence = std::make_shared<KernelSequence>();
  sequence->launches.push_back(std::move(one));
  return append(stream, [sequence] {
    ++world().launches;
    run_on_host(*sequence, {}, {}, {}, 0, nullptr, 0);
  });
}
CuStatus error_name(CuStatus, const char** name) { *name = "FAKE_ERROR"; return 0; }
CuStatus error_text(CuStatus, const char** text) { *text = "of the tests"; return 0; }

int count_gpus(std::string* why_none) {
  if (world().options.gpus == 0 && why_none) *why_none = "the fake driver has none";
  return world().options.gpus;
}

const DriverCalls& fake_calls() {
  static const DriverCalls calls = [] {
    DriverCalls made;
#define WEFT_CALL(name, symbol, parameters) made.name = name;
    WEFT_DRIVER_CALLS(WEFT_CALL)
#undef WEFT_CALL
    made.count_gpus = count_gpus;
    made.takes_texts = true;
    return made;
  }();
  return calls;
}

}  // namespace

FakeCuda::FakeCuda(const FakeCudaOptions& options) {
  {
    const Lock lock;
    world().options = options;
    world().random.seed(options.seed);
    world().lost = 0;
    world().used.clear();  // what a test before has lost is gone with its GPUs
  }
  fail(0, 0);
  replace_driver_calls(&fake_calls());
  forget_cuda_devices();
}

FakeCuda::~FakeCuda() {
  fail(0, 0);
  // What the pools keep is of GPUs that will not be there.
  for (int i = 0; i < cuda_device_count(); ++i) {
    backend(DeviceKind::cuda).synchronize(Device::cuda(i));
    pool_of(Device::cuda(i)).empty();
  }
  forget_cuda_devices();
  replace_driver_calls(nullptr);
}

void FakeCuda::fail(std::int64_t k, int status, bool forever) {
  const Lock lock;
  World& w = world();
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
std::int64_t FakeCuda::calls() {
  const Lock lock;
  return world().calls;
}
std::int64_t FakeCuda::launches() {
  const Lock lock;
  return world().launches;
}
std::int64_t FakeCuda::peer_copies() {
  const Lock lock;
  return world().peer_copies;
}
std::size_t FakeCuda::allocated() {
  const Lock lock;
  std::size_t bytes = 0;
  for (const auto& [gpu, used] : world().used) bytes += used;
  return bytes;
}

}  // namespace weft::testing
