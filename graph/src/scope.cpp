// The guards of the calling thread.
#include <weft/graph/anomaly.h>
#include <weft/graph/scope.h>

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>

#include <weft/graph/detail/evaluator.h>

#include "fast_thread_local.h"

namespace weft {

namespace detail {

Ambient& ambient() noexcept {
  WEFT_FAST_THREAD_LOCAL constinit Ambient state;
  return state;
}

namespace {

/// One ScopeName for each path, for the life of the program: nodes and plans hold plain pointers.
const ScopeName* intern(const std::string& path) {
  static std::mutex mutex;
  static auto* names = new std::unordered_map<std::string, ScopeName>;
  const std::lock_guard lock(mutex);
  const auto [it, added] = names->try_emplace(path);
  if (added) it->second.text = it->first.c_str();
  return &it->second;
}

}  // namespace

const ScopeName* scope_of_gradient(const ScopeName* scope, const char* op, Where at) {
  static std::mutex mutex;
  using Key = std::tuple<const ScopeName*, const char*, const char*, int>;
  static auto* names = new std::map<Key, ScopeName>;
  const std::lock_guard lock(mutex);
  const Key key{scope, op, at.file(), at.line()};
  const ScopeName name{scope ? scope->text : "", scope ? scope->composite : nullptr, op, at};
  return &names->try_emplace(key, name).first->second;
}

const ScopeName* scope_within(const ScopeName* scope, const Composite* composite) {
  static std::mutex mutex;
  using Key = std::pair<const ScopeName*, const Composite*>;
  static auto* names = new std::map<Key, ScopeName>;
  const std::lock_guard lock(mutex);
  ScopeName name = scope ? *scope : ScopeName{""};
  name.composite = composite;
  return &names->try_emplace({scope, composite}, name).first->second;
}

Within::Within(const Composite& composite) noexcept : previous_(ambient().scope) {
  if (previous_ && previous_->composite) return;
  // A loop calls the same few functions in the same few scopes: no lock for those. Too large for
  // the memory that `fast` ones take.
  struct Known {
    const ScopeName* scope;
    const Composite* composite;
    const ScopeName* name;
  };
  constexpr std::size_t known_count = 32;
  static thread_local constinit Known known[known_count] = {};
  const auto hash = reinterpret_cast<std::uintptr_t>(&composite) / alignof(Composite) * 7 +
                    reinterpret_cast<std::uintptr_t>(previous_) / alignof(ScopeName);
  Known& place = known[hash % known_count];
  if (!place.name || place.scope != previous_ || place.composite != &composite) {
    try {
      place = {previous_, &composite, scope_within(previous_, &composite)};
    } catch (...) {
      return;  // without memory: an error that names the inner op is better than none
    }
  }
  ambient().scope = place.name;
}

}  // namespace detail

On::On(Device device, Where at)
    : previous_device_(detail::ambient().on), previous_set_(detail::ambient().on_set) {
  detail::evaluator().require_device(device, at);
  detail::ambient().on = device;
  detail::ambient().on_set = true;
}

On::On(Automatic, Where)
    : previous_device_(detail::ambient().on), previous_set_(detail::ambient().on_set) {
  detail::ambient().on = Device(DeviceKind::automatic, 0);
  detail::ambient().on_set = true;
}

On::~On() {
  detail::ambient().on = previous_device_;
  detail::ambient().on_set = previous_set_;
}

Scope::Scope(std::string_view name) : previous_(detail::ambient().scope) {
  const detail::ScopeName* outer = detail::ambient().scope;
  std::string path = outer && *outer->text ? std::string(outer->text) + "/" : std::string();
  path += name;
  detail::ambient().scope = detail::intern(path);
}

Scope::~Scope() { detail::ambient().scope = static_cast<const detail::ScopeName*>(previous_); }

NoGrad::NoGrad() noexcept : previous_(detail::ambient().grad_enabled) {
  detail::ambient().grad_enabled = false;
}

DetectAnomaly::DetectAnomaly(const AnomalyOptions& options) noexcept
    : previous_(detail::ambient().anomalies) {
  detail::ambient().anomalies =
      options.infinity ? detail::Anomalies::nan_and_infinity : detail::Anomalies::nan;
}

DetectAnomaly::~DetectAnomaly() { detail::ambient().anomalies = previous_; }

NoGrad::~NoGrad() { detail::ambient().grad_enabled = previous_; }

}  // namespace weft
