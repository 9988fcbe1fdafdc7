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
#include "cuda_events.h"
#include "driver.h"

namespace weft::detail {

class CudaDevice;
struct ErrorSlot;

/// Memory of a GPU that goes back when the last holder leaves.
struct CudaBlock {
  CuAddress address = 0;
  std::size_t bytes = 0;
};

/// A segment with all that it takes to carry it out, so that this allocates nothing: its kernels
/// were built, and its memory and events made, before anything of the run began.
struct CudaSegment {
  std::vector<const CudaCode*> code;  // by step, from the first; null for steps without kernels
  std::shared_ptr<const void> keeps_code;  // alive
  std::shared_ptr<ErrorSlot> error;        // of a run that can fail; shared by its segments
  std::shared_ptr<const CudaBlock> workspace, counters;
  std::vector<std::shared_ptr<CuEventTag>> events;  // one for each record, and one for the end
};

class CudaStream final : public StreamQueue, private EventWaiter {
 public:
  CudaStream(CudaDevice& device, StreamKind kind);

  /// Under the engine lock: segments are appended in the order in which their code is given. Throws
  /// where something that the segment needs can not be had; nothing of it has begun then.
  void submit(Segment segment, CudaSegment code);
  CuStream handle() const noexcept { return stream_; }
  /// Once, with the context current.
  void create();
  /// Keeps no workspace for later segments. From any thread.
  void trim() noexcept;
  /// For tests that replace the driver: as if never used. Nothing is running.
  void forget() noexcept;

 private:
  /// What is looked at when an event has happened.
  struct Expected {
    std::shared_ptr<CuEventTag> event;
    std::shared_ptr<Run> run;
    std::shared_ptr<ErrorSlot> error;
    std::shared_ptr<const CudaBlock> workspace, counters;
    std::uint32_t signals = 0;
    bool has_signal = false, ends_segment = false;
    std::uint32_t first_step = 0, last_step = 0;  // that it tells about
  };
  struct StagingChunk {
    char* memory = nullptr;
    std::shared_ptr<CuEventTag> moved;  // what was last moved through it
    bool is_moving = false;
  };

  void reserve(const Segment& segment, CudaSegment& code);
  void start_completer();
  void carry_out(Segment& segment) noexcept override;
  void settle() noexcept override;
  bool is_busy() const noexcept override;
  void append_steps(Segment& segment, CudaSegment& code);
  void fail_run(Run& run) noexcept;
  void append_step(Run& run, const FrozenStep& step, std::uint32_t number, const CudaCode* code,
                   const CudaSegment& segment);
  void append_kernels(Run& run, const FrozenStep& step, std::uint32_t number, const CudaCode& code,
                      const CudaSegment& segment);
  void append_move(Run& run, const FrozenStep& step);
  bool is_pinned(const Run& run, std::uint32_t buffer, std::size_t bytes);
  void append_upload(CuAddress to, const char* from, std::size_t bytes);
  void bring_to_host(char* to, CuAddress from, std::size_t bytes);
  void await_event(Run& run, std::uint32_t event);
  void await_on_device(void* event);
  bool waits_for(Device device) const noexcept override;
  void append_wait(Run& run, const std::shared_ptr<void>& event) noexcept override;
  void expect(Expected&& expected);
  static void* run_completer(void* stream);
  [[noreturn]] void complete() noexcept;
  void finish(Expected& expected) noexcept;
  void wait_for(const Expected& expected);
  static void read_error(Run& run, ErrorBlock& host);
  std::shared_ptr<const CudaBlock> workspace(std::size_t bytes);
  std::shared_ptr<const CudaBlock> counters(std::size_t count);
  std::shared_ptr<const CudaBlock> allocate(std::size_t bytes);
  std::shared_ptr<const CudaBlock> kept(const std::shared_ptr<const CudaBlock>& place);
  void keep(std::shared_ptr<const CudaBlock>& place,
            std::shared_ptr<const CudaBlock> block) noexcept;
  std::unique_ptr<StagingChunk> make_chunk();
  StagingChunk& next_chunk();
  template <class F>
  void move_through(StagingChunk& chunk, const char* call, F copy);
  void await_chunk(StagingChunk& chunk);

  CudaDevice& device_;
  const StreamKind kind_;
  CuStream stream_ = nullptr;
  EventPool events_;
  ForkSafeMutex codes_mutex_;
  std::deque<CudaSegment> codes_;
  std::vector<std::uint64_t> words_;
  bool has_appended_ = false;  // anything of the segment that is being carried out

  // Made under the engine lock; a call that lacked memory lets go of them on any thread.
  ForkSafeMutex kept_mutex_;
  std::shared_ptr<const CudaBlock> workspace_, counters_;
  bool has_chunk_ = false;  // under the engine lock
  // Of the stream's thread, once the first chunk has been made for it.
  std::vector<std::unique_ptr<StagingChunk>> staging_;
  std::size_t next_chunk_ = 0;

  ForkSafeMutex expected_mutex_;
  std::deque<Expected> expected_;
  std::atomic<std::uint32_t> expected_count_{0}, finished_count_{0};
  bool completer_started_ = false;
};

}  // namespace weft::detail
