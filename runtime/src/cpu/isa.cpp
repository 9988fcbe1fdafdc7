// Chooses the instruction set of the kernels, once.
#include <cstring>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <weft/graph/detail/environment.h>
#include <weft/graph/log.h>

#include "cpu/host.h"

namespace weft::detail {
namespace {

static_assert(int{kernel_op_count} == op_count - 1, "KernelOp counts as OpId does, without `fused`");
static_assert(int{kernel_dtype_count} == dtype_count);
static_assert(int{kernel_class_count} == compute_class_count);

struct Level {
  const char* name;
  bool (*is_supported)();
  void (*fill)(KernelTable&);
  void (*fill_products)(ProductTable&);
};

#if defined(__x86_64__)
// Feature by feature: clang 14 knows no names of levels. The builtin also asks whether the system
// keeps the registers; what it has no names for, cpuid tells.
[[maybe_unused]] bool supports_v2() {
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") &&
         __builtin_cpu_supports("popcnt");
}
[[maybe_unused]] bool supports_v3() {
  unsigned a, b, c1, c2, d;
  if (!__get_cpuid(1, &a, &b, &c1, &d) || !__get_cpuid(0x80000001, &a, &b, &c2, &d)) return false;
  return supports_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && (c1 & bit_F16C) &&
         (c1 & bit_MOVBE) && (c2 & bit_LZCNT);
}
[[maybe_unused]] bool supports_v4() {
  return supports_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#else
bool supports_base() { return true; }
#endif

#define WEFT_LEVEL(isa)                     \
  void fill_##isa(KernelTable& table) {     \
    table.level = #isa;                     \
    fill_pointwise_##isa(table);            \
    fill_pairs_##isa(table);                \
    fill_convert_##isa(table);              \
    fill_reduce_##isa(table);               \
    fill_scan_##isa(table);                 \
    fill_integers_##isa(table);             \
    fill_strict_##isa(table);               \
    fill_random_##isa(table);               \
  }                                       \
  void fill_product_##isa(ProductTable& table) { \
    fill_gemm_##isa(table);               \
    fill_pack_##isa(table);               \
    fill_gemv_##isa(table);               \
  }
WEFT_KERNEL_LEVELS
#undef WEFT_LEVEL

// From the least to the best.
const Level levels[] = {
#define WEFT_LEVEL(isa) {#isa, supports_##isa, fill_##isa, fill_product_##isa},
    WEFT_KERNEL_LEVELS
#undef WEFT_LEVEL
};

const Level& best_level() {
  const Level* best = levels;
  for (const Level& level : levels)
    if (level.is_supported()) best = &level;
  return *best;
}

std::string names() {
  std::string text;
  for (const Level& level : levels) {
    if (!level.is_supported()) continue;
    if (!text.empty()) text += ", ";
    text += level.name;
  }
  return text;
}

const Level& choose_level() {
  const Level& best = best_level();
  const char* wanted = environment("WEFT_CPU_ISA");
  if (!wanted || !*wanted) return best;
  for (const Level& level : levels)
    if (std::strcmp(level.name, wanted) == 0 && level.is_supported()) return level;
  log(LogLevel::warning, "WEFT_CPU_ISA=" + std::string(wanted).substr(0, 64) + " is none of " +
                             names() + ", which this processor has; used is " + best.name);
  return best;
}

const Level& chosen_level() {
  static const Level& level = [&]() -> const Level& {
    const Level& chosen = choose_level();
    if (log_level() >= LogLevel::info)
      log(LogLevel::info, std::string("cpu: the instruction set is ") + chosen.name);
    return chosen;
  }();
  return level;
}

}  // namespace

const KernelTable& kernels() {
  static const KernelTable table = [] {
    KernelTable filled{};
    chosen_level().fill(filled);
    return filled;
  }();
  return table;
}

const ProductTable& products() {
  static const ProductTable table = [] {
    ProductTable filled{};
    chosen_level().fill_products(filled);
    return filled;
  }();
  return table;
}

bool fill_level(const char* name, KernelTable& table, ProductTable& products) {
  for (const Level& level : levels)
    if (std::strcmp(level.name, name) == 0 && level.is_supported()) {
      level.fill(table);
      level.fill_products(products);
      return true;
    }
  return false;
}

bool fill_level(const char* name, KernelTable& table) {
  ProductTable products;
  return fill_level(name, table, products);
}

}  // namespace weft::detail
