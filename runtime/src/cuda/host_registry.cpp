#include "host_registry.h"

#include "../backend.h"
#include "../host_calls.h"
#include "cuda_device.h"

namespace weft::detail {

namespace {

constexpr unsigned for_all_contexts = 1;

}  // namespace

HostRegistry& HostRegistry::instance() {
  static HostRegistry* const registry = new HostRegistry;
  return *registry;
}

bool HostRegistry::pin(CudaDevice& device, std::uintptr_t block, std::size_t bytes) {
  const ForkSafeLock lock(mutex_);
  if (const auto it = blocks_.find(block); it != blocks_.end()) return it->second.device;
  // What is pinned can not be swapped out: half of the memory is left to others.
  static const std::size_t most = host_calls().memory_limit() / 2;
  if (bytes > most - pinned_bytes_) return false;
  process_ = fork_generation();
  const auto it = blocks_.emplace(block, Block{nullptr, bytes}).first;
  before_cpu_block_goes.store(before_block_goes, std::memory_order_release);
  const CuStatus status =
      device.calls().register_host(reinterpret_cast<void*>(block), bytes, for_all_contexts);
  if (is_lost(status)) device.check(status, "cuMemHostRegister");
  if (status != 0) return false;
  it->second.device = &device;
  pinned_bytes_ += bytes;
  return true;
}

void HostRegistry::before_block_goes(std::uintptr_t block) noexcept { instance().release(block); }

void HostRegistry::release(std::uintptr_t block) noexcept {
  const ForkSafeLock lock(mutex_);
  const auto it = blocks_.find(block);
  if (it == blocks_.end()) return;
  const auto [device, bytes] = it->second;
  blocks_.erase(it);
  if (!device) return;
  pinned_bytes_ -= bytes;
  // A child's copy was never pinned.
  if (process_ == fork_generation()) device->unpin(block);
}

void HostRegistry::forget() noexcept {
  const ForkSafeLock lock(mutex_);
  blocks_.clear();
  pinned_bytes_ = 0;
}

}  // namespace weft::detail
