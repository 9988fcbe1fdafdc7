// The functions of the driver of the tests.
#include <atomic>
#include <cstdio>
#include <cstring>

#include "support/code_with_text.h"
#include "support/fake_world.h"
#include "support/host_kernels.h"

namespace weft::testing::fake {

CuStatus init(unsigned) {
  const Lock lock;
  return fault();
}
CuStatus driver_version(int* version) {
  *version = world().options.driver_version;
  return 0;
}
CuStatus device_count(int* count) {
  *count = world().options.gpus;
  return 0;
}
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
  *value = attribute == 75   ? 9
           : attribute == 76 ? 0
           : attribute == 16 ? world().options.processors
                             : 227 * 1024;
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
  *context = reinterpret_cast<CuContext>(static_cast<std::uintptr_t>(device) + 1);
  return 0;
}
CuStatus push_context(CuContext context) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  if (contexts.count == contexts.all.size()) return invalid_value;
  contexts.all[contexts.count++] = context;
  return 0;
}
CuStatus pop_context(CuContext* context) {
  if (contexts.count == 0) return invalid_context;
  *context = contexts.all[--contexts.count];
  return 0;
}
CuStatus set_context(CuContext context) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  contexts.all[0] = context;
  contexts.count = 1;
  return 0;
}
CuStatus enable_peer(CuContext, unsigned) {
  const Lock lock;
  return fault();
}
CuStatus memory_info(std::size_t* free, std::size_t* total) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  *total = world().options.memory_bytes;
  *free = *total - world().used[current_gpu()];
  return 0;
}

/// Of pageable memory: the driver may return when it has read that, with the copy still to be done
/// in the order of the default stream, for which no stream of a program's own waits.
CuStatus copy_to_device(CuAddress to, const void* from, std::size_t bytes) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  const auto* const first = static_cast<const char*>(from);
  world().late_copies[current_gpu()].push_back({to, std::vector<char>(first, first + bytes)});
  return 0;
}
CuStatus copy_to_host(void* to, CuAddress from, std::size_t bytes) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  do_late_copies(current_gpu());
  std::memcpy(to, bytes_at(from), bytes);
  return 0;
}
namespace {
void note(const char* what, std::size_t bytes) { world().log.push_back({what, bytes}); }
}  // namespace

CuStatus queue_copy_to_device(CuAddress to, const void* from, std::size_t bytes, CuStream stream) {
  return append(stream, [=] {
    note("upload", bytes);
    std::memcpy(bytes_at(to), from, bytes);
  });
}
namespace {

/// As a GPU writes a line of the host's memory, which may be read meanwhile: all at once. Seen from
/// the host: what is first in it comes last.
void write_to_host(void* to, const char* from, std::size_t bytes) {
  constexpr std::size_t word = sizeof(std::uint64_t);
  if (bytes != sizeof(ErrorBlock) || reinterpret_cast<std::uintptr_t>(to) % word != 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  ErrorBlock block;
  std::memcpy(&block, from, bytes);
  ErrorBlock& line = *static_cast<ErrorBlock*>(to);
  std::atomic_ref(line.limit).store(block.limit, std::memory_order_relaxed);
  std::atomic_ref(line.index).store(block.index, std::memory_order_relaxed);
  std::atomic_ref(line.unused).store(block.unused, std::memory_order_relaxed);
  std::atomic_ref(line.step).store(block.step, std::memory_order_release);
}

}  // namespace

CuStatus queue_copy_to_host(void* to, CuAddress from, std::size_t bytes, CuStream stream) {
  return append(stream, [=] {
    note("download", bytes);
    write_to_host(to, bytes_at(from), bytes);
  });
}
CuStatus queue_copy(CuAddress to, CuAddress from, std::size_t bytes, CuStream stream) {
  return append(stream, [=] {
    note("copy", bytes);
    std::memmove(bytes_at(to), bytes_at(from), bytes);
  });
}
CuStatus queue_peer_copy(CuAddress to, CuContext, CuAddress from, CuContext, std::size_t bytes,
                         CuStream stream) {
  return append(stream, [=] {
    note("copy", bytes);
    ++world().peer_copies;
    std::memcpy(bytes_at(to), bytes_at(from), bytes);
    if (world().options.wrong_peers && bytes > 0) bytes_at(to)[bytes / 2] ^= 1;
  });
}
CuStatus queue_fill(CuAddress address, unsigned char value, std::size_t bytes, CuStream stream) {
  return append(stream, [=] {
    note("fill", bytes);
    std::memset(bytes_at(address), value, bytes);
  });
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
  {
    const Lock lock;
    if (const CuStatus status = fault()) return status;
    if (!stream) {
      do_late_copies(current_gpu());
      return 0;
    }
  }
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
  if (world().lost) return world().lost;
  return world().events.at(event)->happened ? 0 : cu_not_ready;
}
CuStatus destroy_event(CuEvent event) {
  const Lock lock;
  return world().events.erase(event) ? 0 : invalid_handle;
}
CuStatus load_module(CuModule* module, const void* image) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  if (world().options.refuses_code) return world().options.refuses_code;
  const char* const text =
      world().options.takes_code ? text_behind(image) : static_cast<const char*>(image);
  if (!text) return invalid_image;
  world().modules.push_back(std::make_unique<Module>(Module{text}));
  *module = reinterpret_cast<CuModule>(world().modules.back().get());
  return 0;
}
CuStatus unload_module(CuModule module) {
  const Lock lock;
  auto& modules = world().modules;
  return std::erase_if(modules,
                       [&](const auto& known) {
                         return known.get() == reinterpret_cast<const Module*>(module);
                       })
             ? 0
             : invalid_handle;
}
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
  one.source =
      std::make_shared<const KernelSource>(KernelSource{function.entry, function.module->text});
  const std::uint32_t grid[] = {grid_x, grid_y, grid_z}, block[] = {block_x, block_y, block_z};
  std::memcpy(one.grid, grid, sizeof grid);
  std::memcpy(one.block, block, sizeof block);
  one.shared_bytes = shared_bytes;
  const auto* words = static_cast<const std::uint64_t*>(extra[1]);
  for (std::size_t i = 0; i < *static_cast<const std::size_t*>(extra[3]) / 8; ++i)
    one.params.push_back({ParamWord::Kind::constant, words[i]});
  auto sequence = std::make_shared<KernelSequence>();
  sequence->launches.push_back(std::move(one));
  const auto run = [sequence] {
    ++world().launches;
    if (world().crash_after > 0 && --world().crash_after == 0) {
      world().lost = launch_failed;
      return;
    }
    note("kernel", 0);
    run_on_host(*sequence, {}, {}, {}, 0, nullptr, 0);
  };
  return append(stream, run, {}, true);
}
CuStatus error_name(CuStatus, const char** name) {
  *name = "FAKE_ERROR";
  return 0;
}
CuStatus error_text(CuStatus, const char** text) {
  *text = "of the tests";
  return 0;
}

}  // namespace weft::testing::fake
