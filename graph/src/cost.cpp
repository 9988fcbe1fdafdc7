// The cost table in force.
#include <weft/graph/cost.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

namespace weft {

namespace {

std::mutex table_mutex;
std::atomic<std::uint64_t> version{1};

CostTable& table_in_force() {
  static auto* table = new CostTable;
  return *table;
}

void check_number(double value, bool may_be_zero, const std::string& what, Where at) {
  if (std::isfinite(value) && (may_be_zero ? value >= 0 : value > 0)) return;
  detail::fail<ValueError>(at, "set_cost_table: " + what + " is " + std::to_string(value) +
                                   "; it must be finite and " +
                                   (may_be_zero ? "at least 0" : "more than 0"));
}

void check(const DeviceCost& cost, const std::string& device, Where at) {
  check_number(cost.kernel_us, true, device + "'s kernel_us", at);
  check_number(cost.bytes_per_us, false, device + "'s bytes_per_us", at);
  check_number(cost.flops_per_us, false, device + "'s flops_per_us", at);
  check_number(cost.product_half, false, device + "'s product_half", at);
  check_number(cost.product_f32, false, device + "'s product_f32", at);
  check_number(cost.product_f64, false, device + "'s product_f64", at);
  check_number(cost.product_int, false, device + "'s product_int", at);
}

void check(const LinkCost& cost, const std::string& link, Where at) {
  check_number(cost.latency_us, true, link + "'s latency_us", at);
  check_number(cost.bytes_per_us, false, link + "'s bytes_per_us", at);
}

void check_device(Device device, Where at) {
  if (device.kind() == DeviceKind::automatic || device.index() < 0)
    detail::fail<ValueError>(at, "set_cost_table: " + device.str() + " is no device; name one");
}

[[noreturn]] void fail_twice(const std::string& what, Where at) {
  detail::fail<ValueError>(at, "set_cost_table: " + what + " has two rows; give one");
}

void check_rows(const CostTable& table, Where at) {
  for (std::size_t i = 0; i < table.devices.size(); ++i) {
    const CostTable::DeviceRow& row = table.devices[i];
    check_device(row.device, at);
    check(row.cost, row.device.str(), at);
    for (std::size_t j = 0; j < i; ++j)
      if (table.devices[j].device == row.device) fail_twice(row.device.str(), at);
  }
  for (std::size_t i = 0; i < table.links.size(); ++i) {
    const CostTable::LinkRow& row = table.links[i];
    const std::string name = row.from.str() + " to " + row.to.str();
    check_device(row.from, at);
    check_device(row.to, at);
    if (row.from == row.to)
      detail::fail<ValueError>(at, "set_cost_table: the link " + name + " leads nowhere");
    check(row.cost, "link " + name, at);
    for (std::size_t j = 0; j < i; ++j)
      if (table.links[j].from == row.from && table.links[j].to == row.to)
        fail_twice("link " + name, at);
  }
}

}  // namespace

double DeviceCost::product_flops_per_us(DType dtype) const noexcept {
  switch (dtype) {
    case DType::f16:
    case DType::bf16: return product_half;
    case DType::f32: return product_f32;
    case DType::f64: return product_f64;
    default: return product_int;
  }
}

const DeviceCost& CostTable::of(Device device) const noexcept {
  for (const DeviceRow& row : devices)
    if (row.device == device) return row.cost;
  return device.is_cpu() ? cpu : gpu;
}

const LinkCost& CostTable::between(Device from, Device to) const noexcept {
  for (const LinkRow& row : links)
    if (row.from == from && row.to == to) return row.cost;
  return from.is_cpu() ? host_to_device : to.is_cpu() ? device_to_host : device_to_device;
}

void set_cost_table(const CostTable& table, Where at) {
  check(table.cpu, "cpu", at);
  check(table.gpu, "gpu", at);
  check(table.host_to_device, "host_to_device", at);
  check(table.device_to_host, "device_to_host", at);
  check(table.device_to_device, "device_to_device", at);
  check_rows(table, at);
  CostTable copy = table;
  const std::lock_guard lock(table_mutex);
  if (table_in_force() == copy) return;
  std::swap(table_in_force(), copy);
  version.fetch_add(1, std::memory_order_release);
}

CostTable cost_table() {
  const std::lock_guard lock(table_mutex);
  return table_in_force();
}

std::uint64_t detail::cost_table_version() noexcept {
  return version.load(std::memory_order_acquire);
}

}  // namespace weft
