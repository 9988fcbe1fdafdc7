// A stream of a GPU: one thread appends steps to it, another waits for what they make.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "../run.h"
#include "../stream_queue.h"
#include "cuda_code.h"
#include "driver.h"

namespace weft::detail {

class CudaDevice;
struct ErrorSlot;

/// A segment with the kernels of its steps, which were built before anything of the run began.
struct CudaSegment {
  std::vector<const CudaCode*> code;      // by step, from the first; null for steps without kernels
  std::shared_ptr<const void> keeps_code; // alive
  std::shared_ptr<ErrorSlot> error;       // of a run that can fail; shared by its segments
};

/// Events are taken from a list and given back when nobody needs them.
class EventPool {
 public:
  explicit EventPool(CudaDevice& device) noexcept : device_(device) {}
  std::shared_ptr<CuEventTag> take();

 private:
  CudaDevice& device_;
  struct Free;
  std::shared_ptr<Free> free_;
};

class CudaStream final : public StreamQueue {
 public:
  CudaStream(CudaDevice& device, StreamKind kind);

  /// Under the engine lock: segments are appended in the order in which their code is given.
  void submit(Segment segment, CudaSegment code);
  CuStream handle() const noexcept { return stream_; }
  /// Once, with the context current.
  void create();

 private:
  /// What is looked at when an event has happened.
  struct Expected {
    std::shared_ptr<CuEventTag> event;
    std::shared_ptr<Run> run;
    std::shared_ptr<ErrorSlot> error;
    std::uint32_t signals = 0;
    bool has_signal = false, ends_segment = false;
    std::uint32_t first_step = 0, last_step = 0;  // that it tells about
  };

  void carry_out(Segment& segment) noexcept override;
  void settle() noexcept override;
  void append_steps(Segment& segment, const CudaSegment& code);
  void append_step(Run& run, const FrozenStep& step, std::uint32_t number, const CudaCode* code,
                   const CudaSegment& segment);
  void append_kernels(Run& run, const FrozenStep& step, std::uint32_t number, const CudaCode& code,
                      CuAddress error);
  void append_move(Run& run, const FrozenStep& step);
  void append_upload(CuAddress to, const char* from, std::size_t bytes);
  void bring_to_host(char* to, CuAddress from, std::size_t bytes);
  void await_start(Run& run);
  void await_event(Run& run, std::uint32_t event);
  void expect(Expected&& expected);
  static void* run_completer(void* stream);
  [[noreturn]] void complete() noexcept;
  void finish(Expected& expected) noexcept;
  CuAddress workspace(std::size_t bytes);
  char* staging(std::size_t chunk);

  CudaDevice& device_;
  const StreamKind kind_;
  CuStream stream_ = nullptr;
  EventPool events_;
  ForkSafeMutex codes_mutex_;
  std::deque<CudaSegment> codes_;
  std::vector<std::uint64_t> words_;
  CuAddress workspace_ = 0;
  std::size_t workspace_bytes_ = 0;

  struct StagingChunk {
    char* memory = nullptr;
    std::shared_ptr<CuEventTag> last_use;
  };
  std::vector<StagingChunk> staging_;
  std::size_t next_chunk_ = 0;

  ForkSafeMutex expected_mutex_;
  std::deque<Expected> expected_;
  std::atomic<std::uint32_t> expected_count_{0}, finished_count_{0};
  bool completer_started_ = false;
};

}  // namespace weft::detail
