// What weft says by itself: warnings of wrong settings and of what could not be kept, facts at its
// start. Errors are thrown, and are not here.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace weft {

enum class LogLevel : std::uint8_t { off, error, warning, info };

/// A message is one line with no newline at its end.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

/// Takes what weft would print on the standard error, from now on; an empty one: it is printed
/// again. Called on whichever thread has something to say, and on several at once. It must not call
/// weft, which may be in the middle of something. What it throws goes no further: that message is
/// printed. Returns the one before, which another thread may still be in.
LogSink set_log_sink(LogSink sink);
/// What is said: messages of this level and graver. Until it is called, the level that WEFT_LOG
/// names; where that is not set, warnings.
void set_log_level(LogLevel level) noexcept;
LogLevel log_level() noexcept;

namespace detail {

/// Loses a message for which there is no memory.
void log(LogLevel level, std::string_view message) noexcept;

}  // namespace detail
}  // namespace weft
