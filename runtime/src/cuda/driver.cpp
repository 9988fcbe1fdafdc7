#include "driver.h"

#include <atomic>
#include <mutex>

#include <dlfcn.h>

#include "gpu_count.h"

namespace weft::detail {

namespace {

struct Loaded {
  DriverCalls calls;
  bool complete = false;
  std::string problem;
};

/// The system's own loader knows where the driver is: it came with the kernel's module.
Loaded load() {
  Loaded loaded;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const text = dlerror();
    loaded.problem = std::string("the NVIDIA driver's library libcuda.so.1 was not found (") +
                     (text ? text : "no reason given") + "); install the driver";
    return loaded;
  }
#define WEFT_CALL(name, symbol, parameters)                                                        \
  loaded.calls.name = reinterpret_cast<CuStatus(*) parameters>(dlsym(library, symbol));            \
  if (!loaded.calls.name && loaded.problem.empty())                                                \
    loaded.problem = "the NVIDIA driver has no " symbol "; weft needs one for CUDA 12 or later";
  WEFT_DRIVER_CALLS(WEFT_CALL)
#undef WEFT_CALL
  loaded.calls.count_gpus = count_visible_gpus;
  loaded.complete = loaded.problem.empty();
  return loaded;
}

std::atomic<const DriverCalls*> replacement{nullptr};

}  // namespace

bool is_lost(CuStatus status) noexcept {
  switch (status) {
    case 46:   // unavailable
    case 214:  // uncorrectable memory error
    case 220:  // NVLink
    case 226:  // contained
    case 700:  // illegal address
    case 702:  // launch timeout
    case 708:  // context destroyed
    case 709:  // context destroyed
    case 710:  // assertion
    case 714:  // hardware stack
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid program counter
    case 719:  // launch failed
    case 721: return true;
    default: return false;
  }
}

const DriverCalls* driver_calls(std::string* why_none) noexcept {
  if (const DriverCalls* const calls = replacement.load(std::memory_order_acquire)) return calls;
  static const Loaded* const loaded = new Loaded(load());
  if (loaded->complete) return &loaded->calls;
  if (why_none) *why_none = loaded->problem;
  return nullptr;
}

void replace_driver_calls(const DriverCalls* calls) noexcept {
  replacement.store(calls, std::memory_order_release);
}

namespace {

/// The driver, or the machine, is not set up for it: no mistake of a program.
bool means_no_gpu(CuStatus status) {
  switch (status) {
    case 3:    // not initialised
    case 34:   // the toolkit's stub in the driver's place
    case 46:   // device unavailable: somebody has it for himself
    case 100:  // no device
    case 101:  // no such device
    case 802:  // system not ready
    case 803:  // driver and its library do not match
    case 804:  // compatibility mode on a GPU that has none
      return true;
    default: return false;
  }
}

}  // namespace

void check_status(CuStatus status, const char* call, Device device) {
  if (status == 0) return;
  const char *name = nullptr, *text = nullptr;
  if (const DriverCalls* const calls = driver_calls()) {
    calls->error_name(status, &name);
    calls->error_text(status, &text);
  }
  const std::string what = std::string(call) + ": " +
                           (name ? name : "error " + std::to_string(status)) +
                           (text ? std::string(" (") + text + ")" : std::string());
  const std::string message = device.str() + ": " + what;
  if (status == cu_out_of_memory) fail<OutOfMemoryError>(no_place, message);
  if (is_lost(status))
    fail<DeviceLostError>(no_place, message + "; the device is lost to this process");
  if (means_no_gpu(status))
    fail<DeviceError>(no_place, message + "; the GPU can not be used: \"weft info\" says what is "
                                          "there, \"cpu\" works without one");
  fail<InternalError>(no_place, message);
}

}  // namespace weft::detail
