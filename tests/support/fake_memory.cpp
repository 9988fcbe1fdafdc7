// Memory of the driver of the tests.
#include <sys/mman.h>

#include "support/fake_world.h"

namespace weft::testing::fake {

namespace {

bool reserve_memory(int gpu, std::size_t bytes) {
  World& w = world();
  if (w.used[gpu] + bytes > w.options.memory_bytes) return false;
  w.used[gpu] += bytes;
  return true;
}

/// Memory goes when neither its handle nor a mapping is left.
void drop(CuMemory memory) {
  World& w = world();
  const auto it = w.chunks.find(memory);
  if (--it->second.holders > 0) return;
  w.used[it->second.gpu] -= it->second.bytes;
  w.chunks.erase(it);
}

}  // namespace

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
  do_all();
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
CuStatus register_host(void* memory, std::size_t bytes, unsigned) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  if (current_gpu() < 0) return invalid_context;
  return world().registered.emplace(memory, bytes).second ? 0 : host_memory_already_registered;
}
CuStatus unregister_host(void* memory) {
  const Lock lock;
  if (current_gpu() < 0) return invalid_context;
  return world().registered.erase(memory) ? 0 : host_memory_not_registered;
}
/// Address space alone: what touches it where nothing is mapped crashes.
CuStatus reserve(CuAddress* address, std::size_t bytes, std::size_t, CuAddress,
                 unsigned long long) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  void* const range = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return cu_out_of_memory;
  *address = reinterpret_cast<CuAddress>(range);
  world().ranges.emplace(*address, bytes);
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
  *memory = ++world().last_chunk;
  world().chunks[*memory] = {properties->location, bytes, 1};
  return 0;
}
CuStatus release_memory(CuMemory memory) {
  const Lock lock;
  if (!world().chunks.contains(memory)) return invalid_value;
  drop(memory);
  return 0;
}
CuStatus map(CuAddress address, std::size_t bytes, std::size_t, CuMemory memory,
             unsigned long long) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  const auto it = world().chunks.find(memory);
  if (it == world().chunks.end() || it->second.bytes != bytes ||
      !world().mappings.emplace(address, std::pair(bytes, memory)).second)
    return invalid_value;
  ++it->second.holders;
  return 0;
}
CuStatus unmap(CuAddress address, std::size_t bytes) {
  const Lock lock;
  std::map<CuAddress, std::pair<std::size_t, CuMemory>>& mappings = world().mappings;
  for (CuAddress at = address; at < address + bytes;) {
    const auto it = mappings.find(at);
    if (it == mappings.end() || at + it->second.first > address + bytes) return invalid_value;
    at += it->second.first;
  }
  do_all();
  mprotect(bytes_at(address), bytes, PROT_NONE);
  madvise(bytes_at(address), bytes, MADV_DONTNEED);
  for (auto it = mappings.lower_bound(address); it != mappings.end() && it->first < address + bytes;
       it = mappings.erase(it))
    drop(it->second.second);
  return 0;
}
CuStatus set_access(CuAddress address, std::size_t bytes, const CuMemoryAccess*, std::size_t) {
  const Lock lock;
  if (const CuStatus status = fault()) return status;
  if (!world().mappings.contains(address)) return invalid_value;
  mprotect(bytes_at(address), bytes, PROT_READ | PROT_WRITE);
  return 0;
}

}  // namespace weft::testing::fake
