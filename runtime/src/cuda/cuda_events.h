// Events of a GPU, taken from a list and given back when nobody needs them.
#pragma once

#include <memory>

#include "driver.h"

namespace weft::detail {

class CudaDevice;

class EventPool {
 public:
  explicit EventPool(CudaDevice& device);
  /// One that nobody waits for; a context is current. From any thread.
  std::shared_ptr<CuEventTag> take();
  /// For tests that replace the driver.
  void forget();

 private:
  struct Free;
  CudaDevice& device_;
  std::shared_ptr<Free> free_;
};

}  // namespace weft::detail
