// Plans made by hand, and runs of them, for tests below the engine.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <vector>

#include "backend.h"
#include "buffer_pool.h"
#include "frozen_plan.h"
#include "run.h"

namespace weft::test {

using detail::FrozenPlan;
using detail::FrozenStep;
using detail::PlanBuffer;

/// All values are f32 vectors.
class PlanBuilder {
 public:
  FrozenPlan plan;

  std::uint32_t leaf(Device device, std::int64_t numel) {
    return add(PlanBuffer::Home::leaf, device, numel, 2 * plan.leaf_count++);
  }
  std::uint32_t output(Device device, std::int64_t numel) {
    const std::uint32_t buffer =
        add(PlanBuffer::Home::output, device, numel, plan.output_buffers++);
    plan.outputs.push_back({buffer, detail::IndexMap::dense(shape_of(buffer)), f32});
    return buffer;
  }
  std::uint32_t scratch(Device device, std::size_t offset, std::int64_t numel) {
    const std::uint32_t buffer = add(PlanBuffer::Home::scratch, device, numel, 0);
    plan.buffers[buffer].offset = offset;
    const std::size_t end = offset + plan.buffers[buffer].bytes;
    std::uint32_t arena = 0;
    while (arena < plan.peaks.size() && plan.peaks[arena].device != device) ++arena;
    if (arena == plan.peaks.size()) plan.peaks.push_back({device});
    plan.peaks[arena].scratch = std::max(plan.peaks[arena].scratch, end);
    plan.buffers[buffer].index = arena;
    return buffer;
  }

  FrozenStep& step(StepKind kind, Device device, StreamKind stream,
                   std::initializer_list<std::uint32_t> inputs,
                   std::initializer_list<std::uint32_t> outputs) {
    FrozenStep step{};
    step.kind = kind;
    step.device = device;
    step.stream = stream;
    for (const std::uint32_t buffer : inputs)
      step.inputs.push_back({buffer, f32, detail::IndexMap::dense(shape_of(buffer)), true});
    for (const std::uint32_t buffer : outputs)
      step.outputs.push_back({buffer, {shape_of(buffer), f32}});
    plan.steps.push_back(std::move(step));
    return plan.steps.back();
  }
  void record(Device device, StreamKind stream, std::uint32_t event) {
    plan.event_count = std::max(plan.event_count, event + 1);
    step(StepKind::record, device, stream, {}, {}).event = event;
  }
  void wait(Device device, StreamKind stream, std::uint32_t event) {
    plan.event_count = std::max(plan.event_count, event + 1);
    step(StepKind::wait, device, stream, {}, {}).event = event;
  }
  std::shared_ptr<const FrozenPlan> share() const { return std::make_shared<FrozenPlan>(plan); }

 private:
  std::uint32_t add(PlanBuffer::Home home, Device device, std::int64_t numel, std::uint32_t index) {
    PlanBuffer buffer{home, device};
    buffer.index = index;
    buffer.bytes = static_cast<std::size_t>(numel) * sizeof(float);
    plan.buffers.push_back(buffer);
    return static_cast<std::uint32_t>(plan.buffers.size() - 1);
  }
  Shape shape_of(std::uint32_t buffer) const {
    return {static_cast<std::int64_t>(plan.buffers[buffer].bytes / sizeof(float))};
  }
};

inline detail::Storage upload(Device device, const std::vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  detail::Storage storage{detail::allocate_buffer(device, bytes)};
  detail::backend(device.kind()).copy_from_host(device, storage.address(), values.data(), bytes);
  return storage;
}

inline std::vector<float> download(const detail::Storage& storage) {
  std::vector<float> values(storage.buffer->bytes() / sizeof(float));
  const Device device = storage.buffer->device();
  detail::backend(device.kind())
      .copy_to_host(device, values.data(), storage.address(), storage.buffer->bytes());
  return values;
}

/// Binds memory as the engine does.
inline std::shared_ptr<detail::Run> bind(std::shared_ptr<const FrozenPlan> plan,
                                         const std::vector<detail::Storage>& leaves) {
  auto run = std::make_shared<detail::Run>(std::move(plan));
  for (std::uint32_t i = 0; i < leaves.size(); ++i) run->bind_leaf(2 * i, leaves[i]);
  for (const PlanBuffer& buffer : run->plan().buffers)
    if (buffer.home == PlanBuffer::Home::output)
      run->bind_output(buffer.index, {detail::allocate_buffer(buffer.device, buffer.bytes)});
  for (const detail::DevicePeak& peak : run->plan().peaks)
    run->arenas.push_back(detail::backend(peak.device.kind()).arena(peak.device, peak.scratch));
  return run;
}

/// Submits the steps, one segment for each stretch on one stream.
inline void start(const std::shared_ptr<detail::Run>& run) {
  const std::vector<FrozenStep>& steps = run->plan().steps;
  std::vector<detail::Segment> segments;
  const auto count = static_cast<std::uint32_t>(steps.size());
  for (std::uint32_t first = 0, last = 0; first < count; first = last) {
    const FrozenStep& step = steps[first];
    while (last < count && steps[last].device == step.device && steps[last].stream == step.stream)
      ++last;
    segments.push_back({run, first, last});
  }
  run->expect(static_cast<std::uint32_t>(segments.size()));
  for (const detail::Segment& segment : segments) {
    const FrozenStep& step = steps[segment.first];
    detail::backend(step.device.kind()).submit(step.device, step.stream, segment);
  }
}

}  // namespace weft::test
