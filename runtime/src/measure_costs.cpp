// Measuring a cost table, by work that any program could do.
#include <algorithm>
#include <chrono>
#include <string>

#include <weft/graph/evaluate.h>
#include <weft/graph/functions.h>
#include <weft/graph/scope.h>
#include <weft/runtime/cost.h>
#include <weft/runtime/device.h>

namespace weft {

namespace {

constexpr int repetitions = 5;
constexpr std::int64_t large = std::int64_t{16} << 20;  // elements of f32: beyond any cache
constexpr std::int64_t cached = std::int64_t{1} << 15;

/// The quickest of several runs of what `make` records, in microseconds.
template <class F>
double quickest_us(Device device, F&& make) {
  double best = 0;
  for (int i = 0; i <= repetitions; ++i) {
    synchronize(device);
    const auto start = std::chrono::steady_clock::now();
    const Tensor made = make();
    made.wait();
    synchronize(device);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    // The first one plans, and compiles.
    if (i > 0) best = i == 1 ? took.count() : std::min(best, took.count());
  }
  return std::max(best, 1e-3);
}

/// Work for each microsecond more that it takes than next to none.
double rate(double work, double us, double floor_us) {
  return work / std::max(us - floor_us, us / 4);
}

Tensor evaluated(Tensor x) {
  x.wait();
  return x;
}

/// One of this dtype, without a product of zeros that might be quicker.
double product_rate(Device device, DType dtype, std::int64_t n, double floor_us) {
  const Tensor a = evaluated(full({n, n}, 1, {.dtype = dtype, .device = device}));
  const double us = quickest_us(device, [&] { return matmul(a, a); });
  const auto size = static_cast<double>(n);
  return rate(2 * size * size * size, us, floor_us);
}

DeviceCost measure_device(Device device) {
  const On there(device);
  const bool is_gpu = !device.is_cpu();
  const Tensor tiny = evaluated(full({1}, 0.5f, {.device = device}));
  const auto chain = [&](int steps) {
    Tensor x = tiny;
    for (int i = 0; i < steps; ++i) x = sum(x, 0, true);
    return x;
  };
  constexpr int steps = 64;
  const double floor_us = quickest_us(device, [&] { return chain(1); });
  const double chain_us = quickest_us(device, [&] { return chain(1 + steps); });
  DeviceCost cost{};
  cost.kernel_us = std::max((chain_us - floor_us) / steps, 0.05);
  {
    const Tensor x = evaluated(full({large}, 0.5f, {.device = device}));
    const double us = quickest_us(device, [&] { return x + 1.0f; });
    cost.bytes_per_us = rate(2 * sizeof(float) * large, us, floor_us);
  }
  {
    const std::int64_t n = is_gpu ? large : cached;
    constexpr int pairs = 60;  // one group
    const Tensor x = evaluated(full({n}, 0.5f, {.device = device}));
    const double us = quickest_us(device, [&] {
      Tensor y = x;
      for (int i = 0; i < pairs; ++i) y = y * x + x;
      return y;
    });
    cost.flops_per_us = rate(2.0 * pairs * static_cast<double>(n), us, floor_us);
  }
  const std::int64_t n = is_gpu ? 4096 : 512, narrow = is_gpu ? 1024 : 256;
  cost.product_f32 = product_rate(device, f32, n, floor_us);
  cost.product_f64 = product_rate(device, f64, n / 2, floor_us);
  cost.product_half = product_rate(device, bf16, is_gpu ? n : narrow, floor_us);
  cost.product_int = product_rate(device, i32, narrow, floor_us);
  return cost;
}

LinkCost measure_link(Device from, Device to) {
  const Device waits = to.is_cpu() ? from : to;
  const auto copy_us = [&](std::int64_t n) {
    const Tensor x = evaluated(full({n}, 0.5f, {.device = from}));
    return quickest_us(waits, [&] { return x.to(to); });
  };
  const double latency_us = copy_us(256), us = copy_us(large);
  return {latency_us, rate(sizeof(float) * large, us, latency_us)};
}

}  // namespace

CostTable measure_costs(Where at) {
  if (detail::ambient().tracing)
    detail::fail<TraceError>(at, "measure_costs: a step is being traced, and nothing runs in it; "
                                 "measure before");
  const NoGrad values;
  const detail::LineOf line(at);
  CostTable table;
  table.cpu = measure_device(Device::cpu());
  std::string name;
  for (int i = 0; i < cuda::device_count(); ++i) {
    const Device gpu = Device::cuda(i);
    const std::string mine = cuda::device_name(i, at);
    if (i > 0 && mine == name) continue;
    const DeviceCost cost = measure_device(gpu);
    if (i > 0) {
      table.devices.push_back({gpu, cost});
      continue;
    }
    name = mine;
    table.gpu = cost;
    table.host_to_device = measure_link(Device::cpu(), gpu);
    table.device_to_host = measure_link(gpu, Device::cpu());
  }
  if (cuda::device_count() > 1)
    table.device_to_device = measure_link(Device::cuda(0), Device::cuda(1));
  return table;
}

}  // namespace weft
