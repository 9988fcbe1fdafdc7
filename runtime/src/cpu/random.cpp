// Random tensors: each element from seed, call number and its own index.
#include <algorithm>
#include <cstring>

#include "cpu/host.h"
#include "cpu/pool.h"
#include "cpu/rows.h"
#include "cpu/sort.h"
#include "cpu/workspace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t piece = 16 * 1024;

struct Draws {
  explicit Draws(const StepCall& call)
      : seed(static_cast<std::uint64_t>(attribute(call, 0))),
        number(static_cast<std::uint64_t>(attribute(call, 1))) {}
  std::uint64_t seed, number;
};

// `make(values, first, n)` gives elements in the class `from`, a piece at a time.
template <class Make>
void fill(const ResolvedOperand& out, ComputeClass from, Make make) {
  const std::int64_t count = out.numel();
  const auto size = static_cast<std::int64_t>(size_of(out.dtype));
  const bool in_place = is_class_storage(out.dtype) && compute_class(out.dtype) == from;
  parallel_for((count + piece - 1) / piece, [&](std::int64_t p) {
    const std::int64_t first = p * piece, n = std::min(piece, count - first);
    char* const target = bytes_of(out) + first * size;
    if (in_place) {
      make(target, first, n);
      return;
    }
    const Scratch values(static_cast<std::size_t>(piece) * 8);
    make(values.as(), first, n);
    write_row(out.dtype, target, from, values.as(), n);
  });
}

void fill_floats(const StepCall& call, const RandomFn (&functions)[2]) {
  const Draws draws(call);
  const ComputeClass c = compute_class(call.outputs[0].dtype);
  const RandomFn function = functions[c == ComputeClass::f64];
  fill(call.outputs[0], c, [&](void* values, std::int64_t first, std::int64_t n) {
    function(values, first, n, draws.seed, draws.number);
  });
}

}  // namespace

void run_uniform(const StepCall& call) { fill_floats(call, kernels().uniform); }

void run_normal(const StepCall& call) { fill_floats(call, kernels().normal); }

void run_integers(const StepCall& call) {
  const Draws draws(call);
  const std::int64_t low = attribute(call, 2);
  const auto span = static_cast<std::uint64_t>(attribute(call, 3));
  fill(call.outputs[0], ComputeClass::i64, [&](void* values, std::int64_t first, std::int64_t n) {
    kernels().integers(static_cast<std::int64_t*>(values), first, n, draws.seed, draws.number, low,
                       span);
  });
}

// The stable order of random keys.
void run_permutation(const StepCall& call) {
  const Draws draws(call);
  const ResolvedOperand& out = call.outputs[0];
  const std::int64_t count = out.numel();
  const Scratch memory(static_cast<std::size_t>(count) * sizeof(KeyedIndex));
  const Scratch keys(static_cast<std::size_t>(piece) * 8);
  KeyedIndex* const order = memory.as<KeyedIndex>();
  for (std::int64_t first = 0; first < count; first += piece) {
    const std::int64_t n = std::min(piece, count - first);
    kernels().keys(keys.as<std::uint64_t>(), first, n, draws.seed, draws.number);
    for (std::int64_t i = 0; i < n; ++i) order[first + i] = {keys.as<std::uint64_t>()[i], first + i};
  }
  std::sort(order, order + count);
  fill(out, ComputeClass::i64, [&](void* values, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) static_cast<std::int64_t*>(values)[i] = order[first + i].index;
  });
}

}  // namespace weft::detail
