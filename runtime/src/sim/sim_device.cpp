#include "sim_device.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include <weft/runtime/plan.h>

#include "sim_control.h"

namespace weft::detail {
namespace {

enum class Work : std::uint8_t { none, kernel, copy };

Work work_of(StepKind kind) {
  switch (kind) {
    case StepKind::kernel:
    case StepKind::library:
    case StepKind::collective: return Work::kernel;
    case StepKind::transfer:
    case StepKind::upload:
    case StepKind::assign: return Work::copy;
    case StepKind::view:
    case StepKind::record:
    case StepKind::wait:
    case StepKind::free: return Work::none;
  }
  return Work::none;
}

// An upload of a number has no buffer that it reads.
Device source_of(const FrozenPlan& plan, const FrozenStep& step) {
  return step.inputs.empty() ? Device::cpu() : plan.buffers[step.inputs[0].buffer].device;
}

std::uint64_t sim::Counters::*direction(Device from, Device to) {
  if (from.is_cpu()) return to.is_cpu() ? nullptr : &sim::Counters::bytes_to_device;
  if (to.is_cpu()) return &sim::Counters::bytes_to_host;
  return from == to ? nullptr : &sim::Counters::bytes_between_devices;
}

std::string ops_of(const FrozenStep& step) {
  std::string text(name_of(step.kind));
  if (step.rows) return text + " over rows";
  const bool computes = step.kind == StepKind::kernel || step.kind == StepKind::library;
  if (!step.program)
    return computes && !info(step.op).is_leaf() ? text + " " + std::string(info(step.op).name)
                                                : text;
  for (const Instruction& instruction : step.program->code)
    if (instruction.kind == Instruction::Kind::compute)
      text += " " + std::string(info(instruction.op).name);
  return text;
}

// Steps that can fail on a device of their own have a line of the program.
[[noreturn]] void lose(Device device, const Run& run, const FrozenStep& step,
                       std::uint32_t number) {
  Where at = no_place;
  const std::vector<std::uint32_t>& named = run.plan().fallible;
  const auto found = std::find(named.begin(), named.end(), number);
  const auto place = static_cast<std::size_t>(found - named.begin());
  if (place < run.provenance.size() && run.provenance[place].file)
    at = Where::of(run.provenance[place].file, run.provenance[place].line);
  fail<DeviceLostError>(at, device.str() + ": the device was lost at step " +
                                std::to_string(number) + " (" + ops_of(step) + "): injected fault");
}

bool uses_arena(const PlanSegment& segment, std::uint32_t arena) {
  return std::any_of(segment.uses.begin(), segment.uses.end(), [arena](const MemoryUse& use) {
    return use.home == PlanBuffer::Home::scratch && use.index == arena;
  });
}

/// Whether the segment that begins with step `first` uses an arena that no device uses which is not
/// simulated: that might have written there already. Of plans made by hand each does. Allocates
/// nothing: it is asked while a run is under way.
bool may_fill(const FrozenPlan& plan, std::uint32_t first, std::uint32_t arena) {
  bool is_used = plan.segments.empty();
  for (const PlanSegment& segment : plan.segments) {
    if (!uses_arena(segment, arena)) continue;
    if (!segment.device.is_sim()) return false;
    is_used = is_used || segment.first == first;
  }
  return is_used;
}

/// Before the first step of a segment. Fills the scratch memory that it uses with what nobody has
/// written, where it is the run's first to use it: earlier runs have then been done with it, but
/// not with that of other devices. A copy may write to another device's before that device's own
/// streams begin.
void begin_segment(const std::shared_ptr<Run>& run, std::uint32_t first) {
  if (!sim_options().poison) return;
  static auto* mutex = new ForkSafeMutex;
  static auto* begun = new SeenRuns;
  const FrozenPlan& plan = run->plan();
  const ForkSafeLock lock(*mutex);  // the other streams wait until all is filled
  for (std::uint32_t arena = 0; arena < plan.peaks.size(); ++arena) {
    const DevicePeak& peak = plan.peaks[arena];
    if (!peak.device.is_sim() || peak.scratch == 0 || !may_fill(plan, first, arena)) continue;
    if (!begun->add(run, arena)) continue;
    SimMemory::poison(backend(DeviceKind::sim).host_address(peak.device, run->arenas[arena]),
                      peak.scratch);
  }
}

}  // namespace

bool SeenRuns::add(const std::shared_ptr<Run>& run, std::uint32_t part) {
  std::erase_if(runs_, [](const auto& seen) { return seen.first.expired(); });
  for (const auto& [seen, its_part] : runs_)
    if (its_part == part && !seen.owner_before(run) && !run.owner_before(seen)) return false;
  runs_.emplace_back(run, part);
  return true;
}

SimStream::SimStream(SimDevice& device, StreamKind kind)
    : StreamQueue(Device::sim(device.index()).str()), device_(device), kind_(kind) {}

void SimStream::carry_out(Segment& segment) noexcept {
  starting_ = segment.run;
  starting_step_ = segment.first;
  segment.run->execute(segment.first, segment.last, this);
  starting_ = nullptr;
}

void SimStream::before(Run& run, const FrozenStep& step, std::uint32_t number) {
  // Not earlier: only now are the segments done that this one follows.
  if (const std::shared_ptr<Run> starting = std::exchange(starting_, nullptr))
    begin_segment(starting, starting_step_);
  delay();
  const int index = device_.index();
  const Work work = work_of(step.kind);
  if (work == Work::kernel && take_fault(index, SimFault::kernel))
    lose(Device::sim(index), run, step, number);
  if (work == Work::copy && take_fault(index, SimFault::copy))
    lose(Device::sim(index), run, step, number);
}

void SimStream::after(Run& run, const FrozenStep& step, std::uint32_t) {
  const int index = device_.index();
  const Work work = work_of(step.kind);
  if (work == Work::kernel) count(index, &sim::Counters::kernels);
  if (step.kind == StepKind::wait) count(index, &sim::Counters::waits);
  if (work != Work::copy) return;
  count(index, &sim::Counters::copies);
  if (step.outputs.empty()) return;
  const StepOutput& output = step.outputs[0];
  const Device to = run.plan().buffers[output.buffer].device;
  if (const auto counter = direction(source_of(run.plan(), step), to))
    count(index, counter,
          static_cast<std::uint64_t>(output.spec.shape.numel()) * size_of(output.spec.dtype));
}

void SimStream::delay() {
  if (const std::uint32_t now = sim_configuration(); now != configuration_) {
    configuration_ = now;
    random_.seed(sim_options().seed ^ (static_cast<std::uint64_t>(device_.index()) << 8) ^
                 static_cast<std::uint64_t>(kind_));
  }
  const int longest = sim_options().max_delay_us;
  if (longest <= 0) return;
  const auto drawn = random_() % (static_cast<std::uint64_t>(longest) + 1);
  std::this_thread::sleep_for(std::chrono::microseconds(drawn));
}

SimDevice::SimDevice(int index)
    : index_(index), memory_(index), compute_(*this, StreamKind::compute),
      host_to_device_(*this, StreamKind::host_to_device),
      device_to_host_(*this, StreamKind::device_to_host) {}

StreamQueue& SimDevice::stream(StreamKind kind) noexcept {
  switch (kind) {
    case StreamKind::compute: break;
    case StreamKind::host_to_device: return host_to_device_;
    case StreamKind::device_to_host: return device_to_host_;
  }
  return compute_;
}

void SimDevice::drain() noexcept {
  compute_.drain();
  host_to_device_.drain();
  device_to_host_.drain();
}

}  // namespace weft::detail
