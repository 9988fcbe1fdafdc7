// Plans found again.
#include "engine.h"

namespace weft::detail {

std::shared_ptr<const FrozenPlan> PlanCache::find(const Capture& capture,
                                                  const PlanOptions& options) {
  const auto [first, last] = entries_.equal_range(capture.hash);
  for (auto it = first; it != last; ++it) {
    Entry& entry = it->second;
    if (entry.key != capture.key || !(entry.options == options)) continue;
    entry.last_use = ++uses_;
    return entry.plan;
  }
  return nullptr;
}

void PlanCache::make_room(std::size_t words) {
  while (!entries_.empty() && (entries_.size() >= most_plans || words_ + words > most_words)) {
    auto oldest = entries_.begin();
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->second.last_use < oldest->second.last_use) oldest = it;
    words_ -= oldest->second.key.size();
    entries_.erase(oldest);
  }
}

void PlanCache::add(const Capture& capture, const PlanOptions& options,
                    std::shared_ptr<const FrozenPlan> plan) {
  make_room(capture.key.size());
  entries_.emplace(capture.hash, Entry{capture.key, options, std::move(plan), ++uses_});
  words_ += capture.key.size();
}

void PlanCache::clear() noexcept {
  entries_.clear();
  words_ = 0;
}

}  // namespace weft::detail
