// Whether a sanitizer watches the program: then it runs several times slower, on more stack.
#pragma once

namespace weft::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

// A thread's sanitizer starts no threads in a forked child, and reports races in libraries that were
// not built with it.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool thread_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif
#else
inline constexpr bool thread_sanitized = false;
#endif

/// A size for tests whose time grows with it.
constexpr int scaled(int full, int under_sanitizer) noexcept {
  return sanitized ? under_sanitizer : full;
}

}  // namespace weft::test
