// Typed errors, and the place in the caller's program that they name.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace weft {

/// A line of the caller's program. As the last parameter of a function, `Where at = {}`, it is the
/// line of the call; inner calls pass it on.
class Where {
  struct Key {
    explicit Key() = default;
  };

 public:
  constexpr Where(Key = Key{}, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) noexcept
      : file_(file), line_(line) {}
  /// A named place, for bindings and for tools that know a better line than the compiler.
  static constexpr Where of(const char* file, int line) noexcept { return {Key{}, file, line}; }
  constexpr const char* file() const noexcept { return file_; }
  constexpr int line() const noexcept { return line_; }

 private:
  const char* file_;
  int line_;
};

/// Base of all that weft throws. what() is the message and the caller's line.
class Error : public std::runtime_error {
 public:
  Error(const std::string& message, Where at);
  const char* file() const noexcept { return at_.file(); }
  int line() const noexcept { return at_.line(); }

 private:
  Where at_;
};

// clang-format off
class ShapeError       : public Error { public: using Error::Error; };
class DTypeError       : public Error { public: using Error::Error; };
class DeviceError      : public Error { public: using Error::Error; };
class IndexError       : public Error { public: using Error::Error; };
class ValueError       : public Error { public: using Error::Error; };
class TraceError       : public Error { public: using Error::Error; };
class UnsupportedError : public Error { public: using Error::Error; };
class CompileError     : public Error { public: using Error::Error; };
class OutOfMemoryError : public Error { public: using Error::Error; };
class DeviceLostError  : public Error { public: using Error::Error; };
class FileError        : public Error { public: using Error::Error; };
class InternalError    : public Error { public: using Error::Error; };
// clang-format on

namespace detail {

/// The caller's mistake: "op: what is wrong: operands as seen; remedy".
template <class E>
[[noreturn]] void fail(Where at, const std::string& message) {
  throw E(message, at);
}

/// In a handler of std::bad_alloc: what the program was at, as an OutOfMemoryError.
[[noreturn]] void fail_memory(const char* op, Where at);

/// Of an error found where no line of the program is known: the message has none, until
/// `rethrow_at` gives it one.
inline constexpr Where no_place = Where::of("", 0);
/// Throws the error, one without a place as one at this place.
[[noreturn]] void rethrow_at(const std::exception_ptr& error, Where at);

/// Our own mistake, never the caller's: throws InternalError.
[[noreturn]] void broken(const char* condition, const char* file, int line);

}  // namespace detail
}  // namespace weft

#define WEFT_ENSURE(condition)                                                       \
  (static_cast<bool>(condition) ? void(0)                                            \
                                : ::weft::detail::broken(#condition, __FILE__, __LINE__))
