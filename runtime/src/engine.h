// The engine: from roots to a run in flight, through the plan cache.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include <weft/graph/detail/capture.h>
#include <weft/graph/detail/evaluator.h>
#include <weft/graph/detail/passes.h>
#include <weft/runtime/counters.h>

#include "frozen_plan.h"
#include "run.h"

namespace weft::detail {

/// A plan, and the tensors that it was made for.
struct BoundPlan {
  std::shared_ptr<const FrozenPlan> plan;
  std::vector<Handle> roots;
  std::vector<Provenance> provenance;  // by captured ordinal
};

/// Plans by captured program. The key is compared in full: equal hashes prove nothing.
class PlanCache {
 public:
  std::shared_ptr<const FrozenPlan> find(const Capture& capture, const PlanOptions& options);
  /// In the place of the one with the same key, if there is one.
  void add(const Capture& capture, const PlanOptions& options,
           std::shared_ptr<const FrozenPlan> plan);
  void clear() noexcept;

 private:
  struct Entry {
    std::vector<std::uint64_t> key;
    PlanOptions options;
    std::shared_ptr<const FrozenPlan> plan;
    std::size_t bytes;
    std::uint64_t last_use;
  };
  using Entries = std::unordered_multimap<std::uint64_t, Entry>;
  Entries::iterator find_entry(const Capture& capture, const PlanOptions& options);
  void erase(Entries::iterator entry) noexcept;
  void make_room(std::size_t bytes) noexcept;
  static constexpr std::size_t most_plans = 1024;
  static constexpr std::size_t most_bytes = std::size_t{1} << 29;
  Entries entries_;
  std::size_t bytes_ = 0;  // of keys and plans
  std::uint64_t uses_ = 0;
};

/// DeviceError where a process before a fork was to carry the run out: here it never ends.
void require_own(const Completion& completion, Where at);

class Engine final : public Evaluator {
 public:
  static Engine& instance();

  void evaluate(std::span<const Ref> roots, Where at) override;
  Device place(Node* node, Where at) override;
  void wait(Node* node, Where at) override;
  void read(Ref ref, void* destination, Where at) override;
  BufferRef host_copy(const void* data, std::size_t bytes, Where at) override;
  BufferRef host_borrow(void* data, std::size_t bytes, void (*release)(void*),
                        void* context) override;
  void require_device(Device device, Where at) override;
  void flush(Where at) override;

  std::shared_ptr<BoundPlan> plan_for(const TensorList& roots);
  Counters counters() const noexcept;
  /// For tests: how plans are made from now on.
  void set_options(const PlanOptions& options);
  PlanOptions options() const noexcept { return context_.options; }
  void clear_plans();
  /// Gives back the scratch memory of a device, unless something is in flight.
  void release_scratch(Device device) noexcept;

 private:
  /// With its graph, where the program wants to look at it.
  std::shared_ptr<const FrozenPlan> plan_of_capture(bool with_picture);
  std::shared_ptr<FrozenPlan> make_plan_of_capture();
  void refresh_costs();
  void shrink_capture() noexcept;
  void flush_held(Where at);
  std::shared_ptr<Run> bind(const std::shared_ptr<const FrozenPlan>& plan, Where at);
  void bind_outputs(Run& run, Where at);
  bool takes_over(const PlanBuffer& buffer) const;
  std::vector<Handle> first_values() const;
  void add_assigned(Run& run);
  void start(const std::shared_ptr<const FrozenPlan>& plan, Where at);
  void start_once(const std::shared_ptr<const FrozenPlan>& plan, Where at);
  void submit(const std::shared_ptr<Run>& run);
  /// Computes what the roots need value by value, looking at each. ValueError for an anomaly.
  void evaluate_checked(std::span<const Ref> roots, Where at);
  /// What evaluated nodes will be given; made before the run starts, as it may end at once.
  struct Publication {
    std::vector<Handle> nodes;  // held until all are published: letting go may end others
    std::vector<Storage> storages;
    std::shared_ptr<Completion> completion;
  };
  Publication prepare(const Run& run) const;
  static void publish(Publication&& publication) noexcept;
  void make_room_in_flight();
  void retire_first() noexcept;
  void leave_to_parent() noexcept;
  void retire(const Run& run) noexcept;
  void report_unseen(Where at);
  void note_seen(const std::exception_ptr& failure) noexcept;

  bool makes_first_values_ = false;
  bool looks_for_anomalies_ = false;  // evaluate_checked is at work
  Capture capture_;
  PassContext context_{};
  // What context_'s costs and candidates were made from, and how many there have been.
  struct PlacementInputs {
    std::uint64_t table = 0;
    int gpus = 0, sims = 0;
    bool operator==(const PlacementInputs&) const = default;
  } placed_by_;
  std::uint64_t placements_ = 0;
  PlanCache cache_;
  std::deque<std::shared_ptr<Run>> in_flight_;
  std::uint32_t process_ = 0;              // whose runs these are: a fork's generation
  std::exception_ptr unseen_, last_seen_;  // failures that left Variables as they were
  Counters counters_;
};

}  // namespace weft::detail
