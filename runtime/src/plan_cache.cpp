// Plans found again.
#include "engine.h"

namespace weft::detail {

namespace {

template <class T>
std::size_t bytes_of(const std::vector<T>& items) noexcept {
  return items.capacity() * sizeof(T);
}

std::size_t footprint(const Graph& graph) noexcept {
  std::size_t bytes = bytes_of(graph.vertices) + bytes_of(graph.edges) + bytes_of(graph.maps) +
                      bytes_of(graph.more_specs) + bytes_of(graph.reasons);
  for (const Graph& body : graph.bodies) bytes += sizeof body + footprint(body);
  return bytes;
}

std::size_t footprint(const FrozenStep& step) noexcept {
  std::size_t bytes = bytes_of(step.inputs) + bytes_of(step.outputs) + step.reason.capacity();
  if (step.program)
    bytes += sizeof *step.program + bytes_of(step.program->inputs) + bytes_of(step.program->code) +
             bytes_of(step.program->outputs);
  if (!step.rows) return bytes;
  bytes += sizeof *step.rows + bytes_of(step.rows->members) + bytes_of(step.rows->values);
  for (const RowMember& member : step.rows->members)
    bytes += footprint(member.step) + bytes_of(member.inputs) + bytes_of(member.values);
  return bytes;
}

/// What a plan keeps in memory, near enough to bound the sum.
std::size_t footprint(const FrozenPlan& plan) noexcept {
  std::size_t bytes = sizeof plan + bytes_of(plan.steps) + bytes_of(plan.buffers) +
                      bytes_of(plan.outputs) + bytes_of(plan.fallible) + footprint(plan.graph);
  for (const FrozenStep& step : plan.steps) bytes += footprint(step);
  return bytes;
}

}  // namespace

void FrozenPlan::drop_picture() noexcept {
  graph = {};
  has_picture = false;
}

PlanCache::Entries::iterator PlanCache::find_entry(const Capture& capture,
                                                   const PlanOptions& options) {
  const auto [first, last] = entries_.equal_range(capture.hash);
  for (auto it = first; it != last; ++it)
    if (it->second.key == capture.key && it->second.options == options) return it;
  return entries_.end();
}

std::shared_ptr<const FrozenPlan> PlanCache::find(const Capture& capture,
                                                  const PlanOptions& options) {
  const auto it = find_entry(capture, options);
  if (it == entries_.end()) return nullptr;
  it->second.last_use = ++uses_;
  return it->second.plan;
}

void PlanCache::erase(Entries::iterator entry) noexcept {
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

void PlanCache::make_room(std::size_t bytes) noexcept {
  while (!entries_.empty() && (entries_.size() >= most_plans || bytes_ + bytes > most_bytes)) {
    auto oldest = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->second.last_use < oldest->second.last_use) oldest = it;
    erase(oldest);
  }
}

void PlanCache::add(const Capture& capture, const PlanOptions& options,
                    std::shared_ptr<const FrozenPlan> plan) {
  const std::size_t bytes = sizeof(Entry) + 8 * capture.key.size() + footprint(*plan);
  if (const auto it = find_entry(capture, options); it != entries_.end()) erase(it);
  make_room(bytes);
  entries_.emplace(capture.hash, Entry{capture.key, options, std::move(plan), bytes, ++uses_});
  bytes_ += bytes;
}

void PlanCache::clear() noexcept {
  entries_.clear();
  bytes_ = 0;
}

}  // namespace weft::detail
