#include "cuda_backend.h"

#include <array>
#include <atomic>
#include <utility>

#include "../run.h"
#include "cuda_code.h"
#include "cuda_device.h"
#include "host_registry.h"

namespace weft::detail {

namespace {

constexpr int most_gpus = 64;

struct Count {
  int gpus = 0;
  std::string why_none;
};

class CudaBackend final : public Backend {
 public:
  int device_count() const override { return cuda_device_count(); }

  CudaDevice& of(Device device) {
    WEFT_ENSURE(device.is_cuda() && device.index() >= 0 && device.index() < most_gpus);
    std::atomic<CudaDevice*>& place = devices_[static_cast<std::size_t>(device.index())];
    if (CudaDevice* const known = place.load(std::memory_order_acquire)) return *known;
    auto* const made = new CudaDevice(device.index());
    CudaDevice* other = nullptr;
    if (place.compare_exchange_strong(other, made, std::memory_order_acq_rel)) return *made;
    delete made;  // another thread's came first; this one has not started
    return *other;
  }

  std::uintptr_t allocate(Device device, std::size_t bytes) override {
    return of(device).allocate(bytes);
  }
  void deallocate(Device device, std::uintptr_t address, std::size_t) noexcept override {
    of(device).deallocate(address);
  }
  std::uintptr_t arena(Device device, std::size_t bytes) override {
    return of(device).arena(bytes);
  }

  void submit(Device device, StreamKind stream, Segment segment) override {
    CudaDevice& gpu = of(device);
    gpu.start();
    const Run& run = *segment.run;
    const FrozenPlan& plan = run.plan();
    const std::shared_ptr<CudaPlanCode> code = code_of(plan, device);
    CudaSegment prepared;
    prepared.code = code->prepare(gpu, run, segment.first, segment.last);
    prepared.keeps_code = code;
    if (!plan.fallible.empty()) prepared.error = error_slot(gpu, segment.run);
    gpu.stream(stream).submit(std::move(segment), std::move(prepared));
  }

  void* host_address(Device, std::uintptr_t) const override { return nullptr; }
  void copy_to_host(Device device, void* destination, std::uintptr_t source,
                    std::size_t bytes) override {
    of(device).copy_to_host(destination, source, bytes);
  }
  void copy_from_host(Device device, std::uintptr_t destination, const void* source,
                      std::size_t bytes) override {
    of(device).copy_from_host(destination, source, bytes);
  }
  void synchronize(Device device) override { of(device).drain(); }
  void trim(Device device) noexcept override { of(device).trim(); }
  void release_scratch(Device device) noexcept override { of(device).release_scratch(); }

  void forget() {
    // They keep their threads: a test makes many drivers.
    for (auto& place : devices_)
      if (CudaDevice* const device = place.load()) {
        device->drain();
        device->forget();
      }
    slots_.clear();
  }

 private:
  static std::shared_ptr<CudaPlanCode> code_of(const FrozenPlan& plan, Device device) {
    for (const auto& [where, code] : plan.device_code)
      if (where == device) return std::static_pointer_cast<CudaPlanCode>(code);
    auto made = std::make_shared<CudaPlanCode>(plan.steps.size());
    plan.device_code.emplace_back(device, made);
    return made;
  }

  /// The segments of a run on one device share theirs. Under the engine lock.
  std::shared_ptr<ErrorSlot> error_slot(CudaDevice& gpu, const std::shared_ptr<Run>& run) {
    std::erase_if(slots_, [](const Slot& slot) { return slot.run.expired(); });
    for (const Slot& slot : slots_)
      if (slot.device == gpu.device() && slot.run.lock() == run)
        if (auto known = slot.slot.lock()) return known;
    auto made = gpu.take_error_slot(gpu.stream(StreamKind::compute).handle());
    slots_.push_back({gpu.device(), run, made});
    return made;
  }

  struct Slot {
    Device device;
    std::weak_ptr<Run> run;
    std::weak_ptr<ErrorSlot> slot;
  };
  std::array<std::atomic<CudaDevice*>, most_gpus> devices_{};
  std::vector<Slot> slots_;
};

// Never destroyed, as its streams.
CudaBackend& instance() {
  static CudaBackend* const backend = new CudaBackend;
  return *backend;
}

std::atomic<const Count*> counted{nullptr};

}  // namespace

Backend& cuda_backend() { return instance(); }

CudaDevice& cuda_device(Device device) { return instance().of(device); }

int cuda_device_count(std::string* why_none) {
  const Count* known = counted.load(std::memory_order_acquire);
  if (!known) {
    auto* const made = new Count;
    if (const DriverCalls* const calls = driver_calls(&made->why_none))
      made->gpus = std::min(calls->count_gpus(&made->why_none), most_gpus);
    if (counted.compare_exchange_strong(known, made, std::memory_order_acq_rel))
      known = made;
    else
      delete made;
  }
  if (why_none) *why_none = known->why_none;
  return known->gpus;
}

void forget_cuda_devices() {
  instance().forget();
  HostRegistry::instance().forget();
  delete counted.exchange(nullptr, std::memory_order_acq_rel);
}

}  // namespace weft::detail
