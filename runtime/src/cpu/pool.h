// The persistent workers that share the work of a step.
#pragma once

#include <cstdint>

#include <weft/runtime/settings.h>

namespace weft::detail {

/// Calls body(context, i) once for each 0 <= i < count, on the calling thread and, where they are
/// free, the workers; returns when all are done. Which thread takes which i varies, so each i must
/// write what no other does. Rethrows the first exception; what had not begun then is left out.
/// Inside another such call, and in the child of a fork, all runs on the calling thread.
void parallel_for(std::int64_t count, void (*body)(void* context, std::int64_t i), void* context);

template <class F>
void parallel_for(std::int64_t count, const F& body) {
  parallel_for(
      count, [](void* f, std::int64_t i) { (*static_cast<const F*>(f))(i); },
      const_cast<F*>(&body));
}

/// As weft::set_num_threads (tests); 0: as many as at first.
void limit_threads(int count) noexcept;

}  // namespace weft::detail
