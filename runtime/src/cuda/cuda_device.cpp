#include "cuda_device.h"

#include <algorithm>
#include <cstring>

#include "../buffer_pool.h"
#include "../spin.h"

namespace weft::detail {

namespace {

constexpr std::size_t arena_chunk = std::size_t{32} << 20;
constexpr std::size_t error_slots_at_once = 64;

// Attributes of a device, as the driver numbers them.
constexpr int attribute_processors = 16, attribute_major = 75, attribute_minor = 76,
              attribute_shared_bytes = 97;

}  // namespace

// ---- arena

CuStatus CudaArena::add_chunk(const DriverCalls& calls, const CuMemoryProperties& properties,
                              std::size_t bytes) {
  CuMemory memory = 0;
  if (const CuStatus status = calls.create_memory(&memory, bytes, &properties, 0)) return status;
  const CuAddress at = base_ + mapped_;
  CuStatus status = calls.map(at, bytes, 0, memory, 0);
  if (status == 0) {
    CuMemoryAccess access;
    access.location = properties.location;
    status = calls.set_access(at, bytes, &access, 1);
    if (status != 0) calls.unmap(at, bytes);
  }
  calls.release_memory(memory);  // the mapping keeps it
  if (status == 0) mapped_ += bytes;
  return status;
}

CuStatus CudaArena::grow(const DriverCalls& calls, Device device, std::size_t budget,
                         std::size_t bytes) {
  if (bytes <= mapped_) return 0;
  CuMemoryProperties properties;
  properties.location = device.index();
  if (!base_) {
    if (const CuStatus status = calls.granularity(&granularity_, &properties, 1)) return status;
    reserved_ = (budget + granularity_ - 1) / granularity_ * granularity_;
    CuAddress base = 0;
    if (const CuStatus status = calls.reserve(&base, reserved_, 0, 0, 0)) return status;
    base_ = base;
  }
  const std::size_t unit = std::max(granularity_, arena_chunk / granularity_ * granularity_);
  const std::size_t missing = bytes - mapped_;
  if (missing > reserved_ - mapped_) return cu_out_of_memory;
  const std::size_t wanted = std::min((missing + unit - 1) / unit * unit, reserved_ - mapped_);
  return add_chunk(calls, properties, wanted);
}

void CudaArena::shrink(const DriverCalls& calls) noexcept {
  if (mapped_ > 0 && calls.unmap(base_, mapped_) == 0) mapped_ = 0;
}

// ---- contexts

WithContext::WithContext(CudaDevice& device) : device_(device) {
  device_.check(device_.calls().push_context(device_.context()), "cuCtxPushCurrent");
}

WithContext::~WithContext() {
  CuContext ended = nullptr;
  device_.calls().pop_context(&ended);
}

CuStatus CudaDevice::try_use_on_this_thread() noexcept {
  thread_local CuContext current = nullptr;  // of a thread that is weft's own
  if (current == context_) return 0;
  const CuStatus status = calls_->set_context(context_);
  if (status == 0) current = context_;
  return status;
}

void CudaDevice::use_on_this_thread() {
  call("cuCtxSetCurrent", [this] { return try_use_on_this_thread(); });
}

// ---- the device

CudaDevice::CudaDevice(int index)
    : index_(index), streams_{{{*this, StreamKind::compute},
                               {*this, StreamKind::host_to_device},
                               {*this, StreamKind::device_to_host}}} {}

namespace {

// The driver does not work in the child of a fork where the parent has used it: for any device.
constinit std::atomic<std::uint32_t> used_in{0};  // a fork's generation, plus one

bool was_used_before_fork() noexcept {
  const std::uint32_t used = used_in.load(std::memory_order_acquire);
  return used != 0 && used != fork_generation() + 1;
}

}  // namespace

CuStatus init_driver(const DriverCalls& calls, Device device) {
  if (was_used_before_fork())
    fail<DeviceError>(no_place, device.str() +
                                    ": this process was forked after weft had used a GPU, and "
                                    "CUDA does not work in such a child; fork before the first "
                                    "use, or start a new program in the child");
  used_in.store(fork_generation() + 1, std::memory_order_release);
  return calls.init(0);
}

/// Not in a forked child: what the parent has there is not its own to touch.
bool CudaDevice::is_usable() const noexcept { return has_started() && !was_used_before_fork(); }

void CudaDevice::start() {
  if (is_usable()) return require_not_lost();
  const ForkSafeLock lock(mutex_);
  if (!is_usable()) start_locked();
}

void CudaDevice::start_locked() {
  std::string why;
  calls_ = driver_calls(&why);
  if (!calls_)
    fail<DeviceError>(no_place,
                      device().str() + ": no usable GPU: " + why +
                          "; use \"cpu\", or best_device() to take a GPU where there is one");
  check(init_driver(*calls_, device()), "cuInit");
  CuDevice gpu = 0;
  check(calls_->device_get(&gpu, index_), "cuDeviceGet");
  read_facts(gpu);
  if (!context_) {
    CuContext made = nullptr;
    check(calls_->retain_context(&made, gpu), "cuDevicePrimaryCtxRetain");
    context_ = made;
  }
  const WithContext with(*this);
  if (!no_error_) {
    CuAddress block = 0;
    check(calls_->allocate(&block, sizeof(ErrorBlock)), "cuMemAlloc");
    const ErrorBlock none;
    CuStatus status = calls_->copy_to_device(block, &none, sizeof none);
    if (status == 0) status = calls_->synchronize_stream(nullptr);
    if (status != 0) calls_->deallocate(block);
    check(status, "cuMemcpyHtoD");
    no_error_ = block;
  }
  for (CudaStream& stream : streams_) stream.create();
  started_.store(true, std::memory_order_release);
}

void CudaDevice::forget() {
  for (CudaStream& stream : streams_) stream.forget();
  started_ = false;
  loss_ = Loss::none;
  context_ = nullptr;
  arena_ = {};
  kept_back_.clear();
  modules_ = std::make_unique<CudaModules>();
  no_error_ = 0;
  free_slots_.clear();
  slots_made_ = 0;
  direct_.clear();
}

void CudaDevice::read_facts(CuDevice gpu) {
  const auto read = [&](int attribute) {
    int value = 0;
    check(calls_->device_attribute(&value, attribute, gpu), "cuDeviceGetAttribute");
    return value;
  };
  facts_.major = read(attribute_major);
  facts_.minor = read(attribute_minor);
  facts_.processors = read(attribute_processors);
  facts_.shared_bytes = static_cast<std::size_t>(read(attribute_shared_bytes));
  check(calls_->device_memory(&total_bytes_, gpu), "cuDeviceTotalMem");
}

std::uintptr_t CudaDevice::allocate(std::size_t bytes) {
  start();
  const WithContext with(*this);
  CuAddress address = 0;
  const CuStatus status = calls_->allocate(&address, std::max<std::size_t>(bytes, 1));
  if (status == cu_out_of_memory) return 0;
  check(status, "cuMemAlloc");
  return address;
}

void CudaDevice::deallocate(std::uintptr_t address) noexcept {
  if (!is_usable()) return;
  std::vector<std::uintptr_t> addresses;
  const CuStatus status = calls_->push_context(context_);
  try {
    const ForkSafeLock lock(memory_mutex_);
    if (status == 0)
      addresses.swap(kept_back_);
    else if (!is_lost(status))
      kept_back_.push_back(address);  // for the next time
  } catch (const std::bad_alloc&) {
  }
  if (status != 0) return;  // lost with all its memory, where not kept
  calls_->deallocate(address);
  for (const std::uintptr_t late : addresses) calls_->deallocate(late);
  CuContext ended = nullptr;
  calls_->pop_context(&ended);
}

void CudaDevice::unpin(std::uintptr_t block) noexcept {
  if (!is_usable() || calls_->push_context(context_) != 0) return;
  calls_->unregister_host(reinterpret_cast<void*>(block));
  CuContext ended = nullptr;
  calls_->pop_context(&ended);
}

std::uintptr_t CudaDevice::arena(std::size_t bytes) {
  start();
  const WithContext with(*this);
  const ForkSafeLock lock(memory_mutex_);
  const CuStatus status = arena_.grow(*calls_, device(), 2 * total_bytes_, bytes);
  if (status == cu_out_of_memory) return 0;
  check(status, "cuMemCreate");
  return arena_.base();
}

void CudaDevice::release_scratch() noexcept {
  if (!is_usable() || calls_->push_context(context_) != 0) return;
  {
    const ForkSafeLock lock(memory_mutex_);
    arena_.shrink(*calls_);
  }
  CuContext ended = nullptr;
  calls_->pop_context(&ended);
}

void CudaDevice::trim() noexcept {
  for (CudaStream& stream : streams_) stream.trim();
}

void CudaDevice::copy_to_host(void* to, std::uintptr_t from, std::size_t bytes) {
  if (bytes == 0) return;
  start();
  const WithContext with(*this);
  check(calls_->copy_to_host(to, from, bytes), "cuMemcpyDtoH");
}

void CudaDevice::copy_from_host(std::uintptr_t to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  start();
  const WithContext with(*this);
  check(calls_->copy_to_device(to, from, bytes), "cuMemcpyHtoD");
  // The driver may return when it has read the host's memory; no stream of ours would wait.
  check(calls_->synchronize_stream(nullptr), "cuStreamSynchronize");
}

void CudaDevice::drain() noexcept {
  if (has_started())
    for (CudaStream& stream : streams_) stream.drain();
}

// ---- loss

void CudaDevice::check(CuStatus status, const char* call) {
  if (status == 0) return;
  try {
    check_status(status, call, device());
  } catch (const DeviceLostError& error) {
    lose(error.what());
    throw;
  }
}

void CudaDevice::lose(const std::string& reason) noexcept {
  Loss none = Loss::none;
  if (!loss_.compare_exchange_strong(none, Loss::found)) return;
  try {
    lost_reason_ = reason;
  } catch (const std::bad_alloc&) {  // then without a reason
  }
  loss_.store(Loss::said, std::memory_order_release);
}

void CudaDevice::require_not_lost() {
  const Loss loss = loss_.load(std::memory_order_acquire);
  if (loss == Loss::none) return;
  fail<DeviceLostError>(no_place,
                        device().str() + ": the device was lost to this process before: " +
                            (loss == Loss::said ? lost_reason_ : std::string("just now")) +
                            "; values of the host are still there, start a new process to use "
                            "the GPU again");
}

bool CudaDevice::may_succeed_after(CuStatus status) noexcept {
  if (status == 0 || is_lost(status)) return false;
  if (status == cu_out_of_memory) trim_all_caches();
  return true;
}

CuStatus CudaDevice::await(CuEvent event) noexcept {
  CuStatus status = 0;
  const auto has_happened = [&] { return (status = calls_->query_event(event)) != cu_not_ready; };
  if (spin_until(Awake::for_device, has_happened)) return status;
  // Then it looks again when a part more of the time has gone by.
  const auto start = std::chrono::steady_clock::now();
  while (!has_happened()) {
    const auto waited = std::chrono::steady_clock::now() - start;
    std::this_thread::sleep_for(std::clamp<std::chrono::nanoseconds>(
        waited / 16, std::chrono::microseconds(50), std::chrono::milliseconds(1)));
  }
  return status;
}

bool CudaDevice::await(CuStream stream) noexcept {
  for (int attempt = 0; attempt < 3; ++attempt) {
    const CuStatus status = calls_->synchronize_stream(stream);
    if (status == 0) return true;
    if (is_lost(status)) break;
  }
  lose("its work could not be waited for");
  return false;
}

// ---- what is known of other GPUs

std::optional<bool> CudaDevice::copies_directly_to(int gpu) {
  const ForkSafeLock lock(peers_mutex_);
  const auto it = direct_.find(gpu);
  return it == direct_.end() ? std::nullopt : std::optional(it->second);
}

void CudaDevice::set_copies_directly_to(int gpu, bool can) {
  const ForkSafeLock lock(peers_mutex_);
  direct_[gpu] = can;
}

// ---- error blocks

void CudaDevice::make_error_slots() {
  CuAddress blocks = 0;
  void* pinned = nullptr;
  // Each within a line of the host's memory: the device writes all of it at once.
  constexpr std::size_t stride = 32, bytes = error_slots_at_once * stride;
  static_assert(sizeof(ErrorBlock) <= stride);
  {
    const ForkSafeLock lock(slots_mutex_);
    free_slots_.reserve(slots_made_ + error_slots_at_once);  // for all there are
  }
  check(calls_->allocate(&blocks, bytes), "cuMemAlloc");
  const CuStatus status = calls_->allocate_host(&pinned, bytes, 1);
  if (status != 0) calls_->deallocate(blocks);
  check(status, "cuMemHostAlloc");
  const ForkSafeLock lock(slots_mutex_);
  for (std::size_t i = 0; i < error_slots_at_once; ++i)
    free_slots_.push_back({blocks + i * stride,
                           reinterpret_cast<ErrorBlock*>(static_cast<char*>(pinned) + i * stride)});
  slots_made_ += error_slots_at_once;
}

std::shared_ptr<ErrorSlot> CudaDevice::take_error_slot(CuStream stream) {
  const WithContext with(*this);
  auto held = std::make_unique<ErrorSlot>();
  const auto take = [&] {
    const ForkSafeLock lock(slots_mutex_);
    if (free_slots_.empty()) return false;
    *held = free_slots_.back();
    free_slots_.pop_back();
    return true;
  };
  if (!take()) {
    make_error_slots();
    WEFT_ENSURE(take());
  }
  const auto give_back = [this](ErrorSlot* taken) {
    const ForkSafeLock lock(slots_mutex_);
    free_slots_.push_back(*taken);  // room was made for all there are
    delete taken;
  };
  std::shared_ptr<ErrorSlot> shared(held.release(), give_back);
  *shared->host = ErrorBlock{};
  check(calls_->queue_fill(shared->device, 0, sizeof(ErrorBlock), stream), "cuMemsetD8Async");
  return shared;
}

}  // namespace weft::detail
