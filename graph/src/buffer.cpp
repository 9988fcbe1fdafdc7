// The end of a run, awaited.
#include <weft/graph/detail/buffer.h>

namespace weft::detail {

void Completion::wait() {
  if (has_ended()) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return has_ended(); });
}

std::exception_ptr Completion::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Completion::fail(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
}

void Completion::end(std::exception_ptr failure) noexcept {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  ended_.store(true, std::memory_order_release);
  changed_.notify_all();
}

}  // namespace weft::detail
