// Memory planning: scratch buffers get places in their device's arena; a place is used again once
// all who used it before are known to have ended.
#include <algorithm>
#include <map>
#include <set>

#include "schedule.h"

namespace weft::detail {

namespace {

constexpr std::size_t alignment = 512;
constexpr std::size_t rounded(std::size_t bytes) noexcept {
  return (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
}

/// A free stretch of an arena, and for each stream the last step that used it.
struct Gap {
  std::size_t bytes;
  std::vector<std::uint32_t> users;
};

class Arena {
 public:
  Arena(const Clocks& clocks, bool reuse) : clocks_(clocks), reuse_(reuse) {}

  std::size_t allocate(std::size_t bytes, std::uint32_t step) {
    bytes = rounded(bytes);
    auto best = gaps_.end();
    int looked = 0;
    // The smallest gap that fits; a few more where the first are still in use by other streams.
    for (auto it = by_size_.lower_bound({bytes, 0}); it != by_size_.end() && looked < 8;
         ++it, ++looked) {
      const auto gap = gaps_.find(it->second);
      if (!has_ended(gap->second, step)) continue;
      best = gap;
      break;
    }
    if (best == gaps_.end()) {
      const std::size_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const std::size_t offset = best->first;
    Gap rest{best->second.bytes - bytes, best->second.users};
    remove(best);
    if (rest.bytes) insert(offset + bytes, std::move(rest));
    return offset;
  }

  void release(std::size_t offset, std::size_t bytes, std::vector<std::uint32_t> users) {
    if (!reuse_) return;
    Gap gap{rounded(bytes), std::move(users)};
    auto next = gaps_.lower_bound(offset);
    if (next != gaps_.end() && next->first == offset + gap.bytes) {
      absorb(gap, next->second);
      remove(next++);
    }
    next = gaps_.lower_bound(offset);
    if (next != gaps_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second.bytes == offset) {
        offset = before->first;
        absorb(gap, before->second);
        remove(before);
      }
    }
    insert(offset, std::move(gap));
  }

  std::size_t end() const noexcept { return end_; }

 private:
  bool has_ended(const Gap& gap, std::uint32_t step) const {
    for (const std::uint32_t user : gap.users)
      if (user != ~0u && !clocks_.ordered(user, step)) return false;
    return true;
  }

  static void absorb(Gap& into, const Gap& from) {
    into.bytes += from.bytes;
    for (std::size_t s = 0; s < into.users.size(); ++s)
      if (from.users[s] != ~0u && (into.users[s] == ~0u || into.users[s] < from.users[s]))
        into.users[s] = from.users[s];
  }

  void insert(std::size_t offset, Gap gap) {
    by_size_.insert({gap.bytes, offset});
    gaps_.emplace(offset, std::move(gap));
  }

  void remove(std::map<std::size_t, Gap>::iterator it) {
    by_size_.erase({it->second.bytes, it->first});
    gaps_.erase(it);
  }

  const Clocks& clocks_;
  bool reuse_;
  std::size_t end_ = 0;
  std::map<std::size_t, Gap> gaps_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;
};

/// For each buffer, the last step of each stream that uses it.
std::vector<std::vector<std::uint32_t>> find_users(const FrozenPlan& plan, const Clocks& clocks) {
  const auto streams = static_cast<std::size_t>(clocks.stream_count());
  std::vector<std::vector<std::uint32_t>> users(plan.buffers.size());
  const auto note = [&](std::uint32_t buffer, std::uint32_t step) {
    if (plan.buffers[buffer].home != PlanBuffer::Home::scratch) return;
    users[buffer].resize(streams, ~0u);
    users[buffer][static_cast<std::size_t>(clocks.stream_of(step))] = step;
  };
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    for (const StepInput& input : plan.steps[i].inputs) note(input.buffer, i);
    for (const StepOutput& output : plan.steps[i].outputs) note(output.buffer, i);
  }
  return users;
}

}  // namespace

void plan_memory(FrozenPlan& plan, const Clocks& clocks, bool reuse) {
  auto users = find_users(plan, clocks);
  std::vector<Arena> arenas;
  const auto peak_index = [&](Device device) {
    for (std::uint32_t i = 0; i < plan.peaks.size(); ++i)
      if (plan.peaks[i].device == device) return i;
    plan.peaks.push_back({device});
    arenas.emplace_back(clocks, reuse);
    return static_cast<std::uint32_t>(plan.peaks.size() - 1);
  };
  std::vector<std::vector<std::uint32_t>> dying(plan.steps.size());
  for (std::uint32_t b = 0; b < plan.buffers.size(); ++b) {
    PlanBuffer& buffer = plan.buffers[b];
    const std::uint32_t peak = peak_index(buffer.device);
    if (buffer.home == PlanBuffer::Home::output) plan.peaks[peak].peak += buffer.bytes;
    if (buffer.home != PlanBuffer::Home::scratch) continue;
    buffer.index = peak;
    if (!plan.steps.empty()) dying[buffer.last_step].push_back(b);
  }
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    for (const StepOutput& output : plan.steps[i].outputs) {
      PlanBuffer& buffer = plan.buffers[output.buffer];
      if (buffer.home == PlanBuffer::Home::scratch && buffer.first_step == i)
        buffer.offset = arenas[buffer.index].allocate(buffer.bytes, i);
    }
    for (const std::uint32_t b : dying[i]) {
      const PlanBuffer& buffer = plan.buffers[b];
      arenas[buffer.index].release(buffer.offset, buffer.bytes, std::move(users[b]));
    }
  }
  for (std::uint32_t i = 0; i < plan.peaks.size(); ++i) {
    plan.peaks[i].scratch = arenas[i].end();
    plan.peaks[i].peak += arenas[i].end();
  }
}

}  // namespace weft::detail
