// Where a tensor lives.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

#include <weft/graph/error.h>

namespace weft {

/// `automatic` is the undecided device of `On(automatic)`: never that of an evaluated tensor.
enum class DeviceKind : std::uint8_t { cpu, cuda, sim, automatic };

/// A device and its number. The cpu is one device, "cpu"; GPUs are "cuda:0", "cuda:1", ...;
/// simulated devices "sim:0", ... .
class Device {
 public:
  constexpr Device() noexcept = default;
  /// An index beyond those of devices (-1 to 32767) is taken as the nearest, which no machine has.
  constexpr Device(DeviceKind kind, int index) noexcept
      : kind_(kind),
        index_(static_cast<std::int16_t>(index < -1 ? -1 : index > 32767 ? 32767 : index)) {}
  /// "cpu", "cuda" (the calling thread's current one), "cuda:N", "sim:N"; else DeviceError.
  template <std::convertible_to<std::string_view> S>
  Device(const S& text, Where at = {}) : Device(parse(text, at)) {}

  static constexpr Device cpu() noexcept { return {}; }
  static constexpr Device cuda(int index) noexcept { return {DeviceKind::cuda, index}; }
  static constexpr Device sim(int index) noexcept { return {DeviceKind::sim, index}; }

  constexpr DeviceKind kind() const noexcept { return kind_; }
  constexpr int index() const noexcept { return index_; }
  constexpr bool is_cpu() const noexcept { return kind_ == DeviceKind::cpu; }
  constexpr bool is_cuda() const noexcept { return kind_ == DeviceKind::cuda; }
  constexpr bool is_sim() const noexcept { return kind_ == DeviceKind::sim; }
  std::string str() const;
  /// Both packed in one number: for keys.
  constexpr std::uint32_t code() const noexcept {
    return static_cast<std::uint32_t>(kind_) << 16 | static_cast<std::uint16_t>(index_);
  }
  friend constexpr bool operator==(Device, Device) noexcept = default;

 private:
  static Device parse(std::string_view text, Where at);
  DeviceKind kind_ = DeviceKind::cpu;
  std::int16_t index_ = 0;
};

std::ostream& operator<<(std::ostream& out, Device device);

namespace cuda {

/// The calling thread's current GPU; 0 unless set.
int current_device() noexcept;
/// Makes GPU `index` current for this thread; DeviceError where there is no such GPU.
void set_device(int index, Where at = {});

}  // namespace cuda
}  // namespace weft

template <>
struct std::hash<weft::Device> {
  std::size_t operator()(weft::Device device) const noexcept { return device.code(); }
};
