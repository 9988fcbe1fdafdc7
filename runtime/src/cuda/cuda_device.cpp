#include "cuda_device.h"

#include <algorithm>
#include <cstring>

namespace weft::detail {

namespace {

constexpr std::size_t arena_chunk = std::size_t{32} << 20;
constexpr int error_slots_at_once = 64;

// Attributes of a device, as the driver numbers them.
constexpr int attribute_processors = 16, attribute_major = 75, attribute_minor = 76,
              attribute_shared_bytes = 97;

}  // namespace

// ---- arena

bool CudaArena::add_chunk(const DriverCalls& calls, const CuMemoryProperties& properties,
                          std::size_t bytes) {
  CuMemory memory = 0;
  if (calls.create_memory(&memory, bytes, &properties, 0) != 0) return false;
  const CuAddress at = base_ + mapped_;
  bool done = calls.map(at, bytes, 0, memory, 0) == 0;
  if (done) {
    CuMemoryAccess access;
    access.location = properties.location;
    if (calls.set_access(at, bytes, &access, 1) != 0) {
      calls.unmap(at, bytes);
      done = false;
    }
  }
  calls.release_memory(memory);  // the mapping keeps it
  if (done) mapped_ += bytes;
  return done;
}

CuAddress CudaArena::grow(const DriverCalls& calls, Device device, std::size_t budget,
                          std::size_t bytes) {
  if (bytes <= mapped_) return base_;
  CuMemoryProperties properties;
  properties.location = device.index();
  if (!base_) {
    if (calls.granularity(&granularity_, &properties, 1) != 0 || granularity_ == 0) return 0;
    reserved_ = (budget + granularity_ - 1) / granularity_ * granularity_;
    if (calls.reserve(&base_, reserved_, 0, 0, 0) != 0) {
      base_ = 0;
      return 0;
    }
  }
  const std::size_t unit = std::max(granularity_, arena_chunk / granularity_ * granularity_);
  const std::size_t wanted = (bytes - mapped_ + unit - 1) / unit * unit;
  if (mapped_ + wanted > reserved_ || !add_chunk(calls, properties, wanted)) return 0;
  return base_;
}

// ---- contexts

WithContext::WithContext(CudaDevice& device) : device_(device) {
  device_.check(device_.calls().push_context(device_.context()), "cuCtxPushCurrent");
}

WithContext::~WithContext() {
  CuContext ended = nullptr;
  device_.calls().pop_context(&ended);
}

void CudaDevice::use_on_this_thread() {
  thread_local CuContext current = nullptr;  // of a thread that is weft's own
  if (current == context_) return;
  check(calls_->set_context(context_), "cuCtxSetCurrent");
  current = context_;
}

// ---- the device

CudaDevice::CudaDevice(int index)
    : index_(index),
      streams_{{{*this, StreamKind::compute},
                {*this, StreamKind::host_to_device},
                {*this, StreamKind::device_to_host}}} {}

void CudaDevice::start() {
  if (has_started()) return require_not_lost();
  const ForkSafeLock lock(mutex_);
  if (!has_started()) start_locked();
}

void CudaDevice::start_locked() {
  std::string why;
  calls_ = driver_calls(&why);
  if (!calls_)
    fail<DeviceError>(no_place, device().str() + ": no usable GPU: " + why +
                              "; use \"cpu\", or best_device() to take a GPU where there is one");
  check(calls_->init(0), "cuInit");
  CuDevice gpu = 0;
  check(calls_->device_get(&gpu, index_), "cuDeviceGet");
  read_facts(gpu);
  check(calls_->retain_context(&context_, gpu), "cuDevicePrimaryCtxRetain");
  const WithContext with(*this);
  if (!no_error_) {
    check(calls_->allocate(&no_error_, sizeof(ErrorBlock)), "cuMemAlloc");
    const ErrorBlock none;
    check(calls_->copy_to_device(no_error_, &none, sizeof none), "cuMemcpyHtoD");
  }
  for (CudaStream& stream : streams_) stream.create();
  started_.store(true, std::memory_order_release);
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
  CuContext before = nullptr;
  if (!has_started()) return;
  if (calls_->push_context(context_) != 0) return;  // lost with all its memory
  calls_->deallocate(address);
  calls_->pop_context(&before);
}

std::uintptr_t CudaDevice::arena(std::size_t bytes) {
  start();
  const WithContext with(*this);
  const ForkSafeLock lock(memory_mutex_);
  return arena_.grow(*calls_, device(), 2 * total_bytes_, bytes);
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
  const ForkSafeLock lock(slots_mutex_);
  if (lost_.load(std::memory_order_relaxed)) return;
  try {
    lost_reason_ = reason;
  } catch (const std::bad_alloc&) {  // then without a reason
  }
  lost_.store(true, std::memory_order_release);
}

void CudaDevice::require_not_lost() {
  if (!lost_.load(std::memory_order_acquire)) return;
  fail<DeviceLostError>(no_place, device().str() + ": the device was lost to this process before: " +
                                lost_reason_ + "; values of the host are still there, start a new "
                                               "process to use the GPU again");
}

// ---- error blocks

void CudaDevice::make_error_slots() {
  CuAddress blocks = 0;
  void* pinned = nullptr;
  constexpr std::size_t bytes = error_slots_at_once * sizeof(ErrorBlock);
  std::vector<ErrorSlot> made(error_slots_at_once);
  check(calls_->allocate(&blocks, bytes), "cuMemAlloc");
  const CuStatus status = calls_->allocate_host(&pinned, bytes, 1);
  if (status != 0) calls_->deallocate(blocks);
  check(status, "cuMemHostAlloc");
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = {blocks + i * sizeof(ErrorBlock), static_cast<ErrorBlock*>(pinned) + i};
  const ForkSafeLock lock(slots_mutex_);
  free_slots_.reserve(free_slots_.size() + 4 * made.size());
  free_slots_.insert(free_slots_.end(), made.begin(), made.end());
}

std::shared_ptr<ErrorSlot> CudaDevice::take_error_slot(CuStream stream) {
  const WithContext with(*this);
  ErrorSlot slot;
  const auto take = [&] {
    const ForkSafeLock lock(slots_mutex_);
    if (free_slots_.empty()) return false;
    slot = free_slots_.back();
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
  std::shared_ptr<ErrorSlot> shared(new ErrorSlot(slot), give_back);
  *shared->host = ErrorBlock{};
  check(calls_->queue_fill(slot.device, 0, sizeof(ErrorBlock), stream), "cuMemsetD8Async");
  return shared;
}

}  // namespace weft::detail
