// Errors and the caller's line in their text.
#include <weft/graph/error.h>

namespace weft {

Error::Error(const std::string& message, Where at)
    : std::runtime_error(message + " (" + at.file() + ":" + std::to_string(at.line()) + ")"),
      at_(at) {}

namespace detail {

void fail_memory(const char* op, Where at) {
  fail<OutOfMemoryError>(at, std::string(op) + ": no memory; nothing has changed");
}

void broken(const char* condition, const char* file, int line) {
  throw InternalError(std::string("an invariant of weft does not hold: ") + condition,
                      Where::of(file, line));
}

}  // namespace detail
}  // namespace weft
