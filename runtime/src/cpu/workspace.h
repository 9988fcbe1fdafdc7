// Scratch memory of a thread.
#pragma once

#include <cstddef>

namespace weft::detail {

/// Bytes of the calling thread's workspace, 64-byte aligned; given back in the reverse order of
/// taking. Grows only, so that repeated steps allocate nothing. Throws std::bad_alloc.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  template <class T = void>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }
  char* bytes() const noexcept { return static_cast<char*>(data_); }

 private:
  void* data_;
  std::size_t size_;
  bool own_;  // too large to be kept: a block of its own
};

}  // namespace weft::detail
