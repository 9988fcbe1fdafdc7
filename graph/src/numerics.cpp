#include <weft/graph/numerics.h>

#include <atomic>

namespace weft {

namespace {

std::atomic<Numerics> mode_in_force{Numerics::standard};
std::atomic<MatmulPrecision> precision_in_force{MatmulPrecision::f32};

}  // namespace

void set_numerics(Numerics mode) noexcept { mode_in_force.store(mode, std::memory_order_release); }

Numerics numerics() noexcept { return mode_in_force.load(std::memory_order_acquire); }

void set_matmul_precision(MatmulPrecision precision) noexcept {
  precision_in_force.store(precision, std::memory_order_release);
}

MatmulPrecision matmul_precision() noexcept {
  return precision_in_force.load(std::memory_order_acquire);
}

}  // namespace weft
