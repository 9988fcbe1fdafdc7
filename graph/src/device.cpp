// Device names, and the calling thread's current GPU.
#include <weft/graph/device.h>

#include <charconv>

#include <weft/graph/detail/evaluator.h>

namespace weft {

namespace {

thread_local int current_gpu = 0;

[[noreturn]] void fail_name(std::string_view text, Where at) {
  detail::fail<DeviceError>(at, "Device: \"" + std::string(text) +
                                    "\" names no device; write \"cpu\", \"cuda\", \"cuda:0\" or "
                                    "\"sim:0\"");
}

}  // namespace

Device Device::parse(std::string_view text, Where at) {
  if (text == "cpu") return cpu();
  if (text == "cuda") return cuda(weft::cuda::current_device());
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) fail_name(text, at);
  const std::string_view kind = text.substr(0, colon), number = text.substr(colon + 1);
  if (kind != "cuda" && kind != "sim") fail_name(text, at);
  int index = 0;
  const char* end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, index);
  // One spelling for each device: no sign, no leading zero, and a count that fits.
  if (number.empty() || number[0] < '0' || number[0] > '9' || parsed.ec != std::errc() ||
      parsed.ptr != end || (number.size() > 1 && number[0] == '0') || index > 32767)
    fail_name(text, at);
  return kind == "cuda" ? cuda(index) : sim(index);
}

std::string Device::str() const {
  switch (kind_) {
    case DeviceKind::cpu: return "cpu";
    case DeviceKind::cuda: return "cuda:" + std::to_string(index_);
    case DeviceKind::sim: return "sim:" + std::to_string(index_);
    case DeviceKind::automatic: return "automatic";
  }
  return "?";
}

namespace cuda {

int current_device() noexcept { return current_gpu; }

void set_device(int index, Where at) {
  detail::evaluator().require_device(Device::cuda(index), at);
  current_gpu = index;
}

}  // namespace cuda
}  // namespace weft
