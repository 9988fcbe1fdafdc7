#include "cuda_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <pthread.h>

#include <weft/graph/detail/environment.h>

#include "../host_calls.h"
#include "../spin.h"
#include "cuda_device.h"
#include "cuda_moves.h"

namespace weft::detail {

namespace {

constexpr unsigned independent_stream = 1;  // does not wait for the legacy stream

/// Every step is waited for, so that an error names it.
bool waits_for_each_step() {
  static const bool asked = environment_flag("WEFT_SYNC", false);
  return asked;
}

std::string describe_step(const Run& run, std::uint32_t number) {
  if (number >= run.plan().steps.size()) return "the end of a run";
  const FrozenStep& step = run.plan().steps[number];
  std::string text = "step " + std::to_string(number) + " (" + std::string(name_of(step.kind));
  if (step.kind == StepKind::kernel || step.kind == StepKind::library)
    text += std::string(" ") + info(step.op).name.data();
  return text + ")";
}

std::string describe_range(const Run& run, std::uint32_t first, std::uint32_t last) {
  if (first >= last) return describe_step(run, first);
  return "between " + describe_step(run, first) + " and " + describe_step(run, last) +
         ", WEFT_SYNC=1 tells which";
}

}  // namespace

// ---- submission

CudaStream::CudaStream(CudaDevice& device, StreamKind kind)
    : StreamQueue(device.device().str()), device_(device), kind_(kind), events_(device) {}

void CudaStream::create() {
  if (stream_) return;
  device_.check(device_.calls().create_stream(&stream_, independent_stream), "cuStreamCreate");
}

void CudaStream::submit(Segment segment, CudaSegment code) {
  reserve(segment, code);
  {
    const ForkSafeLock lock(codes_mutex_);
    codes_.push_back(std::move(code));
  }
  try {
    StreamQueue::submit(std::move(segment));
  } catch (...) {
    const ForkSafeLock lock(codes_mutex_);
    codes_.pop_back();
    throw;
  }
}

void CudaStream::reserve(const Segment& segment, CudaSegment& code) {
  const WithContext with(device_);
  std::size_t bytes = 0, count = 0;
  for (const CudaCode* one : code.code)
    if (one) {
      bytes = std::max(bytes, one->sequence.workspace_bytes);
      count = std::max(count, one->sequence.counters);
    }
  if (bytes > 0) code.workspace = workspace(bytes);
  if (count > 0) code.counters = counters(count);
  std::size_t events = 1;
  bool moves = false;
  for (std::uint32_t i = segment.first; i < segment.last; ++i) {
    const StepKind kind = segment.run->plan().steps[i].kind;
    events += kind == StepKind::record;
    moves = moves || kind == StepKind::transfer || kind == StepKind::upload;
  }
  while (code.events.size() < events) code.events.push_back(events_.take());
  if (moves && !has_chunk_) {
    staging_.reserve(1);
    staging_.push_back(make_chunk());  // no segment of this stream has moved anything yet
    has_chunk_ = true;
  }
  start_completer();
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
  run.await_start(segment.first, this);
  has_appended_ = false;
  append_steps(segment, code);
  Expected end;
  end.event = std::move(code.events.back());
  end.run = segment.run;
  end.error = std::move(code.error);
  end.workspace = std::move(code.workspace);
  end.counters = std::move(code.counters);
  end.ends_segment = true;
  end.first_step = segment.first;
  end.last_step = segment.last;
  expect(std::move(end));
}

void CudaStream::append_steps(Segment& segment, CudaSegment& code) {
  Run& run = *segment.run;
  std::size_t events = 0;
  for (std::uint32_t i = segment.first; i < segment.last; ++i) {
    const FrozenStep& step = run.plan().steps[i];
    try {
      if (step.kind == StepKind::wait) await_event(run, step.event);
      if (!run.has_failed()) append_step(run, step, i, code.code[i - segment.first], code);
    } catch (...) {
      fail_run(run);
    }
    if (step.kind != StepKind::record) continue;
    Expected happened;
    happened.event = std::move(code.events[events++]);
    happened.run = segment.run;
    happened.error = code.error;
    happened.has_signal = true;
    happened.signals = step.event;
    happened.first_step = segment.first;
    happened.last_step = i;
    expect(std::move(happened));
  }
}

/// Variables have their old values after a failure; where their memory has been written that can
/// not be, and nothing that the device holds is to be trusted.
void CudaStream::fail_run(Run& run) noexcept {
  run.fail_with(std::current_exception());
  if (run.changed_in_place) device_.lose("a run failed that had begun to change Variables");
}

void CudaStream::append_step(Run& run, const FrozenStep& step, std::uint32_t number,
                             const CudaCode* code, const CudaSegment& segment) {
  has_appended_ = true;
  switch (step.kind) {
    case StepKind::kernel:
    case StepKind::library:
      // What the host has found to be wrong the device does not know.
      if (step.guards_state && run.error.is_set()) return;
      append_kernels(run, step, number, *code, segment);
      if (!step.guards_state || !run.is_in_place(step)) break;
      run.changed_in_place = true;
      if (run.has_failed()) device_.lose("a run failed that had begun to change Variables");
      break;
    case StepKind::transfer:
    case StepKind::upload: append_move(run, step); break;
    default: return;
  }
  if (!waits_for_each_step()) return;
  device_.check(device_.calls().synchronize_stream(stream_), describe_step(run, number).c_str());
}

void CudaStream::append_kernels(Run& run, const FrozenStep& step, std::uint32_t number,
                                const CudaCode& code, const CudaSegment& segment) {
  const CuAddress room = segment.workspace ? segment.workspace->address : 0;
  const CuAddress counters = segment.counters ? segment.counters->address : 0;
  const CuAddress error = segment.error ? segment.error->device : device_.no_error();
  const auto word_of = [&](const ParamWord& word) -> std::uint64_t {
    switch (word.kind) {
      case ParamWord::Kind::constant: return word.value;
      case ParamWord::Kind::input: return run.resolve(step.inputs[word.value]).data;
      case ParamWord::Kind::output: return run.resolve(step.outputs[word.value]).data;
      case ParamWord::Kind::argument: return run.arguments[word.value];
      case ParamWord::Kind::workspace: return room + word.value;
      case ParamWord::Kind::counters: return counters;
      case ParamWord::Kind::error: return error;
      case ParamWord::Kind::step: return number + 1;
    }
    return 0;
  };
  if (code.product)
    code.product->append(device_, run.resolve(step.inputs[0]).data,
                         run.resolve(step.inputs[1]).data, run.resolve(step.outputs[0]).data, room,
                         stream_);
  for (std::size_t k = 0; k < code.sequence.launches.size(); ++k) {
    const KernelLaunch& launch = code.sequence.launches[k];
    words_.clear();
    for (const ParamWord& word : launch.params) words_.push_back(word_of(word));
    std::size_t bytes = words_.size() * sizeof(std::uint64_t);
    // The driver's marks: what follows is the block of parameters, its size, and the end.
    void* extra[] = {reinterpret_cast<void*>(1), words_.data(), reinterpret_cast<void*>(2), &bytes,
                     nullptr};
    device_.call("cuLaunchKernel", [&] {
      return device_.calls().launch(code.functions[k], launch.grid[0], launch.grid[1],
                                    launch.grid[2], launch.block[0], launch.block[1],
                                    launch.block[2], launch.shared_bytes, stream_, nullptr, extra);
    });
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
    device_.call("cuMemcpyDtoDAsync", [&] {
      return device_.calls().queue_copy(address, source_address, bytes, stream_);
    });
  } else if (const void* host = backend(source.kind()).host_address(source, source_address)) {
    if (!is_pinned(run, from.buffer, bytes))
      return append_upload(address, static_cast<const char*>(host), bytes);
    device_.call("cuMemcpyHtoDAsync", [&] {
      return device_.calls().queue_copy_to_device(address, host, bytes, stream_);
    });
  } else if (void* place = backend(target.kind()).host_address(target, address)) {
    if (!is_pinned(run, to.buffer, bytes))
      return bring_to_host(static_cast<char*>(place), source_address, bytes);
    device_.call("cuMemcpyDtoHAsync", [&] {
      return device_.calls().queue_copy_to_host(place, source_address, bytes, stream_);
    });
  } else {
    append_peer_copy(device_, target, address, source, source_address, bytes, stream_);
  }
}

// ---- completion

void CudaStream::start_completer() {
  if (completer_started_) return;
  if (!host_calls().start_thread(run_completer, this))
    fail<OutOfMemoryError>(no_place,
                           device_.device().str() + ": the system starts no further thread");
  completer_started_ = true;
}

/// What can not be waited for by an event is waited for here and now: memory that the stream still
/// works on must not be given to others.
void CudaStream::expect(Expected&& expected) {
  if (!has_appended_ && expected.run->has_failed()) {  // nothing to wait for
    expected.event = nullptr;
    return finish(expected);
  }
  const DriverCalls& calls = device_.calls();
  const bool brings_error = expected.error && kind_ == StreamKind::compute;
  try {
    if (brings_error)
      device_.call("cuMemcpyDtoHAsync", [&] {
        return calls.queue_copy_to_host(expected.error->host, expected.error->device,
                                        sizeof(ErrorBlock), stream_);
      });
    device_.call("cuEventRecord",
                 [&] { return calls.record_event(expected.event.get(), stream_); });
    if (expected.has_signal) expected.run->queued(expected.signals, expected.event);
    if (expected.ends_segment) expected.run->segment_appended(expected.first_step, expected.event);
    const ForkSafeLock lock(expected_mutex_);
    expected_.push_back(std::move(expected));
  } catch (...) {
    const bool is_done =
        device_.await(stream_) &&
        (!brings_error ||
         calls.copy_to_host(expected.error->host, expected.error->device, sizeof(ErrorBlock)) == 0);
    if (!is_done) fail_run(*expected.run);
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
    await_change(expected_count_, done);
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

/// An event that can not be waited for says nothing about the work before it: the stream does.
void CudaStream::wait_for(const Expected& expected) {
  CuStatus status = device_.try_use_on_this_thread();
  if (!is_lost(status)) status = device_.await(expected.event.get());
  if (status == 0 || (!is_lost(status) && device_.await(stream_))) return;
  device_.check(status, describe_range(*expected.run, expected.first_step,
                                       expected.last_step - (expected.ends_segment ? 1 : 0))
                            .c_str());
}

/// The device may be bringing it once more, for a later event: all at once, as it is in one line of
/// the host's memory, so that whoever sees the step sees the rest.
void CudaStream::read_error(Run& run, ErrorBlock& host) {
  const std::uint32_t step = std::atomic_ref(host.step).load(std::memory_order_acquire);
  if (step == 0) return;
  run.error.set(step - 1, std::atomic_ref(host.index).load(std::memory_order_relaxed),
                std::atomic_ref(host.limit).load(std::memory_order_relaxed));
}

void CudaStream::finish(Expected& expected) noexcept {
  Run& run = *expected.run;
  try {
    if (expected.event) wait_for(expected);
    if (expected.error) read_error(run, *expected.error->host);
  } catch (...) {
    fail_run(run);
  }
  if (expected.has_signal) run.signal(expected.signals);
  // Before the run ends: who waits for that finds its memory given back.
  expected.event = nullptr;
  expected.error = nullptr;
  expected.workspace = nullptr;
  expected.counters = nullptr;
  if (expected.ends_segment) run.segment_done(expected.first_step);
}

bool CudaStream::is_busy() const noexcept {
  return finished_count_.load(std::memory_order_acquire) !=
         expected_count_.load(std::memory_order_acquire);
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
