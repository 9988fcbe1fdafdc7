// Places in lines that ascend, by bisection.
#include <algorithm>

#include "cpu/host.h"
#include "cpu/pool.h"
#include "cpu/sort.h"
#include "cpu/walk.h"

namespace weft::detail {
namespace {

using detail::order_of;
std::uint64_t order_of(Half x) noexcept { return order_of(static_cast<float>(x)); }
std::uint64_t order_of(BFloat16 x) noexcept { return order_of(static_cast<float>(x)); }
std::uint64_t order_of(std::int8_t x) noexcept { return order_of(std::int32_t{x}); }
std::uint64_t order_of(std::uint8_t x) noexcept { return order_of(std::int32_t{x}); }

template <class T>
void search(const StepCall& call) {
  const ResolvedOperand& sorted = call.inputs[0];
  const ResolvedOperand& values = call.inputs[1];
  const bool right = attribute(call, 0) != 0;
  const int last = values.rank - 1;
  const std::int64_t extent = sorted.shape[last], stride = sorted.strides[last];
  const std::int64_t each = values.shape[last];
  auto* const out = reinterpret_cast<std::int64_t*>(call.outputs[0].data);
  const auto find = [&](std::int64_t i) {
    const T* line = reinterpret_cast<const T*>(sorted.data) +
                    offset_of(i / each, last, sorted.shape, sorted.strides);
    const T value = reinterpret_cast<const T*>(
        values.data)[offset_of(i, values.rank, values.shape, values.strides)];
    const std::uint64_t key = order_of(value);
    std::int64_t begin = 0, end = extent;
    while (begin < end) {
      const std::int64_t middle = begin + (end - begin) / 2;
      const std::uint64_t here = order_of(line[middle * stride]);
      if (right ? here <= key : here < key)
        begin = middle + 1;
      else
        end = middle;
    }
    return begin;
  };
  constexpr std::int64_t together = 2048;
  const std::int64_t count = call.outputs[0].numel();
  parallel_for((count + together - 1) / together, [&](std::int64_t t) {
    const std::int64_t stop = std::min(count, (t + 1) * together);
    for (std::int64_t i = t * together; i < stop; ++i) out[i] = find(i);
  });
}

}  // namespace

void run_search(const StepCall& call) {
  if (call.outputs[0].numel() == 0) return;
  switch (call.inputs[0].dtype) {
    case DType::f16: return search<Half>(call);
    case DType::bf16: return search<BFloat16>(call);
    case DType::f32: return search<float>(call);
    case DType::f64: return search<double>(call);
    case DType::i8: return search<std::int8_t>(call);
    case DType::i32: return search<std::int32_t>(call);
    case DType::i64: return search<std::int64_t>(call);
    case DType::u8:
    case DType::bool_: return search<std::uint8_t>(call);
  }
}

}  // namespace weft::detail
