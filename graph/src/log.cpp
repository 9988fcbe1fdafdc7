#include <weft/graph/log.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <pthread.h>

#include <weft/graph/detail/environment.h>

namespace weft {
namespace {

constexpr int level_from_environment = -1;
constinit std::atomic<int> chosen_level{level_from_environment};

// The sink in use. Never destroyed: threads may have something to say while the process ends.
struct Sinks {
  Sinks() {
    // In a child of a fork, a thread that does not exist there may have held the lock.
    pthread_atfork(nullptr, nullptr, [] { new (&sinks().mutex) std::mutex; });
  }
  static Sinks& sinks() {
    static Sinks* const instance = new Sinks;
    return *instance;
  }
  std::mutex mutex;
  std::shared_ptr<const LogSink> current;
};

/// Comes back here where the environment gives cause for a warning, so it takes no lock.
LogLevel level_of_environment() {
  const char* const text = detail::environment("WEFT_LOG");
  if (!text || !*text) return LogLevel::warning;
  constexpr const char* names[] = {"off", "error", "warning", "info"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (std::string_view(text) == names[i]) return static_cast<LogLevel>(i);
  static std::atomic<bool> is_said{false};
  if (!is_said.exchange(true)) detail::warn_of_value("WEFT_LOG", text, "warning");
  return LogLevel::warning;
}

thread_local bool is_in_sink = false;

void print(std::string_view message) noexcept {
  std::fprintf(stderr, "weft: %.*s\n", static_cast<int>(message.size()), message.data());
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  Sinks& sinks = Sinks::sinks();
  {
    const std::lock_guard lock(sinks.mutex);
    sinks.current.swap(next);
  }
  return next ? *next : LogSink();
}

void set_log_level(LogLevel level) noexcept { chosen_level.store(static_cast<int>(level)); }

LogLevel log_level() noexcept {
  const int level = chosen_level.load();
  if (level != level_from_environment) return static_cast<LogLevel>(level);
  try {
    return level_of_environment();
  } catch (...) {
    return LogLevel::warning;
  }
}

void detail::log(LogLevel level, std::string_view message) noexcept {
  if (level > log_level()) return;
  if (is_in_sink) return print(message);
  try {
    std::shared_ptr<const LogSink> sink;
    {
      Sinks& sinks = Sinks::sinks();
      const std::lock_guard lock(sinks.mutex);
      sink = sinks.current;
    }
    if (!sink) return print(message);
    struct Inside {
      Inside() noexcept { is_in_sink = true; }
      ~Inside() { is_in_sink = false; }
    } const inside;
    (*sink)(level, message);
  } catch (...) {
    print(message);
  }
}

}  // namespace weft
