#include "cuda_events.h"

#include <vector>

#include "../fork.h"
#include "cuda_device.h"

namespace weft::detail {

namespace {

// One that the driver can put a thread to sleep for costs an interrupt, and the next kernel 1.5 us.
constexpr unsigned untimed_event = 2;

}  // namespace

struct EventPool::Free {
  ForkSafeMutex mutex;
  std::vector<CuEvent> events;
  std::size_t made = 0;
};

EventPool::EventPool(CudaDevice& device) : device_(device), free_(std::make_shared<Free>()) {}

void EventPool::forget() { free_ = std::make_shared<Free>(); }

std::shared_ptr<CuEventTag> EventPool::take() {
  CuEvent event = nullptr;
  {
    const ForkSafeLock lock(free_->mutex);
    if (!free_->events.empty()) {
      event = free_->events.back();
      free_->events.pop_back();
    } else {
      free_->events.reserve(++free_->made);  // giving back must not fail
    }
  }
  if (!event) device_.check(device_.calls().create_event(&event, untimed_event), "cuEventCreate");
  // On an exception the new pointer's deleter has been called.
  return {event, [free = free_](CuEvent given) {
            const ForkSafeLock lock(free->mutex);
            free->events.push_back(given);
          }};
}

// ---- waits of a stream

void CudaStream::await_on_device(void* event) {
  device_.call("cuStreamWaitEvent",
               [&] { return device_.calls().wait_event(stream_, static_cast<CuEvent>(event), 0); });
}

void CudaStream::await_event(Run& run, std::uint32_t event) {
  has_appended_ = true;
  // An event that another stream of a GPU has been given is waited for by the GPU.
  if (const std::shared_ptr<void> queued = run.await_queued(event)) await_on_device(queued.get());
}

/// Of runs before: a stream of the same GPU.
bool CudaStream::waits_for(Device device) const noexcept { return device == device_.device(); }

void CudaStream::append_wait(Run& run, const std::shared_ptr<void>& event) noexcept {
  try {
    await_on_device(event.get());
  } catch (...) {
    fail_run(run);
  }
}

}  // namespace weft::detail
