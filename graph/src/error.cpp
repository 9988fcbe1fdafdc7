// Errors and the caller's line in their text.
#include <weft/graph/error.h>

namespace weft {

namespace {

std::string with_place(const std::string& message, Where at) {
  if (!*at.file()) return message;
  return message + " (" + at.file() + ":" + std::to_string(at.line()) + ")";
}

}  // namespace

Error::Error(const std::string& message, Where at)
    : std::runtime_error(with_place(message, at)), at_(at) {}

namespace detail {

namespace {

/// The error as it is, unless it is an E without a place.
template <class E>
void rethrow_as(const std::exception_ptr& error, Where at) {
  try {
    std::rethrow_exception(error);
  } catch (const E& found) {
    if (!*found.file()) throw E(found.what(), at);
    throw;
  } catch (...) {  // of another type
  }
}

}  // namespace

void rethrow_at(const std::exception_ptr& error, Where at) {
  rethrow_as<DeviceLostError>(error, at);
  rethrow_as<DeviceError>(error, at);
  rethrow_as<OutOfMemoryError>(error, at);
  rethrow_as<CompileError>(error, at);
  rethrow_as<InternalError>(error, at);
  std::rethrow_exception(error);
}

void fail_memory(const char* op, Where at) {
  fail<OutOfMemoryError>(at, std::string(op) + ": no memory; nothing has changed");
}

void broken(const char* condition, const char* file, int line) {
  throw InternalError(std::string("an invariant of weft does not hold: ") + condition,
                      Where::of(file, line));
}

}  // namespace detail
}  // namespace weft
