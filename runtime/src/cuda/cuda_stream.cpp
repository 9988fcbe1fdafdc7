#include "cuda_stream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <pthread.h>

#include "../host_calls.h"
#include "cuda_device.h"
#include "cuda_moves.h"

namespace weft::detail {

namespace {

constexpr unsigned blocking_untimed_event = 1 | 2;
constexpr unsigned independent_stream = 1;  // does not wait for the legacy stream

/// Every step is waited for, so that an error names it.
bool waits_for_each_step() {
  static const bool asked = [] {
    const char* const text = std::getenv("WEFT_SYNC");
    return text && std::string_view(text) != "0" && std::string_view(text) != "";
  }();
  return asked;
}

std::string describe_step(const Run& run, std::uint32_t number) {
  const FrozenStep& step = run.plan().steps[number];
  std::string text = "step " + std::to_string(number) + " (" + std::string(name_of(step.kind));
  if (step.kind == StepKind::kernel || step.kind == StepKind::library)
    text += std::string(" ") + info(step.op).name.data();
  return text + ")";
}

}  // namespace

// ---- events

struct EventPool::Free {
  ForkSafeMutex mutex;
  std::vector<CuEvent> events;
  std::size_t made = 0;
};

std::shared_ptr<CuEventTag> EventPool::take() {
  if (!free_) free_ = std::make_shared<Free>();
  CuEvent event = nullptr;
  {
    const ForkSafeLock lock(free_->mutex);
    if (!free_->events.empty()) {
      event = free_->events.back();
      free_->events.pop_back();
    } else {
      free_->events.reserve(free_->made + 1);  // giving back must not fail
    }
  }
  if (!event) {
    device_.check(device_.calls().create_event(&event, blocking_untimed_event), "cuEventCreate");
    ++free_->made;
  }
  return {event, [free = free_](CuEvent given) {
            const ForkSafeLock lock(free->mutex);
            free->events.push_back(given);
          }};
}

// ---- submission

CudaStream::CudaStream(CudaDevice& device, StreamKind kind)
    : StreamQueue(device.device().str()), device_(device), kind_(kind), events_(device) {}

void CudaStream::create() {
  if (stream_) return;
  device_.check(device_.calls().create_stream(&stream_, independent_stream), "cuStreamCreate");
}

void CudaStream::submit(Segment segment, CudaSegment code) {
  {
    const ForkSafeLock lock(codes_mutex_);
    codes_.push_back(std::move(code));
  }
  // Within this stream order is enough for what can not fail on the device.
  const FrozenPlan& plan = segment.run->plan();
  if (plan.one_stream && plan.fallible.empty()) segment.run->completion()->set_order(this);
  try {
    StreamQueue::submit(std::move(segment));
  } catch (...) {
    const ForkSafeLock lock(codes_mutex_);
    codes_.pop_back();
    throw;
  }
}

// ---- carrying out

void CudaStream::carry_out(Segment& segment) noexcept {
  CudaSegment code;
  {
    const ForkSafeLock lock(codes_mutex_);
    code = std::move(codes_.front());
    codes_.pop_front();
  }
  Run& run = *segment.run;
  try {
    device_.use_on_this_thread();
  } catch (...) {
    run.fail_with(std::current_exception());
  }
  run.await_start(this);
  append_steps(segment, code);
  Expected end;
  end.run = segment.run;
  end.error = code.error;
  end.ends_segment = true;
  end.first_step = segment.first;
  end.last_step = segment.last;
  expect(std::move(end));
}

void CudaStream::append_steps(Segment& segment, const CudaSegment& code) {
  Run& run = *segment.run;
  for (std::uint32_t i = segment.first; i < segment.last; ++i) {
    const FrozenStep& step = run.plan().steps[i];
    try {
      if (step.kind == StepKind::wait) await_event(run, step.event);
      if (!run.has_failed()) append_step(run, step, i, code.code[i - segment.first], code);
    } catch (...) {
      run.fail_with(std::current_exception());
    }
    if (step.kind != StepKind::record) continue;
    Expected happened;
    happened.run = segment.run;
    happened.error = code.error;
    happened.has_signal = true;
    happened.signals = step.event;
    happened.first_step = segment.first;
    happened.last_step = i;
    expect(std::move(happened));
  }
}

void CudaStream::append_step(Run& run, const FrozenStep& step, std::uint32_t number,
                             const CudaCode* code, const CudaSegment& segment) {
  switch (step.kind) {
    case StepKind::kernel:
    case StepKind::library:
      // What the host has found to be wrong the device does not know.
      if (step.guards_state && run.error.is_set()) return;
      append_kernels(run, step, number, *code,
                     segment.error ? segment.error->device : device_.no_error());
      break;
    case StepKind::transfer:
    case StepKind::upload: append_move(run, step); break;
    default: return;
  }
  if (!waits_for_each_step()) return;
  const CuStatus status = device_.calls().synchronize_stream(stream_);
  if (is_lost(status)) device_.lose(describe_step(run, number) + " failed");
  device_.check(status, describe_step(run, number).c_str());
}

void CudaStream::append_kernels(Run& run, const FrozenStep& step, std::uint32_t number,
                                const CudaCode& code, CuAddress error) {
  const CuAddress room =
      code.sequence.workspace_bytes ? workspace(code.sequence.workspace_bytes) : 0;
  const auto word_of = [&](const ParamWord& word) -> std::uint64_t {
    switch (word.kind) {
      case ParamWord::Kind::constant: return word.value;
      case ParamWord::Kind::input: return run.resolve(step.inputs[word.value]).data;
      case ParamWord::Kind::output: return run.resolve(step.outputs[word.value]).data;
      case ParamWord::Kind::argument: return run.arguments[word.value];
      case ParamWord::Kind::workspace: return room + word.value;
      case ParamWord::Kind::error: return error;
      case ParamWord::Kind::step: return number + 1;
    }
    return 0;
  };
  for (std::size_t k = 0; k < code.sequence.launches.size(); ++k) {
    const KernelLaunch& launch = code.sequence.launches[k];
    words_.clear();
    for (const ParamWord& word : launch.params) words_.push_back(word_of(word));
    std::size_t bytes = words_.size() * sizeof(std::uint64_t);
    // The driver's marks: what follows is the block of parameters, its size, and the end.
    void* extra[] = {reinterpret_cast<void*>(1), words_.data(), reinterpret_cast<void*>(2), &bytes,
                     nullptr};
    device_.check(device_.calls().launch(code.functions[k], launch.grid[0], launch.grid[1],
                                         launch.grid[2], launch.block[0], launch.block[1],
                                         launch.block[2], launch.shared_bytes, stream_, nullptr,
                                         extra),
                  "cuLaunchKernel");
  }
}

void CudaStream::append_move(Run& run, const FrozenStep& step) {
  const StepInput& from = step.inputs[0];
  const StepOutput& to = step.outputs[0];
  const auto bytes = static_cast<std::size_t>(to.spec.shape.numel()) * size_of(to.spec.dtype);
  if (bytes == 0) return;
  const Device source = run.plan().buffers[from.buffer].device;
  const Device target = run.plan().buffers[to.buffer].device;
  const std::uintptr_t source_address = run.resolve(from).data, address = run.resolve(to).data;
  if (source == target) {
    device_.check(device_.calls().queue_copy(address, source_address, bytes, stream_),
                  "cuMemcpyDtoDAsync");
  } else if (const void* host = backend(source.kind()).host_address(source, source_address)) {
    append_upload(address, static_cast<const char*>(host), bytes);
  } else if (void* place = backend(target.kind()).host_address(target, address)) {
    bring_to_host(static_cast<char*>(place), source_address, bytes);
  } else {
    append_peer_copy(device_, target, address, source, source_address, bytes, stream_);
  }
}

CuAddress CudaStream::workspace(std::size_t bytes) {
  if (bytes <= workspace_bytes_) return workspace_;
  const DriverCalls& calls = device_.calls();
  device_.check(calls.synchronize_stream(stream_), "cuStreamSynchronize");
  if (workspace_) device_.check(calls.deallocate(workspace_), "cuMemFree");
  workspace_ = 0;
  workspace_bytes_ = 0;
  std::size_t wanted = std::size_t{1} << 20;
  while (wanted < bytes) wanted *= 2;
  device_.check(calls.allocate(&workspace_, wanted), "cuMemAlloc");
  workspace_bytes_ = wanted;
  return workspace_;
}

void CudaStream::await_event(Run& run, std::uint32_t event) {
  // An event that another stream of a GPU has been given is waited for by the GPU.
  if (const std::shared_ptr<void> queued = run.await_queued(event))
    device_.check(device_.calls().wait_event(stream_, static_cast<CuEvent>(queued.get()), 0),
                  "cuStreamWaitEvent");
}

// ---- completion

/// Without an event to wait for, what has failed is over at once.
void CudaStream::expect(Expected&& expected) {
  const DriverCalls& calls = device_.calls();
  try {
    if (expected.error && kind_ == StreamKind::compute)
      device_.check(calls.queue_copy_to_host(expected.error->host, expected.error->device,
                                             sizeof(ErrorBlock), stream_),
                    "cuMemcpyDtoHAsync");
    expected.event = events_.take();
    device_.check(calls.record_event(expected.event.get(), stream_), "cuEventRecord");
    if (expected.has_signal) expected.run->queued(expected.signals, expected.event);
    const ForkSafeLock lock(expected_mutex_);
    if (!completer_started_) {
      if (!host_calls().start_thread(run_completer, this))
        fail<OutOfMemoryError>(no_place, device_.device().str() + ": the system starts no further thread");
      completer_started_ = true;
    }
    expected_.push_back(std::move(expected));
  } catch (...) {
    expected.run->fail_with(std::current_exception());
    expected.event = nullptr;
    return finish(expected);
  }
  expected_count_.fetch_add(1, std::memory_order_release);
  expected_count_.notify_one();
}

void* CudaStream::run_completer(void* stream) {
  pthread_setname_np(pthread_self(), "weft gpu done");
  static_cast<CudaStream*>(stream)->complete();
}

void CudaStream::complete() noexcept {
  for (std::uint32_t done = 0;; ++done) {
    expected_count_.wait(done, std::memory_order_acquire);
    Expected next;
    {
      const ForkSafeLock lock(expected_mutex_);
      next = std::move(expected_.front());
      expected_.pop_front();
    }
    finish(next);
    next = {};
    finished_count_.store(done + 1, std::memory_order_release);
    finished_count_.notify_all();
  }
}

void CudaStream::finish(Expected& expected) noexcept {
  Run& run = *expected.run;
  if (expected.event) {
    try {
      device_.use_on_this_thread();
      const CuStatus status = device_.calls().synchronize_event(expected.event.get());
      if (is_lost(status))
        device_.lose("between " + describe_step(run, expected.first_step) + " and " +
                     describe_step(run, expected.last_step - (expected.ends_segment ? 1 : 0)) +
                     "; WEFT_SYNC=1 tells which");
      device_.check(status, "cuEventSynchronize");
      if (expected.error && expected.error->host->step != 0)
        run.error.set(expected.error->host->step - 1, expected.error->host->index,
                      expected.error->host->limit);
    } catch (...) {
      run.fail_with(std::current_exception());
    }
  }
  if (expected.has_signal) run.signal(expected.signals);
  if (expected.ends_segment) run.segment_done();
}

void CudaStream::settle() noexcept {
  const std::uint32_t target = expected_count_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t done = finished_count_.load(std::memory_order_acquire);
    if (static_cast<std::int32_t>(done - target) >= 0) return;
    finished_count_.wait(done, std::memory_order_acquire);
  }
}

}  // namespace weft::detail
