// One simulated device: memory and three streams.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "../fork.h"
#include "../run.h"
#include "../stream_queue.h"
#include "sim_memory.h"

namespace weft::detail {

/// Remembers runs until they are gone.
class SeenRuns {
 public:
  /// Whether it is the first time, for a part of it.
  bool add(const std::shared_ptr<Run>& run, std::uint32_t part = 0);

 private:
  std::vector<std::pair<std::weak_ptr<Run>, std::uint32_t>> runs_;
};

class SimDevice;

class SimStream final : public StreamQueue, public StepObserver {
 public:
  SimStream(SimDevice& device, StreamKind kind);
  void before(Run& run, const FrozenStep& step, std::uint32_t number) override;
  void after(Run& run, const FrozenStep& step, std::uint32_t number) override;

 private:
  void carry_out(Segment& segment) noexcept override;
  void delay();

  SimDevice& device_;
  const StreamKind kind_;
  std::shared_ptr<Run> starting_;  // the run of a segment whose first step is still to come
  std::uint32_t starting_step_ = 0;
  std::mt19937_64 random_;
  std::uint32_t configuration_ = 0;
};

class SimDevice {
 public:
  explicit SimDevice(int index);
  int index() const noexcept { return index_; }
  SimMemory& memory() noexcept { return memory_; }
  StreamQueue& stream(StreamKind kind) noexcept;
  void drain() noexcept;

 private:
  const int index_;
  SimMemory memory_;
  SimStream compute_, host_to_device_, device_to_host_;
};

}  // namespace weft::detail
