// The CUDA driver's functions that weft calls, found when they are first needed, in one table: a
// program starts without a driver, and tests can put their own functions here. The types are those
// of the driver's stable binary interface, so nothing of the toolkit is needed to build this.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <weft/graph/device.h>

namespace weft::detail {

using CuStatus = int;  // 0: success
using CuDevice = int;
using CuAddress = std::uint64_t;
struct CuContextTag;
struct CuStreamTag;
struct CuEventTag;
struct CuModuleTag;
struct CuFunctionTag;
using CuContext = CuContextTag*;
using CuStream = CuStreamTag*;
using CuEvent = CuEventTag*;
using CuModule = CuModuleTag*;
using CuFunction = CuFunctionTag*;
using CuMemory = std::uint64_t;

/// Where memory that is made for a reserved range lies: the driver's CUmemAllocationProp.
struct CuMemoryProperties {
  int type = 1;  // pinned on the device
  int handle_types = 0;
  int location_type = 1;  // a device
  int location = 0;
  void* win32 = nullptr;
  unsigned char flags[8] = {};
};

/// The driver's CUmemAccessDesc.
struct CuMemoryAccess {
  int location_type = 1;
  int location = 0;
  int flags = 3;  // read and write
};

// name in the table, symbol of the driver, parameters
#define WEFT_DRIVER_CALLS(CALL)                                                                    \
  CALL(init, "cuInit", (unsigned flags))                                                           \
  CALL(driver_version, "cuDriverGetVersion", (int* version))                                       \
  CALL(device_count, "cuDeviceGetCount", (int* count))                                             \
  CALL(device_get, "cuDeviceGet", (CuDevice * device, int ordinal))                                \
  CALL(device_name, "cuDeviceGetName", (char* name, int size, CuDevice device))                    \
  CALL(device_memory, "cuDeviceTotalMem_v2", (std::size_t * bytes, CuDevice device))               \
  CALL(device_attribute, "cuDeviceGetAttribute", (int* value, int attribute, CuDevice device))     \
  CALL(can_access_peer, "cuDeviceCanAccessPeer", (int* can, CuDevice device, CuDevice peer))       \
  CALL(retain_context, "cuDevicePrimaryCtxRetain", (CuContext * context, CuDevice device))         \
  CALL(push_context, "cuCtxPushCurrent_v2", (CuContext context))                                   \
  CALL(pop_context, "cuCtxPopCurrent_v2", (CuContext * context))                                   \
  CALL(set_context, "cuCtxSetCurrent", (CuContext context))                                        \
  CALL(enable_peer, "cuCtxEnablePeerAccess", (CuContext peer, unsigned flags))                     \
  CALL(memory_info, "cuMemGetInfo_v2", (std::size_t * free, std::size_t * total))                  \
  CALL(allocate, "cuMemAlloc_v2", (CuAddress * address, std::size_t bytes))                        \
  CALL(deallocate, "cuMemFree_v2", (CuAddress address))                                            \
  CALL(allocate_host, "cuMemHostAlloc", (void** address, std::size_t bytes, unsigned flags))       \
  CALL(deallocate_host, "cuMemFreeHost", (void* address))                                          \
  CALL(register_host, "cuMemHostRegister_v2", (void* memory, std::size_t bytes, unsigned flags))   \
  CALL(unregister_host, "cuMemHostUnregister", (void* memory))                                     \
  CALL(reserve, "cuMemAddressReserve",                                                             \
       (CuAddress * address, std::size_t bytes, std::size_t alignment, CuAddress at,               \
        unsigned long long flags))                                                                 \
  CALL(granularity, "cuMemGetAllocationGranularity",                                               \
       (std::size_t * bytes, const CuMemoryProperties* properties, int option))                    \
  CALL(create_memory, "cuMemCreate",                                                               \
       (CuMemory * memory, std::size_t bytes, const CuMemoryProperties* properties,                \
        unsigned long long flags))                                                                 \
  CALL(release_memory, "cuMemRelease", (CuMemory memory))                                          \
  CALL(map, "cuMemMap",                                                                            \
       (CuAddress address, std::size_t bytes, std::size_t offset, CuMemory memory,                 \
        unsigned long long flags))                                                                 \
  CALL(unmap, "cuMemUnmap", (CuAddress address, std::size_t bytes))                                \
  CALL(set_access, "cuMemSetAccess",                                                               \
       (CuAddress address, std::size_t bytes, const CuMemoryAccess* access, std::size_t count))    \
  CALL(copy_to_device, "cuMemcpyHtoD_v2", (CuAddress to, const void* from, std::size_t bytes))     \
  CALL(copy_to_host, "cuMemcpyDtoH_v2", (void* to, CuAddress from, std::size_t bytes))             \
  CALL(queue_copy_to_device, "cuMemcpyHtoDAsync_v2",                                               \
       (CuAddress to, const void* from, std::size_t bytes, CuStream stream))                       \
  CALL(queue_copy_to_host, "cuMemcpyDtoHAsync_v2",                                                 \
       (void* to, CuAddress from, std::size_t bytes, CuStream stream))                             \
  CALL(queue_copy, "cuMemcpyDtoDAsync_v2",                                                         \
       (CuAddress to, CuAddress from, std::size_t bytes, CuStream stream))                         \
  CALL(queue_peer_copy, "cuMemcpyPeerAsync",                                                       \
       (CuAddress to, CuContext to_context, CuAddress from, CuContext from_context,                \
        std::size_t bytes, CuStream stream))                                                       \
  CALL(queue_fill, "cuMemsetD8Async",                                                              \
       (CuAddress address, unsigned char value, std::size_t bytes, CuStream stream))               \
  CALL(create_stream, "cuStreamCreate", (CuStream * stream, unsigned flags))                       \
  CALL(wait_event, "cuStreamWaitEvent", (CuStream stream, CuEvent event, unsigned flags))          \
  CALL(synchronize_stream, "cuStreamSynchronize", (CuStream stream))                               \
  CALL(create_event, "cuEventCreate", (CuEvent * event, unsigned flags))                           \
  CALL(record_event, "cuEventRecord", (CuEvent event, CuStream stream))                            \
  CALL(query_event, "cuEventQuery", (CuEvent event))                                               \
  CALL(destroy_event, "cuEventDestroy_v2", (CuEvent event))                                        \
  CALL(load_module, "cuModuleLoadData", (CuModule * module, const void* image))                    \
  CALL(unload_module, "cuModuleUnload", (CuModule module))                                         \
  CALL(get_function, "cuModuleGetFunction",                                                        \
       (CuFunction * function, CuModule module, const char* name))                                 \
  CALL(set_function_attribute, "cuFuncSetAttribute",                                               \
       (CuFunction function, int attribute, int value))                                            \
  CALL(launch, "cuLaunchKernel",                                                                   \
       (CuFunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,  \
        unsigned block_y, unsigned block_z, unsigned shared_bytes, CuStream stream,                \
        void** parameters, void** extra))                                                          \
  CALL(error_name, "cuGetErrorName", (CuStatus status, const char** name))                         \
  CALL(error_text, "cuGetErrorString", (CuStatus status, const char** text))

struct DriverCalls {
#define WEFT_CALL(name, symbol, parameters) CuStatus(*name) parameters = nullptr;
  WEFT_DRIVER_CALLS(WEFT_CALL)
#undef WEFT_CALL
  /// Not the driver's: how many GPUs a program may see, without initialising anything, so that a
  /// later fork works; and why there are none.
  int (*count_gpus)(std::string* why_none) = nullptr;
  /// A driver of the tests, which is given a kernel's text where a GPU is given machine code.
  bool takes_texts = false;
};

// Statuses that are told apart.
inline constexpr CuStatus cu_out_of_memory = 2;
inline constexpr CuStatus cu_not_ready = 600;
inline constexpr CuStatus cu_peer_already_enabled = 704;

/// Whether the context is of no more use after this status.
bool is_lost(CuStatus status) noexcept;

/// The table in use: the driver's, loaded at the first call; or that of a test. Null where there is
/// no driver, with the reason in `why_none`: what is missing, and what was tried.
const DriverCalls* driver_calls(std::string* why_none = nullptr) noexcept;
/// For tests, while nothing uses the driver; null: the real one again.
void replace_driver_calls(const DriverCalls* calls) noexcept;

/// Throws for a status that is no success: OutOfMemoryError, DeviceLostError, DeviceError where the
/// machine's driver gives no GPU, else InternalError;
/// `call` is the driver's name of the function.
void check_status(CuStatus status, const char* call, Device device);

}  // namespace weft::detail
