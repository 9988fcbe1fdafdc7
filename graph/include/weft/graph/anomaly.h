// Finding the op that makes NaN.
#pragma once

#include <weft/graph/scope.h>

namespace weft {

struct AnomalyOptions {
  /// Infinities count as well.
  bool infinity = false;
};

/// What this thread evaluates while it lives is computed op by op, in the order of recording as far
/// as it is needed, and each floating value is looked at: the first with a NaN in it throws
/// ValueError at the call that evaluates (a read, wait, eval or flush). The error has the line of
/// the op, and names it, the function that it is part of, as "cross_entropy (log)", its Scope, its
/// operands, the element, and where NaN came in with the data; of an op that backward or grad
/// recorded while the guard lived, also the op or function whose gradient it is.
/// Values that were computed before stay, all else stays pending, and no Variable has changed that
/// the faulty op did not depend on. Results have the same bits as without it, except where
/// On(automatic) chooses other devices for products. Slow: for looking for mistakes.
class DetectAnomaly {
 public:
  [[nodiscard]] explicit DetectAnomaly(const AnomalyOptions& options = {}) noexcept;
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;
  ~DetectAnomaly();

 private:
  detail::Anomalies previous_;
};

}  // namespace weft
