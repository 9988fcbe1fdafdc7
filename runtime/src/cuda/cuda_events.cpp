#include "cuda_events.h"

#include <vector>

#include "../fork.h"
#include "cuda_device.h"

namespace weft::detail {

namespace {

constexpr unsigned blocking_untimed_event = 1 | 2;

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
  if (!event)
    device_.check(device_.calls().create_event(&event, blocking_untimed_event), "cuEventCreate");
  // On an exception the new pointer's deleter has been called.
  return {event, [free = free_](CuEvent given) {
            const ForkSafeLock lock(free->mutex);
            free->events.push_back(given);
          }};
}

}  // namespace weft::detail
