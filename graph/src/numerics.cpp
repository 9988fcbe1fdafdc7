#include <weft/graph/numerics.h>

#include <atomic>
#include <string>

namespace weft {

namespace {

std::atomic<Numerics> mode_in_force{Numerics::standard};
std::atomic<MatmulPrecision> precision_in_force{MatmulPrecision::f32};

}  // namespace

void set_numerics(Numerics mode, Where at) {
  if (mode > Numerics::fast)
    detail::fail<ValueError>(at, "set_numerics: no mode has the number " +
                                     std::to_string(static_cast<int>(mode)) +
                                     "; give standard, strict or fast");
  mode_in_force.store(mode, std::memory_order_release);
}

Numerics numerics() noexcept { return mode_in_force.load(std::memory_order_acquire); }

void set_matmul_precision(MatmulPrecision precision, Where at) {
  if (precision > MatmulPrecision::tf32)
    detail::fail<ValueError>(at, "set_matmul_precision: no precision has the number " +
                                     std::to_string(static_cast<int>(precision)) +
                                     "; give f32 or tf32");
  precision_in_force.store(precision, std::memory_order_release);
}

MatmulPrecision matmul_precision() noexcept {
  return precision_in_force.load(std::memory_order_acquire);
}

}  // namespace weft
